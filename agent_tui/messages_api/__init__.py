"""The Messages API as the product speaks it: request, raw stream, assembler, errors.
The SDK is imported inside functions only (it costs seconds; first paint comes before).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_tui.messages_api.assembler import Assembler
    from agent_tui.messages_api.client import (
        ApiEndpoint,
        base_url_warning,
        check_credential,
        endpoint_host,
        is_loopback,
        make_client,
        normalize_base_url,
    )
    from agent_tui.messages_api.container import ContainerState
    from agent_tui.messages_api.errors import (
        ApiError,
        CredentialError,
        InvalidResponseError,
        StreamCutError,
        is_retryable_type,
        map_exception,
    )
    from agent_tui.messages_api.models import (
        ModelInfo,
        Prices,
        list_models,
        model_info,
        retrieve_model,
    )
    from agent_tui.messages_api.request import build_request, without_thinking
    from agent_tui.messages_api.stream_function import make_stream_function, warm_up

__all__ = [
    "ApiEndpoint",
    "ApiError",
    "Assembler",
    "ContainerState",
    "CredentialError",
    "InvalidResponseError",
    "ModelInfo",
    "Prices",
    "StreamCutError",
    "base_url_warning",
    "build_request",
    "check_credential",
    "endpoint_host",
    "is_loopback",
    "is_retryable_type",
    "list_models",
    "make_client",
    "make_stream_function",
    "map_exception",
    "model_info",
    "normalize_base_url",
    "retrieve_model",
    "warm_up",
    "without_thinking",
]

_HOMES = {
    "ApiEndpoint": "client",
    "ApiError": "errors",
    "Assembler": "assembler",
    "ContainerState": "container",
    "CredentialError": "errors",
    "InvalidResponseError": "errors",
    "ModelInfo": "models",
    "Prices": "models",
    "StreamCutError": "errors",
    "base_url_warning": "client",
    "build_request": "request",
    "check_credential": "client",
    "endpoint_host": "client",
    "is_loopback": "client",
    "is_retryable_type": "errors",
    "list_models": "models",
    "make_client": "client",
    "make_stream_function": "stream_function",
    "map_exception": "errors",
    "model_info": "models",
    "normalize_base_url": "client",
    "retrieve_model": "models",
    "warm_up": "stream_function",
    "without_thinking": "request",
}


def __getattr__(name: str) -> Any:
    # Resolved on first use: the choice of an endpoint comes before the first paint and must
    # not pay for the assembler and the request.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
