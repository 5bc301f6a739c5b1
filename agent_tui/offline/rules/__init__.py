"""The rules of a valid Messages API request. Pure: a parsed body in, the breaches out.
Each rule has a name and is listed in RULES; a breach answers 400 in the service's words.
"""

from collections.abc import Callable
from typing import Any

# Imported for their rules, in the order in which these are held against a request.
from agent_tui.offline.rules import content, pairing, settings, shape, tool_search, tools
from agent_tui.offline.rules.problem import ApiProblem as ApiProblem
from agent_tui.offline.rules.registry import RULES as RULES
from agent_tui.offline.rules.registry import Request, as_groups, as_messages

__all__ = ["API_VERSION", "RULES", "ApiProblem", "validate_request"]

API_VERSION = "2026-10-21"
"""The anthropic-version that the SDK sends today."""

_MODULES = (shape, settings, tools, content, pairing, tool_search)


def _any_signature(thinking: str, signature: str) -> bool:
    return True


def _never_paused(content: list[dict[str, Any]]) -> bool:
    return False


def validate_request(
    body: Any,
    *,
    version: str = API_VERSION,
    knows_signature: Callable[[str, str], bool] = _any_signature,
    is_paused: Callable[[list[dict[str, Any]]], bool] = _never_paused,
    counting: bool = False,
) -> list[ApiProblem]:
    """Every breach of the rules in a parsed request body; an empty list: the service accepts it.

    version: the anthropic-version header. knows_signature(thinking, signature): whether that
    signature was given for that text (default: any that is not empty). is_paused(content):
    whether an answer of this content was paused, so that it may come last (default: none was).
    counting: the body is for count_tokens. While the shape is wrong, only that is reported.
    Never raises.
    """
    request = Request(body, version, counting, knows_signature, is_paused)
    problems = _breaches(request, "shape")
    if problems:
        return problems
    request.messages = as_messages(body)
    request.groups = as_groups(request.messages)
    request.tools = list(body.get("tools") or [])
    return _breaches(request, "meaning")


def _breaches(request: Request, phase: str) -> list[ApiProblem]:
    return [
        ApiProblem(message, rule=rule.name)
        for rule in RULES.values()
        if rule.phase == phase
        for message in rule.check(request)
    ]
