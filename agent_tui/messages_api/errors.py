"""ApiError: everything that can go wrong with a model call, with what the user can do.

`map_exception` turns whatever the SDK, httpx2 or our own reader raises into one. Sources:
facts, "Client" and "Why not the SDK's own accumulator"; faults A12, A17, A18, F01, F04, F07.
"""

import email.utils
import json
import math
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast
from urllib.parse import urlsplit, urlunsplit

from agent_tui.text import SafeText, cut, mask_secrets

if TYPE_CHECKING:
    from agent_tui.messages_api.providers import Provider

ErrorKind = Literal[
    "credentials",  # no usable key: nothing was sent
    "setup",  # a setting, a proxy or a certificate cannot work: nothing was sent
    "endpoint",  # base_url or its answer is not a Messages API
    "authentication",  # 401
    "permission",  # 403
    "not_found",  # 404: path or model
    "invalid_request",  # 400 and other 4xx
    "thinking_signature",  # 400 that sticks to signed thinking (A12): strip_thinking, once
    "container",  # the container is gone (A25): drop its id, once
    "context_window",  # the prompt is too long
    "too_large",  # 413
    "billing",  # 402
    "rate_limit",  # 429
    "overloaded",  # 529
    "server",  # other 5xx
    "timeout",  # silence before the headers or between events (A20)
    "connection",  # no connection, or it broke
    "stream_cut",  # the response ended before message_stop (A17)
    "invalid_response",  # what came is no event stream
    "unknown",
]

MAX_MESSAGE = 600
"""Longest server text taken over, in characters."""

_RETRYABLE: frozenset[str] = frozenset(
    {"rate_limit", "overloaded", "server", "timeout", "connection", "stream_cut",
     "invalid_response"}
)  # fmt: skip

_KIND_BY_TYPE: dict[str, ErrorKind] = {
    "authentication_error": "authentication",
    "permission_error": "permission",
    "not_found_error": "not_found",
    "invalid_request_error": "invalid_request",
    "request_too_large": "too_large",
    "billing_error": "billing",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "api_error": "server",
    "timeout_error": "timeout",
    # Bedrock, in an error frame or the header x-amzn-errortype
    "throttlingException": "rate_limit",
    "serviceUnavailableException": "overloaded",
    "modelNotReadyException": "overloaded",
    "internalServerException": "server",
    "modelStreamErrorException": "server",
    "modelErrorException": "server",
    "modelTimeoutException": "timeout",
    "validationException": "invalid_request",
    "accessDeniedException": "permission",
    "resourceNotFoundException": "not_found",
    # Vertex, error.status
    "UNAUTHENTICATED": "authentication",
    "PERMISSION_DENIED": "permission",
    "NOT_FOUND": "not_found",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "UNAVAILABLE": "overloaded",
}

_SAY_MORE: frozenset[str] = frozenset({"thinking_signature", "container", "context_window"})

_KIND_BY_STATUS: dict[int, ErrorKind] = {
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    529: "overloaded",
}

_ADVICE: dict[str, str] = {
    "authentication": "Check that the API key is right and belongs to this address; /login takes "
    "another.",
    "permission": "This key may not do that: check its workspace and the model's access.",
    "not_found": "Check base_url and the model's name.",
    "thinking_signature": "Earlier thinking is left out and the request is sent once more.",
    "container": "The container is gone with its files; the next request starts a new one.",
    "context_window": "The conversation is too long for the model: /clear begins a new one, /model "
    "chooses one with a larger window.",
    "too_large": "The request is too big, by large results or files: /clear begins a new "
    "conversation.",
    "billing": "Check the account's billing and credit.",
    "rate_limit": "Wait a moment, then try again.",
    "overloaded": "The service is busy: try again in a moment.",
    "server": "The service has a fault: try again in a moment.",
    "timeout": "Try again; if it stays silent, check the network and the server.",
    "connection": "Check the network and base_url, then try again.",
    "stream_cut": "What came so far is kept; try again.",
    "invalid_response": "Check that base_url is a Messages API, then try again.",
    "endpoint": "Correct base_url.",
    "credentials": "",
    "setup": "",
    "invalid_request": "The request was refused as it is: change the model, the settings or "
    "the conversation, then try again.",
    "unknown": "Try again; if it happens again, report it.",
}


