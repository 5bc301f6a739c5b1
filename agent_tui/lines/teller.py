"""What happens, in words: events become plain lines, each with a leading word.

Nothing that moves by itself is told: no counter, no rate. Every line that comes back is safe.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agent_tui.agent.delivery import counted
from agent_tui.agent.events import ToolExecutionEndEvent
from agent_tui.agent.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CompactionSummaryMessage,
    CustomMessage,
    TextContent,
    UserMessage,
)
from agent_tui.conversation.events import QueueChangedEvent, QueueEntry, RetryEvent
from agent_tui.conversation.readable import readable_arguments
from agent_tui.lines.prose import Prose, plain
from agent_tui.text import clean, cut, duration, without_ansi

if TYPE_CHECKING:
    from agent_tui.conversation.event_hub import AnyEvent

ARGUMENT_CHARS = 200
"""Of a call's arguments, in the line that says that it runs."""
OUTPUT_LINES = 3
"""Of a tool's output; /output tells all."""
USUAL_END = "the answer is complete"
SHOWN_OF_PAST = 6
"""Messages of a resumed session that are told."""


def brief(text: str, n: int = ARGUMENT_CHARS) -> str:
    """One safe line, cut where it is longer."""
    line = clean(text.strip())
    return line if len(line) <= n else f"{cut(line, n)}..."


def what_runs(tool: str, arguments: dict[str, Any]) -> str:
    """The arguments of a call in one line; of a long text its first line and how many it has."""
    told = readable_arguments(tool, arguments)
    if "\n" not in told or (
        len(arguments) == 1 and not told.startswith(f"{next(iter(arguments))}:")
    ):
        return brief(told.replace("\n", "; "))
    parts: list[str] = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *more = text.strip("\n").split("\n")
        also = f" ({counted(len(more) + 1, 'line')})" if more else ""
        parts.append(f"{name}: {brief(first, 60)}{also}")
    return brief("; ".join(parts))


def queue_line(number: int, entry: QueueEntry) -> str:
    kind = "steering" if entry.kind == "steer" else "follow-up"
    return f"{number}, {kind}: {brief(entry.text)}; {clean(entry.delivery)}"


