"""`agent-tui mcp ...`: the same actions without a conversation, on stdout and stderr."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent_tui import paths
from agent_tui.cli import app
from agent_tui.conversation.mcp.link import McpLink
from agent_tui.conversation.mcp.plan import McpPlan
from agent_tui.conversation.toolset import Toolset
from agent_tui.mcp_servers import McpError, McpManager
from agent_tui.mcp_servers.config import ServerConfig
from tests.conversation.mcp_making import ZOO_COMMAND, configure, entry

SECRET = "tok-0123456789abcdef"


class Said:
    """What a run gave back."""

    def __init__(self, result: Any) -> None:
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr


@pytest.fixture
def mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def run(*words: str) -> Said:
        return Said(CliRunner().invoke(app, ["mcp", *words]))

    return run


def test_a_server_is_added_tried_listed_and_removed(mcp: Any) -> None:
    said = mcp("add", "zoo", "-e", f"ZOO_TOKEN={SECRET}", "--", *ZOO_COMMAND, "Plain")
    assert said.code == 0 and "zoo is added" in said.out and "mcp.json" in said.out
    assert "zoo is connected: 13 tools." in said.err
    stored = json.loads(paths.mcp_file().read_text())["mcpServers"]["zoo"]
    assert stored["args"] == [*ZOO_COMMAND[1:], "Plain"]
    for words in ([], ["list"], ["get", "zoo"], ["tools"], ["log", "zoo"], ["list", "--json"]):
        said = mcp(*words)
        assert said.code == 0 and SECRET not in said.out + said.err, words
    assert json.loads(mcp("list", "--json").out)["servers"][0]["state"] == "connected"
    assert "@zoo:zoo://cage/1" in mcp("resources", "zoo").out
    assert "/zoo:feed who=..." in mcp("prompts").out
    assert mcp("disable", "zoo").code == 0
    assert json.loads(mcp("list", "--json").out)["servers"][0]["state"] == "disabled"
    assert mcp("enable", "zoo").code == 0
    assert mcp("remove", "zoo").code == 0
    assert "No MCP server is configured" in mcp().out


def test_what_cannot_be_done_is_one_line_on_stderr_and_code_2(mcp: Any) -> None:
    for words, says in (
        (["remove", "zoo"], "There is no MCP server zoo."),
        (["get", "zoo"], "There is no MCP server zoo."),
        (["add", "my.zoo", "--", "cmd"], "cannot be a server's name"),
        (["add-json", "zoo", "{"], "is not JSON"),
        (["login", "zoo"], "There is no MCP server zoo."),
    ):
        said = mcp(*words)
        assert (said.code, said.out) == (2, ""), words
        assert said.err.startswith("agent-tui: ") and says in said.err
        assert said.err.count("\n") == 1
    assert mcp("add", "zoo").code == 2
    assert mcp("add", "zoo", "--user", "--project", "--", "cmd").code == 2


def test_options_of_other_clients_mean_the_same(mcp: Any) -> None:
    """What they have in the order they have it in."""
    url = "http://127.0.0.1:9/mcp"
    assert mcp("add", "--transport", "sse", "-s", "user", "web", url, "-H", "X-A: 1").code == 0
    stored = json.loads(paths.mcp_file().read_text())["mcpServers"]["web"]
    assert stored == {"type": "sse", "url": url, "headers": {"X-A": "1"}}
    assert mcp("add-json", "ours", json.dumps({"url": url}), "--scope", "project").code == 0
    assert [*json.loads(Path(".mcp.json").read_text())["mcpServers"]] == ["ours"]
    said = mcp("add", "-t", "stdio", "run", "--", *ZOO_COMMAND, "Plain")
    assert said.code == 0 and "run is connected" in said.err
    for words in (["-t", "pigeon"], ["-s", "moon"], ["-s", "user", "--project"]):
        said = mcp("add", *words, "other", url)
        assert said.code == 2 and said.out == ""
    assert "A transport is stdio, http or sse." in mcp("add", "-t", "x", "other", url).err


def test_an_added_server_waits_for_no_other(mcp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before is not connected to; nor are its tries awaited."""
    waited: list[set[str]] = []

    async def wait_for(self: McpLink, servers: set[str], wait_s: float) -> None:
        waited.append(set(servers))

    monkeypatch.setattr(McpLink, "wait_for", wait_for)
    for name in ("one", "two"):
        assert mcp("add", name, "http://127.0.0.1:9/mcp").code == 0
    assert waited == [{"one"}, {"two"}]


async def test_a_server_that_failed_once_is_awaited_no_longer(tmp_path: Path) -> None:
    """It is tried again; whoever adds it hears at once that it is not there."""
    link = McpLink(str(tmp_path), McpPlan(interactive=False), Toolset(), lambda event: None)
    try:
        link.begin()
        manager = await link.get_manager()
        manager.add(ServerConfig(name="away", transport="http", url="http://127.0.0.1:9/mcp"))
        async with asyncio.timeout(20):
            await link.wait_for({"away"}, 600.0)
        assert manager.snapshot("away").state == "failed"
    finally:
        await link.close()


def test_notes_of_a_server_are_told_once(mcp: Any) -> None:
    """In the answer where it has them, else on stderr."""
    configure(paths.mcp_file(), many=entry("Many"))
    said = mcp("get", "many")
    assert (said.out + said.err).count("its schema is not that of an object") == 1
    said = mcp("tools", "many")
    assert said.out.count("is left out") == 1 and "left out" not in said.err
    said = mcp("list")
    assert said.err.count("many: the tool array is left out: its schema") == 1


def test_a_projects_server_waits_until_it_is_switched_on(
    mcp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")  # cells are whole on a narrow terminal too
    configure(Path(".mcp.json"), ours=entry())
    said = mcp("list")
    assert "waits for your approval" in said.out
    said = mcp("get", "ours")
    assert "zoo.py Plain" in said.out and "approval" in said.out
    assert mcp("enable", "ours").code == 0
    assert "connected" in mcp("get", "ours").out


def test_a_server_that_does_not_start_is_told_and_kept(mcp: Any) -> None:
    said = mcp("add", "dead", "--project", "--", *ZOO_COMMAND, "DeadAtStart")
    assert said.code == 0
    assert "cannot open the gate: no key" in said.err
    assert "dead" in json.loads(Path(".mcp.json").read_text())["mcpServers"]
    said = mcp("list")
    assert "failed" in said.out and "cannot open the gate" in said.out


@pytest.mark.parametrize("typed, code", [("c0de\n", "c0de"), ("", None)])
def test_a_login_shows_where_and_takes_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: str | None
) -> None:
    codes: list[str | None] = []

    async def login(self: McpManager, name: str, *, show_url: Any, pasted: Any) -> None:
        await show_url("https://login.example/authorize?x=1")
        codes.append(await pasted())
        if codes[-1] is None:
            raise McpError("The login was given up.")

    monkeypatch.setattr(McpManager, "login", login)
    monkeypatch.setattr("agent_tui.front_mcp.open_in_browser", lambda url: False)
    monkeypatch.chdir(tmp_path)
    paths.mcp_file().parent.mkdir(parents=True, exist_ok=True)
    paths.mcp_file().write_text('{"mcpServers": {"web": {"url": "http://127.0.0.1:9/mcp"}}}')
    said = Said(CliRunner().invoke(app, ["mcp", "login", "web"], input=typed))
    assert codes == [code]
    assert said.code == (0 if code else 1)
    assert "https://login.example/authorize?x=1" in said.out
    assert ("you are logged in" if code else "The login was given up.") in said.err
