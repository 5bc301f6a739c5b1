"""What the API looked up on the web: searches and fetched pages."""

from collections.abc import Mapping
from typing import Any

from agent_tui.text import SafeText, clean, counted
from agent_tui.tui.links import shown_url
from agent_tui.tui.transcript.api_blocks import ApiBlock, mapping, objects, words
from agent_tui.tui.transcript.blocks import DEEP
from agent_tui.tui.transcript.entries import EntryPart
from agent_tui.tui.transcript.lines import Look, Runs, linked
from agent_tui.tui.transcript.parts import Part, plain_parts


class WebSearchBlock(ApiBlock):
    """web_search: the query and what was found, each a title with its address."""

    def name(self, look: Look) -> str:
        return "web search"

    def summary(self) -> str:
        query = clean(self.argument("query").strip())
        return f'"{query}"' if query else ""

    @property
    def results(self) -> list[Mapping[str, Any]]:
        return objects((self.result or {}).get("content"))

    def outcome(self) -> str:
        return counted(len(self.results), "result")

    def body(self) -> list[Part]:
        return [self._entry(result) for result in self.results]

    def _entry(self, result: Mapping[str, Any]) -> Part:
        url = result.get("url")
        title = words(result.get("title")) or shown_url(url) or "a result without a title"
        tail: Runs = [(shown_url(url), linked("url", url))]
        if age := words(result.get("page_age")):
            tail.append((f"  {age}", "muted"))
        return EntryPart([(title, linked("", url))], tail)


class WebFetchBlock(ApiBlock):
    """web_fetch: the address and the text of the page."""

    def name(self, look: Look) -> str:
        return "web fetch"

    def summary(self) -> str:
        return shown_url(self.argument("url") or self.content.get("url"))

    @property
    def _document(self) -> Mapping[str, Any]:
        return mapping(self.content.get("content"))

    def outcome(self) -> str:
        title = words(self._document.get("title"))
        return "  ".join(filter(None, [f'"{title}"' if title else "", self._size()]))

    def _size(self) -> str:
        source = mapping(self._document.get("source"))
        data = source.get("data")
        if not isinstance(data, str):
            return ""
        if source.get("type") == "text":
            return counted(data.strip("\n").count("\n") + 1, "line")
        kind = words(source.get("media_type")) or "a file"
        return f"{kind}, {counted(len(data) * 3 // 4, 'byte')}"

    def body(self) -> list[Part]:
        url = self.content.get("url") or self.argument("url")
        if not self.content or self.error:
            return []
        parts: list[Part] = [EntryPart([(shown_url(url), linked("url", url))], self._when())]
        source = mapping(self._document.get("source"))
        data = source.get("data")
        if source.get("type") == "text" and isinstance(data, str):
            parts += plain_parts(SafeText(data).strip("\n"), "output", prefix=DEEP)
        return parts

    def _when(self) -> Runs:
        when = words(self.content.get("retrieved_at"))[:16].replace("T", " ")
        return [(f"read {when}", "muted")] if when else []
