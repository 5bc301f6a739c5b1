"""Citations of an answer: numbers for its sources, and the form in which a reader sees them.

The API splits a cited answer into text blocks at the borders of what is cited; each block
carries its citations (facts: citations_delta). Here the blocks become one text again, with
`[1]` behind what a source backs, and a list of the sources. What goes back to the API stays
as it was sent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agent_tui.agent.messages import AssistantMessage, TextContent
from agent_tui.text import clean


@dataclass(slots=True)
class Quote:
    """What was cited: its text, and where it stands in the source ("page 3", "" if unknown)."""

    text: str
    place: str


@dataclass(slots=True)
class Source:
    """A source and what was cited of it. Strings are as the API sent them, not safe text."""

    number: int
    title: str
    url: str
    quotes: list[Quote] = field(default_factory=list[Quote])


def citations(content: TextContent) -> list[Mapping[str, Any]]:
    """The citations of a text block, whatever shape the server gave them."""
    value = (content.wire or {}).get("citations")
    if not isinstance(value, list):
        return []
    items = cast(list[Any], value)
    return [cast(Mapping[str, Any], item) for item in items if isinstance(item, Mapping)]


class Sources:
    """The sources of one answer, numbered from 1 in the order in which they are cited."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Source] = {}
        self._fresh: dict[int, Source] = {}

    def cite(self, content: TextContent) -> list[Source]:
        """The sources that this text cites, each once, in its order."""
        cited: dict[int, Source] = {}
        for citation in citations(content):
            source = self._source(citation)
            cited[source.number] = source
            quote = Quote(_text(citation.get("cited_text")).strip(), _place(citation))
            listed = self._fresh.setdefault(
                source.number, Source(source.number, source.title, source.url)
            )
            if quote not in listed.quotes and (quote.text or quote.place):
                listed.quotes.append(quote)
        return list(cited.values())

    def _source(self, citation: Mapping[str, Any]) -> Source:
        url = _text(citation.get("url")) or _text(citation.get("source"))
        title = _text(citation.get("document_title")) or _text(citation.get("title"))
        index = citation.get("document_index", citation.get("search_result_index"))
        number = "" if index is None else f"{index}"
        key = (url, "") if url and index is None else (url, title, number)
        source = self._known.get(key)
        if source is None:
            title = title or ("" if url else f"document {number}".strip())
            source = self._known[key] = Source(len(self._known) + 1, title, url)
        return source

    def listed(self) -> list[Source]:
        """The sources cited since the last call, by number, each with what was cited then."""
        fresh, self._fresh = self._fresh, {}
        return [fresh[number] for number in sorted(fresh)]


def marks(cited: Iterable[Source]) -> str:
    """What stands behind a text that cites these: `[1][3]`."""
    return "".join(f"[{source.number}]" for source in cited)


def flows_on(before: str, after: str, *, cited: bool) -> bool:
    """Whether a text block goes on in the text of the one before it: `before` is cited, or
    white space stands between them already."""
    return cited or before[-1:].isspace() or after[:1].isspace()


def joint(text: str) -> str:
    """What stands between a mark and the text that goes on: a mark and a bracket would read
    as a link in markdown."""
    return " " if text[:1] in ("(", "[", ":") else ""


def with_sources(message: AssistantMessage) -> str:
    """The text of an answer for reading: marks in it, and the list of sources below it. Texts
    that other blocks part (a search, thinking) stand a blank line apart."""
    sources = Sources()
    texts: list[str] = [""]
    cited: list[Source] = []
    for block in message.content:
        if isinstance(block, TextContent):
            texts[-1] += (joint(block.text) if cited else "") + block.text
            cited = sources.cite(block)
            texts[-1] += marks(cited)
        elif texts[-1]:
            texts.append("")
            cited = []
    first = [text.rstrip("\n") for text in texts[:-1]]
    text = "\n\n".join([*first, texts[-1]] if texts[-1] else first)
    listed = sources.listed()
    if not listed:
        return text
    lines = [f"[{s.number}] {' - '.join(filter(None, [clean(s.title), s.url]))}" for s in listed]
    return "\n".join([text.rstrip("\n"), "", *lines])


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _place(citation: Mapping[str, Any]) -> str:
    """Where in the source: its pages, its characters, its blocks (API: citation locations)."""
    match citation.get("type"):
        case "page_location":
            return _range("page", citation, "page_number", ends=True)
        case "char_location":
            return _range("character", citation, "char_index")
        case "content_block_location" | "search_result_location":
            return _range("block", citation, "block_index")
        case _:
            return ""


def _range(unit: str, citation: Mapping[str, Any], key: str, *, ends: bool = False) -> str:
    """`page 3`, `pages 3-4`: pages count from 1 and their end is exclusive, the others from 0."""
    first, end = citation.get(f"start_{key}"), citation.get(f"end_{key}")
    if not isinstance(first, int) or not isinstance(end, int):
        return ""
    first, last = (first, end - 1) if ends else (first + 1, end)
    return f"{unit} {first}" if last <= first else f"{unit}s {first}-{last}"
