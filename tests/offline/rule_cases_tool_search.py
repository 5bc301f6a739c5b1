"""Breaches of the rules and their nearest valid neighbours: tools that a search finds."""

from typing import Any

from rule_making import MARK, Case, assistant, request, text, tool, user

FINDER = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
LATER = tool(name="later", defer_loading=True)


def _searched(found: str) -> list[dict[str, Any]]:
    """A turn in which a search has found a tool of this name."""
    call = {"type": "server_tool_use", "id": "srvtoolu_s", "name": FINDER["name"],
            "input": {"query": "later"}}  # fmt: skip
    references = [{"type": "tool_reference", "tool_name": found}]
    content = {"type": "tool_search_tool_search_result", "tool_references": references}
    result = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_s", "content": content}
    return [user("find it"), assistant(call, result, text("Found.")), user("go on")]


CASES: list[Case] = [
    Case(
        "deferred_all",
        request(tools=[LATER]),
        request(tools=[LATER, FINDER]),
        "All tools have defer_loading set",
    ),
    Case(
        "deferred_cache",
        request(tools=[LATER | MARK, FINDER]),
        request(tools=[LATER, FINDER | MARK]),
        "'later' cannot have both",
    ),
    Case(
        "tool_references",
        request(*_searched("gone"), tools=[LATER, FINDER]),
        request(*_searched("later"), tools=[LATER, FINDER]),
        "Tool reference 'gone' has no corresponding tool definition",
    ),
]
