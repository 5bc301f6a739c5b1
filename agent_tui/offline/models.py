"""What /v1/models says: the demo's entry, and entries for the ids a scenario names."""

from typing import Any

from agent_tui.offline.rules.model_facts import model_facts

DEMO_MODEL = "demo"
DEMO_NAME = "demo: scripted replies, no model"


def model_info(model_id: str, *, display_name: str | None = None) -> dict[str, Any]:
    """A /v1/models entry in the service's shape. It claims only what this server can play."""
    facts = model_facts(model_id)

    def supported(value: bool) -> dict[str, bool]:
        return {"supported": value}

    def family(value: bool, **members: bool) -> dict[str, Any]:
        return {"supported": value} | {name: supported(v) for name, v in members.items()}

    return {
        "type": "model",
        "id": model_id,
        "display_name": display_name or model_id,
        "created_at": "2026-11-30T00:00:00Z",
        "lifecycle": "active",
        "line": None,
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": 200_000,
        "max_tokens": facts.max_tokens or 64_000,
        "allowed_fallback_models": [],
        "capabilities": {
            "batch": supported(False),
            "citations": supported(False),
            "code_execution": supported(True),
            "compaction": family(False, summarize=False),
            "context_management": family(False),
            "effort": family(True, low=True, medium=True, high=True, xhigh=True, max=True),
            "image_input": supported(True),
            "pdf_input": supported(False),
            "server_tools": family(True, code_execution=True, web_search=False),
            "structured_outputs": supported(False),
            "thinking": {
                "supported": True,
                "types": {
                    kind: supported(kind in facts.thinking)
                    for kind in ("adaptive", "between_tools", "disabled", "enabled")
                },
            },
        },
    }


def demo_models() -> list[dict[str, Any]]:
    return [model_info(DEMO_MODEL, display_name=DEMO_NAME)]
