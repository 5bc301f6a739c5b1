"""What stands below the code of a program: its calls as a tree with bars of their times, those
that went well in one line where there are many, and at the end what the program wrote."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.segment import Segment

from agent_tui.agent.messages import ToolResultMessage
from agent_tui.text import clean, count, duration, file_size
from agent_tui.tui.transcript.blocks import Block, Modes, output_parts
from agent_tui.tui.transcript.heads import head_line
from agent_tui.tui.transcript.images import PICTURE_ENDINGS, ContainerImage, ImagePart
from agent_tui.tui.transcript.lines import Line, Look, Prefix, Run, Runs, row
from agent_tui.tui.transcript.parts import Part, Picture, RowPart, cut_parts
from agent_tui.tui.transcript.program_calls import CallState, ProgramCall, bar_cells
from agent_tui.tui.transcript.tool_blocks import State, ToolBlock

if TYPE_CHECKING:
    from agent_tui.tui.transcript.program_block import ProgramBlock

BAR = 12
"""Cells of a bar."""

NESTED = 4
"""Source lines of a call that are shown where all calls are opened at once: a program may make
hundreds, each with hundreds of lines."""

_BAR_FROM, _SHORT_BAR_FROM = 64, 44
"""Widths from which there is room for a bar, and for one of half the length."""

_TIME_CELLS = 7
_STEM_CELLS = 5
_OUTPUT = Prefix([("   ", "")], [("   ", "")])

_STATES: Mapping[State, CallState] = {
    "arguments": "open", "pending": "open", "ready": "open", "waiting": "waiting",
    "running": "running", "done": "done", "failed": "failed", "stopped": "stopped",
}  # fmt: skip


def mark(state: CallState, look: Look) -> Run:
    """The glyph of a call's state, and its style."""
    glyphs = look.glyphs
    return {
        "open": (glyphs.running, "muted"),
        "waiting": (glyphs.paused, "waiting"),
        "running": (glyphs.running, "accent"),
        "done": (glyphs.done, "done"),
        "failed": (glyphs.failed, "failed"),
        "stopped": (glyphs.stopped, "muted"),
    }[state]


