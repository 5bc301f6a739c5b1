"""Blocks of the API that are no text, thinking or client call: server tools, their results,
programs in the container, anything new."""

from collections.abc import Mapping
from typing import Any

from agent_tui.text import SafeText, clean, count
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.arguments import Arguments
from agent_tui.tui.transcript.blocks import DEEP, Block, Modes, output_parts
from agent_tui.tui.transcript.code import Code, CodePart, code_parts
from agent_tui.tui.transcript.lines import Line, Look, Runs, row
from agent_tui.tui.transcript.parts import Part, RowPart, plain_parts
from agent_tui.tui.transcript.tool_blocks import WINDOW


class ApiBlock(Block):
    """A block of the API that is no text, thinking or client call: a program in the
    container, a server tool, its result, anything new."""

    kind = "tool"
    foldable = True

    def __init__(self, raw: Mapping[str, Any]) -> None:
        super().__init__()
        self.raw = raw
        self.result: Mapping[str, Any] | None = None
        self.done = False
        self.stopped = False
        self._code = Code("python")
        self._streaming = Arguments()
        self._rest = ""

    @property
    def program(self) -> bool:
        return str(self.raw.get("name", "")) in ("code_execution", "bash_code_execution")

    def add_arguments(self, additions: list[tuple[str, str]]) -> None:
        for path, text in additions:
            self._streaming.add(path, text)
            if self.program and path in ("code", "command"):
                *lines, self._rest = (self._rest + SafeText(text)).split("\n")
                self._code.lines += lines
                self._code.partial = self._rest

    def close(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        arguments = raw.get("input")
        if self.program and isinstance(arguments, Mapping):
            text = str(arguments.get("code") or arguments.get("command") or "")
            language = "python" if arguments.get("code") else "bash"
            self._code = Code(language, SafeText(text).rstrip("\n").split("\n"), closed=True)
        self._streaming = Arguments()
        self.done = raw.get("type") != "server_tool_use"

    def answer(self, raw: Mapping[str, Any]) -> None:
        """Its result block has come."""
        self.result = raw
        self.done, self.stopped = True, False

    def stop(self) -> None:
        if not self.done:
            self.stopped = True

    @property
    def failed(self) -> bool:
        content = (self.result or self.raw).get("content")
        if not isinstance(content, Mapping):
            return False
        return str(content.get("type", "")).endswith("_error") or bool(content.get("return_code"))

    def is_open(self, modes: Modes) -> bool:
        if self.expanded is not None:
            return self.expanded
        return modes.tools_open or (self.program and not self.done and not self.stopped)

    def compose(self, modes: Modes) -> None:
        opened = self.is_open(modes)
        body: list[Part] = []
        if opened and self.program:
            if self._code.closed:
                body = code_parts(self._code, prefix=DEEP)
            else:
                start = max(0, len(self._code.lines) - WINDOW)
                body = [CodePart(self._code, start, None, prefix=DEEP)]
            if text := self._output():
                body += output_parts(text)
        elif opened:
            body = plain_parts(
                SafeText(tool_text.pretty(self.raw)), "muted", prefix=DEEP, hard=True
            )
            if self.result is not None:
                text = tool_text.pretty(self.result)
                body += plain_parts(SafeText(text), "output", prefix=DEEP, hard=True)
        fold = bool(body) and not (self.done or self.stopped)
        self.parts = [RowPart(lambda look: [self._head(look, fold)]), *body]

    def _output(self) -> str:
        content = (self.result or {}).get("content")
        if not isinstance(content, Mapping):
            return ""
        pieces = [content.get("stdout"), content.get("stderr"), content.get("error_code")]
        return "\n".join(str(piece).rstrip("\n") for piece in pieces if piece)

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
        if self.program:
            runs.append((f"{glyph} ", style))
            runs.append((f"{glyphs.program} program", "tool-name"))
            lines = len(self._code.lines)
            runs.append((f"  {count(lines)} line{'' if lines == 1 else 's'}", "tool-summary"))
            if self.result is not None and (first := self._output().strip().partition("\n")[0]):
                runs.append((f"   {clean(first[:120])}", "failed" if self.failed else "muted"))
        else:
            kind = clean(str(self.raw.get("type", "block")))
            name = clean(str(self.raw.get("name", ""))) or kind.removesuffix("_tool_result")
            known = kind == "server_tool_use" or kind.endswith("_tool_result")
            runs.append((f"{glyph if known else glyphs.info} ", style if known else "muted"))
            runs.append((name, "tool-name" if known else "muted"))
            arguments = self.raw.get("input")
            if isinstance(arguments, Mapping) and arguments:
                runs.append((f"  {tool_text.pairs(arguments)}", "tool-summary"))
        return row(runs, look, lead=0)

    def source(self) -> str:
        if self.program:
            return "\n".join(self._code.lines)
        return SafeText(tool_text.pretty(self.raw))


def make_block(raw: Mapping[str, Any]) -> ApiBlock:
    """The block that shows this content block, by its type and name."""
    return ApiBlock(raw)
