"""Blocks of the API that are no text, thinking or client call: server tools, their results,
anything new. One line each, more when opened.

api_kinds.py says which class shows which block; ApiBlock itself shows a block of a kind
that is not known here: by its name, and as it came when it is opened.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agent_tui.text import SafeText, clean, duration
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.api_words import error_words
from agent_tui.tui.transcript.arguments import Arguments
from agent_tui.tui.transcript.blocks import DEEP, Block, Modes
from agent_tui.tui.transcript.heads import head_line
from agent_tui.tui.transcript.lines import Line, Look, Runs, lay_runs
from agent_tui.tui.transcript.parts import Part, RowPart, plain_parts

if TYPE_CHECKING:
    from agent_tui.tui.transcript.page import Page

RAW_LIMIT = 60_000
"""Characters of a block shown as it came."""


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one: what is foreign may have any shape."""
    return value if isinstance(value, Mapping) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list, whatever else is in it."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def words(value: object) -> str:
    """One safe line of a foreign value; "" for null."""
    return "" if value is None else clean(value if isinstance(value, str) else str(value))


class ApiBlock(Block):
    """A block by its name, and the result block that answers it when it has come.

    raw: as the API sent it; of a result whose call is not known, that result. result: as the
    API sent it. done: nothing more will come; stopped: it never came.
    """

    kind = "tool"
    foldable = True
    opens_while_running = False

    def __init__(self, raw: Mapping[str, Any]) -> None:
        super().__init__()
        self.raw = raw
        self.result: Mapping[str, Any] | None = None
        self.done = False
        self.stopped = False
        self.closed = False
        self.streaming = Arguments()
        self._now: Callable[[], float] | None = None
        self._began = 0.0
        self._took: float | None = None

    # --- what happens ------------------------------------------------------------------

    def start(self, clock: Callable[[], float]) -> None:
        """It begins now; seconds are shown while it runs."""
        self._now = clock
        self._began = clock()

    def placed(self, page: "Page") -> None:
        """It stands on this page now."""

    def add_arguments(self, additions: list[tuple[str, str]]) -> None:
        """Its input became readable further: (path, text) additions."""
        for path, text in additions:
            self.streaming.add(path, text)

    def close(self, raw: Mapping[str, Any]) -> None:
        """It is whole."""
        self.raw = raw
        self.closed = True
        kind = str(raw.get("type", ""))
        if kind.endswith("_tool_result"):
            self.result = raw
        self.done = not kind.endswith("_tool_use")

    def answer(self, raw: Mapping[str, Any]) -> None:
        """Its result block has come."""
        self.result = raw
        self.done, self.stopped = True, False
        if self._now is not None:
            self._took = self._now() - self._began

    def stop(self) -> None:
        """Its result will not come."""
        if not self.done:
            self.stopped = True

    @property
    def live(self) -> bool:
        return self._now is not None and not self.done and not self.stopped

    # --- what the kinds say ------------------------------------------------------------

    @property
    def arguments(self) -> Mapping[str, Any]:
        return mapping(self.raw.get("input"))

    def argument(self, key: str) -> str:
        """An argument as text, also while it streams; "" if there is none."""
        if not self.closed and (text := self.streaming.text(key)):
            return text
        value = self.arguments.get(key)
        return value if isinstance(value, str) else ""

    @property
    def content(self) -> Mapping[str, Any]:
        """The content of the result where it is an object; {} without a result."""
        return mapping((self.result or {}).get("content"))

    @property
    def error(self) -> str:
        """What went wrong, one line; "" if nothing did."""
        content = self.content
        if not str(content.get("type", "")).endswith("_error"):
            return ""
        code, message = words(content.get("error_code")), words(content.get("error_message"))
        return error_words(code) + (f": {message}" if message else "")

    @property
    def failed(self) -> bool:
        return bool(self.error or self.content.get("return_code"))

    def name(self, look: Look) -> str:
        kind = words(self.raw.get("type")) or "a block without a type"
        return words(self.raw.get("name")) or kind.removesuffix("_tool_result")

    def summary(self) -> str:
        """What it is asked, one line."""
        return tool_text.pairs(self.arguments)

    def outcome(self) -> str:
        """How it ended, one line."""
        return "" if self._is_call else "a block of a kind that is not known here"

    def body(self) -> list[Part]:
        """What stands below the line when it is open."""
        parts = raw_parts(self.raw, "muted")
        if self.result is not None and self.result is not self.raw:
            parts += raw_parts(self.result, "output")
        return parts

    # --- how it looks ------------------------------------------------------------------

    @property
    def grows(self) -> bool:
        """What streams is added to the parts it has: see grown()."""
        return False

    def grown(self) -> int:
        """After add_arguments(), where it grows: bring the parts up to date; gives the first
        that changed."""
        return 0

    def is_open(self, modes: Modes) -> bool:
        if self.expanded is not None:
            return self.expanded
        running = self.opens_while_running and not (self.done or self.stopped)
        return modes.tools_open or running

    def compose(self, modes: Modes) -> None:
        body = self.body() if self.is_open(modes) else []
        if self.error and self.is_open(modes):
            body.append(RowPart(self._whole_error, self.error))
        fold = bool(body) and not (self.done or self.stopped)
        self.parts = [RowPart(lambda look: [self._head(look, fold)]), *body]

    def _whole_error(self, look: Look) -> list[Line]:
        """The error in full, where the line above has no room for it."""
        out: list[Line] = []
        if self.error not in self._head(look, False).shown:
            lay_runs([(self.error, "failed")], look, out, DEEP)
        return out

    @property
    def _is_call(self) -> bool:
        """A call or the result of one, not a mark of its own."""
        return str(self.raw.get("type", "")).endswith(("_tool_use", "_tool_result"))

    def _head(self, look: Look, fold: bool) -> Line:
        glyphs = look.glyphs
        caller = mapping(self.raw.get("caller"))
        nested = caller.get("type") not in (None, "direct")
        runs: Runs = [(f"  {glyphs.branch} ", "rule")] if nested else []
        if fold:
            runs.append((f"{glyphs.open} ", "muted"))
        return self.title(look, runs)

    def title(self, look: Look, before: Runs) -> Line:
        """The line itself. before: what stands at its begin."""
        glyphs = look.glyphs
        if self.stopped:
            glyph, style = glyphs.stopped, "muted"
        elif self.failed:
            glyph, style = glyphs.failed, "failed"
        elif not self.done:
            glyph, style = glyphs.running, "accent"
        elif self._is_call:
            glyph, style = glyphs.done, "done"
        else:
            glyph, style = glyphs.info, "muted"
        name_style = "tool-name" if self._is_call else "muted"
        runs = [*before, (f"{glyph} ", style), (self.name(look), name_style)]
        note = self.error or ("stopped" if self.stopped else self.outcome() if self.done else "")
        note_style = "failed" if self.failed else "muted"
        note_runs: Runs = [(f"   {note}", note_style)] if note else []
        return head_line(
            runs, look, summary=self.summary(), note=note_runs, status=self._status(look)
        )

    def _status(self, look: Look) -> str:
        if self.live:
            return duration(look.now() - self._began)
        if self._took is not None and self._took >= 1:
            return duration(self._took)
        return ""

    def source(self) -> str:
        """The call in one line and what came of it; of an unknown block all of it."""
        if type(self) is ApiBlock:
            return SafeText(tool_text.pretty(self.raw))
        line = "  ".join(filter(None, [self.name(Look()), self.summary()]))
        rest = "\n".join(part.source() for part in self.body()) if self.done else ""
        return "\n".join(filter(None, [line, self.error, rest]))


def raw_parts(value: object, style: str) -> list[Part]:
    """A block as it came, as JSON; a very long one cut."""
    text = tool_text.pretty(value)
    if len(text) > RAW_LIMIT:
        text = f"{text[:RAW_LIMIT]}\n… {len(text) - RAW_LIMIT:,} more characters"
    return plain_parts(SafeText(text), style, prefix=DEEP, hard=True)
