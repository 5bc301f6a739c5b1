"""Fault F09: proxies, NO_PROXY and certificates of the environment are honoured, this machine is
always reached directly, and an error names the proxy."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import stream_making as making
from loopback import Exchange, loopback
from proxy_making import proxy, secure

from agent_tui.agent.events import DoneEvent, StreamEvent
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import UserMessage
from agent_tui.messages_api import ApiEndpoint, ApiError
from agent_tui.messages_api.addresses import proxy_of
from agent_tui.messages_api.stream_function import make_stream_function

HOST = "models.example"
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def hello(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.send(making.recordings()["text"])
    await exchange.end()


async def call(url: str) -> list[StreamEvent]:
    stream = make_stream_function(ApiEndpoint(base_url=url, api_key="key-0123456789"))
    events: AsyncIterator[StreamEvent] = stream(
        "m", LLMContext("", [UserMessage(content="hi")], []), StreamOptions()
    )
    return [e async for e in events]


async def refused(url: str) -> str:
    with pytest.raises(ApiError) as raised:
        await call(url)
    return str(raised.value)


# --- through it ---------------------------------------------------------------------------------


async def test_f09_https_goes_through_a_tunnel_with_a_certificate_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with secure(hello, tmp_path, HOST) as (server, certificate), proxy(server.url) as via:
        monkeypatch.setenv("HTTPS_PROXY", via.url.replace("//", "//name:password@"))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        events = await call(f"https://{HOST}")
        assert isinstance(events[-1], DoneEvent) and events[-1].message.text == "Hello there"
        assert via.lines == [f"CONNECT {HOST}:443 HTTP/1.1"]
        assert "proxy-authorization" in via.headers[0]
        assert "authorization" not in via.headers[0], "the key is inside the tunnel"
        assert server.exchanges[0].headers["authorization"] == "Bearer key-0123456789"
        assert "proxy-authorization" not in server.exchanges[0].headers

        monkeypatch.delenv("SSL_CERT_FILE")
        said = await refused(f"https://{HOST}")
        assert f"certificate of {HOST} cannot be verified" in said and "SSL_CERT_FILE" in said
        assert via.url in said and "password" not in said


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_f09_http_goes_through_it_by_its_whole_address(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback(hello) as server, proxy(server.url) as via:
        monkeypatch.setenv(name, via.url.removeprefix("http://") if "A" in name else via.url)
        assert isinstance((await call(f"http://{HOST}:8000/v1"))[-1], DoneEvent)
        assert via.lines == [f"POST http://{HOST}:8000/v1/messages HTTP/1.1"]


# --- past it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken", ["http://127.0.0.1:1", "socks5://127.0.0.1:1", "nonsense://h", "http://[", "::::"]
)
async def test_f09_this_machine_is_reached_directly(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, broken)
    async with loopback(hello) as server:
        assert isinstance((await call(server.url))[-1], DoneEvent)
        by_name = server.url.replace("127.0.0.1", "localhost")
        assert isinstance((await call(by_name))[-1], DoneEvent)


@pytest.mark.parametrize("value", [HOST, "other.example, .models.example, models.example", "*"])
async def test_f09_no_proxy_is_honoured(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy() as via:
        monkeypatch.setenv("HTTPS_PROXY", via.url)
        monkeypatch.setenv("NO_PROXY", value)
        said = await refused(f"https://{HOST}")
        assert via.lines == [] and "proxy" not in said.lower()
        assert proxy_of(f"https://{HOST}/v1") is None


# --- what goes wrong on the way -------------------------------------------------------------


async def test_f09_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy() as gone:
        url = gone.url
    monkeypatch.setenv("HTTPS_PROXY", url.replace("//", "//name:password@"))
    said = await refused(f"https://{HOST}")
    assert f"Nothing answers at the proxy {url} (from HTTPS_PROXY)" in said
    assert "Check HTTPS_PROXY and NO_PROXY." in said and "password" not in said


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n",
         ["asks for a user name and password", "NAME:PASSWORD@"]),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", [f"refused the connection to {HOST}", "403"]),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\n", [f"refused the connection to {HOST}", "502"]),
    ],
)  # fmt: skip
async def test_f09_a_refusal_of_the_proxy_is_told_from_one_of_the_server(
    answer: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy() as via:
        via.answer = answer.encode()
        monkeypatch.setenv("HTTPS_PROXY", via.url)
        said = await refused(f"https://{HOST}")
    assert via.url in said and "HTTPS_PROXY" in said
    assert all(word in said for word in words), said


async def test_f09_a_407_without_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy() as via:
        via.answer = b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n"
        monkeypatch.setenv("HTTP_PROXY", via.url)
        said = await refused(f"http://{HOST}")
    assert via.url in said and "asks for a user name and password" in said


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HTTPS_PROXY", "socks5://127.0.0.1:1", ["SOCKS", "-m pip install 'agent-tui[socks]'"]),
        ("HTTPS_PROXY", "nonsense://h", ["HTTPS_PROXY", "http://host:port"]),
        ("ALL_PROXY", "ftp://h", ["ALL_PROXY", "http://host:port"]),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", ["SSL_CERT_FILE", "cannot be read"]),
    ],
)
async def test_f09_a_setting_of_the_environment_that_cannot_work_is_named(
    name: str, value: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv(name, value)
    said = await refused(f"https://{HOST}")
    assert all(word in said for word in words), said
