"""Deferred tools in the demo: what a model must find before it can call it, is found first."""

from typing import Any

from agent_tui.offline.wire import make_id

Block = dict[str, Any]


def search_blocks(name: str, body: dict[str, Any], content: list[Block], seed: str) -> list[Block]:
    """The search that loads a tool, and its result; nothing for a tool that is loaded, or was
    found before. content: what the reply holds so far."""
    tools: list[Block] = [t for t in body.get("tools") or [] if isinstance(t, dict)]
    tool = next((t for t in tools if t.get("name") == name), {})
    search = next((t for t in tools if str(t.get("type")).startswith("tool_search_tool")), None)
    if not tool.get("defer_loading") or search is None:
        return []
    before = [b for m in body.get("messages") or [] for b in _blocks(m)]
    if name in found_tools([*before, *content]):
        return []
    number = sum(block["type"] == "server_tool_use" for block in content)
    call_id = make_id("srvtoolu_", seed, number)
    query = " ".join(word for word in name.replace("-", "_").split("_") if word)
    return [
        {"type": "server_tool_use", "id": call_id, "name": search["name"],
         "input": {"query": query}},
        {"type": "tool_search_tool_result", "tool_use_id": call_id, "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": name}]}},
    ]  # fmt: skip


def _blocks(message: Any) -> list[Block]:
    content = message.get("content") if isinstance(message, dict) else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def found_tools(blocks: list[Block]) -> set[str]:
    """The tools that searches in these blocks have found."""
    found: set[str] = set()
    for block in blocks:
        content = block.get("content")
        if block.get("type") == "tool_search_tool_result" and isinstance(content, dict):
            for reference in content.get("tool_references") or []:
                if isinstance(reference, dict):
                    found.add(str(reference.get("tool_name")))
    return found