class ProgramCallBlock(ToolBlock):
    """A call that a program made: one line of its tree; more when it is opened."""

    def __init__(
        self, call_id: str, name: str, clock: Callable[[], float], program: "ProgramBlock"
    ) -> None:
        super().__init__(call_id, name, clock)
        self._program = self.below = program
        self._hidden = 0
        """Lines of it that are not shown."""
        self._call: ProgramCall = program.called(self)

    # --- what happens: as for any call, and the program hears of it ------------------------

    def set_arguments(self, arguments: Mapping[str, Any]) -> None:
        super().set_arguments(arguments)
        self._program.written_out(self._call, self._tool, arguments)
        self._tell()

    def start(self) -> None:
        super().start()
        self._tell()

    def ask(self) -> None:
        super().ask()
        self._tell()

    def answered(self) -> None:
        super().answered()
        self._tell()

    def hold(self) -> bool:
        held = super().hold()
        self._tell()
        return held

    def release(self) -> bool:
        released = super().release()
        self._tell()
        return released

    def end(
        self, result: ToolResultMessage, duration_ms: int | None, is_error: bool | None = None
    ) -> None:
        super().end(result, duration_ms, is_error)
        self._tell()

    def stop(self) -> None:
        super().stop()
        self._tell()

    def taken_back(self) -> None:
        """Its message was struck."""
        self._program.call_taken_back(self._call)

    def _tell(self) -> None:
        self._program.went(self._call, _STATES[self.state], self._seconds)

    # --- how it looks ------------------------------------------------------------------

    def is_open(self, modes: Modes) -> bool:
        if self.expanded is not None:
            return self.expanded
        return self.state == "waiting" or modes.tools_open

    def toggle(self, modes: Modes) -> None:
        """From one line or the first lines of what it holds to the whole, and back."""
        self.expanded = self._hidden > 0 or not self.is_open(modes)

    def folds_at(self, part: int) -> bool:
        return part == 0 or (self._hidden > 0 and part == len(self.parts) - 1)

    def compose(self, modes: Modes) -> None:
        program = self._program
        self._hidden = 0
        one_of_many = program.groups(modes) and self.state == "done"
        if not program.shows_calls(modes) or one_of_many:
            self.parts = []
            return
        cut = self.expanded is None and self.state != "waiting"
        self._most_lines, self._cut_lines = NESTED if cut else None, 0
        body = self._body() if self.is_open(modes) else []
        if cut:
            body, self._hidden = cut_parts(body, NESTED)
            self._hidden += self._cut_lines
            if self._hidden:
                body.append(RowPart(lambda look: [self._more(look)]))
        self.parts = [
            RowPart(lambda look: [self._head(look, fold=False)]),
            *(_Below(part, self._stem) for part in body),
        ]

    def way_in(self) -> Iterable[Block]:
        return (*self._program.way_to_calls(one_of_many=self.state == "done"), self)

    def _more(self, look: Look) -> Line:
        lines = "line" if self._hidden == 1 else "lines"
        text = f"{look.glyphs.ellipsis} {count(self._hidden)} more {lines}"
        return row([("    ", ""), (text, "muted")], look)

    def _stem(self, look: Look) -> str:
        """What goes on of the tree beside the lines below a call."""
        last = self._program.is_last(self.call_id)
        return "   " + ("  " if last else f"{look.glyphs.column} ")

    def _head(self, look: Look, *, fold: bool) -> Line:
        program, call = self._program, self._call
        glyphs = look.glyphs
        branch = glyphs.branch_end if program.is_last(self.call_id) else glyphs.branch
        glyph, style = mark(call.state, look)
        runs: Runs = [(f"   {branch} ", "rule"), (f"{glyph} ", style), (self.name, "tool-name")]
        note: Runs = []
        if self.state in ("failed", "stopped") and (text := self._note()):
            note.append((f"   {text}", "failed" if self.state == "failed" else "muted"))
        status, style = self._timing(look)
        return head_line(
            runs, look, summary=self._summary(), note=note, status=status, status_style=style
        )

    def _timing(self, look: Look) -> tuple[str, str]:
        """The bar and how long it took; what it waits for while it does not run."""
        match self.state:
            case "waiting":
                return "waiting for you", "waiting"
            case "ready" | "pending" | "arguments":
                return "next", "muted"
            case _:
                pass
        running_for = 0.0
        if self.state == "running" and self._started is not None:
            running_for = look.now() - self._started
        calls = self._program.calls
        span = calls.span(self._call, running_for)
        if span is None:
            return "", "muted"
        calls.rescale(span[1])
        time = duration(span[1] - span[0])
        style = "accent" if self.state == "running" else "muted"
        return _bar(span, calls.scale, look) + f" {time:>{_TIME_CELLS}}", style


class _Below(Part):
    """A part that stands below a call: moved to the right, the stem of the tree beside it."""

    __slots__ = ("_part", "_stem", "pictures")

    def __init__(self, part: Part, stem: Callable[[Look], str]) -> None:
        super().__init__(part.gap)
        self.pictures = part.pictures
        self._part = part
        self._stem = stem

    def estimate(self, width: int) -> int:
        return self._part.estimate(max(1, width - _STEM_CELLS))

    def lay_out(self, look: Look) -> list[Line]:
        stem = Segment(self._stem(look), look.palette["rule"])
        lines = self._part.lay_out(replace(look, width=max(8, look.width - _STEM_CELLS)))
        for line in lines:
            line.segments.insert(0, stem)
            line.lead += len(stem.text)
        return lines

    def source(self) -> str:
        return self._part.source()