class ApiError(Exception):
    """A failed model call. str() is `user_sentence()`.

    kind: the class of fault, ErrorKind. message: what the server or the network said, cleaned,
    bounded and free of secrets. status: HTTP status, None without a response (a mid-stream
    error has 200). error_type: the API's error.type, or None. request_id. retry_after_s:
    the server's wish in seconds, None if it said nothing. retryable: the same request may
    succeed later. url: where the request went, without query and user name.
    """

    default_kind: ClassVar[ErrorKind] = "unknown"

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind | None = None,
        status: int | None = None,
        error_type: str | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
        retryable: bool | None = None,
        url: str | None = None,
        advice: str | None = None,
    ) -> None:
        self.kind: ErrorKind = kind or self.default_kind
        self.message = message
        self.status = status
        self.error_type = error_type
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.retryable = self.kind in _RETRYABLE if retryable is None else retryable
        self.url = url
        self.tries = 1
        """Requests that failed, this one included (conversation/retry.py)."""
        self.advice = _ADVICE.get(self.kind, "") if advice is None else advice
        super().__init__(message)

    @property
    def type_name(self) -> str:
        """What an interrupted message records as its error_type: the API's own, but the kind
        where that says more, or where a server made up a type (is_retryable_type knows both)."""
        if self.kind in _SAY_MORE or self.error_type not in _KIND_BY_TYPE:
            return self.kind
        return self.error_type

    def user_sentence(self) -> str:
        """What happened, then what to do; one line, at most about 900 characters (F07)."""
        text = self.what_happened()
        if self.tries > 1:
            text += f" It was tried {self.tries} times."
        if self.advice and self.advice not in text:
            text += f" {self.advice}"
        if self.request_id:
            text += f" Request id: {self.request_id}."
        return text

    def what_happened(self) -> str:
        """The first part of user_sentence(), for a request that is tried again."""
        marks = [str(self.status)] if self.status is not None and self.status >= 300 else []
        if self.error_type:
            marks.append(self.error_type)
        text = self.message.rstrip()
        if marks:
            text = f"{text.rstrip('.')} ({', '.join(marks)})."
        if self.kind == "not_found" and self.url:
            text += f" The request went to {self.url}."
        if self.retry_after_s is not None and self.retry_after_s >= 0.5:
            text += f" The service asks to wait {self.retry_after_s:.0f} s."
        return text

    def __str__(self) -> str:
        return self.user_sentence()


class CredentialError(ApiError):
    """No usable key; nothing was sent. The message says what to do."""

    default_kind: ClassVar[ErrorKind] = "credentials"


class StreamCutError(ApiError):
    """The response ended before message_stop, or broke off (fault A17)."""

    default_kind: ClassVar[ErrorKind] = "stream_cut"


class InvalidResponseError(ApiError):
    """What came is not a stream of Messages API events."""

    default_kind: ClassVar[ErrorKind] = "invalid_response"


def without_advice(sentence: str) -> str:
    """A stored user_sentence() of a fault that is tried again: what to do is being done."""
    for advice in _ADVICE.values():
        sentence = sentence.replace(f" {advice}", "") if advice else sentence
    return sentence


def is_retryable_type(error_type: str | None) -> bool:
    """Whether an AssistantMessage's error_type (ApiError.type_name) names a passing fault."""
    if error_type is None:
        return False
    return _KIND_BY_TYPE.get(error_type, error_type) in _RETRYABLE


def map_exception(
    exc: BaseException, *, secrets: Iterable[str] = (), provider: "Provider" = "anthropic"
) -> ApiError:
    """The ApiError for anything a model call can raise; an ApiError is handed back itself.

    secrets: strings to mask wherever they turn up (the endpoint's own key, fault F04).
    provider: whose client raised it; what a refusal advises depends on it.
    """
    if isinstance(exc, ApiError):
        return exc
    hidden = list(secrets)
    import anthropic

    from agent_tui.messages_api.cloud_errors import cloud_error
    from agent_tui.messages_api.providers import PROVIDERS

    if not isinstance(exc, anthropic.APIStatusError):
        found = cloud_error(exc, provider, hidden)
        if found is not None:
            return found
    error = _map_call(exc, hidden)
    if error.kind in ("authentication", "permission", "not_found") and (
        advice := PROVIDERS[provider].advice
    ):
        error.advice = advice
    return error


