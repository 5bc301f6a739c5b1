"""Blocks of tool calls and of the API's other blocks: one line each, more when opened.

While something happens (arguments stream, a command writes) a window of the last lines
stands below the line; when it is done the line stays and the rest folds.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

from agent_tui.agent.messages import ImageContent, ToolResultMessage
from agent_tui.text import SafeText, clean, duration
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.arguments import Arguments, Tail
from agent_tui.tui.transcript.blocks import DEEP, Block, Modes, ansi_lines, output_parts
from agent_tui.tui.transcript.code import Code, code_parts
from agent_tui.tui.transcript.heads import head_line
from agent_tui.tui.transcript.images import ShownImage, image_part
from agent_tui.tui.transcript.lines import Line, Look, Prefix, Runs
from agent_tui.tui.transcript.parts import (
    Part,
    Picture,
    RowPart,
    cut_runs,
    lines_to_parts,
    plain_parts,
)

State = Literal["arguments", "pending", "waiting", "ready", "running", "done", "failed", "stopped"]

WINDOW = 12
"""Lines of streaming arguments shown below a call."""

MOST_OF_CUT = 400
"""Lines shown of the arguments of a call that was stopped while they streamed: the last ones."""

OUTPUT_WINDOW = 8
"""Lines of live output shown below a running call."""

_DEEP_CODE = Prefix([("    ", "")], [("    ", "")])


class ToolBlock(Block):
    """One tool call from its first argument to its result."""

    kind = "tool"
    foldable = True

    def __init__(self, call_id: str, name: str, clock: Callable[[], float]) -> None:
        super().__init__()
        self.call_id = call_id
        self.name = clean(name)
        self.state: State = "arguments"
        self.caller: Mapping[str, Any] | None = None
        self.result: ToolResultMessage | None = None
        self._clock = clock
        self._tool = name
        self._arguments: Mapping[str, Any] = {}
        self._summary_text = ""
        self._streaming = Arguments()
        self._output = Tail()
        self._progress = ""
        self._started: float | None = None
        self._announced = False
        self._was_cut = False
        self._unknown = False
        self._seconds: float | None = None
        self._most_lines: int | None = None
        """Lines of the result that are made into parts; _cut_lines: how many were not."""
        self._cut_lines = 0

    # --- what happens ------------------------------------------------------------------

    def add_arguments(self, additions: list[tuple[str, str]]) -> None:
        for path, text in additions:
            self._streaming.add(path, text)

    def cut(self, additions: list[tuple[str, str]]) -> None:
        """The user stopped it while its arguments streamed: what had come of them stays.
        additions: that, where it was not seen as it came."""
        self.add_arguments(additions)
        found = {path: self._streaming.text(path) for path in self._streaming.tails}
        self._summary_text = tool_text.summary(self._tool, found)
        self._was_cut = True
        self.state = "stopped"

    def will_not_run(self) -> None:
        """The user stopped it before it began; what has come of its arguments stays, and its end
        comes later."""
        if self.state in ("arguments", "pending"):
            self.state = "stopped"

    def set_arguments(self, arguments: Mapping[str, Any]) -> None:
        if self._was_cut:
            return
        self._arguments = arguments
        self._summary_text = tool_text.summary(self._tool, arguments)
        self._streaming = Arguments()
        if self.state == "arguments":
            self.state = "pending"

    def start(self) -> None:
        if self.state in ("arguments", "pending"):
            self.state = "running"
        self._announced = True
        if self._started is None:
            self._started = self._clock()

    def ask(self) -> None:
        self.state, self._started = "waiting", None

    def answered(self) -> None:
        """It may run; release() says when it does."""
        if self.state == "waiting":
            self.state = "ready"

    def hold(self) -> bool:
        """Another call of the message asks first: none runs before all may (DESIGN, tools).
        True when that changed what is shown."""
        if self.state != "running" or self._output or self._progress:
            return False
        self.state, self._started = "ready", None
        return True

    def release(self) -> bool:
        if self.state != "ready":
            return False
        self.state = "pending"
        if self._announced:
            self.start()
        return True

    def update(self, partial: Any) -> None:
        """Live output: text is added, {"progress", "total"} shown, other values as JSON."""
        self.release()  # what writes does run
        if isinstance(partial, str):
            self._output.add(partial)
        elif isinstance(partial, Mapping):
            progress, total = partial.get("progress"), partial.get("total")
            message = partial.get("message")
            if isinstance(progress, int | float):
                share = f"{progress:g} of {total:g}" if isinstance(total, int | float) else ""
                self._progress = clean(" ".join(filter(None, [share, str(message or "")])))
            elif isinstance(text := partial.get("text", partial.get("output")), str):
                self._output.add(text)
            else:
                self._output.add(tool_text.pretty(partial) + "\n")
        else:
            self._output.add(tool_text.pretty(partial) + "\n")

    def end(
        self, result: ToolResultMessage, duration_ms: int | None, is_error: bool | None = None
    ) -> None:
        self.result = result
        if duration_ms is not None:
            self._seconds = duration_ms / 1000
        if tool_text.was_stopped(result):
            self.state = "stopped"
        else:
            failed = result.is_error if is_error is None else is_error
            self.state = "failed" if failed else "done"
        self._output = Tail()
        self._progress = ""

    def stop(self) -> None:
        """It will not come to an end: cut while its arguments streamed, or never run."""
        if self.state not in ("done", "failed", "stopped"):
            self.state = "stopped"
            self._streaming = Arguments()

    def unanswered(self) -> None:
        """A stored history holds no result of it: it was killed with the program, and whether it
        ran is not known."""
        self._unknown = self.state not in ("done", "failed", "stopped")
        self.stop()

    # --- how it looks ------------------------------------------------------------------

    @property
    def live(self) -> bool:
        return self.state == "running"

    @property
    def busy(self) -> bool:
        return self.state in ("arguments", "waiting", "running")

    def is_open(self, modes: Modes) -> bool:
        if self.expanded is not None:
            return self.expanded
        return self.busy or modes.tools_open

    def compose(self, modes: Modes) -> None:
        body = self._body() if self.is_open(modes) else []
        folded = bool(body) and self.busy
        self.parts = [
            RowPart(lambda look: [self._head(look, fold=folded)]),
            *body,
        ]

    def _body(self) -> list[Part]:
        if self.state == "arguments":
            lines = self._streaming.window(self._tool, WINDOW)
            if self._tool == "shell" and len(lines) <= 1:
                return []
            return lines_to_parts(lines, prefix=DEEP, hard=True)
        if self.state == "running":
            if not self._output:
                return []
            text = self._output.last(OUTPUT_WINDOW + 1).removesuffix("\n")
            lines = ansi_lines("\n".join(text.split("\n")[-OUTPUT_WINDOW:]), "output")
            return lines_to_parts(lines[-OUTPUT_WINDOW:], prefix=DEEP, hard=True)
        if self._was_cut:
            lines = self._streaming.window(self._tool, MOST_OF_CUT)
            # Its result says them once more, for the model.
            return lines_to_parts(lines, prefix=DEEP, hard=True)
        parts = self._argument_parts()
        if self.result is not None:
            parts += self._result_parts(self.result)
        return parts

    def _argument_parts(self) -> list[Part]:
        arguments = self._arguments
        if self.state == "waiting" and self._tool == "shell":
            return []  # the question below shows the whole command
        match self._tool:
            case "shell":
                command = str(arguments.get("command", ""))
                if tool_text.fits_its_line(command):
                    return []
                return plain_parts(SafeText(command.strip()), "code", prefix=DEEP)
            case "edit":
                if self._diff():
                    return []
                lines: list[Runs] = [
                    [(SafeText(text), style)] for text, style in tool_text.edit_lines(arguments)
                ]
                return lines_to_parts(lines, prefix=DEEP, hard=True)
            case "write":
                if self._diff():
                    return []
                content = SafeText(str(arguments.get("content", ""))).removesuffix("\n")
                code = Code(f"file:{arguments.get('path', '')}", content.split("\n"), closed=True)
                return code_parts(code, prefix=_DEEP_CODE)
            case "read" | "list" | "glob" | "grep":
                return []
            case _:
                rows = [runs for row in tool_text.table(arguments) for runs in cut_runs(row)]
                return lines_to_parts(rows, prefix=DEEP, hard=True)

    def _diff(self) -> str:
        details = self.result.details if self.result else None
        diff = details.get("diff") if isinstance(details, Mapping) else None
        return diff if isinstance(diff, str) else ""

    def _result_parts(self, result: ToolResultMessage) -> list[Part]:
        if (diff := self._diff()) and not result.is_error:
            lines: list[Runs] = [
                [(line, tool_text.diff_style(line))]
                for line in SafeText(diff).rstrip("\n").split("\n")
                if not line.startswith(("---", "+++"))
            ]
            return lines_to_parts(lines, prefix=DEEP, hard=True)
        parts: list[Part] = []
        if result.text.strip():
            details = result.details if isinstance(result.details, Mapping) else {}
            styled = details.get("styled")
            text = styled if isinstance(styled, str) and styled.strip() else result.text
            # An error is a sentence of ours; output may be a table.
            sentence = result.is_error and self._tool != "shell"
            style = "failed" if sentence else "output"
            if self._most_lines is not None:
                text, self._cut_lines = tool_text.first_lines(text, self._most_lines)
            parts += output_parts(text, style, hard=not sentence)
        for block in result.content:
            if block.type == "image":
                parts.append(image_part(self._image(block), DEEP))
        return parts

    def _image(self, block: ImageContent) -> ShownImage:
        name = PurePath(self._summary_text).name if self._tool == "read" else ""
        return ShownImage.of(block, name)

    def pictures(self) -> list[Picture]:
        """Those of its result, also where they are folded away."""
        content = self.result.content if self.result is not None else []
        return [self._image(block) for block in content if isinstance(block, ImageContent)]

    def _head(self, look: Look, *, fold: bool) -> Line:
        glyphs = look.glyphs
        nested = self.caller is not None
        runs: Runs = [(f"  {glyphs.branch} ", "rule")] if nested else []
        if fold:
            runs.append((f"{glyphs.open} ", "muted"))
        glyph, style = {
            "arguments": (glyphs.running, "accent"),
            "pending": (glyphs.running, "muted"),
            "waiting": (glyphs.paused, "waiting"),
            "ready": (glyphs.running, "muted"),
            "running": (glyphs.running, "accent"),
            "done": (glyphs.done, "done"),
            "failed": (glyphs.failed, "failed"),
            "stopped": (glyphs.stopped, "muted"),
        }[self.state]
        runs += [(f"{glyph} ", style), (self.name, "tool-name")]
        note: Runs = []
        if text := self._note():
            note.append((f"   {text}", "failed" if self.state == "failed" else "muted"))
        style = "waiting" if self.state == "waiting" else "muted"
        return head_line(
            runs,
            look,
            summary=self._summary(),
            note=note,
            status=self._status(look),
            status_style=style,
        )

    def _summary(self) -> str:
        if self.state != "arguments":
            return self._summary_text
        main = tool_text.main_argument(self._tool)
        if main is not None:
            text = self._streaming.text(main).strip()
            first = clean(text.partition("\n")[0][:200])
            return f'"{first}"' if first and self._tool in ("grep", "glob") else first
        return ""

    def _note(self) -> str:
        if self._was_cut:
            why = tool_text.why_cut(self.result) if self.result is not None else ""
            return f"stopped while it was written: {why}" if why else "stopped while it was written"
        if self._unknown and self.result is None:
            return tool_text.NO_RESULT
        if self.state == "stopped":
            ran = self._started is not None if self.result is None else self._ran(self.result)
            return "stopped" if ran else "not run"
        if self.result is not None:
            return tool_text.outcome(self._tool, self.result)
        return ""

    def _ran(self, result: ToolResultMessage) -> bool:
        return not result.text.startswith(tool_text.NOT_RUN)

    def _status(self, look: Look) -> str:
        match self.state:
            case "arguments":
                return "arguments streaming"
            case "waiting":
                return "waiting for approval"
            case "ready":
                return "ready"
            case "running" if self._started is not None:
                elapsed = duration(look.now() - self._started)
                return f"{self._progress}  {elapsed}" if self._progress else elapsed
            case "done" | "failed" if self._seconds is not None and self._seconds >= 1:
                return duration(self._seconds)
            case _:
                return ""

    def texts(self, first: int = 0) -> Sequence[str]:
        """The call in one line, its arguments, its result."""
        pieces = [
            f"{self.name} {self._summary_text}\n",
            self._readable_arguments() + "\n",
            self._diff() or (self.result.text if self.result is not None else ""),
        ]
        return pieces[first:]

    def _readable_arguments(self) -> str:
        if self._was_cut:
            lines = self._streaming.window(self._tool, MOST_OF_CUT)
            return "\n".join("".join(text for text, _ in line) for line in lines)
        return "" if self._diff() else tool_text.readable(self._tool, self._arguments)

    def source(self) -> str:
        """The call in one line and its result."""
        text = f"{self.name} {self._summary_text}".rstrip()
        if self.result is not None and self.result.text:
            text += "\n" + SafeText(self.result.text)
        return text
