"""Logins at servers: by browser or paste, stored, refreshed, forgotten."""

import asyncio
import contextlib
import json
import urllib.error
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agent_tui.mcp_servers import oauth
from agent_tui.mcp_servers.config import parse_server
from agent_tui.mcp_servers.login import read_paste
from agent_tui.mcp_servers.types import McpError
from tests.mcp_servers.conftest import Keeper, content_of, is_private, text_of, until
from tests.mcp_servers.zoo_auth import Gate, gated, visit, where_it_leads
from tests.mcp_servers.zoo_http import HttpZoo


async def browse(url: str) -> None:
    """A browser that goes where it is sent, and ends at our own address."""
    back = await asyncio.to_thread(where_it_leads, url)
    assert "close this page" in await asyncio.to_thread(visit, back)


async def connected(keeper: Keeper, zoo: HttpZoo, **fields: Any) -> Gate:
    """A server that is there and wants a login."""
    keeper.manager.add(parse_server("zoo", {"url": zoo.url} | fields))
    await keeper.state("zoo", "needs_auth")
    assert isinstance(zoo.refuse, Gate)
    return zoo.refuse


def token_file(home: Path) -> Path:
    [path] = (home / "mcp-auth").iterdir()
    return path


async def test_a_login_by_browser_is_stored_and_used_again(keeper: Keeper, make_keeper, home: Path):
    with gated() as zoo:
        gate = await connected(keeper, zoo)
        assert gate.registered == [] and gate.authorized == []  # nothing happens unasked
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        assert text_of(await keeper.call("zoo__echo", text="in")) == "in"
        [client] = gate.registered
        assert client["client_name"] == "agent-tui"
        assert client["redirect_uris"] == [gate.authorized[0]["redirect_uri"]]
        assert urlsplit(client["redirect_uris"][0]).hostname == "127.0.0.1"
        assert gate.authorized[0]["code_challenge_method"] == "S256"
        path = token_file(home)
        assert is_private(path) and "access-" in content_of(path)
        # A new start needs no person.
        other = make_keeper()
        other.manager.add(parse_server("again", {"url": zoo.url}))
        await other.state("again", "connected")
        assert len(gate.authorized) == 1
        await other.manager.close()


async def test_a_login_by_paste(keeper: Keeper):
    with gated() as zoo:
        gate = await connected(keeper, zoo)
        shown: list[str] = []

        async def show(url: str) -> None:
            shown.append(url)

        async def pasted() -> str:
            return await asyncio.to_thread(where_it_leads, shown[0])

        await keeper.manager.login("zoo", show_url=show, pasted=pasted)
        await keeper.state("zoo", "connected")
        assert gate.grants == ["authorization_code"]


async def test_tokens_are_no_part_of_any_log_or_result(keeper: Keeper):
    with gated() as zoo:
        gate = await connected(keeper, zoo)
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        [token] = gate.tokens
        assert text_of(await keeper.call("zoo__echo", text=f"<{token}>")) == "<***>"
        assert token not in keeper.manager._servers["zoo"].log.secrets.mask(token)


@pytest.mark.parametrize("after_restart", [False, True])
async def test_an_expired_token_is_refreshed_at_the_service_s_own_address(
    keeper: Keeper, make_keeper, home: Path, after_restart: bool
):
    with gated(expires_in=oauth._EARLY_S + 3600) as zoo:
        gate = await connected(keeper, zoo)
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        if after_restart:
            # An hour later, in another process.
            kept = json.loads(content_of(token_file(home)))
            kept["expires_at"] -= 7200
            write(token_file(home), json.dumps(kept))
        else:
            provider = keeper.manager._servers["zoo"].connection._life.store._context
            provider.token_expiry_time = 1.0
        gate.tokens.clear()
        user = keeper
        if after_restart:
            user = make_keeper()
            user.manager.add(parse_server("zoo", {"url": zoo.url}))
            await user.state("zoo", "connected")
        assert text_of(await user.call("zoo__echo", text="in")) == "in"
        assert gate.grants == ["authorization_code", "refresh_token"]
        assert len(gate.authorized) == 1
        await user.manager.close()


def write(path: Path, text: str) -> None:
    path.write_text(text)


async def test_a_login_that_is_over_says_so_and_opens_nothing(keeper: Keeper):
    with gated() as zoo:
        gate = await connected(keeper, zoo)
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        gate.tokens.clear()
        gate.refresh_tokens.clear()
        result = await keeper.call("zoo__echo", text="x")
        assert result.is_error and "login" in text_of(result)
        snapshot = await keeper.state("zoo", "needs_auth")
        assert "the login is no longer valid" in (snapshot.error or "")
        assert len(gate.authorized) == 1 and len(gate.registered) == 1
        # The client stays registered; only the login is new.
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        assert len(gate.authorized) == 2 and len(gate.registered) == 1


async def test_a_logout_forgets(keeper: Keeper, home: Path):
    with gated() as zoo:
        await connected(keeper, zoo)
        assert await keeper.manager.logout("zoo") is False
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        assert await keeper.manager.logout("zoo") is True
        await keeper.state("zoo", "needs_auth")
        assert list_of(home / "mcp-auth") == []


def list_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_refusal_of_the_service_is_told(keeper: Keeper):
    with gated(denies=True) as zoo:
        await connected(keeper, zoo)
        with pytest.raises(McpError, match="The keeper said no"):
            await keeper.manager.login("zoo", show_url=browse)
        assert keeper.manager.state("zoo") == "needs_auth"


