"""What the SDK would find by itself in the environment: found here as the SDK finds it, and a
choice that cannot work is named, never passed over."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_tui.messages_api.ambient import (
    active_profile,
    chosen_credentials,
    config_dir,
    custom_headers,
)
from agent_tui.messages_api.client import ApiEndpoint, make_client
from agent_tui.messages_api.errors import ApiError, CredentialError

WIF = {
    "ANTHROPIC_FEDERATION_RULE_ID": "fdrl_1",
    "ANTHROPIC_ORGANIZATION_ID": "00000000-0000-0000-0000-000000000001",
    "ANTHROPIC_IDENTITY_TOKEN": "header.payload.signature",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The SDK's folder of profiles, empty, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    made = tmp_path / ".config" / "anthropic"
    (made / "configs").mkdir(parents=True)
    (made / "credentials").mkdir()
    return made


def add_profile(folder: Path, name: str, token: str = "token-of-profile", **config: Any) -> None:
    (folder / "configs" / f"{name}.json").write_text(
        json.dumps({"version": "1.0", "authentication": {"type": "user_oauth"}, **config})
    )
    file = folder / "credentials" / f"{name}.json"
    file.write_text(json.dumps({"type": "oauth_token", "access_token": token}))
    file.chmod(0o600)


def found(environ: dict[str, str]) -> str | None:
    return chosen_credentials(environ) or active_profile(environ)


def test_nothing_is_nothing(folder: Path) -> None:
    assert found({"HOME": str(folder.parents[1])}) is None


@pytest.mark.parametrize(
    ("variables", "pointer", "profiles", "wanted"),
    [
        ({}, None, ["default"], "profile default"),
        ({}, "work", ["default", "work"], "profile work"),
        ({}, None, ["work"], None),
        ({"ANTHROPIC_PROFILE": "work"}, None, ["default", "work"], "profile work"),
        ({"ANTHROPIC_PROFILE": "work", **WIF}, None, ["work"], "profile work"),
        (WIF, "work", ["work"], "workload identity"),
        (WIF, None, [], "workload identity"),
    ],
)
def test_the_sdk_finds_the_same(
    variables: dict[str, str], pointer: str | None, profiles: list[str], wanted: str | None,
    folder: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from anthropic.lib.credentials import default_credentials

    for name in profiles:
        add_profile(folder, name)
    if pointer:
        (folder / "active_config").write_text(f"{pointer}\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    here = found(dict(os.environ))
    theirs = default_credentials()
    assert (here is None) == (theirs is None) == (wanted is None)
    if here and theirs and wanted:
        assert here.startswith(wanted)
        kind = type(theirs.provider).__name__
        assert kind == ("WorkloadIdentityCredentials" if "workload" in here else "CredentialsFile")


@pytest.mark.parametrize(
    ("variables", "pointer", "words"),
    [
        ({"ANTHROPIC_PROFILE": "gone"}, None, ["ANTHROPIC_PROFILE", "gone", "gone.json"]),
        ({"ANTHROPIC_PROFILE": "../x"}, None, ["ANTHROPIC_PROFILE", "plain file name"]),
        ({"ANTHROPIC_PROFILE": ".hidden"}, None, ["plain file name"]),
        ({"ANTHROPIC_PROFILE": " work"}, None, ["plain file name"]),
        ({}, "gone", ["active_config", "gone"]),
        ({"ANTHROPIC_CONFIG_DIR": "/nowhere/at/all"}, None, ["ANTHROPIC_CONFIG_DIR", "default"]),
        ({"ANTHROPIC_FEDERATION_RULE_ID": "fdrl_1"}, None,
         ["ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_IDENTITY_TOKEN_FILE or ANTHROPIC_IDENTITY"]),
        ({"ANTHROPIC_IDENTITY_TOKEN": "a.b.c"}, None, ["ANTHROPIC_FEDERATION_RULE_ID"]),
        ({**WIF, "ANTHROPIC_ORGANIZATION_ID": ""}, None, ["needs ANTHROPIC_ORGANIZATION_ID:"]),
    ],
)  # fmt: skip
def test_a_choice_that_cannot_work_is_named(
    variables: dict[str, str], pointer: str | None, words: list[str], folder: Path
) -> None:
    if pointer:
        (folder / "active_config").write_text(pointer)
    environ = {"HOME": str(folder.parents[1]), **variables}
    with pytest.raises(CredentialError) as refused:
        found(environ)
    said = str(refused.value)
    assert all(word in said for word in words), said
    assert "\n" not in said and "a.b.c" not in said and "header.payload" not in said


def test_the_folder_is_the_sdks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anthropic.lib.credentials._constants import _config_dir

    assert config_dir(dict(os.environ)) == _config_dir() == folder
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", "/elsewhere")
    assert config_dir(dict(os.environ)) == _config_dir() == Path("/elsewhere")


# --- the client made of it ---------------------------------------------------------------------


async def authorization(client: Any) -> dict[str, str]:
    """The headers of a request of this client."""
    import httpx2

    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request)
        return httpx2.Response(200, json={})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    client = client.with_options(http_client=http)
    await client.get("/v1/models", cast_to=httpx2.Response)
    return {"url": str(seen[0].url), **seen[0].headers}


async def test_a_profile_gives_its_token_and_its_address(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_profile(folder, "work", base_url="https://work.example")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    sent = await authorization(make_client(ApiEndpoint(own_credentials=True)))
    assert sent["authorization"] == "Bearer token-of-profile"
    assert sent["url"].startswith("https://work.example/v1/")
    sent = await authorization(
        make_client(ApiEndpoint(base_url="https://other.example", own_credentials=True))
    )
    assert sent["url"].startswith("https://other.example/v1/")


def test_a_profile_that_went_away_meanwhile_is_told(folder: Path) -> None:
    with pytest.raises(CredentialError, match="is gone"):
        make_client(ApiEndpoint(own_credentials=True))


async def test_a_key_given_is_not_mixed_with_a_profile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_profile(folder, "work")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    sent = await authorization(make_client(ApiEndpoint(api_key="key-0123456789")))
    assert sent["authorization"] == "Bearer key-0123456789"


# --- ANTHROPIC_CUSTOM_HEADERS ------------------------------------------------------------------


async def test_custom_headers_go_out_and_settings_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: red\nX-More:  a:b \n")
    endpoint = ApiEndpoint(api_key="key-0123456789", headers={"X-Team": "blue"})
    sent = await authorization(make_client(endpoint))
    assert (sent["x-team"], sent["x-more"]) == ("blue", "a:b")


async def test_a_custom_header_can_be_the_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-api-key: key-of-the-gateway")
    sent = await authorization(make_client(ApiEndpoint(base_url="https://gateway.example")))
    assert sent["x-api-key"] == "key-of-the-gateway"
    assert "no-key" not in sent.get("authorization", "")


@pytest.mark.parametrize("line", ["no colon here secret-7", ": secret-7", "X Y: secret-7",
                                  "X-Key: secret-7é", "X-Key: secret-7\x01"])  # fmt: skip
def test_a_custom_header_that_cannot_be_sent_is_named(line: str) -> None:
    with pytest.raises(ApiError) as refused:
        custom_headers({"ANTHROPIC_CUSTOM_HEADERS": f"A: b\n{line}"})
    said = str(refused.value)
    assert "ANTHROPIC_CUSTOM_HEADERS" in said and "secret-7" not in said
