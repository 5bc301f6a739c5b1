"""How many tokens a request is, asked of the service (POST /v1/messages/count_tokens)."""

import asyncio
from typing import Any, Final, cast

from agent_tui.messages_api.client import ApiEndpoint, make_client
from agent_tui.messages_api.errors import InvalidResponseError, map_exception
from agent_tui.messages_api.wire_request import WireRequest, beta_header, count_request

TIMEOUT_S: Final = 20.0

_COUNTED: Final = (
    "model", "system", "tools", "tool_choice", "messages", "thinking", "output_config",
    "mcp_servers", "context_management",
)  # fmt: skip
"""What of a request it takes; the rest (max_tokens, container) is refused."""


async def count_tokens(
    endpoint: ApiEndpoint, request: dict[str, Any], betas: tuple[str, ...] = ()
) -> int | None:
    """Input tokens of this request (build_request); None where this endpoint cannot count:
    a cloud without it, or a server that does not know the path.

    Raises ApiError for anything else that goes wrong.
    """
    if not endpoint.counts_tokens:
        return None
    try:
        client = await asyncio.to_thread(make_client, endpoint)
        async with client:
            wire = await asyncio.to_thread(count_request, endpoint, client, _counted(request))
            answer = await _post(client, wire, betas)
    except Exception as exc:
        error = map_exception(exc, secrets=endpoint.secrets, provider=endpoint.provider)
        if error.status in (404, 405, 501):
            return None
        raise error from exc
    tokens = cast(dict[str, Any], answer).get("input_tokens") if isinstance(answer, dict) else None
    if not isinstance(tokens, int) or isinstance(tokens, bool):
        raise InvalidResponseError("The server's count of tokens holds no number.")
    return tokens


def _counted(request: dict[str, Any]) -> dict[str, Any]:
    return {k: request[k] for k in _COUNTED if k in request}


async def _post(client: Any, wire: WireRequest, betas: tuple[str, ...]) -> Any:
    import httpx2

    response = await client.post(
        wire.path,
        cast_to=httpx2.Response,
        content=wire.body,
        options={
            "headers": {"Content-Type": "application/json"}
            | beta_header(betas, client.default_headers),
            "timeout": TIMEOUT_S,
        },
    )
    return response.json()
