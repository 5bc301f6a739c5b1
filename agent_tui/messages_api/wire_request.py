"""A request as the bytes and the path that go out, for each provider.

The SDK's clients of Bedrock and Vertex move the model into the path and add fields to the
body; they do so on the event loop, on a deep copy of the whole request, so it is done here, in
the thread that encodes the body. What is sent is the same (tests compare it with the SDK's).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.model_names import model_version

PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"
API_VERSION = "2026-10-21"
"""What the SDK names in the body where a cloud takes no anthropic-version header."""
BEDROCK_VERSION = "bedrock-2023-05-31"
"""The only one that Bedrock takes for models up to 4.6 (Claude on Amazon Bedrock, legacy)."""

_PATH_CHARS = "!$&'()*+,=:@"


@dataclass(frozen=True, slots=True)
class WireRequest:
    """path: with the query, behind the client's base URL. body: JSON, UTF-8."""

    path: str
    body: bytes


def wire_request(
    endpoint: ApiEndpoint, client: Any, request: dict[str, Any], betas: Sequence[str] = ()
) -> WireRequest:
    """`request` (build_request) for this endpoint. client: of make_client, for the project and
    region it has found. betas: those of the request; the client's own headers add theirs.

    Raises ApiError for a model that has no place in a path.
    """
    match endpoint.provider:
        case "bedrock":
            return _bedrock(request, beta_names(betas, client.default_headers))
        case "vertex":
            return _vertex(request, str(client.project_id), str(client.region))
        case _:
            return WireRequest(PATH, encode_body(request))


def count_request(endpoint: ApiEndpoint, client: Any, request: dict[str, Any]) -> WireRequest:
    """As wire_request, for a question how many tokens `request` has; its model stays in the
    body. Only where endpoint.counts_tokens."""
    if endpoint.provider == "vertex":
        where = [quote(str(part), safe=_PATH_CHARS) for part in (client.project_id, client.region)]
        path = "/projects/{}/locations/{}/publishers/anthropic/models/count-tokens:rawPredict"
        body = {"anthropic_version": API_VERSION, **request}
        return WireRequest(path.format(*where), _encode(body))
    return WireRequest(COUNT_PATH, _encode(request))


def encode_body(request: dict[str, Any]) -> bytes:
    """A request as the bytes that go out: deterministic, UTF-8, streaming asked for."""
    return _encode({**request, "stream": True})


def _encode(whole: dict[str, Any]) -> bytes:
    try:
        return to_json(whole, inf_nan_mode="null")
    except ValueError:  # half a surrogate pair, or nested very deeply
        text = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def beta_names(betas: Sequence[str], headers: Mapping[str, Any]) -> list[str]:
    """Those that `headers` (a client's own) name, then `betas`; each once."""
    own = next((v for k, v in headers.items() if k.lower() == "anthropic-beta"), "")
    named = own.split(",") if isinstance(own, str) else []
    return list(dict.fromkeys(n for name in (*named, *betas) if (n := name.strip())))


def beta_header(betas: Sequence[str], headers: Mapping[str, Any]) -> dict[str, str]:
    """The anthropic-beta header with these names and those that `headers` (a client's own) hold
    already: one given with a request takes the place of the client's."""
    return {"anthropic-beta": ",".join(beta_names(betas, headers))} if betas else {}


def _bedrock(request: dict[str, Any], betas: Sequence[str]) -> WireRequest:
    model, body = _apart(request)
    version = model_version(model)
    old = version is not None and version < (4, 7)
    body.setdefault("anthropic_version", BEDROCK_VERSION if old else API_VERSION)
    if betas:
        body.setdefault("anthropic_beta", list(dict.fromkeys(betas)))
    name = quote(model, safe=":;")
    return WireRequest(f"/model/{name}/invoke-with-response-stream", _encode(body))


def _vertex(request: dict[str, Any], project: str, region: str) -> WireRequest:
    model, body = _apart(request)
    body.setdefault("anthropic_version", API_VERSION)
    where = [quote(part, safe=_PATH_CHARS) for part in (project, region, model)]
    path = "/projects/{}/locations/{}/publishers/anthropic/models/{}:streamRawPredict"
    return WireRequest(path.format(*where), encode_body(body))


def _apart(request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """(model, the rest): the model stands in the path, where "." and ".." would lead elsewhere."""
    model = str(request.get("model") or "")
    if model.partition(";")[0] in ("", ".", ".."):
        raise ApiError(f"There is no model named {model!r}.", kind="invalid_request",
                       advice="Choose one with /model or the setting model.")  # fmt: skip
    return model, {k: v for k, v in request.items() if k != "model"}
