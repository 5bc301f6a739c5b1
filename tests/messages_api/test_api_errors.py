"""Every fault of a model call becomes one ApiError that says what to do (F04, F07, A12, A25)."""

import json
import socket
import ssl
from typing import Any

import pytest

from agent_tui.messages_api.errors import (
    MAX_MESSAGE,
    ApiError,
    CredentialError,
    InvalidResponseError,
    StreamCutError,
    clean,
    error_from_body,
    is_retryable_type,
    map_exception,
)

KEY = "sk-ant-api03-AAAABBBBCCCC"
URL = "https://h.example/v1/messages"


def status_error(
    status: int, body: Any = None, *, type: str | None = None, headers: dict[str, str] | None = None
) -> ApiError:
    """What the SDK raises for an HTTP answer, mapped."""
    import anthropic
    import httpx2

    if body is None:
        body = {"type": "error", "error": {"type": type, "message": "It says so."}}
    request = httpx2.Request("POST", URL + "?beta=true")
    content = json.dumps(body) if isinstance(body, dict) else body
    response = httpx2.Response(status, content=content, headers=headers or {}, request=request)
    client = anthropic.Anthropic(api_key="k")
    return map_exception(client._make_status_error_from_response(response), secrets=[KEY])


@pytest.mark.parametrize(
    ("status", "type", "kind", "retryable"),
    [
        (400, "invalid_request_error", "invalid_request", False),
        (401, "authentication_error", "authentication", False),
        (402, "billing_error", "billing", False),
        (403, "permission_error", "permission", False),
        (404, "not_found_error", "not_found", False),
        (408, None, "timeout", True),
        (413, "request_too_large", "too_large", False),
        (422, None, "invalid_request", False),
        (429, "rate_limit_error", "rate_limit", True),
        (500, "api_error", "server", True),
        (502, None, "server", True),
        (503, "overloaded_error", "overloaded", True),
        (504, "timeout_error", "server", True),
        (529, "overloaded_error", "overloaded", True),
        (307, None, "endpoint", False),
    ],
)
def test_http_status(status: int, type: str | None, kind: str, retryable: bool) -> None:
    error = status_error(status, type=type)
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    if status != 307:
        assert "It says so" in error.user_sentence()
    assert str(status) in error.user_sentence()
    assert is_retryable_type(error.type_name) == retryable


@pytest.mark.parametrize(
    ("type", "kind", "retryable"),
    [
        ("overloaded_error", "overloaded", True),
        ("rate_limit_error", "rate_limit", True),
        ("api_error", "server", True),
        ("invalid_request_error", "invalid_request", False),
        ("made_up_error", "server", True),
    ],
)
def test_an_error_event_is_classed_by_its_type_not_by_status_200(
    type: str, kind: str, retryable: bool
) -> None:
    import anthropic
    import httpx2

    body = {"type": "error", "error": {"type": type, "message": "m"}, "request_id": "req_9"}
    response = httpx2.Response(200, request=httpx2.Request("POST", URL))
    sdk = anthropic.APIStatusError("m", response=response, body=body)
    for error in (map_exception(sdk), error_from_body(body, status=None)):
        assert (error.kind, error.retryable, error.request_id) == (kind, retryable, "req_9")
        assert "200" not in error.user_sentence()


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "messages.3.content.0: Invalid `signature` in `thinking` block",
         "thinking_signature"),
        (400, "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest "
              "assistant message cannot be modified.", "thinking_signature"),
        (400, "container_expired: the container container_01 has expired", "container"),
        (404, "Container container_01 not found", "container"),
        (404, "container_upload: File not found: file_01", "not_found"),
        (404, "No file file_01 in the container: file not found", "not_found"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "context_window"),
        (400, "input length and `max_tokens` exceed context limit: 1 + 2 > 3", "context_window"),
        (400, "messages.3: all is lost", "invalid_request"),
    ],
)  # fmt: skip
def test_a12_a25_kinds_that_only_the_words_tell(status: int, message: str, kind: str) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    error = status_error(status, body)
    assert error.kind == kind
    assert not error.retryable
    assert not is_retryable_type(error.type_name)


def test_f07_the_sentence_has_type_message_request_id_and_what_to_do() -> None:
    error = status_error(
        400, type="invalid_request_error", headers={"request-id": "req_011CUx"}
    )  # fmt: skip
    said = error.user_sentence()
    for part in ("It says so", "invalid_request_error", "400", "req_011CUx", "try again"):
        assert part in said
    assert str(error) == said


def test_f03_a_404_names_the_final_url() -> None:
    said = status_error(404, type="not_found_error").user_sentence()
    assert "https://h.example/v1/messages" in said and "beta" not in said


