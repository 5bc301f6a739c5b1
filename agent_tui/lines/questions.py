"""What waits for the user, asked and answered in lines: approvals, questions of servers, choices.

One question is asked at a time. A line answers it only if it was begun after the question had
been told, and only if it is one of the answers named there; any other line is a message.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from agent_tui.agent.delivery import counted
from agent_tui.conversation.events import PermissionRequestEvent, ServerQuestionEvent
from agent_tui.conversation.readable import readable_arguments
from agent_tui.forms import Field, Form
from agent_tui.lines.prose import plain
from agent_tui.text import SafeText, clean, without_ansi

Taken = Literal["no", "answered", "kept"]
"""no: the line is no answer; kept: it was, and the question goes on (a field, a mistake)."""


class Answers(Protocol):
    """What is done with an answer; the lines that come back are said."""

    def answer(self, request_id: str, decision: Any, reason: str = "") -> bool: ...
    def answer_question(
        self, request_id: str, action: str, content: dict[str, Any] | None = None
    ) -> bool: ...


class Question(ABC):
    """One thing that waits. request_id: by which it is taken back."""

    request_id = ""
    answers = "one of its answers"
    """What is to be typed, for whoever typed something else."""

    @abstractmethod
    def told(self) -> list[str]:
        """The question, with its answers."""

    @abstractmethod
    def take(self, line: str) -> tuple[Taken, list[str]]:
        """Answer it with a line; what is to be said about that."""


class Approval(Question):
    """y once, a always, n no; "n" or "no" and words: no, with a reason."""

    answers = "y or n"

    def __init__(self, event: PermissionRequestEvent, answers: Answers) -> None:
        self.event, self._answers = event, answers
        self.request_id = event.request_id

    def told(self) -> list[str]:
        event = self.event
        name = clean(event.server_tool or event.tool_name)
        of = f" of the server {clean(event.server)}" if event.server else ""
        program = f"program {event.program}" if event.program else "a program"
        direct = event.caller is None or event.caller.get("type", "direct") == "direct"
        asked = "" if direct else f", asked by {program}"
        out = [f"Waiting for your approval: {name}{of} wants to run{asked}:"]
        if event.note:
            out.append(f"  Note: {clean(event.note)}")
        if event.diff:
            out.append(f"  {clean(str(event.arguments.get('path')))}")
            text = "\n".join(event.diff.rstrip("\n").split("\n")[2:])
        else:
            text = readable_arguments("" if event.server else event.tool_name, event.arguments)
        # Whole, and with what a terminal would act on made visible: this is what is consented to.
        out += [f"  {line}" for line in SafeText(text).split("\n")]
        always = clean(event.rule or event.tool_name)
        out.append(
            f"Type y to let it run once, a for always ({always}), n for no, "
            "or n and a reason. Then Enter."
        )
        return out

    def take(self, line: str) -> tuple[Taken, list[str]]:
        word, _, reason = line.strip().partition(" ")
        if word[-1:] in (",", ".", ";", ":", "!") and word[:-1].lower() in ("n", "no"):
            word = word[:-1]
        match word.lower():
            case "y" | "yes" if not reason:
                decision, words = "allow", "Approved, once."
            case "a" | "always" if not reason:
                decision, words = "allow_always", "Approved, from now on always."
            case "n" | "no" if not reason:
                decision, words = "deny", "Refused."
            case "n" | "no":
                decision, words = "deny", "Refused, with your reason."
            case _:
                return "no", []
        open_ = self._answers.answer(self.request_id, decision, reason.strip())
        return "answered", [words if open_ else "That call no longer waits for an answer."]


_ASKS = {
    "form": "asks for details",
    "login": "wants you to log in",
    "url": "wants you to open an address",
    "sampling": "wants an answer of the model",
    "sampling_result": "would get this answer",
}
_YES = {
    "url": "y to open it in the browser, n to decline",
    "sampling": "y to run the model, n to decline",
    "sampling_result": "y to send it, n to keep it back",
}


class Consent(Question):
    """y, n or /cancel: an address, or an answer of the model. opened: what opens an address."""

    answers = "y or n"

    def __init__(
        self, event: ServerQuestionEvent, answers: Answers, opened: Callable[[str], None]
    ) -> None:
        self.event, self._answers, self._opened = event, answers, opened
        self.request_id = event.request_id

    def told(self) -> list[str]:
        event, details = self.event, self.event.details
        out = [f"Question of the server {clean(event.server)}: it {_ASKS[event.kind]}."]
        match event.kind:
            case "url":
                out += [f"  {line}" for line in SafeText(event.message).split("\n") if line]
                out.append(f"  Address: {clean(event.url)}")
            case "sampling":
                out.append(
                    f"  Model: {clean(str(details.get('model')))}, at most "
                    f"{counted(int(details.get('max_tokens') or 0), 'token')}"
                )
                if left_out := details.get("left_out"):
                    out.append(f"  Not given: {clean(', '.join(map(str, left_out)))}")
                if prompt := str(details.get("system_prompt") or ""):
                    out += ["  System prompt:", *_indented(prompt)]
                for message in details.get("messages") or []:
                    out.append(f"  {clean(str(message.get('role')))}:")
                    for block in message.get("content") or []:
                        out += _indented(str(block.get("text") or f"an image, {block}"[:80]))
            case _:
                out += _indented(str(details.get("text") or ""))
        out.append(f"Type {_YES[event.kind]}, /cancel to give no answer. Then Enter.")
        return out

    def take(self, line: str) -> tuple[Taken, list[str]]:
        actions = {"y": "accept", "yes": "accept", "n": "decline", "no": "decline",
                   "/cancel": "cancel"}  # fmt: skip
        action = actions.get(line.strip().lower())
        if action is None:
            return "no", []
        if not self._answers.answer_question(self.request_id, action):
            return "answered", ["That question no longer waits for an answer."]
        if action == "accept" and self.event.kind == "url":
            self._opened(self.event.url)
        return "answered", []


class FormQuestion(Question):
    """The fields of a form, one by one. Begun with /answer; before that every line is a message."""

    answers = "/answer or /cancel"

    def __init__(self, event: ServerQuestionEvent, answers: Answers) -> None:
        self.event, self._answers = event, answers
        self.request_id = event.request_id
        self._form = Form(event.schema or {})
        self._at = -1
        """The field that is asked for; -1: /answer was not typed yet."""

    def told(self) -> list[str]:
        event = self.event
        out = [f"Question of the server {clean(event.server)}: it {_ASKS[event.kind]}."]
        if event.kind == "login":
            out.append(f"  Log in at this address: {clean(event.url)}")
        else:
            out += _indented(event.message)
        names = ", ".join(clean(f.title or f.name) for f in self._form.fields)
        out.append(f"  It wants: {names or 'no details'}.")
        decline = "" if event.kind == "login" else "/decline to refuse, "
        out.append(f"Type /answer to fill it in, {decline}/cancel to give no answer.")
        return out

    def take(self, line: str) -> tuple[Taken, list[str]]:
        word = line.strip().lower()
        if word == "/cancel" or (word == "/decline" and self.event.kind != "login"):
            self._answers.answer_question(self.request_id, word[1:])
            return "answered", []
        if word == "/answer":
            self._at = 0
            return self._next()
        if self._at < 0:
            return "no", []
        if line.lstrip().startswith("/") and word != "/":
            return "no", []
        field = self._form.fields[self._at]
        if problem := _fill(field, line):
            return "kept", [f"Not taken: {problem}.", *self._ask(field)]
        self._at += 1
        return self._next()

    def _next(self) -> tuple[Taken, list[str]]:
        if self._at < len(self._form.fields):
            return "kept", self._ask(self._form.fields[self._at])
        content = self._form.content()
        if content is None:
            return self._again()
        try:
            open_ = self._answers.answer_question(self.request_id, "accept", content)
        except ValueError as error:
            self._form.blame(str(error))
            taken, lines = self._again()
            return taken, [f"Not taken: {clean(str(error))}", *lines]
        return "answered", [] if open_ else ["That question no longer waits for an answer."]

    def _again(self) -> tuple[Taken, list[str]]:
        """Back to the first field that cannot be."""
        fields = self._form.fields
        self._at = next((at for at, f in enumerate(fields) if f.error), 0)
        if not fields:
            return "answered", ["The form cannot be sent."]
        why = fields[self._at].error
        return "kept", [
            *([f"Not taken: {clean(why)}."] if why else []),
            *self._ask(fields[self._at]),
        ]

    def _ask(self, field: Field) -> list[str]:
        number = f"Field {self._form.fields.index(field) + 1} of {len(self._form.fields)}"
        need = "required" if field.required else "may be left empty"
        out = [f"{number}: {clean(field.title or field.name)}, {_KINDS[field.kind]}, {need}."]
        if field.description:
            out.append(f"  {clean(field.description)}")
        out += [f"  {n}: {clean(label)}" for n, (_, label) in enumerate(field.options, 1)]
        if field.is_typed and field.text:
            out.append(f"  Enter alone takes: {clean(field.text)}")
        elif field.chosen:
            labels = ", ".join(clean(field.options[at][1]) for at in field.chosen)
            out.append(f"  Enter alone takes: {labels}")
        return out


_KINDS = {
    "text": "text",
    "number": "a number",
    "integer": "a whole number",
    "yes_no": "the number of one",
    "choice": "the number of one",
    "choices": "the numbers of some",
}


def _fill(field: Field, line: str) -> str:
    """Put a line into a field; what is wrong with it, or ""."""
    line = line.strip()
    if not line:
        return "it must be given" if field.required and field.is_empty else ""
    if field.is_typed:
        before, field.text = field.text, line
        try:
            field.value()
        except ValueError as error:
            field.text = before
            return str(error)
        return ""
    words = line.replace(",", " ").split()
    chosen: list[int] = []
    for word in words if field.kind == "choices" else [line]:
        at = _option(field, word)
        if at is None:
            return f"{clean(word)} is none of 1 to {len(field.options)}"
        chosen.append(at)
    field.chosen = sorted(set(chosen))
    return ""


def _option(field: Field, word: str) -> int | None:
    if word.isdecimal() and 1 <= int(word) <= len(field.options):
        return int(word) - 1
    labels = [label.lower() for _, label in field.options]
    low = word.lower()
    if field.kind == "yes_no":
        low = {"y": "yes", "n": "no"}.get(low, low)
    return labels.index(low) if low in labels else None


class OptionLike(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def label(self) -> str: ...


class Choice(Question):
    """One of some, by its number."""

    answers = "its number"

    def __init__(self, title: str, text: str, options: Sequence[OptionLike]) -> None:
        self._title, self._text, self._options = title, text, options
        self.chosen: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def told(self) -> list[str]:
        out = [f"Question: {clean(self._title)}", *(f"  {line}" for line in plain(self._text))]
        out += [
            f"  {n}: {' '.join(clean(option.label).split())}"
            for n, option in enumerate(self._options, 1)
        ]
        return [*out, "Type its number, then Enter."]

    def take(self, line: str) -> tuple[Taken, list[str]]:
        word = line.strip()
        if not word.isdecimal():
            return "no", []
        if not 1 <= int(word) <= len(self._options):
            return "kept", [f"There is no {int(word)}: type a number from 1 to "
                            f"{len(self._options)}."]  # fmt: skip
        option = self._options[int(word) - 1]
        if not self.chosen.done():
            self.chosen.set_result(option.key)
        return "answered", [f"Chosen: {' '.join(clean(option.label).split())}"]


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in without_ansi(text).split("\n") if line.strip()]


class Questions:
    """Those that wait, oldest first; only the first is told and can be answered.

    say: told lines. clock: the one by which lines are begun.
    """

    def __init__(self, say: Callable[[list[str]], None], clock: Callable[[], float]) -> None:
        self._say, self._clock = say, clock
        self._open: list[Question] = []
        self._told_at = 0.0

    @property
    def current(self) -> Question | None:
        return self._open[0] if self._open else None

    def ask(self, question: Question) -> None:
        self._open.append(question)
        if len(self._open) == 1:
            self.tell()
        else:
            self._say([f"Also waiting: {counted(len(self._open) - 1, 'more question')}."])

    def still_waits(self) -> list[str]:
        """To whoever said something else meanwhile."""
        current = self.current
        return [] if current is None else [f"The question still waits: type {current.answers}."]

    def tell(self) -> None:
        """The one that can be answered, again if need be."""
        if self._open:
            self._say(self._open[0].told())
            self._told_at = self._clock()

    def take_back(self, request_id: str) -> None:
        """Answered or withdrawn elsewhere."""
        self._drop(next((q for q in self._open if q.request_id == request_id), None))

    def drop(self, question: Question) -> None:
        self._drop(question)

    def _drop(self, question: Question | None) -> None:
        if question not in self._open:
            return
        was_first = question is self._open[0]
        self._open.remove(question)
        if was_first:
            self.tell()

    def take(self, line: str, begun_at: float) -> bool:
        """Whether the line was for a question."""
        question = self.current
        if question is None or "\n" in line:
            return False
        if begun_at < self._told_at:
            # Whoever began to type before it was told cannot have meant it.
            if line.strip().lower() not in ("y", "n", "a", "yes", "no", "always"):
                return False
            self._say(["A question came while you typed; nothing was answered."])
            self.tell()
            return True
        taken, lines = question.take(line)
        if taken == "no":
            return False
        self._say(lines)
        if taken == "answered":
            self._drop(question)
        return True
