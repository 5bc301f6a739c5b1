"""Searches for tools in the history whose finds are gone: a server was removed, or switched off.

The API refuses a request in which a search has found a tool that is not among its tools, for
good. So what is not there is taken out of the result; the record itself is never changed.
"""

from collections.abc import Collection, Iterable
from typing import Any, cast

Block = dict[str, Any]

RESULT = "tool_search_tool_result"


def has_search(blocks: Iterable[Block]) -> bool:
    """Whether the result of a search is among the blocks of an answer."""
    return any(block["type"] == RESULT for block in blocks)


def without_lost_tools(
    messages: list[Block], names: Collection[str], searches: Iterable[int]
) -> list[Block]:
    """The messages of a request, with references to these tools only. The same objects where
    nothing is lost, and copies where something is. searches: where has_search holds."""
    kept = list(messages)
    for at in searches:
        kept[at] = _message(kept[at], names)
    return kept


def _message(message: Block, names: Collection[str]) -> Block:
    content: list[Block] = message["content"]
    kept = [_result(block, names) if block["type"] == RESULT else block for block in content]
    if all(new is old for new, old in zip(kept, content, strict=True)):
        return message
    return {**message, "content": kept}


def _result(block: Block, names: Collection[str]) -> Block:
    inner: Any = block.get("content")
    if not isinstance(inner, dict):
        return block
    found: Any = cast(Block, inner).get("tool_references")
    if not isinstance(found, list):
        return block
    references = cast(list[Any], found)
    kept = [r for r in references if not _is_lost(r, names)]
    if len(kept) == len(references):
        return block
    return {**block, "content": {**cast(Block, inner), "tool_references": kept}}


def _is_lost(reference: Any, names: Collection[str]) -> bool:
    return isinstance(reference, dict) and cast(Block, reference).get("tool_name") not in names
