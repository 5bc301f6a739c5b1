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
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def profile(tmp_path) -> str:
    """A profile "default" lies on disk, as another program of Anthropic's leaves it."""
    folder = tmp_path / ".config" / "anthropic" / "configs"
    folder.mkdir(parents=True)
    (folder / "default.json").write_text('{"authentication": {"type": "user_oauth"}}')
    (folder / "work.json").write_text('{"authentication": {"type": "user_oauth"}}')
    return "default"


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


# --- what the SDK finds by itself ---------------------------------------------------------


WIF = {
    "ANTHROPIC_FEDERATION_RULE_ID": "fdrl_1",
    "ANTHROPIC_ORGANIZATION_ID": "org-1",
    "ANTHROPIC_IDENTITY_TOKEN": "a.b.c",
}


@pytest.mark.parametrize(
    ("env", "stored", "source"),
    [
        ({"ANTHROPIC_PROFILE": "work"}, "", "profile work"),
        ({"ANTHROPIC_PROFILE": "work"}, "sk-stored", "profile work"),
        ({"ANTHROPIC_PROFILE": "work", "ANTHROPIC_API_KEY": ""}, "", "profile work"),
        ({"ANTHROPIC_PROFILE": "work", "ANTHROPIC_API_KEY": "sk-env"}, "", "ANTHROPIC_API_KEY"),
        (WIF, "sk-stored", "workload identity"),
        ({}, "sk-stored", "stored key"),
        ({}, "", "profile default"),
    ],
)
def test_a_profile_or_workload_identity_is_found_in_the_sdks_order(
    env: dict[str, str], stored: str, source: str, profile: str
):
    if stored:
        endpoints.store_key(stored)
    chosen = configured_endpoint(Settings(), env)
    assert chosen and source in chosen.source
    assert chosen.api.own_credentials == ("profile" in source or "workload" in source)
    assert chosen.api.own_credentials == (chosen.api.api_key is None)


def test_a_profile_that_lies_on_disk_is_not_taken_to_another_address(profile: str):
    chosen = configured_endpoint(Settings(base_url="http://127.0.0.1:11434"), {})
    assert chosen and not chosen.api.own_credentials and chosen.source == ""


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"ANTHROPIC_PROFILE": "gone"}, ["ANTHROPIC_PROFILE", "gone"]),
        ({"ANTHROPIC_IDENTITY_TOKEN": "a.b.c"}, ["ANTHROPIC_FEDERATION_RULE_ID"]),
        ({"ANTHROPIC_CONFIG_DIR": "/nowhere"}, ["ANTHROPIC_CONFIG_DIR"]),
        ({"ANTHROPIC_CUSTOM_HEADERS": "oops"}, ["ANTHROPIC_CUSTOM_HEADERS"]),
    ],
)
def test_what_was_chosen_and_cannot_work_is_named(env: dict[str, str], words: list[str]):
    with pytest.raises(EndpointError) as caught:
        configured_endpoint(Settings(), env)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "env", "unused"),
    [
        ({}, {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_PROFILE": "work"}, ["ANTHROPIC_PROFILE"]),
        ({}, {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_AUTH_TOKEN": "t"}, ["ANTHROPIC_AUTH_TOKEN"]),
        ({"api_key": "sk-s"}, {"ANTHROPIC_API_KEY": "sk-x"}, []),
        ({"api_key": "sk-s"}, WIF, ["ANTHROPIC_FEDERATION_RULE_ID"]),
        ({}, {"ANTHROPIC_API_KEY": "sk-x"}, []),
        ({}, {"ANTHROPIC_PROFILE": "work", **WIF}, ["ANTHROPIC_FEDERATION_RULE_ID"]),
    ],
)
def test_a_credential_that_is_not_used_is_told(settings, env, unused: list[str], profile: str):
    chosen = configured_endpoint(Settings(**settings), env)
    assert chosen
    assert [name for note in chosen.notes for name in unused if name in note] == unused
    assert len(chosen.notes) == len(unused)
    assert "sk-" not in str(chosen.notes)


def test_a_header_can_be_the_credential():
    env = {"ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer of-the-gateway"}
    chosen = configured_endpoint(Settings(), env)
    assert chosen and chosen.source == "a header" and chosen.is_service
    assert "Bearer of-the-gateway" in chosen.secrets


# --- clouds -------------------------------------------------------------------------------


def test_a_cloud_takes_nothing_of_the_anthropic_api():
    endpoints.store_key("sk-stored")
    env = {
        "ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_BASE_URL": "http://elsewhere",
        "AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key-1",
    }  # fmt: skip
    chosen = configured_endpoint(Settings(provider="bedrock"), env)
    assert chosen and chosen.api.api_key == "bedrock-key-1" and chosen.api.base_url is None
    assert "AWS_BEARER_TOKEN_BEDROCK" in chosen.source
    assert chosen.label == "Amazon Bedrock: eu-west-1"
    assert not chosen.is_service


@pytest.mark.parametrize(
    ("settings", "label", "service"),
    [
        ({"provider": "vertex", "google_project": "p", "google_region": "global"},
         "Vertex AI: p, global", False),
        ({"provider": "google-cloud", "google_workspace": "w", "google_project": "p"},
         "Claude on Google Cloud: p", True),
        ({"provider": "aws", "aws_workspace": "w", "aws_region": "r-1"},
         "Claude Platform on AWS: r-1", True),
        ({"provider": "foundry", "foundry_resource": "res"}, "Microsoft Foundry: res", False),
        ({"provider": "foundry", "base_url": "https://gate.example/anthropic/v1/"},
         "Microsoft Foundry: gate.example", False),
    ],
)  # fmt: skip
def test_a_cloud_is_labelled_with_its_place(settings, label: str, service: bool):
    chosen = configured_endpoint(Settings(**settings), {})
    assert chosen and (chosen.label, chosen.is_service) == (label, service)


def test_a_cloud_that_lacks_something_is_one_line():
    with pytest.raises(EndpointError) as caught:
        configured_endpoint(Settings(provider="vertex"), {})
    assert "google_region or CLOUD_ML_REGION" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_F08_a_cloud_over_plain_http_is_warned_of():
    settings = Settings(provider="foundry", api_key="k-1", base_url="http://gate.example")
    chosen = configured_endpoint(settings, {})
    assert chosen and any("gate.example is another machine" in note for note in chosen.notes)


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