async def test_a_login_can_be_cancelled_and_leaves_its_port(keeper: Keeper):
    with gated() as zoo:
        await connected(keeper, zoo)
        shown: list[str] = []

        async def show(url: str) -> None:
            shown.append(url)

        async def pasted() -> None:
            return None

        with pytest.raises(McpError, match="cancelled"):
            await keeper.manager.login("zoo", show_url=show, pasted=pasted)
        back = await asyncio.to_thread(where_it_leads, shown[0])
        with pytest.raises(urllib.error.URLError):
            await asyncio.to_thread(visit, back)


async def test_a_call_of_a_stranger_does_not_end_a_login(keeper: Keeper):
    with gated() as zoo:
        await connected(keeper, zoo)

        async def show(url: str) -> None:
            back = urlsplit(await asyncio.to_thread(where_it_leads, url))
            stranger = f"http://{back.netloc}/callback?code=evil&state=guessed"
            with contextlib.suppress(urllib.error.HTTPError):
                await asyncio.to_thread(visit, stranger)
            await browse(url)

        await keeper.manager.login("zoo", show_url=show)
        await keeper.state("zoo", "connected")


async def test_a_client_that_is_registered_beforehand(keeper: Keeper, home: Path):
    with gated() as zoo:
        gate = await connected(keeper, zoo, oauth={"clientId": "mine", "callbackPort": 0})
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        assert gate.registered == [] and gate.authorized[0]["client_id"] == "mine"
        assert json.loads(content_of(token_file(home)))["client"]["client_id"] == "mine"


async def test_a_server_without_a_gate_has_no_login(keeper: Keeper):
    with HttpZoo() as zoo:
        keeper.manager.add(parse_server("zoo", {"url": zoo.url}))
        keeper.add("pipe", "Plain")
        await keeper.state("zoo", "connected")
        with pytest.raises(McpError, match="did not ask for a login"):
            await keeper.manager.login("zoo", show_url=browse)
        with pytest.raises(McpError, match="has no login"):
            await keeper.manager.login("pipe", show_url=browse)


async def test_a_token_of_another_process_is_taken_up(keeper: Keeper, make_keeper):
    with gated() as zoo:
        gate = await connected(keeper, zoo)
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        other = make_keeper()
        other.manager.add(parse_server("zoo", {"url": zoo.url}))
        await other.state("zoo", "connected")
        # Nothing is asked in the background any more.
        await until(lambda: keeper.manager.resources() and keeper.manager.prompts())
        await until(lambda: other.manager.resources() and other.manager.prompts())
        gate.tokens.clear()
        gate.refresh_tokens.clear()
        await other.manager.login("zoo", show_url=browse)
        await other.state("zoo", "connected")
        # The first has the old token; the file has the new one.
        await keeper.call("zoo__echo", text="x")
        await until(lambda: keeper.manager.state("zoo") == "connected")
        assert text_of(await keeper.call("zoo__echo", text="in")) == "in"
        await other.manager.close()


@pytest.mark.parametrize("method", ["secret", "signed"])
async def test_a_program_s_own_login_needs_no_person(keeper: Keeper, method: str):
    with gated() as zoo:
        gate = zoo.refuse
        assert isinstance(gate, Gate)
        oauth = {"grant": "client_credentials", "client_id": "robot", "issuer": zoo.base}
        oauth |= {"client_secret": "s3cret"} if method == "secret" else {
            "private_key": ec_key(), "signing_algorithm": "ES256"}  # fmt: skip
        keeper.manager.add(parse_server("zoo", {"url": zoo.url, "oauth": oauth}))
        await keeper.state("zoo", "connected")
        assert gate.grants == ["client_credentials"] and gate.authorized == []
        assert text_of(await keeper.call("zoo__echo", text="in")) == "in"
        assert "s3cret" not in repr(keeper.manager.config_lines("zoo"))


def ec_key() -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(pem, pkcs8, serialization.NoEncryption()).decode()


async def test_rights_that_a_call_lacks_are_asked_for_with_the_next_login(keeper: Keeper):
    with gated(scope="read") as zoo:
        gate = await connected(keeper, zoo)
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        gate.scope_of_calls = "read write"
        result = await keeper.call("zoo__echo", text="x")
        assert result.is_error and "more rights than the login gave: write" in text_of(result)
        assert keeper.manager.state("zoo") == "needs_auth"
        await keeper.manager.login("zoo", show_url=browse)
        await keeper.state("zoo", "connected")
        assert [set(asked["scope"].split()) for asked in gate.authorized] == [
            {"read"}, {"read", "write"},
        ]  # fmt: skip
        assert text_of(await keeper.call("zoo__echo", text="in")) == "in"


@pytest.mark.parametrize(
    ("pasted", "comes"),
    [
        (" abc123 \n", {"code": "abc123", "state": "s"}),
        (
            "http://127.0.0.1:1/callback?code=c&state=t&iss=i",
            {"code": "c", "state": "t", "iss": "i"},
        ),
        ("code=c&state=t", {"code": "c", "state": "t"}),
        ("'http://x/#code=c&state=t'", {"code": "c", "state": "t"}),
    ],
)
def test_what_people_paste(pasted: str, comes: dict[str, str]):
    assert read_paste(pasted, "s") == comes


@pytest.mark.parametrize("pasted", ["", None, "two words", "https://e.org/"])
def test_what_is_no_code(pasted: str | None):
    with pytest.raises(McpError):
        read_paste(pasted, "s")
