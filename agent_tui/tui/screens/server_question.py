"""What MCP servers ask, in the box above the composer: a form, an address, an answer of the model.

Accept, decline and cancel are three answers; each reaches the server. A form is filled only with
the focus (F4): its letters would be the draft's otherwise.
"""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content

from agent_tui.conversation.events import ServerQuestionEvent
from agent_tui.forms import Field, Form
from agent_tui.text import SafeText, counted
from agent_tui.tui import messages as m
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import fit, one_line
from agent_tui.tui.links import hyperlink
from agent_tui.tui.screens.inline import InlineDialog
from agent_tui.tui.screens.long_text import LongText, TextLine

MAX_CHARS = 60_000
_TITLES = {
    "url": "wants you to open an address",
    "sampling": "wants an answer of the model",
    "sampling_result": "would get this answer",
}
_YES = {"url": "open it in the browser", "sampling": "run the model", "sampling_result": "send it"}
LABEL = 30
"""Cells of a field's name, at most."""


class ServerQuestionDialog(InlineDialog):
    """Base of both kinds. Posts QuestionAnswered."""

    def __init__(
        self,
        question: ServerQuestionEvent,
        glyphs: Glyphs = UNICODE,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.question = question
        super().__init__(glyphs, clock=clock)

    def _server(self) -> str:
        return one_line(self.question.server, 60, self.glyphs.ellipsis)

    def _answer(self, action: str, content: dict[str, Any] | None = None) -> None:
        self.post_message(m.QuestionAnswered(self.question.request_id, action, content))

    def refused(self, problem: str) -> None:
        """The answer was not taken; the question stays."""
        self.post_message(m.Flash(problem))


class ConsentDialog(ServerQuestionDialog):
    """y accepts, n declines, c cancels. Unfocused only y and n act, and y only when all can be
    seen."""

    def make_body(self) -> LongText:
        return LongText(self.lines(), classes="dialog-body")

    def redraw_body(self) -> None:
        """What is asked does not change."""

    def title(self) -> Content:
        return Content.assemble(
            (self._server(), "bold"), f" {_TITLES.get(self.question.kind, 'asks')}"
        )

    def lines(self) -> list[TextLine]:
        question = self.question
        match question.kind:
            case "url":
                return _url_lines(question)
            case "sampling":
                return _sampling_lines(question.details)
            case _:
                details = question.details
                head = f"of {details.get('model')}, to be sent to {question.server}:"
                return [(head, "muted"), *_plain(str(details.get("text") or ""))]

    def keys(self) -> Content:
        no = "decline" if self.question.kind != "sampling_result" else "keep it back"
        parts = [
            "y", (f" {_YES.get(self.question.kind, 'accept')}   ", "$muted"),
            "n", (f" {no}   ", "$muted"),
        ]  # fmt: skip
        if self.expanded:
            return Content.assemble(*parts, "c", (" cancel: no answer", "$muted"))
        return Content.assemble(*parts, "F4", (" then: c cancel", "$muted"))

    def knows(self, key: str) -> bool:
        return key in ("y", "n")

    def take_key(self, key: str, *, focused: bool) -> bool:
        if key == "y" and not focused and not self.all_visible:
            self.post_message(m.Flash("It is longer than what is shown: F4 to read and answer."))
            return True
        match key:
            case "y":
                self._answer("accept")
            case "n":
                self._answer("decline")
            case "c" if focused:
                self._answer("cancel")
            case _:
                return False
        return True


def _plain(text: str) -> list[TextLine]:
    shown = text[:MAX_CHARS]
    lines: list[TextLine] = [(line, "plain") for line in shown.split("\n")]
    if len(text) > len(shown):
        lines.append((f"{counted(len(text) - len(shown), 'more character')}", "note"))
    return lines


def _url_lines(question: ServerQuestionEvent) -> list[TextLine]:
    link = hyperlink(question.url)
    host = urlsplit(link).netloc if link else urlsplit(question.url).netloc
    lines: list[TextLine] = [(f"at {host}", "note")]
    if not link:
        lines.append(("This address is unusual: look at it well.", "note"))
    lines.append((link or question.url, "plain"))
    return [*lines, ("", "plain"), *((line, "muted") for line in question.message.split("\n"))]


def _sampling_lines(details: dict[str, Any]) -> list[TextLine]:
    tokens = counted(int(details.get("max_tokens") or 0), "token")
    lines: list[TextLine] = [(f"{details.get('model')}, at most {tokens}", "note")]
    if left_out := details.get("left_out"):
        lines.append((f"It also wanted {', '.join(map(str, left_out))}: not given.", "note"))
    if prompt := str(details.get("system_prompt") or ""):
        lines += [("system prompt", "muted"), *_plain(prompt)]
    for message in details.get("messages") or []:
        lines.append((str(message.get("role")), "muted"))
        for block in message.get("content") or []:
            if block.get("type") == "text":
                lines += _plain(str(block.get("text")))
            else:
                lines.append((f"[an image, {block.get('media_type')}]", "plain"))
    return lines


class FormDialog(ServerQuestionDialog):
    """A form, filled with the focus: Up, Down and Tab move, Enter goes on, letters are typed."""

    FOCUSED_ROWS = 24

    def __init__(
        self,
        question: ServerQuestionEvent,
        glyphs: Glyphs = UNICODE,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.form = Form(question.schema or {})
        self.is_login = question.kind == "login"
        self.actions = ("accept", "cancel") if self.is_login else ("accept", "decline", "cancel")
        self.at = 0
        """The field or, behind the last, the action that is chosen."""
        self.problem = ""
        super().__init__(question, glyphs, clock=clock)

    @property
    def _field(self) -> Field | None:
        return self.form.fields[self.at] if self.at < len(self.form.fields) else None

    # --- drawing -----------------------------------------------------------------------------

    def title(self) -> Content:
        said = "wants you to log in" if self.is_login else "asks for details"
        return Content.assemble((self._server(), "bold"), f" {said}")

    def body(self) -> Content:
        parts = [Content(SafeText(self._intro()))] if self._intro() else []
        if not self.expanded:
            names = ", ".join(self._label_of(field) for field in self.form.fields)
            wanted = f"wants: {names}" if names else "wants no details"
            return Content("\n").join([*parts, Content.styled(self._fit(wanted), "$muted")])
        parts.append(Content(""))
        for at, field in enumerate(self.form.fields):
            parts += self._field_lines(field, here=at == self.at)
        if self.problem:
            parts.append(Content.styled(self._fit(f"  {self.problem}"), "$failed"))
        return Content("\n").join([*parts, self._actions_line()])

    def _intro(self) -> str:
        if not self.is_login:
            return self.question.message
        return f"Log in at this address, in your browser:\n{self.question.url}"

    def on_resize(self) -> None:
        self.redraw()

    @property
    def _width(self) -> int:
        return max(20, self.scroller.size.width - 6)

    def _fit(self, text: str) -> str:
        return fit(one_line(text), self._width, self.glyphs.ellipsis)

    def _label_of(self, field: Field) -> str:
        return one_line(field.title or field.name, 60, self.glyphs.ellipsis)

    def _field_lines(self, field: Field, *, here: bool) -> list[Content]:
        glyphs = self.glyphs
        wide = max((cell_len(self._label_of(each)) for each in self.form.fields), default=0)
        wide = min(LABEL, wide + 2)
        label = fit(self._label_of(field), wide - 2, glyphs.ellipsis)
        star = "*" if field.required else " "
        head = Content.assemble(
            (f"{glyphs.prompt} " if here else " " * (len(glyphs.prompt) + 1), "$accent"),
            (set_cell_size(f"{label}{star}", wide), "bold" if here else ""),
        )
        value = self._value(field, here=here, room=self._width - wide - 3)
        lines = [Content.assemble(head, value)]
        indent = " " * (wide + len(glyphs.prompt) + 1)
        if below := field.error or (field.description if here else ""):
            text = fit(one_line(below), self._width - len(indent), glyphs.ellipsis)
            lines.append(Content.styled(indent + text, "$failed" if field.error else "$muted"))
        return lines

    def _value(self, field: Field, *, here: bool, room: int) -> Content:
        glyphs = self.glyphs
        if field.kind == "choices":
            return self._marks(field, here=here)
        if not field.is_typed:
            label = field.options[field.chosen[0]][1] if field.chosen else "not chosen"
            style = "$accent" if here else ("" if field.chosen else "$muted")
            return Content.styled(f"< {fit(one_line(label), room - 4, glyphs.ellipsis)} >", style)
        if not here:
            text = fit(one_line(field.text), room, glyphs.ellipsis)
            return Content(text) if text else Content.styled("empty", "$muted")
        # The end that is typed at stays in sight.
        start = max(0, field.cursor - max(4, room - 8))
        before = SafeText(field.text[start : field.cursor])
        after = fit(SafeText(field.text[field.cursor :]), max(4, room - len(before) - 2))
        return Content.assemble(before, (glyphs.cursor, "$accent"), after)

    def _marks(self, field: Field, *, here: bool) -> Content:
        parts: list[Any] = []
        for at, (_, label) in enumerate(field.options):
            mark = self.glyphs.task_done if at in field.chosen else self.glyphs.task_open
            style = "bold $accent" if here and at == field.at else ""
            parts.append((f"{mark} {one_line(label, 30, self.glyphs.ellipsis)}  ", style))
        return Content.assemble(*parts)

    def _actions_line(self) -> Content:
        words = {"accept": "send", "decline": "decline", "cancel": "cancel"}
        parts: list[Any] = [" " * (len(self.glyphs.prompt) + 1)]
        for at, action in enumerate(self.actions, start=len(self.form.fields)):
            style = "bold $accent reverse" if at == self.at else ""
            parts += [(f"[ {words[action]} ]", style), "  "]
        return Content.assemble(*parts)

    def keys(self) -> Content:
        if not self.expanded:
            return Content.assemble("F4", (" fill in, decline or cancel", "$muted"))
        return Content.assemble(
            "Up Down", (" move   ", "$muted"), "Enter", (" on   ", "$muted"),
            "Space", (" choose   ", "$muted"), "Esc", (" back", "$muted"),
        )  # fmt: skip

    def _changed(self) -> None:
        self.redraw()
        self.call_after_refresh(self._keep_in_sight)

    def _keep_in_sight(self) -> None:
        if not self.scroller.is_mounted:
            return
        fields = self.form.fields
        below = 0 if self._field is None else len(fields) - self.at + 1
        y = self._text_box.size.height - 1 - below
        self.scroller.scroll_to(y=max(0, y - self.scroller.size.height // 2), animate=False)

    # --- keys --------------------------------------------------------------------------------

    def knows(self, key: str) -> bool:
        return False

    def take_key(self, key: str, *, focused: bool) -> bool:
        if not focused:
            return False
        field = self._field
        match key:
            case "up" | "shift+tab":
                self._go(-1)
            case "down" | "tab":
                self._go(1)
            case "enter":
                self._enter()
            case "left" | "right":
                step = -1 if key == "left" else 1
                if field is not None:
                    field.move(step)
                else:
                    first = len(self.form.fields)
                    self.at = first + (self.at - first + step) % len(self.actions)
            case "space" if field is not None and not field.is_typed:
                field.toggle()
            case "backspace" | "ctrl+h" if field is not None and field.is_typed:
                field.backspace()
            case "delete" if field is not None and field.is_typed:
                field.delete()
            case "home" | "end" if field is not None and field.is_typed:
                field.move(-len(field.text) if key == "home" else len(field.text))
            case "ctrl+u" if field is not None and field.is_typed:
                field.text, field.cursor, field.error = "", 0, ""
            case _:
                return False
        self._changed()
        return True

    def _go(self, step: int) -> None:
        self.at = (self.at + step) % (len(self.form.fields) + len(self.actions))

    def _enter(self) -> None:
        first_action = len(self.form.fields)
        if self.at < first_action:
            self._go(1)
            return
        action = self.actions[self.at - first_action]
        if action != "accept":
            self._answer(action)
            return
        self.problem = ""
        content = self.form.content()
        if content is None:
            self._to_first_error()
        else:
            self._answer("accept", content)

    def _to_first_error(self) -> None:
        fields = self.form.fields
        self.at = next((at for at, field in enumerate(fields) if field.error), self.at)

    def refused(self, problem: str) -> None:
        if self.form.blame(problem):
            self._to_first_error()
        else:
            self.problem = problem
        self._changed()

    def on_key(self, event: events.Key) -> None:
        """Letters are text here; the rest is as in every question."""
        field = self._field
        if event.character is None or not event.is_printable:
            return
        if self._clock() >= self._acts_from:
            if field is not None and field.is_typed:
                field.insert(event.character)
                self._changed()
            elif event.key == "space":
                self.take_key("space" if field is not None else "enter", focused=True)
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        field = self._field
        if field is not None and field.is_typed:
            field.insert(event.text)
            self._changed()
        event.stop()


def question_dialog(
    question: ServerQuestionEvent, glyphs: Glyphs, clock: Callable[[], float]
) -> ServerQuestionDialog:
    """The box for a question."""
    kind = FormDialog if question.schema is not None else ConsentDialog
    return kind(question, glyphs, clock=clock)
