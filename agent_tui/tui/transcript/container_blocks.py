"""What the API's own tools do in the container: shell commands, file edits, uploaded files."""

from agent_tui.text import SafeText, clean, count
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.api_blocks import ApiBlock, objects, words
from agent_tui.tui.transcript.blocks import DEEP, output_parts
from agent_tui.tui.transcript.code import Code, code_parts
from agent_tui.tui.transcript.lines import Look, Runs
from agent_tui.tui.transcript.parts import Part, lines_to_parts, plain_parts
from agent_tui.tui.transcript.tool_blocks import WINDOW

_ONE_LINE = 100
"""Characters of a command that the head line says in full."""


def output_files(content: object) -> list[str]:
    """Ids of the files in the content list of an execution result."""
    return [words(item["file_id"]) for item in objects(content) if item.get("file_id")]


class ContainerShellBlock(ApiBlock):
    """bash_code_execution: the command, what it wrote and how it ended."""

    opens_while_running = True

    def name(self, look: Look) -> str:
        return f"{look.glyphs.program} bash"

    def summary(self) -> str:
        if self.arguments.get("restart"):
            return "restart"
        return clean(self.argument("command").strip().partition("\n")[0][:200])

    def outcome(self) -> str:
        code = self.content.get("return_code")
        if isinstance(code, int) and code:
            return f"exit {code}"
        lines = self._output().strip("\n")
        said = [tool_text.number(lines.count("\n") + 1, "line", "lines")] if lines.strip() else []
        if files := output_files(self.content.get("content")):
            said.append(tool_text.number(len(files), "file", "files"))
        return ", ".join(said)

    def body(self) -> list[Part]:
        command = self.argument("command").strip("\n")
        lines = SafeText(command).split("\n")
        parts: list[Part] = []
        if not self.closed:
            if len(lines) > 1:
                parts += code_parts(Code("", lines[-WINDOW:], closed=True), prefix=DEEP)
        elif len(lines) > 1 or len(command) > _ONE_LINE:
            parts += code_parts(Code("bash", lines, closed=True), prefix=DEEP)
        if output := self._output():
            parts += output_parts(output)
        for file_id in output_files(self.content.get("content")):
            parts += plain_parts(f"[file {file_id}]", "muted", prefix=DEEP)
        return parts

    def _output(self) -> str:
        pieces = [self.content.get("stdout"), self.content.get("stderr")]
        return "\n".join(piece.rstrip("\n") for piece in pieces if isinstance(piece, str) and piece)


class ContainerEditorBlock(ApiBlock):
    """text_editor_code_execution: a file of the container is shown, written or changed."""

    opens_while_running = True

    @property
    def _command(self) -> str:
        return self.argument("command").strip()

    def name(self, look: Look) -> str:
        verb = {"str_replace": "edit", "": "file"}.get(self._command, self._command)
        return f"{look.glyphs.program} {clean(verb)}"

    def summary(self) -> str:
        return clean(self.argument("path").strip())

    def outcome(self) -> str:
        content = self.content
        match str(content.get("type", "")).removeprefix("text_editor_code_execution_"):
            case "view_result":
                return self._extent()
            case "create_result":
                lines = self.argument("file_text").removesuffix("\n")
                size = tool_text.number(lines.count("\n") + 1, "line", "lines") if lines else ""
                new = "overwritten" if content.get("is_file_update") else "new"
                return ", ".join(filter(None, [new, size]))
            case "str_replace_result":
                added, removed = tool_text.diff_counts("\n".join(self._hunk()))
                return f"+{added} -{removed}"
            case _:
                return ""

    def _extent(self) -> str:
        content = self.content
        kind = words(content.get("file_type"))
        if kind not in ("text", ""):
            return kind
        first, number, total = (
            content.get(key) for key in ("start_line", "num_lines", "total_lines")
        )
        if not isinstance(number, int):
            return ""
        if number == total or not isinstance(total, int):
            return tool_text.number(number, "line", "lines")
        begin = first if isinstance(first, int) else 1
        return f"lines {count(begin)}-{count(begin + number - 1)} of {count(total)}"

    def _hunk(self) -> list[str]:
        lines = self.content.get("lines")
        return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []

    def body(self) -> list[Part]:
        if not self.closed:
            lines = SafeText(self.argument("file_text") or self.argument("new_str")).split("\n")
            return code_parts(Code("", lines[-WINDOW:], closed=True), prefix=DEEP)
        content = self.content
        shown = content.get("content")
        if isinstance(shown, str) and shown:
            if content.get("file_type") not in (None, "text"):
                return plain_parts(f"[{count(len(shown))} characters of data]", "muted",
                                   prefix=DEEP)  # fmt: skip
            return self._code(shown)
        if lines := self._diff():
            return lines_to_parts(lines, prefix=DEEP, hard=True)
        if text := self.argument("file_text") or self.argument("insert_text"):
            return self._code(text)
        return []

    def _code(self, text: str) -> list[Part]:
        lines = SafeText(text).removesuffix("\n").split("\n")
        code = Code(f"file:{self.argument('path')}", lines, closed=True)
        return code_parts(code, prefix=DEEP)

    def _diff(self) -> list[Runs]:
        """The lines as the server says they changed, else those of the arguments."""
        lines = [(line, tool_text.diff_style(line)) for line in self._hunk()]
        if not lines and self._command == "str_replace":
            old, new = self.argument("old_str"), self.argument("new_str")
            lines = list(tool_text.edit_lines({"edits": [{"old": old, "new": new}]}))
        return [[(SafeText(text).replace("\n", "⏎"), style)] for text, style in lines]


class UploadBlock(ApiBlock):
    """container_upload: a file that was put into the container."""

    def name(self, look: Look) -> str:
        return f"{look.glyphs.program} file"

    def summary(self) -> str:
        return words(self.raw.get("file_id"))

    def outcome(self) -> str:
        return "put into the container"

    def body(self) -> list[Part]:
        return []
