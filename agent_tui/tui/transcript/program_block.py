"""Programs that run in the container: their code with the lines marked that made calls, what
they wait for, and (in program_tree.py) their calls and output below."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.text import SafeText, clean, count, duration
from agent_tui.tui.lines import elapsed
from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.blocks import Block, Modes
from agent_tui.tui.transcript.code import highlighter
from agent_tui.tui.transcript.heads import head_line
from agent_tui.tui.transcript.lines import Line, Look, Run, Runs
from agent_tui.tui.transcript.parts import RowPart
from agent_tui.tui.transcript.program_calls import CallState, ProgramCall, ProgramCalls, Tally
from agent_tui.tui.transcript.program_code import CodeParts, ProgramCode
from agent_tui.tui.transcript.program_lines import QUICK, ProgramLines
from agent_tui.tui.transcript.program_tree import (
    ProgramCallBlock,
    ProgramGroup,
    ProgramOutput,
    file_label,
    mark,
)

if TYPE_CHECKING:
    from agent_tui.tui.transcript.page import Page

_ID_SHOWN = 5
"""Characters of a container's id, its end."""


class ProgramBlock(ApiBlock):
    """A program: code_execution in Python, bash_code_execution in a shell.

    number: of the conversation's programs, from 1; 0 for a command line. container: the id of
    the one it runs in, as far as it is known.
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        super().__init__(raw)
        self.numbered = raw.get("name") == "code_execution"
        self.number = 0
        self.container = ""
        self.calls = ProgramCalls()
        self.output: ProgramOutput | None = None
        self._code = ProgramCode("python" if self.numbered else "bash")
        self._code_parts = CodeParts(self._code, self._gutter)
        self._lines: ProgramLines | None = None
        self._reading = False
        self._unplaced: dict[str, tuple[ProgramCall, Mapping[str, Any]]] = {}
        self._blocks: dict[str, ProgramCallBlock] = {}
        self._telling: dict[str, ProgramCallBlock] = {}
        """Those that did not simply go well: shown also where the others are one line."""
        self._grouping = False
        self._page: Page | None = None
        self._started: float | None = None
        self._seconds: float | None = None
        self._group = ProgramGroup(self)
        self._scale_shown = self.calls.scale

    # --- what happens ------------------------------------------------------------------

    def placed(self, page: "Page") -> None:
        self._page = page
        if self.numbered:
            page.programs += 1
            self.number = page.programs
        page.add(self._group, self.message_id)

    def taken_back(self) -> None:
        if self.numbered and self._page is not None:
            self._page.programs -= 1

    def add_arguments(self, additions: list[tuple[str, str]]) -> None:
        for path, text in additions:
            if path in ("code", "command"):
                self._code.feed(text)

    def close(self, raw: Mapping[str, Any]) -> None:
        super().close(raw)
        arguments = raw.get("input")
        if isinstance(arguments, Mapping):
            source = str(arguments.get("code") or arguments.get("command") or "")
            self._code_parts.whole(same=self._code.finish(source))
        if self._page is not None and not self.done and self._started is None:
            self._started = self._page.clock()
            self._page.watch(self)

    def answer(self, raw: Mapping[str, Any]) -> None:
        super().answer(raw)
        if self._page is None:
            return
        if self._started is not None and self._seconds is None:
            self._seconds = self._page.clock() - self._started
        if self.output is None or self.output.struck:
            self.output = ProgramOutput(self)
            self._page.add(self.output, self._page.message_id)
        self._touch_all()

    def stop(self) -> None:
        super().stop()
        if self.stopped:
            self._touch_all()

    # --- its calls ---------------------------------------------------------------------

    def called(self, block: ProgramCallBlock) -> ProgramCall:
        """It has made a call; gives what it keeps of it."""
        call = ProgramCall(block.call_id, str(block.name))
        was_grouped = self.calls.grouped
        self.calls.add(call)
        self._touch_last()
        self._blocks[call.id] = self._telling[call.id] = block
        if self.calls.grouped and not was_grouped:
            self._touch_all()
        return call

    def written_out(self, call: ProgramCall, tool: str, arguments: Mapping[str, Any]) -> None:
        """The arguments of a call are known: the line that made it may be found by them."""
        if call.line is None:
            self._unplaced[call.id] = (call, {"": tool, **arguments})
            self._place_calls()

    def went(self, call: ProgramCall, state: CallState, seconds: float | None) -> None:
        """A call is in another state."""
        if not self.calls.move(call, state, seconds):
            return
        if (span := self.calls.span(call, 0.0)) and self.calls.rescale(span[1]):
            for block in self.ticked():
                self._touch(block)
        self._place_calls()
        if call.line is not None:
            self._code_parts.touch_line(call.line)
        if state == "done":
            self._telling.pop(call.id, None)
        if self.calls.grouped:
            self._touch(self._group)
            self._touch_last()
        self._touch(self)

    def call_taken_back(self, call: ProgramCall) -> None:
        """The message of this call was struck."""
        self.calls.remove(call)
        self._unplaced.pop(call.id, None)
        self._blocks.pop(call.id, None)
        self._telling.pop(call.id, None)
        if call.line is not None:
            self._code_parts.touch_line(call.line)
        self._touch_all()

    @property
    def _tree(self) -> "dict[str, ProgramCallBlock]":
        """The calls that have a line of their own, as the tree was made last."""
        return self._telling if self._grouping else self._blocks

    def is_last(self, call_id: str) -> bool:
        """Whether no call that is shown stands below this one."""
        return next(reversed(self._tree), None) == call_id

    @property
    def tree_is_empty(self) -> bool:
        """No call has a line of its own."""
        return not self._tree

    def name_of(self, file_id: str) -> str:
        """The name of a file alone; "" where it is not known."""
        known = self._page.files.get(file_id) if self._page is not None else None
        return "" if known is None else clean(known[0])

    def file_name(self, file_id: str) -> str:
        """What is known of a file: its name and size, else its id."""
        known = self._page.files.get(file_id) if self._page is not None else None
        return clean(file_id) if known is None else file_label(*known)

    def files_known(self, file_ids: Iterable[str]) -> None:
        """Names of files have become known."""
        if self.output is not None and not set(self.output.file_ids).isdisjoint(file_ids):
            self._touch(self.output)

    def shows_calls(self, modes: Modes) -> bool:
        return self.is_open(modes)

    def groups(self, modes: Modes) -> bool:
        """Calls that went well are one line."""
        self._grouping = self.calls.grouped and not self._group.is_open(modes)
        return self._grouping

    def way_to_calls(self, *, one_of_many: bool) -> Iterable[Block]:
        """What must be open so that a call has its line. one_of_many: it went well."""
        return (self, self._group) if one_of_many and self.calls.grouped else (self,)

    def _touch_last(self) -> None:
        """The last call that is shown ends the tree, or does so no more."""
        if (last := next(reversed(self._tree.values()), None)) is not None:
            self._touch(last)

    def line_of(self, tool: str, arguments: Mapping[str, Any]) -> int | None:
        """The line that makes such a call, as far as the code is whole and read."""
        if not self._code.closed:
            return None
        self._read_code()
        return None if self._lines is None else self._lines.line(tool, arguments)

    def _place_calls(self) -> None:
        """Trace calls to their lines, once the code is whole and read."""
        if not self._unplaced or not self._code.closed or not self.numbered:
            return
        self._read_code()
        if self._lines is None:
            return
        for call, arguments in self._unplaced.values():
            given = {name: value for name, value in arguments.items() if name}
            line = self._lines.line(str(arguments[""]), given)
            if line is not None and line <= len(self._code.starts):
                self.calls.place(call, line)
                self._code_parts.touch_line(line)
                self._touch(self)
        self._unplaced.clear()

    def _read_code(self) -> None:
        if self._lines is not None:
            return
        arguments = self.raw.get("input")
        source = str(arguments.get("code") or "") if isinstance(arguments, Mapping) else ""
        if len(source) <= QUICK:
            self._lines = ProgramLines(source)
        elif not self._reading:
            self._reading = True

            def read() -> None:  # the next event of a call finds it
                self._lines = ProgramLines(source)

            highlighter.submit(read)

    # --- how it looks ------------------------------------------------------------------

    @property
    def live(self) -> bool:
        return self._started is not None and not self.done and not self.stopped

    @property
    def grows(self) -> bool:
        return len(self.parts) > 1 and not self._code.closed

    def grown(self) -> int:
        first = self._code_parts.grown()
        self.parts[1 + first :] = self._code_parts.parts[first:]
        return 1 + first

    def is_open(self, modes: Modes) -> bool:
        if self.expanded is not None:
            return self.expanded
        return modes.tools_open or not (self.done or self.stopped)

    def compose(self, modes: Modes) -> None:
        opened = self.is_open(modes)
        if opened and not self._code.closed:
            self._code_parts.grown()
        self.parts = [
            RowPart(lambda look: [self._line(look, opened=opened)]),
            *(self._code_parts.parts if opened else ()),
        ]

    def dependents(self) -> Iterable[Block]:
        below = [self._group, *self._blocks.values()]
        return below if self.output is None else [*below, self.output]

    def ticked(self) -> Iterable[Block]:
        """Bars that stand for another time now, as one of them ran past their end."""
        if self.calls.scale == self._scale_shown:
            return ()
        self._scale_shown = self.calls.scale
        return self._blocks.values()

    def _touch(self, block: Block) -> None:
        if self._page is not None and block.index >= 0:
            self._page.touch(block)

    def _touch_all(self) -> None:
        self._touch(self)
        for block in self.dependents():
            self._touch(block)

    def _gutter(self, number: int, look: Look) -> tuple[Run, str]:
        tally = self.calls.lines.get(number)
        if tally is None or not tally.total:
            return ("", ""), ""
        return mark(tally.state, look), _line_note(tally, timed=self.calls.timed)

    def _line(self, look: Look, *, opened: bool) -> Line:
        glyphs = look.glyphs
        ended = self.done or self.stopped
        runs: Runs = []
        if opened and not ended:
            runs.append((f"{glyphs.open} ", "muted"))
        elif self.stopped:
            runs.append((f"{glyphs.stopped} ", "muted"))
        else:
            runs.append(
                (f"{glyphs.failed} ", "failed") if self.failed else (f"{glyphs.done} ", "done")
            )
        what = f"program {self.number}" if self.number else "command line"
        runs += [(f"{glyphs.program} ", "accent"), (what, "tool-name")]
        status, style = self._state(look)
        note: Runs = []
        if ended and not opened and self.output is not None and (first := self.output.first_line):
            note.append((f"   {first}", "failed" if self.failed else "muted"))
        return head_line(
            runs, look, summary=self._about(look, opened), note=note, status=status,
            status_style=style,
        )  # fmt: skip

    def _about(self, look: Look, opened: bool) -> str:
        if not self._code.closed:
            return ""  # it would not be drawn anew with each line
        lines = len(self._code.starts)
        sizes = [f"{count(lines)} line{'' if lines == 1 else 's'}"]
        if total := self.calls.all.total:
            sizes.append(f"{count(total)} call{'' if total == 1 else 's'}")
        if failed := self.calls.all.counts["failed"]:
            sizes.append(f"{count(failed)} failed")
        if opened and self.container:
            return f"in container {short_id(self.container, look)}"
        return ", ".join(sizes)

    def _state(self, look: Look) -> tuple[str, str]:
        """What it is at, and the style of that."""
        if self.stopped:
            return "stopped", "muted"
        if self.done:
            words = [duration(self._seconds)] if self._seconds and self._seconds >= 1 else []
            return "  ".join([*self._exit(), *words]), "failed" if self.failed else "muted"
        if not self._code.closed:
            return "being written", "muted"
        if waiting := self.calls.all.unanswered:
            asks = self.calls.all.counts["waiting"]
            return ("waiting for you" if asks else f"paused for {count(waiting)}"), "waiting"
        if self._started is None:
            return "", "muted"
        return f"running {elapsed(look.now() - self._started)}", "accent"

    def _exit(self) -> list[str]:
        content = (self.result or {}).get("content")
        if not isinstance(content, Mapping):
            return []
        if code := content.get("return_code"):
            return [clean(f"exit {code}")]
        return [clean(str(content["error_code"]).replace("_", " "))] if self.failed else []

    def source(self) -> str:
        return SafeText(self._code.text.rstrip("\n") + self._code.partial)


def _line_note(tally: Tally, *, timed: bool) -> str:
    """What a line has called, where that is more than its mark says: "20 calls  1.9 s"."""
    if tally.total < 2:
        return ""
    words = [f"{count(tally.total)} calls"]
    if failed := tally.counts["failed"]:
        words[0] += f", {count(failed)} failed"
    if tally.seconds and timed:
        words.append(duration(tally.seconds))
    return "  ".join(words)


def short_id(container: str, look: Look) -> str:
    """The end of a container's id."""
    shown = clean(container[-_ID_SHOWN:])
    return f"{look.glyphs.ellipsis}{shown}" if len(container) > _ID_SHOWN else shown
