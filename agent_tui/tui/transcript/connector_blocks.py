"""What the API asks elsewhere: MCP servers of its connector, the search for tools, the advisor."""

from collections.abc import Mapping
from typing import Any

from agent_tui.text import SafeText, clean, counted
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.api_blocks import ApiBlock, objects, words
from agent_tui.tui.transcript.blocks import DEEP, output_parts
from agent_tui.tui.transcript.entries import EntryPart
from agent_tui.tui.transcript.lines import Look
from agent_tui.tui.transcript.parts import Part, plain_parts

_FIRST_LINE = 160


def _first_line(text: str) -> str:
    line = next((line for line in text.split("\n") if line.strip()), "")
    return clean(line.strip()[:_FIRST_LINE])


class McpCallBlock(ApiBlock):
    """mcp_tool_use: a call that the API itself makes to an MCP server, and its answer."""

    def name(self, look: Look) -> str:
        server, tool = words(self.raw.get("server_name")), words(self.raw.get("name"))
        return ": ".join(filter(None, [server, tool])) or "an MCP server"

    @property
    def text(self) -> str:
        """The text of the answer."""
        content = (self.result or {}).get("content")
        if isinstance(content, str):
            return content
        pieces = [block.get("text") for block in objects(content)]
        return "\n".join(piece for piece in pieces if isinstance(piece, str))

    @property
    def error(self) -> str:
        if self.result is None or not self.result.get("is_error"):
            return super().error
        return _first_line(self.text) or "the server answered with an error"

    def outcome(self) -> str:
        text = self.text.strip("\n")
        return counted(text.count("\n") + 1, "line") if text.strip() else "nothing came back"

    def body(self) -> list[Part]:
        asked = "\n".join(
            f"{key}: {value if isinstance(value, str) else tool_text.pretty(value)}"
            for key, value in self.arguments.items()
        )
        parts = plain_parts(SafeText(asked), "muted", prefix=DEEP, hard=True) if asked else []
        text = self.text.strip("\n")
        if text and not self.failed:
            parts += output_parts(text, hard=False)
        elif "\n" in text:  # the line of the error is below anyway
            parts += output_parts(text, "failed", hard=False)
        return parts


class McpListingBlock(ApiBlock):
    """mcp_tool_listing: the tools that an MCP server of the connector has."""

    def name(self, look: Look) -> str:
        return words(self.raw.get("mcp_server_name") or self.raw.get("server_name")) or "MCP"

    def summary(self) -> str:
        return ""

    def outcome(self) -> str:
        tools = objects(self.raw.get("tools"))
        names = ", ".join(words(tool.get("name")) for tool in tools)
        return f"has {counted(len(tools), 'tool')}" + (f": {names}" if names else "")

    def body(self) -> list[Part]:
        return [
            EntryPart(
                [(words(tool.get("name")) or "a tool without a name", "")],
                [(_first_line(str(tool.get("description") or "")), "muted")],
            )
            for tool in objects(self.raw.get("tools"))
        ]


class ToolSearchBlock(ApiBlock):
    """tool_search_tool_regex, _bm25: which tools the model looked for and found."""

    def name(self, look: Look) -> str:
        return "tool search"

    def summary(self) -> str:
        query = clean((self.argument("query") or self.argument("pattern")).strip())
        return f'"{query}"' if query else ""

    def outcome(self) -> str:
        found = [words(tool.get("tool_name")) for tool in self._found]
        return f"{counted(len(found), 'tool')}: {', '.join(found)}" if found else "no tool"

    @property
    def _found(self) -> list[Mapping[str, Any]]:
        return objects(self.content.get("tool_references"))

    def body(self) -> list[Part]:
        return [EntryPart([(words(tool.get("tool_name")), "")], []) for tool in self._found]


class AdvisorBlock(ApiBlock):
    """advisor: the advice of another model."""

    def name(self, look: Look) -> str:
        return "advisor"

    @property
    def _text(self) -> str:
        text = self.content.get("text")
        return text.strip("\n") if isinstance(text, str) else ""

    def outcome(self) -> str:
        if self.content.get("type") == "advisor_redacted_result":
            return "answered for the model's eyes only"
        cut = self.content.get("stop_reason") == "max_tokens"
        said = _first_line(self._text) or "said nothing"
        return f"{said} (cut at its limit)" if cut else said

    def body(self) -> list[Part]:
        return plain_parts(SafeText(self._text), "output", prefix=DEEP) if self._text else []
