"""Which endpoint is chosen, from which place (DESIGN; faults F01, F03, F08)."""

import asyncio
import stat

import pytest

from agent_tui import paths
from agent_tui.conversation import endpoint as endpoints
from agent_tui.conversation.endpoint import EndpointError, configured_endpoint
from agent_tui.settings import Settings


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path / "home"))


def test_nothing_named_is_no_endpoint():
    assert configured_endpoint(Settings(), {}) is None


def test_a_setting_wins_over_the_environment_and_the_stored_key():
    endpoints.store_key("sk-stored")
    env = {"ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_AUTH_TOKEN": "token"}
    chosen = configured_endpoint(Settings(api_key="sk-setting"), env)
    assert chosen and chosen.api.api_key == "sk-setting"
    chosen = configured_endpoint(Settings(), env)
    assert chosen and chosen.api.api_key == "sk-env" and "ANTHROPIC_API_KEY" in chosen.source
    chosen = configured_endpoint(Settings(), {"ANTHROPIC_AUTH_TOKEN": "token"})
    assert chosen and chosen.api.auth_token == "token" and chosen.api.api_key is None
    chosen = configured_endpoint(Settings(), {})
    assert chosen and chosen.api.api_key == "sk-stored" and chosen.source == "stored key"


@pytest.mark.parametrize("key", ["", "   ", "sk-abc\n", "sk abc", "schlüssel"])
def test_F01_a_key_that_cannot_work_is_named_with_its_place(key: str):
    with pytest.raises(EndpointError) as caught:
        configured_endpoint(Settings(), {"ANTHROPIC_API_KEY": key})
    assert "ANTHROPIC_API_KEY" in str(caught.value)
    assert "\n" not in str(caught.value)
    if key.strip():
        assert key not in str(caught.value)


def test_an_address_alone_needs_no_key():
    chosen = configured_endpoint(Settings(base_url="http://127.0.0.1:11434/v1/"), {})
    assert chosen and chosen.api.base_url == "http://127.0.0.1:11434"
    assert not chosen.is_service


def test_F08_the_host_decides_not_a_part_of_the_path():
    chosen = configured_endpoint(
        Settings(base_url="https://evil.example/api.anthropic.com/"), {"ANTHROPIC_API_KEY": "sk-x"}
    )
    assert chosen and not chosen.is_service and chosen.label == "evil.example"


def test_a_bad_address_is_one_line():
    with pytest.raises(EndpointError) as caught:
        configured_endpoint(Settings(base_url="http://h?x=1"), {})
    assert "\n" not in str(caught.value)


def test_login_stores_privately_and_logout_removes():
    endpoints.store_key("sk-ant-one")
    mode = stat.S_IMODE(paths.credentials_file().stat().st_mode)
    assert mode == 0o600
    assert endpoints.stored_key() == "sk-ant-one"
    assert endpoints.forget_key() is True
    assert endpoints.forget_key() is False
    assert endpoints.stored_key() is None


def test_a_damaged_credentials_file_is_no_key():
    paths.write_private_atomic(paths.credentials_file(), b"\x00not json")
    assert endpoints.stored_key() is None


async def _serve(body: bytes, status: bytes = b"200 OK") -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


async def test_servers_on_loopback_are_found_with_their_models(monkeypatch):
    good = await _serve(b'{"data":[{"id":"qwen"},{"id":"llama"}]}')
    other = await _serve(b"<html>hello</html>", b"404 Not Found")
    ports = {s.sockets[0].getsockname()[1]: s for s in (good, other)}
    names = dict.fromkeys(ports, "Ollama")
    monkeypatch.setattr(endpoints, "LOOPBACK_SERVERS", names)
    found = await endpoints.find_loopback_servers()
    assert [(f.name, f.models) for f in found] == [("Ollama", ["qwen", "llama"])]
    assert found[0].endpoint.label.startswith("Ollama on 127.0.0.1:")
    for server in (good, other):
        server.close()


async def test_a_silent_server_does_not_delay_the_start(monkeypatch):
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setattr(endpoints, "LOOPBACK_SERVERS", {port: "vLLM"})
    assert await endpoints.find_loopback_servers(timeout_s=0.05) == []
    server.close()