def _map_call(exc: BaseException, hidden: list[str]) -> ApiError:
    """What the SDK, httpx2 or our own reader raises."""
    import anthropic
    import httpx2

    from agent_tui.messages_api.connection_errors import connection_error, request_url, timeout

    url = request_url(exc)
    match exc:
        case anthropic.APIStatusError():
            return error_from_body(
                exc.body if exc.body is not None else exc.message,
                status=exc.status_code,
                headers=dict(exc.response.headers.items()),
                url=url,
                secrets=hidden,
            )
        case anthropic.APITimeoutError() | httpx2.TimeoutException() | TimeoutError():
            return timeout(exc, url)
        case anthropic.APIConnectionError():
            return connection_error(exc.__cause__ or exc, url, hidden)
        case anthropic.APIResponseValidationError():
            return InvalidResponseError("The server's answer does not have the API's form.")
        case anthropic.CredentialsError():
            return CredentialError(
                f"The SDK's stored credentials cannot be used: {clean(str(exc), hidden)}"
            )
        case httpx2.RemoteProtocolError() | httpx2.ReadError() | httpx2.StreamError():
            return StreamCutError("The connection broke off in the middle of the response.")
        case httpx2.LocalProtocolError() | httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            return ApiError(
                f"The request cannot be sent: {clean(str(exc), hidden)}", kind="endpoint", url=url
            )
        case httpx2.DecodingError():
            return InvalidResponseError("The server's answer is compressed in a broken way.")
        case httpx2.HTTPError() | OSError():
            return connection_error(exc, url, hidden)
        case json.JSONDecodeError() | UnicodeDecodeError():
            return InvalidResponseError("The server sent an event that is not valid JSON.")
        case TypeError() if "auth" in str(exc).lower() or "credential" in str(exc).lower():
            return CredentialError(
                "There is no API key. Set ANTHROPIC_API_KEY, or choose a local server or the demo."
            )
        case UnicodeEncodeError():
            return CredentialError("The API key or a header holds a character that is not ASCII.")
        case ValueError():
            return InvalidResponseError(f"The answer cannot be read: {clean(str(exc), hidden)}")
        case _:
            return ApiError(
                f"The model call failed: {type(exc).__name__}: {clean(str(exc), hidden)}",
                kind="unknown",
                retryable=False,
            )


def error_from_body(
    body: Any,
    *,
    status: int | None,
    headers: dict[str, str] | None = None,
    url: str | None = None,
    secrets: Iterable[str] = (),
) -> ApiError:
    """The ApiError of an error body: of an HTTP answer, or of an SSE `error` event (status 200).

    body: the decoded JSON, or text. Read leniently, since other servers shape it otherwise
    ({"error": {"message"}}, {"error": "..."}, {"detail": "..."}, HTML).
    """
    hidden = list(secrets)
    lower = {k.lower(): v for k, v in (headers or {}).items()}
    error_type, message, request_id = _read_body(body)
    error_type = error_type or _aws_type(lower.get("x-amzn-errortype"))
    request_id = request_id or next((lower[h] for h in _REQUEST_ID if h in lower), None)
    message = clean(message, hidden)
    status_says = status is not None and status >= 300
    kind: ErrorKind
    if status_says:
        assert status is not None
        by_type = _KIND_BY_TYPE.get(error_type or "")
        kind = _KIND_BY_STATUS.get(status) or (
            "server" if status >= 500 else "endpoint" if status < 400 else "invalid_request"
        )
        if kind == "invalid_request" and by_type in ("billing", "too_large", "not_found"):
            kind = by_type
        if kind == "server" and by_type == "overloaded":
            kind = by_type
    else:
        kind = _KIND_BY_TYPE.get(error_type or "", "server")
    if kind in ("invalid_request", "too_large", "server", "not_found"):
        kind = _special(kind, message)
    if not message:
        message = _NO_TEXT.get(kind, "The service refused the request without saying why.")
    if status == 407:
        return _asked_by_proxy(url)
    if kind == "endpoint":
        target = clean(without_query(lower.get("location", "")), hidden)
        message = f"The server answered with a redirect{f' to {target}' if target else ''}."
    retryable = None
    if lower.get("x-should-retry") in ("true", "false") and status_says:
        retryable = lower["x-should-retry"] == "true"
    return ApiError(
        message,
        kind=kind,
        status=status,
        error_type=error_type,
        request_id=clean(request_id or "", hidden)[:100] or None,
        retry_after_s=_retry_after(lower),
        retryable=retryable,
        url=url,
    )


