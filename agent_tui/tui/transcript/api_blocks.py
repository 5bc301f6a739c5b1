"""Blocks of the API that are no text, thinking or client call: server tools, their results,
anything new. One line each, more when opened.

api_kinds.py says which class shows which block; a class here or there that fits none shows
the block by its name.
"""

from collections.abc import Mapping
from typing import Any

from agent_tui.text import SafeText, clean
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.blocks import DEEP, Block, Modes
from agent_tui.tui.transcript.lines import Line, Look, Runs, row
from agent_tui.tui.transcript.parts import Part, RowPart, plain_parts


class ApiBlock(Block):
    """A block by its name, and the result block that answers it when it has come.

    raw, result: as the API sent them. done: nothing more will come; stopped: it never came.
    """

    kind = "tool"
    foldable = True

    def __init__(self, raw: Mapping[str, Any]) -> None:
        super().__init__()
        self.raw = raw
        self.result: Mapping[str, Any] | None = None
        self.done = False
        self.stopped = False

    # --- what happens ------------------------------------------------------------------

    def add_arguments(self, additions: list[tuple[str, str]]) -> None:
        """Its input became readable further: (path, text) additions."""

    def close(self, raw: Mapping[str, Any]) -> None:
        """It is whole."""
        self.raw = raw
        self.done = raw.get("type") != "server_tool_use"

    def answer(self, raw: Mapping[str, Any]) -> None:
        """Its result block has come."""
        self.result = raw
        self.done, self.stopped = True, False

    def stop(self) -> None:
        """Its result will not come."""
        if not self.done:
            self.stopped = True

    @property
    def failed(self) -> bool:
        content = (self.result or self.raw).get("content")
        if not isinstance(content, Mapping):
            return False
        return str(content.get("type", "")).endswith("_error") or bool(content.get("return_code"))

    # --- how it looks ------------------------------------------------------------------

    def is_open(self, modes: Modes) -> bool:
        return modes.tools_open if self.expanded is None else self.expanded

    def compose(self, modes: Modes) -> None:
        body = self._body() if self.is_open(modes) else []
        fold = bool(body) and not (self.done or self.stopped)
        self.parts = [RowPart(lambda look: [self._head(look, fold)]), *body]

    def _body(self) -> list[Part]:
        """What stands below the line when it is open."""
        parts = plain_parts(SafeText(tool_text.pretty(self.raw)), "muted", prefix=DEEP, hard=True)
        if self.result is not None:
            text = tool_text.pretty(self.result)
            parts += plain_parts(SafeText(text), "output", prefix=DEEP, hard=True)
        return parts

    def _head(self, look: Look, fold: bool) -> Line:
        glyphs = look.glyphs
        runs: Runs = [(f"{glyphs.open} ", "muted")] if fold else []
        if self.stopped:
            glyph, style = glyphs.stopped, "muted"
        elif self.failed:
            glyph, style = glyphs.failed, "failed"
        elif not self.done:
            glyph, style = glyphs.running, "accent"
        else:
            glyph, style = glyphs.done, "done"
        return row([*runs, *self._title(look, glyph, style)], look, lead=0)

    def _title(self, look: Look, glyph: str, style: str) -> Runs:
        """The line itself. glyph, style: of its state."""
        kind = clean(str(self.raw.get("type", "block")))
        name = clean(str(self.raw.get("name", ""))) or kind.removesuffix("_tool_result")
        known = kind == "server_tool_use" or kind.endswith("_tool_result")
        runs: Runs = [(f"{glyph if known else look.glyphs.info} ", style if known else "muted")]
        runs.append((name, "tool-name" if known else "muted"))
        arguments = self.raw.get("input")
        if isinstance(arguments, Mapping) and arguments:
            runs.append((f"  {tool_text.pairs(arguments)}", "tool-summary"))
        return runs

    def source(self) -> str:
        return SafeText(tool_text.pretty(self.raw))