class Teller:
    """apply() gives the lines of an event, in order. thinking: of the settings, folded | open |
    hidden."""

    def __init__(
        self,
        thinking: Callable[[], str] = lambda: "folded",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._thinking, self._clock = thinking, clock
        self._prose: Prose | None = None
        self._word = ""
        self._continued = False
        self._thought_since = 0.0
        self._queue: dict[str, QueueEntry] = {}
        self._paused = False
        self._commands: set[str] = set()
        self.calls: dict[str, str] = {}
        """Calls that are under way or being written: what each is, by its id."""
        self.numbers: dict[str, int] = {}
        """Of the calls of a run, by their ids. A call keeps its number, also when others end while
        somebody types it."""
        self.outputs: list[tuple[str, str]] = []
        """(tool, whole output) of the tools that ended, for /output."""

    def apply(self, event: "AnyEvent") -> list[str]:
        if event.type == "message_update":
            return self._update(event.event)
        if event.type == "tool_execution_update":
            return []
        told = self._whole(event)
        if told:
            self.interrupted()
        return told

    def interrupted(self) -> None:
        """Something else was said: the next sentence of an answer says whose it is."""
        self._continued = self._said and self._prose is not None

    # --- an answer as it streams -----------------------------------------------------------

    def _update(self, event: Any) -> list[str]:
        match event.type:
            case "text_start":
                return self._begin("Answer")
            case "thinking_start":
                self._thought_since = self._clock()
                shown = self._thinking()
                if shown == "open":
                    return self._begin("Thinking")
                return [] if shown == "hidden" else ["Thinking: begun."]
            case "text_delta" | "thinking_delta":
                if self._prose is None or (
                    event.type == "thinking_delta" and self._word != "Thinking"
                ):
                    return []
                return self._tell(self._prose.feed(event.delta))
            case "text_end":
                return self._end()
            case "thinking_end":
                told = self._end()
                if self._thinking() == "hidden":
                    return told
                took = max(0.0, self._clock() - self._thought_since)
                return [*told, f"Thinking: done after {duration(took)}."]
            case "toolcall_start":
                self._call(event.block.id, f"{clean(event.block.name)}, being written")
                return [f"Tool {clean(event.block.name)}: the model writes its arguments."]
            case "opaque" if event.phase == "end" and event.block is not None:
                return self._opaque(event.block.raw)
            case _:
                return []

    def _begin(self, word: str) -> list[str]:
        told = self._end()
        self._prose, self._word, self._continued = Prose(), f"{word}", False
        self._said = False
        return told

    _said = False

    def _tell(self, lines: Sequence[str]) -> list[str]:
        out: list[str] = []
        for line in lines:
            if not self._said:
                out.append(f"{self._word}: {line}")
            elif self._continued:
                out.append(f"{self._word} continues: {line}")
            else:
                out.append(line)
            self._said, self._continued = True, False
        return out

    def _end(self) -> list[str]:
        prose, self._prose = self._prose, None
        if prose is None:
            return []
        told = self._tell(prose.flush())
        self._continued = False
        return told

    def _opaque(self, raw: dict[str, Any]) -> list[str]:
        kind = str(raw.get("type") or "")
        if kind == "server_tool_use":
            given = raw.get("input")
            arguments = given if isinstance(given, dict) else {}
            code = arguments.get("code")
            if isinstance(code, str):
                lines = [f"  {line}" for line in without_ansi(code).split("\n") if line.strip()]
                return ["Program: it runs in the container:", *lines, "End of the program."]
            return [f"Service tool {clean(str(raw.get('name')))}: {what_runs('', arguments)}"]
        if kind.endswith("_tool_result"):
            return [f"Service tool: {self._service_result(raw.get('content'))}"]
        return []

    @staticmethod
    def _service_result(content: Any) -> str:
        if isinstance(content, list):
            return f"{counted(len(content), 'result')}."
        if not isinstance(content, dict):
            return "done."
        if error := content.get("error_code"):
            return f"failed: {clean(str(error))}"
        text = content.get("stdout") or content.get("stderr") or ""
        code = content.get("return_code")
        ended = "done" if not code else f"ended with code {code}"
        return f"{ended}: {brief(str(text), 600)}" if text else f"{ended}."

    # --- whole things ---------------------------------------------------------------------

    def _whole(self, event: Any) -> list[str]:
        match event.type:
            case "message_end":
                return self._message(event.message)
            case "tool_execution_start":
                asked = "" if _direct(event.caller) else ", asked by a program"
                name = clean(event.tool_name)
                told = what_runs(event.tool_name, event.arguments)
                self._call(event.tool_call_id, f"{name}: {told}")
                return [f"Tool {name}{asked}: {told}"]
            case "tool_execution_end":
                self.calls.pop(event.tool_call_id, None)
                return self._tool_ended(event)
            case "agent_end":
                self.calls.clear()
                self.numbers.clear()
                return [*self._end(), *_ended(event.reason)]
            case "queue_changed":
                return self._queue_changed(event)
            case "queue_delivered":
                return [f"Delivered: {brief(event.text)}; {clean(event.landed)}."]
            case "user_command":
                return self._command(event)
            case "container_changed":
                return self._container(event)
            case "mcp_server_changed":
                return _server(event)
            case "retry":
                return self._retry(event)
            case "setting_changed":
                return [f"Setting: {event.name} is {clean(event.value)} from the next request on."]
            case "status":
                if event.status == "stopping":
                    return ["Stopping."]
                return ["Ready."] if event.status == "ready" else []
            case "cache" if event.broke:
                return [f"Cache: {event.lost:,} tokens were lost: {clean(event.detail)}"]
            case "notice":
                word = {"info": "Note", "warning": "Warning", "error": "Error"}[event.level]
                return [f"{word}: {line}" for line in plain(event.text)]
            case _:
                return []

    def _call(self, call_id: str, told: str) -> None:
        self.calls[call_id] = told
        self.numbers.setdefault(call_id, len(self.numbers) + 1)

    def _message(self, message: Any) -> list[str]:
        match message:
            case UserMessage() | CustomMessage():
                return said(message)
            case AssistantMessage():
                broke = message.stop_reason in ("error", "aborted")
                written = set() if broke else {call.id for call in message.tool_calls}
                self.calls = {i: told for i, told in self.calls.items() if i in written}
                return [*self._end(), *ending(message)]
            case BashExecutionMessage() if message.id not in self._commands:
                return [f"Command: {brief(message.command)}", *self._some(message.output)]
            case CompactionSummaryMessage():
                return ["Compaction: earlier turns were summed up."]
            case _:
                return []

    def _command(self, event: Any) -> list[str]:
        """What the user runs with ! (its output goes to the model with the next message) or !!."""
        if event.state == "running":
            if event.id in self._commands:
                return []
            self._commands.add(event.id)
            kept = ", kept out of the context" if event.exclude else ""
            return [f"Command: {brief(event.command)}{kept}"]
        self.outputs.append((f"!{event.command}", event.text))
        if event.state == "stopped":
            ended = "stopped"
        else:
            ended = "done" if not event.exit_code else f"ended with code {event.exit_code}"
        return [f"Command: {ended}.", *self._some(event.text)]

    def _tool_ended(self, event: ToolExecutionEndEvent) -> list[str]:
        name, result, ms = event.tool_name, event.result, event.duration_ms
        text = "\n".join(b.text for b in result.content if isinstance(b, TextContent))
        self.outputs.append((name, text))
        del self.outputs[:-100]
        images = sum(block.type == "image" for block in result.content)
        also = f", {counted(images, 'image')}" if images else ""
        lines = len(text.rstrip("\n").split("\n")) if text.strip() else 0
        ended = "failed" if event.is_error else "done"
        head = f"Tool {clean(name)}: {ended} after {duration(ms / 1000)}"
        return [f"{head}, {counted(lines, 'line')}{also}.", *self._some(text)]

    @staticmethod
    def _some(text: str) -> list[str]:
        lines = [line for line in without_ansi(text).split("\n") if line.strip()]
        shown = [f"  {brief(line)}" for line in lines[:OUTPUT_LINES]]
        rest = len(lines) - OUTPUT_LINES
        return (
            [*shown, f"  {counted(rest, 'more line')}; /output tells all."] if rest > 0 else (shown)
        )

    # --- the queue, the container, servers --------------------------------------------------

    def _queue_changed(self, event: QueueChangedEvent) -> list[str]:
        before, self._queue = self._queue, {item.id: item for item in event.items}
        out: list[str] = []
        for number, item in enumerate(event.items, 1):
            old = before.get(item.id)
            if old is None and item.state not in ("taken", "delivered"):
                n = len(event.items)
                waits = "message waits" if n == 1 else "messages wait"
                out.append(f"Queue: {n} {waits}. {queue_line(number, item)}")
            elif old is not None and old.state != "held" and item.state == "held":
                out.append(f"Queue: {brief(item.text)} is held; {clean(item.delivery)}")
            elif old is not None and (old.text, old.kind) != (item.text, item.kind):
                out.append(f"Queue: changed. {queue_line(number, item)}")
        if event.paused != self._paused:
            self._paused = event.paused
            if event.paused and event.items:
                out.append("Queue: paused. Enter on an empty line resumes it.")
            elif not event.paused and event.items:
                out.append("Queue: resumed.")
        return out

    def enter(self, entries: Sequence[QueueEntry], *, paused: bool) -> list[str]:
        """What waits in a session that is entered; told from then on is only what changes."""
        self._queue = {entry.id: entry for entry in entries}
        self._paused = paused
        self._container_state = ""
        self.outputs.clear()
        if not entries:
            return []
        head = f"Queue: {counted(len(entries), 'message')} of earlier. Enter on an empty line sends"
        return [f"{head}.", *(queue_line(n, e) for n, e in enumerate(entries, 1))]

    _container_state = ""

    def _container(self, event: Any) -> list[str]:
        state = f"{event.id} {event.state}"
        if state == self._container_state:
            return []
        self._container_state = state
        if not event.id:
            return ["Container: given up; the next program gets a new one."]
        name = clean(event.id)[-8:]
        match event.state:
            case "paused":
                return [f"Container {name}: paused, waits for {counted(event.pending, 'call')}."]
            case "busy":
                return [f"Container {name}: a program runs."]
            case "expired":
                return [f"Container {name}: expired."]
            case "created":
                return [f"Container {name}: created."]
            case _:
                return [f"Container {name}: idle."]

    def _retry(self, event: RetryEvent) -> list[str]:
        self._prose = None
        if not event.attempt:
            return ["Asked again. The answer before does not count."]
        reason = clean(event.reason).rstrip(".")
        if event.wait_s <= 0:
            return [f"Again: {reason}."]
        struck = " What it had said does not count." if event.strikes else ""
        return [f"Again: {reason}. Tried again in {event.wait_s:.0f} s.{struck}"]


def said(message: UserMessage | CustomMessage) -> list[str]:
    """What the user said, as it stands in the conversation."""
    texts = [b.text for b in message.content if isinstance(b, TextContent)]
    images = sum(block.type == "image" for block in message.content)
    attached = getattr(message, "attachments", ())
    own = texts[: max(1, len(texts) - sum(a.blocks for a in attached))]
    lines = [line for text in own for line in without_ansi(text).split("\n")] or [""]
    out = [f"You: {lines[0]}", *lines[1:]]
    out += [f"  with {clean(a.name)}{': ' + clean(a.about) if a.about else ''}" for a in attached]
    return [*out, f"  with {counted(images, 'image')}"] if images else out


def ending(message: AssistantMessage) -> list[str]:
    """How an answer ended, where that is not the usual way; what to do."""
    match message.stop_reason:
        case "end_turn" | "tool_use" | "pause_turn" | "compaction":
            return []
        case "aborted":
            return ["Stopped: the answer is kept as far as it came."]
        case "error":
            why = clean(message.error_message or message.error_type or "the answer broke off")
            return [f"Error: {why.rstrip('.')}. /retry asks again."]
        case "max_tokens":
            return ["Cut: the answer reached its limit. Say go on, or raise max_tokens."]
        case "model_context_window_exceeded":
            return ["Cut: the context window is full. /clear begins a new conversation."]
        case "refusal":
            details = message.stop_details or {}
            why = clean(str(details.get("explanation") or "")).rstrip(".")
            because = f": {why}" if why else ""
            return [f"Declined: the model does not answer{because}. Ask in another way."]
        case "stop_sequence":
            return [f"Ended: at the stop sequence {clean(message.stop_sequence or '')}"]
        case other:
            return [f"Ended: for a reason unknown here ({clean(other)}). Say go on to resume."]


def past(messages: Sequence[Any]) -> list[str]:
    """The last messages of a session that is gone on with."""
    told = [m for m in messages if isinstance(m, UserMessage | AssistantMessage)]
    shown = told[-SHOWN_OF_PAST:]
    out: list[str] = []
    if len(told) > len(shown):
        out.append(f"Earlier: {counted(len(told) - len(shown), 'message')} not told again.")
    for message in shown:
        if isinstance(message, UserMessage):
            out += said(message)
        else:
            lines = plain(message.text)
            out += [f"Answer: {lines[0]}", *lines[1:]] if lines else []
            out += [f"Tool {clean(call.name)}: {what_runs(call.name, call.arguments)}"
                    for call in message.tool_calls]  # fmt: skip
            out += ending(message)
    return out


def _server(event: Any) -> list[str]:
    name = clean(event.server)
    words = {
        "connected": f"connected, {counted(event.tools, 'tool')}",
        "needs_auth": f"needs a login: /mcp login {name}",
        "awaiting_approval": "waits for your approval",
    }
    told = words.get(event.state, event.state.replace("_", " "))
    why = f": {brief(event.error)}" if event.error else ""
    return [f"Server {name}: {told}{why}."]


def _ended(reason: str) -> list[str]:
    if not reason or reason == USUAL_END or reason.startswith("the request failed"):
        return []  # the answer itself has said so
    return [f"End: {clean(reason).rstrip('.')}."]


def _direct(caller: dict[str, Any] | None) -> bool:
    return caller is None or caller.get("type", "direct") == "direct"


def as_json(value: Any) -> str:
    """A value of a form, in one line."""
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