def test_f07_long_and_dirty_texts_are_bounded_and_cleaned() -> None:
    body = {"error": {"type": "x" * 500, "message": "\x1b[2J\x00\ud83d" + "word \n" * 5000}}
    said = status_error(500, body, headers={"request-id": "r" * 5000}).user_sentence()
    assert len(said) < MAX_MESSAGE + 500
    assert all(c.isprintable() for c in said) and "word word" in said
    said.encode()


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f"bad key {KEY} given"}},
        {"error": f"bad key {KEY}"},
        {"detail": [{"msg": f"{KEY}"}]},
        f"<html><title>{KEY}</title></html>",
        f"plain {KEY}",
        json.dumps({"message": f"x-api-key: {KEY}"}),
    ],
)
def test_f04_the_own_key_is_masked(body: Any) -> None:
    error = status_error(401, body, headers={"request-id": KEY})
    assert KEY not in error.user_sentence() and KEY not in error.message
    assert KEY not in repr(error) and KEY not in str(error.args)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"error": {"message": "A.", "type": None}}, "A"),
        ({"error": "B"}, "B"),
        ({"detail": "C"}, "C"),
        ({"detail": [{"msg": "D"}]}, "D"),
        ({"message": "E"}, "E"),
        ("<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
        ("<html></html>", "web page"),
        ("F happened", "F happened"),
        ("", "failed"),
        ("{" * 5000, "{{{"),
    ],
)
def test_f07_error_bodies_of_any_shape(body: Any, wanted: str) -> None:
    assert wanted in status_error(502, body).user_sentence()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "1500", "retry-after": "30"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert status_error(429, type="rate_limit_error", headers=headers).retry_after_s == seconds


def test_the_service_may_say_whether_to_retry() -> None:
    assert not status_error(500, headers={"x-should-retry": "false"}).retryable
    assert status_error(409, headers={"x-should-retry": "true"}).retryable


def test_a_redirect_names_its_target_without_secrets() -> None:
    error = status_error(307, headers={"location": "https://other.example/v1?key=abc"})
    assert "https://other.example/v1" in error.user_sentence()
    assert "abc" not in error.user_sentence()


# --- without an answer ------------------------------------------------------------------


def sdk_connection_error(cause: BaseException) -> ApiError:
    import anthropic
    import httpx2

    request = httpx2.Request("POST", URL)
    timed_out = isinstance(cause, httpx2.TimeoutException)
    wrapped = (
        anthropic.APITimeoutError(request=request)
        if timed_out
        else anthropic.APIConnectionError(request=request)
    )
    wrapped.__cause__ = cause
    return map_exception(wrapped)


def test_connection_faults_name_the_host_and_what_to_do() -> None:
    import httpx2

    def connect_error(cause: BaseException) -> ApiError:
        error = httpx2.ConnectError("failed")
        error.__cause__ = cause
        return sdk_connection_error(error)

    refused = connect_error(ConnectionRefusedError(111, "Connection refused"))
    unknown = connect_error(socket.gaierror(-2, "Name or service not known"))
    untrusted = connect_error(ssl.SSLCertVerificationError("self-signed certificate"))
    for error in (refused, unknown, untrusted):
        assert error.kind == ("setup" if error is untrusted else "connection")
        assert "h.example" in error.user_sentence()
    assert refused.retryable and "Start the server" in str(refused)
    assert unknown.retryable and "cannot be found" in str(unknown)
    assert not untrusted.retryable and "SSL_CERT_FILE" in str(untrusted)


def test_f09_a_connection_fault_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx2

    monkeypatch.setenv("HTTPS_PROXY", "http://user:pass@proxy.example:3128")
    said = str(sdk_connection_error(httpx2.ConnectError("failed")))
    assert "proxy.example:3128" in said and "pass" not in said
    assert "proxy.example" in str(sdk_connection_error(httpx2.ProxyError("407")))


@pytest.mark.parametrize(
    ("make", "kind", "retryable"),
    [
        (lambda h: h.ReadTimeout("t"), "timeout", True),
        (lambda h: h.ConnectTimeout("t"), "connection", True),
        (lambda h: h.ReadError("broken"), "stream_cut", True),
        (lambda h: h.RemoteProtocolError("incomplete chunked read"), "stream_cut", True),
        (lambda h: h.DecodingError("bad gzip"), "invalid_response", True),
        (lambda h: h.LocalProtocolError("Illegal header value"), "endpoint", False),
        (lambda h: h.UnsupportedProtocol("ftp"), "endpoint", False),
        (lambda h: h.InvalidURL("x"), "endpoint", False),
        (lambda h: ConnectionResetError("reset"), "connection", True),
        (lambda h: TimeoutError(), "timeout", True),
        (lambda h: json.JSONDecodeError("m", "doc", 0), "invalid_response", True),
        (lambda h: ValueError("bad"), "invalid_response", True),
        (lambda h: TypeError("Could not resolve authentication method."), "credentials", False),
        (lambda h: TypeError("something else"), "unknown", False),
        (lambda h: RuntimeError("boom"), "unknown", False),
    ],
)  # fmt: skip
def test_other_exceptions(make: Any, kind: str, retryable: bool) -> None:
    import httpx2

    error = map_exception(make(httpx2))
    assert (error.kind, error.retryable) == (kind, retryable)
    assert error.user_sentence()


def test_an_api_error_is_handed_back_itself() -> None:
    for error in (StreamCutError("x"), CredentialError("y"), InvalidResponseError("z")):
        assert map_exception(error) is error


def test_type_name_is_the_apis_type_where_it_is_known() -> None:
    assert status_error(429, type="rate_limit_error").type_name == "rate_limit_error"
    assert status_error(503, type="weird").type_name == "server"
    assert StreamCutError("x").type_name == "stream_cut"
    assert not is_retryable_type(None) and not is_retryable_type("weird")


def test_clean_is_one_line() -> None:
    assert clean(" a\n\tb\x07 ") == "a b␇"
    assert len(clean("x" * 10_000)) == MAX_MESSAGE
