"""Where requests go and with which key (faults F01, F03, F04, F08, F09)."""

from typing import Any

import pytest

from agent_tui.messages_api.client import (
    NO_KEY,
    ApiEndpoint,
    base_url_warning,
    check_credential,
    endpoint_host,
    is_loopback,
    make_client,
    normalize_base_url,
)
from agent_tui.messages_api.errors import CredentialError

KEY = "sk-ant-api03-0123456789"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://h/v1", "http://h"),
        ("http://h/v1/", "http://h"),
        ("http://h/v1//", "http://h"),
        ("http://h/", "http://h"),
        ("http://h", "http://h"),
        (" HTTPS://H.Example:8443/api/v1/messages \n", "https://h.example:8443/api"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("https://h/v1beta", "https://h/v1beta"),
    ],
)
def test_f03_base_url_is_normalised(given: str, url: str) -> None:
    assert normalize_base_url(given) == url
    assert normalize_base_url(url) == url
    assert ApiEndpoint(base_url=given).url == url


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("http://h?x=1", '"?"'),
        ("http://h/#f", '"#"'),
        ("http://h?", '"?"'),
        ("h:8080", "begin with"),
        ("ftp://h", "begin with"),
        ("", "begin with"),
        ("http://", "host"),
        ("http:///v1", "host"),
        ("http://h:99999", "port"),
        ("http://u:secret@h", "user name"),
        ("http://h/a b", "space"),
        ("http://h/\x1b[2J", "control"),
    ],
)
def test_f03_base_url_is_refused_in_words(given: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        normalize_base_url(given)
    said = str(refused.value)
    assert why in said and "secret" not in said and "\x1b" not in said


def test_f08_the_host_is_parsed_not_searched_for() -> None:
    assert endpoint_host("https://evil.example/api.anthropic.com/") == "evil.example"
    assert (
        endpoint_host("https://api.anthropic.com.evil.example") == "api.anthropic.com.evil.example"
    )
    assert endpoint_host(None) == "api.anthropic.com"


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://evil.example/api.anthropic.com/", True),
        ("http://192.168.0.7:11434", True),
        ("http://localhost.evil.example", True),
        ("https://evil.example", False),
        ("http://127.0.0.1:8080", False),
        ("http://localhost:8080", False),
        ("http://[::1]:8080", False),
    ],
)
def test_f08_a_foreign_host_without_https_is_warned_of(url: str, warned: bool) -> None:
    warning = base_url_warning(url)
    assert (warning is not None) == warned
    assert warning is None or endpoint_host(url) in warning


def test_loopback() -> None:
    assert all(is_loopback(h) for h in ("localhost", "LOCALHOST.", "a.localhost", "127.8.9.1"))
    assert not any(is_loopback(h) for h in ("", "0.0.0.0", "10.0.0.1", "localhost.example"))


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "empty"),
        ("  ", "white space"),
        (KEY + "\n", "line break"),
        (" " + KEY, "beginning"),
        (KEY + "\u2026", "ASCII"),
        (KEY[:10] + " " + KEY[10:], "space"),
        (KEY + "\x00x", "control"),
        (f'"{KEY}"', "quotes"),
    ],
)
@pytest.mark.parametrize("field", ["api_key", "auth_token"])
def test_f01_a_key_that_cannot_work_is_named_before_anything_is_sent(
    key: str, why: str, field: str
) -> None:
    fields: dict[str, Any] = {field: key}
    with pytest.raises(CredentialError) as refused:
        check_credential(ApiEndpoint(**fields))
    assert why in str(refused.value)
    assert KEY not in str(refused.value)
    assert not refused.value.retryable


def test_f01_a_good_key_and_none_pass() -> None:
    check_credential(ApiEndpoint(api_key=KEY, auth_token="token"))
    check_credential(ApiEndpoint(base_url="http://localhost"))


def test_f01_the_service_without_a_key_is_named() -> None:
    with pytest.raises(CredentialError, match="ANTHROPIC_API_KEY"):
        make_client(ApiEndpoint())


def test_f04_repr_hides_secrets() -> None:
    endpoint = ApiEndpoint(api_key=KEY, auth_token="tok-123456", headers={"x": "hidden-value"})
    assert KEY not in repr(endpoint) and "tok-" not in repr(endpoint)
    assert "hidden" not in repr(endpoint)
    assert set(endpoint.secrets) == {KEY, "tok-123456", "hidden-value"}


def headers_of(client: Any) -> dict[str, str]:
    request = client._build_request(_options("/v1/messages"))
    return {k.lower(): v for k, v in request.headers.items()}


def _options(url: str) -> Any:
    from anthropic._models import FinalRequestOptions

    return FinalRequestOptions.construct(method="post", url=url, json_data={})


def test_the_client_sends_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://elsewhere.example")
    client = make_client(ApiEndpoint(api_key=KEY, headers={"X-Team": "a"}))
    assert client.max_retries == 0
    assert str(client.base_url) == "https://api.anthropic.com"
    assert headers_of(client)["authorization"] == f"Bearer {KEY}"
    assert headers_of(client)["x-team"] == "a"
    local = make_client(ApiEndpoint(base_url="http://127.0.0.1:1/v1"))
    assert headers_of(local)["authorization"] == f"Bearer {NO_KEY}"
    token = make_client(ApiEndpoint(auth_token="tok"))
    assert headers_of(token)["authorization"] == "Bearer tok"


def test_no_redirect_is_followed_and_silence_has_an_end() -> None:
    client = make_client(ApiEndpoint(api_key=KEY, idle_timeout_s=7))
    assert client._client.follow_redirects is False
    assert client.timeout.read == 7
    assert client.timeout.connect and client.timeout.write


def test_f09_loopback_goes_past_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    import httpx2

    def through_proxy(endpoint: ApiEndpoint) -> bool:
        http = make_client(endpoint)._client
        return http._transport_for_url(httpx2.URL(endpoint.url)) is not http._transport

    assert through_proxy(ApiEndpoint(api_key=KEY))
    assert not through_proxy(ApiEndpoint(base_url="http://127.0.0.1:9"))
    assert not through_proxy(ApiEndpoint(base_url="http://[::1]:9"))
    assert not through_proxy(ApiEndpoint(base_url="https://localhost:9"))
