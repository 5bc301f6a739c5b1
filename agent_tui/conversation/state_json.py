"""state_json: what a conversation is doing, as plain JSON values."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agent_tui.agent.events import to_json

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation


def state_json(conversation: "Conversation") -> dict[str, Any]:
    """DESIGN, RPC `state`, and endpoint {label, demo, source}."""
    container, usage = conversation.container, conversation.usage
    endpoint = conversation.endpoint
    return {
        "status": conversation.status,
        "model": conversation.model,
        "thinking": conversation.thinking,
        "session_id": conversation.session.id,
        "cwd": conversation.cwd,
        "queue": [asdict(entry) for entry in conversation.queue()],
        "container": to_json(container) if container else None,
        "mcp_servers": conversation.mcp.state(),
        "usage": {
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "cost": usage.cost,
        },
        "endpoint": {
            "label": endpoint.label,
            "demo": endpoint.demo,
            "source": endpoint.source,
        },
    }