_REQUEST_ID = ("request-id", "x-request-id", "x-amzn-requestid", "apim-request-id")


def _aws_type(value: Any) -> str | None:
    """The name in x-amzn-errortype or __type: "Throttling...:http://...", "com.x#Throttling..."."""
    if not isinstance(value, str) or not value:
        return None
    name = value.partition(":")[0].rpartition("#")[2]
    return (name[:1].lower() + name[1:])[:80]


def _asked_by_proxy(url: str | None) -> ApiError:
    from agent_tui.messages_api.connection_errors import proxy_refusal

    return proxy_refusal(url, "407")


_NO_TEXT: dict[str, str] = {
    "authentication": "The service did not accept the key.",
    "permission": "The service does not allow this.",
    "not_found": "The service knows no such path or model.",
    "rate_limit": "Too many requests.",
    "overloaded": "The service is overloaded.",
    "server": "The service failed.",
    "too_large": "The request is too large.",
}

_SIGNATURE = re.compile(
    r"signature.{0,20}thinking|thinking.{0,120}(cannot be modified|signature|binding)", re.I
)
_CONTAINER = re.compile(
    # Not "container_upload: File not found": the file is gone, not the container.
    r"container(?!_upload)(?:(?!\bfiles?\b).){0,60}(expired|not found|does not exist|no longer)",
    re.I,
)
_TOO_LONG = re.compile(r"prompt is too long|exceed.{0,40}context (window|limit|length)", re.I)


def _special(kind: ErrorKind, message: str) -> ErrorKind:
    """The kinds that only the words of a 400 tell (A12, A25)."""
    if _CONTAINER.search(message) or "container_expired" in message:
        return "container"
    if kind == "invalid_request" and _SIGNATURE.search(message):
        return "thinking_signature"
    if kind in ("invalid_request", "too_large") and _TOO_LONG.search(message):
        return "context_window"
    return kind


def _read_body(body: Any) -> tuple[str | None, str, str | None]:
    """(error type, message, request id) of an error body of any shape."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        text = body.strip()
        if text.startswith("{"):
            try:
                return _read_body(json.loads(text))
            except (ValueError, RecursionError):
                pass
        return None, _text_of_html(text) if text.startswith("<") else text, None
    if isinstance(body, list) and body:  # Vertex wraps the error of a stream so
        return _read_body(cast(list[Any], body)[0])
    if not isinstance(body, dict):
        return None, "", None
    data = cast(dict[str, Any], body)
    error = data.get("error", data.get("detail", data))
    kind: Any = None
    message: Any = error
    if isinstance(error, dict):
        inner = cast(dict[str, Any], error)
        kind = inner.get("type", inner.get("status")) or _aws_type(inner.get("__type"))
        message = inner.get("message", inner.get("Message", inner.get("detail", "")))
    if not isinstance(message, str):
        message = json.dumps(message, ensure_ascii=False, default=str)
    request_id = data.get("request_id")
    return (
        kind[:80] if isinstance(kind, str) and kind != "error" else None,
        message,
        request_id if isinstance(request_id, str) else None,
    )


def _text_of_html(text: str) -> str:
    """The title of an error page, for a proxy's or a web server's HTML."""
    found = re.search(r"<title[^>]*>(.*?)</title>", text[:20_000], re.I | re.S)
    title = found.group(1).strip() if found else ""
    return f"The server answered with a web page: {title}" if title else (
        "The server answered with a web page."
    )  # fmt: skip


def without_query(url: str) -> str:
    """`url` without query, fragment and user name; "" if it is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def clean(text: str, secrets: Iterable[str] = ()) -> str:
    """One line of at most MAX_MESSAGE characters, controls shown, keys masked (F04, F07)."""
    text = mask_secrets(text[: MAX_MESSAGE * 20], secrets)
    text = str(SafeText(" ".join(text.split())))
    return text if len(text) <= MAX_MESSAGE else cut(text, MAX_MESSAGE - 1) + "…"


def _retry_after(headers: dict[str, str]) -> float | None:
    """The wait asked for: milliseconds, seconds or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
