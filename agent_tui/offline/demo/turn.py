"""Reads a request for the demo: what is asked, which calls were made for it, what came back.

The demo keeps no state of its own: everything follows from the messages of the request.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Outcome:
    """A call of this turn and its result. text: the result's text blocks, joined by newlines.

    Of a program (name "code_execution"): text is what it printed, stderr its error output, files
    how many it wrote, error_code the service's word when it could not run or finish; calls are
    those it made.
    """

    name: str
    input: dict[str, Any]
    text: str
    is_error: bool = False
    images: int = 0
    stderr: str = ""
    error_code: str = ""
    files: int = 0
    calls: "list[Outcome]" = field(default_factory=list["Outcome"])

    @property
    def lines(self) -> int:
        """Lines of the result; a final newline starts no line."""
        return len(self.text.splitlines())


@dataclass(slots=True)
class Step:
    """One request's worth of results. said: texts of the user that came along with them."""

    outcomes: list[Outcome]
    said: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Turn:
    """What the user wants now.

    also: other texts that arrived together with the prompt. before: calls of an earlier task
    that ended as this prompt came (a steering message that is a task of its own).
    open_end: the request ends with the assistant's message; there is nothing new to answer.
    """

    prompt: str = ""
    also: list[str] = field(default_factory=list[str])
    images: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    before: list[Outcome] = field(default_factory=list[Outcome])
    steps: list[Step] = field(default_factory=list[Step])
    open_end: bool = False


def current_turn(body: dict[str, Any], is_task: Callable[[str], bool]) -> Turn:
    """The turn that the request's last messages belong to.

    A text that comes with tool results is a new task when `is_task` says so (the user steered
    elsewhere); otherwise the task goes on, and the text is told back.
    """
    turn = Turn()
    calls: dict[str, dict[str, Any]] = {}
    programs = _Programs()
    groups = list(_groups(body))
    # What came before the last prompt does not matter, however long it is.
    prompts = [n for n, (role, messages) in enumerate(groups) if _is_prompt(role, messages)]
    for role, messages in groups[prompts[-1] if prompts else 0 :]:
        blocks = [b for m in messages for b in _blocks(m)]
        if role == "assistant":
            turn.open_end = True
            calls = {b["id"]: b for b in blocks if _is_direct_call(b)}
            for block in blocks:
                outcome = programs.take(block)
                if outcome is not None:
                    turn.steps.append(Step([outcome]))
                # Anything after a program's output is already the answer to it.
                turn.open_end = outcome is None
            continue
        results = {b.get("tool_use_id"): b for b in blocks if b.get("type") == "tool_result"}
        if programs.answered(results):
            continue
        outcomes = [_outcome(call, results[i]) for i, call in calls.items() if i in results]
        said = [text for m in messages if (text := _spoken(m, is_task))]
        if outcomes and not any(is_task(text) for text in said):
            turn.steps.append(Step(outcomes, said))
            turn.open_end = False
            continue
        prompt = next((t for t in reversed(said) if is_task(t)), said[-1] if said else "")
        also = list(said)
        if prompt in also:
            del also[len(also) - 1 - also[::-1].index(prompt)]
        turn = Turn(
            prompt=prompt,
            also=also,
            images=[b for b in blocks if b.get("type") == "image"],
            before=outcomes,
        )
    return turn


class _Programs:
    """The programs of a turn: which calls each made, what came of them, how it ended."""

    def __init__(self) -> None:
        self._code: dict[str, str] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._outcomes: dict[str, list[Outcome]] = {}

    def take(self, block: dict[str, Any]) -> Outcome | None:
        """Notes a block of the assistant; the outcome when it ends a program."""
        kind = block.get("type")
        if kind == "server_tool_use" and block.get("name") == "code_execution":
            self._code[str(block.get("id"))] = str((block.get("input") or {}).get("code", ""))
        elif kind == "tool_use" and not _is_direct_call(block):
            self._calls[str(block.get("id"))] = block
        elif kind == "code_execution_tool_result":
            program_id = str(block.get("tool_use_id"))
            if program_id in self._code:
                return self._ended(program_id, block.get("content") or {})
        return None

    def answered(self, results: dict[Any, dict[str, Any]]) -> bool:
        """Whether a message of the user answers a program's calls; its results are noted."""
        found = False
        for call_id, result in results.items():
            call = self._calls.get(str(call_id))
            if call is not None:
                program_id = str(call["caller"].get("tool_id"))
                self._outcomes.setdefault(program_id, []).append(_outcome(call, result))
                found = True
        return found

    def _ended(self, program_id: str, content: dict[str, Any]) -> Outcome:
        code = str(content.get("error_code") or "")
        return Outcome(
            name="code_execution",
            input={"code": self._code[program_id]},
            text=str(content.get("stdout") or ""),
            is_error=bool(code or content.get("return_code")),
            stderr=str(content.get("stderr") or ""),
            error_code=code,
            files=len(content.get("content") or []),
            calls=self._outcomes.get(program_id, []),
        )


def _is_direct_call(block: dict[str, Any]) -> bool:
    caller = block.get("caller") or {}
    return block.get("type") == "tool_use" and caller.get("type", "direct") == "direct"


def _groups(body: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Messages of one role in a row, together: the service joins them too."""
    role, group = "", list[dict[str, Any]]()
    for message in body.get("messages") or []:
        if message.get("role") not in ("user", "assistant"):
            continue
        if message["role"] != role and group:
            yield role, group
            group = []
        role = message["role"]
        group.append(message)
    if group:
        yield role, group


def _is_prompt(role: str, messages: list[dict[str, Any]]) -> bool:
    """Messages of the user without any result: nothing before them is still under way."""
    return role == "user" and not any(
        b.get("type") == "tool_result" for m in messages for b in _blocks(m)
    )


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content or [] if isinstance(b, dict)]


def _spoken(message: dict[str, Any], is_task: Callable[[str], bool]) -> str:
    """What a message says: the text block that is a task, else all its text.

    A message may carry more text than was typed (files that were mentioned, notes).
    """
    texts = [str(b.get("text", "")) for b in _blocks(message) if b.get("type") == "text"]
    # Words of the program about an answer that broke off are not what the user said.
    texts = [text for text in texts if not text.startswith("[The answer before this was ")]
    for text in reversed(texts):
        if is_task(text):
            return text.strip()
    return "\n".join(texts).strip()


def _outcome(call: dict[str, Any], result: dict[str, Any]) -> Outcome:
    content = result.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return Outcome(
        name=str(call.get("name")),
        input=dict(call.get("input") or {}),
        text="\n".join(str(p.get("text", "")) for p in parts if p.get("type") == "text"),
        is_error=result.get("is_error") is True,
        images=sum(p.get("type") == "image" for p in parts),
    )
