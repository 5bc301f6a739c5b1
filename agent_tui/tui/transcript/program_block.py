"""Programs that run in the container: their code while the model writes it, their output."""

from collections.abc import Mapping
from typing import Any

from agent_tui.text import SafeText, clean, count
from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.blocks import DEEP, Modes, output_parts
from agent_tui.tui.transcript.code import Code, CodePart, code_parts
from agent_tui.tui.transcript.lines import Look, Runs
from agent_tui.tui.transcript.parts import Part
from agent_tui.tui.transcript.tool_blocks import WINDOW


class ProgramBlock(ApiBlock):
    """A program: code_execution in Python, bash_code_execution in a shell."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        super().__init__(raw)
        self._code = Code("python")
        self._rest = ""

    def add_arguments(self, additions: list[tuple[str, str]]) -> None:
        for path, text in additions:
            if path in ("code", "command"):
                *lines, self._rest = (self._rest + SafeText(text)).split("\n")
                self._code.lines += lines
                self._code.partial = self._rest

    def close(self, raw: Mapping[str, Any]) -> None:
        super().close(raw)
        arguments = raw.get("input")
        if isinstance(arguments, Mapping):
            text = str(arguments.get("code") or arguments.get("command") or "")
            language = "python" if arguments.get("code") else "bash"
            self._code = Code(language, SafeText(text).rstrip("\n").split("\n"), closed=True)

    def is_open(self, modes: Modes) -> bool:
        if self.expanded is not None:
            return self.expanded
        return modes.tools_open or not (self.done or self.stopped)

    def _body(self) -> list[Part]:
        if not self._code.closed:
            start = max(0, len(self._code.lines) - WINDOW)
            return [CodePart(self._code, start, None, prefix=DEEP)]
        parts = code_parts(self._code, prefix=DEEP)
        if text := self._output():
            parts += output_parts(text)
        return parts

    def _output(self) -> str:
        content = (self.result or {}).get("content")
        if not isinstance(content, Mapping):
            return ""
        pieces = [content.get("stdout"), content.get("stderr"), content.get("error_code")]
        return "\n".join(str(piece).rstrip("\n") for piece in pieces if piece)

    def _title(self, look: Look, glyph: str, style: str) -> Runs:
        lines = len(self._code.lines)
        runs: Runs = [
            (f"{glyph} ", style),
            (f"{look.glyphs.program} program", "tool-name"),
            (f"  {count(lines)} line{'' if lines == 1 else 's'}", "tool-summary"),
        ]
        if self.result is not None and (first := self._output().strip().partition("\n")[0]):
            runs.append((f"   {clean(first[:120])}", "failed" if self.failed else "muted"))
        return runs

    def source(self) -> str:
        return "\n".join(self._code.lines)