class ProgramGroup(Block):
    """The calls that went well, in one line where a program makes many; opened, each has its
    own again."""

    kind = "tool"
    foldable = True

    def __init__(self, program: "ProgramBlock") -> None:
        super().__init__()
        self._program = program

    def is_open(self, modes: Modes) -> bool:
        return modes.tools_open if self.expanded is None else self.expanded

    def compose(self, modes: Modes) -> None:
        calls = self._program.calls
        shown = self._program.shows_calls(modes) and calls.grouped and calls.all.counts["done"]
        opened = self.is_open(modes)
        self.parts = [RowPart(lambda look: [self._line(look, opened)])] if shown else []

    def dependents(self) -> Iterable[Block]:
        return self._program.dependents()

    def _line(self, look: Look, opened: bool) -> Line:
        glyphs, calls = look.glyphs, self._program.calls
        names = [f"{count(n)} {clean(name)}" for name, n in calls.done.most_common() if n]
        fold = glyphs.open if opened else glyphs.folded
        branch = glyphs.branch_end if self._program.tree_is_empty else glyphs.branch
        runs: Runs = [
            (f"   {branch} ", "rule"), (f"{fold} ", "muted"), (f"{glyphs.done} ", "done"),
            (", ".join(names), "tool-name"),
        ]  # fmt: skip
        seconds = calls.all.seconds
        return head_line(runs, look, status=duration(seconds) if seconds and calls.timed else "")

    def source(self) -> str:
        return ""


class ProgramOutput(Block):
    """What a program wrote, and the files it made: shown with its code."""

    kind = "tool"

    def __init__(self, program: "ProgramBlock") -> None:
        super().__init__()
        self._program = program
        content = (program.result or {}).get("content")
        self._content: Mapping[str, Any] = content if isinstance(content, Mapping) else {}

    @property
    def first_line(self) -> str:
        text = next((t for t, _ in self._texts() if t.strip()), "")
        return clean(text.strip().partition("\n")[0][:120])

    @property
    def file_ids(self) -> list[str]:
        listed = self._content.get("content")
        if not isinstance(listed, list):
            return []
        return [str(f["file_id"]) for f in listed if isinstance(f, Mapping) and f.get("file_id")]

    def compose(self, modes: Modes) -> None:
        self.parts = []
        if not self._program.is_open(modes):
            return
        for text, style in self._texts():
            self.parts += output_parts(text, style, _OUTPUT)
        if files := self._files():
            self.parts.append(ImagePart(f"made {files}", self.pictures(), "muted", _OUTPUT))

    def _texts(self) -> list[tuple[str, str]]:
        """The pieces of the output and their styles."""
        content = self._content
        failed = "failed" if self._program.failed else "output"
        pieces = [(content.get("stdout"), "output"), (content.get("stderr"), failed)]
        if code := content.get("error_code"):
            pieces.append((f"it ended with the error {str(code).replace('_', ' ')}", "failed"))
        if content.get("encrypted_stdout"):
            pieces.append(("its output is encrypted: only the model reads it", "muted"))
        return [(text, style) for text, style in pieces if isinstance(text, str) and text.strip()]

    def way_in(self) -> Iterable[Block]:
        return (self._program,)

    def pictures(self) -> list[Picture]:
        """Files of it that are images by their names."""
        named = ((id, self._program.name_of(id)) for id in self.file_ids)
        return [ContainerImage(id, n) for id, n in named if n.lower().endswith(PICTURE_ENDINGS)]

    def _files(self) -> str:
        return ", ".join(self._program.file_name(id) for id in self.file_ids)

    def source(self) -> str:
        return "\n".join(str(part.source()) for part in self._source_parts())

    def _source_parts(self) -> list[Part]:
        return [p for text, style in self._texts() for p in output_parts(text, style, _OUTPUT)]


def _bar(span: tuple[float, float], scale: float, look: Look) -> str:
    cells = BAR if look.width >= _BAR_FROM else BAR // 2 if look.width >= _SHORT_BAR_FROM else 0
    if not cells:
        return ""
    glyphs = look.glyphs
    start, end = bar_cells(span, scale, cells)
    bar = " " * start + glyphs.bar * (end - start) + " " * (cells - end)
    return glyphs.bar_left + bar + glyphs.bar_right


def file_label(name: str, size: object) -> str:
    """`chart.png 44 kB`."""
    return f"{clean(name)} {file_size(size)}" if isinstance(size, int) else clean(name)
