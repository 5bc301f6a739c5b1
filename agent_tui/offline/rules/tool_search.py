"""Rules about tools that are deferred, and found by a search."""

from collections.abc import Iterator

from agent_tui.offline.rules.registry import Request, rule


@rule("deferred_all", "One tool at least is loaded from the start.")
def deferred_all(request: Request) -> Iterator[str]:
    if request.tools and all(tool.get("defer_loading") for tool in request.tools):
        yield "tools: All tools have defer_loading set. At least one tool must be non-deferred."


@rule("deferred_cache", "A deferred tool has no cache mark: it is no part of the prompt's start.")
def deferred_cache(request: Request) -> Iterator[str]:
    for index, tool in enumerate(request.tools):
        if tool.get("defer_loading") and tool.get("cache_control"):
            yield (
                f"tools.{index}: Tool '{tool.get('name')}' cannot have both defer_loading=true and "
                "cache_control set. Tools with defer_loading cannot use prompt caching."
            )


@rule("tool_references", "What a search has found is a tool of the request.")
def tool_references(request: Request) -> Iterator[str]:
    names = {tool.get("name") for tool in request.tools}
    for path, block in request.blocks():
        content = block.get("content")
        if block["type"] != "tool_search_tool_result" or not isinstance(content, dict):
            continue
        for reference in content.get("tool_references") or []:
            name = reference.get("tool_name") if isinstance(reference, dict) else None
            if name not in names:
                yield f"{path}: Tool reference '{name}' has no corresponding tool definition"
