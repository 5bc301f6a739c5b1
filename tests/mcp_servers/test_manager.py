"""The manager and its files: scopes, approval, switching, what is offered and how."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_tui import paths
from agent_tui.mcp_servers import state_file
from agent_tui.mcp_servers.config import parse_server
from agent_tui.mcp_servers.types import McpError, ServerRemoved, ToolsChanged
from agent_tui.processes import process
from tests.mcp_servers.conftest import ZOO, Keeper, animal, content_of, text_of, until


def raw(kind: str, **fields: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", "-E", "-u", str(ZOO), kind]} | fields


def write_servers(path: Path, **servers: Any) -> None:
    path.write_text(json.dumps({"mcpServers": servers}))


def servers_in(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())["mcpServers"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    return folder


# --- files and scopes ---------------------------------------------------------------------


async def test_configured_servers_start_together(keeper: Keeper, home: Path):
    write_servers(paths.mcp_file(), one=raw("Plain"), two=raw("Plain", disabled=True))
    (home / "config.toml").write_text(
        f"[mcp.servers.three]\ncommand = {sys.executable!r}\n"
        f"args = ['-S', '-E', '-u', {str(ZOO)!r}, 'Plain']\n"
    )
    assert keeper.manager.load(user_toml=home / "config.toml") == []
    assert keeper.manager.servers() == ["one", "three", "two"]
    assert keeper.events == []  # nothing runs before start()
    keeper.manager.start()
    assert await keeper.manager.wait_ready(20) == []
    states = {s.name: (s.state, s.scope) for s in keeper.manager.snapshots()}
    assert states == {
        "one": ("connected", "user"), "two": ("disabled", "user"), "three": ("connected", "user"),
    }  # fmt: skip


async def test_a_bad_entry_is_a_failed_server_with_the_reason(keeper: Keeper, home: Path):
    write_servers(paths.mcp_file(), bad={"command": 3}, good=raw("Plain"))
    assert keeper.manager.load() == []
    keeper.manager.start()
    await keeper.ready()
    assert keeper.manager.state("good") == "connected"
    bad = keeper.manager.snapshot("bad")
    assert bad.state == "failed" and "command must be text" in (bad.error or "")
    for call in (keeper.manager.reconnect, keeper.manager.set_enabled):
        with pytest.raises(McpError, match="command must be text"):
            done = call("bad") if call == keeper.manager.reconnect else await call("bad", True)
            assert done is None


async def test_adding_and_removing_change_the_file_of_the_scope(
    keeper: Keeper, home: Path, project: Path
):
    manager = keeper.manager
    manager.add(animal("mine", "Plain"), "user")
    manager.add(animal("shared", "Plain"), "project")
    manager.add(animal("here", "Plain"))
    assert servers_in(paths.mcp_file()).keys() == {"mine"}
    assert servers_in(project / ".mcp.json").keys() == {"shared"}
    await keeper.ready()
    # What the user adds to the project is approved.
    assert {s.state for s in manager.snapshots()} == {"connected"}
    with pytest.raises(McpError, match="There is a server mine already"):
        manager.add(animal("mine", "Plain"))
    pid = int(text_of(await keeper.call("shared__pid")))
    assert str(project / ".mcp.json") in await manager.remove("shared")
    assert servers_in(project / ".mcp.json") == {} and process(pid) is None
    assert ServerRemoved("shared") in keeper.events
    assert manager.servers() == ["here", "mine"]
    await manager.remove("here")
    with pytest.raises(McpError, match=r"no MCP server here\. There are: mine\."):
        await manager.remove("here")


async def test_a_server_of_a_toml_file_is_switched_off_but_not_written(
    keeper: Keeper, make_keeper, home: Path
):
    toml = home / "config.toml"
    toml.write_text(f"[mcp.servers.zoo]  # mine\ncommand = {sys.executable!r}\nargs = ['x']\n")
    before = content_of(toml)
    keeper.manager.load(user_toml=toml)
    with pytest.raises(McpError, match=r"take \[mcp.servers.zoo\] out there"):
        await keeper.manager.remove("zoo")
    await keeper.manager.set_enabled("zoo", False)
    assert content_of(toml) == before
    other = make_keeper()
    other.manager.load(user_toml=toml)
    assert other.manager.state("zoo") == "disabled"


async def test_switching_a_user_s_server_is_written_and_remembered(keeper: Keeper, make_keeper):
    keeper.manager.add(animal("zoo", "Plain", note="kept"), "user")
    await keeper.ready()
    await keeper.manager.set_enabled("zoo", False)
    entry = servers_in(paths.mcp_file())["zoo"]
    assert entry["disabled"] is True and entry["note"] == "kept"
    other = make_keeper()
    other.manager.load()
    assert other.manager.state("zoo") == "disabled"
    await keeper.manager.set_enabled("zoo", True)
    await keeper.state("zoo", "connected")
    assert "disabled" not in servers_in(paths.mcp_file())["zoo"]


async def test_reconnecting_takes_the_configuration_as_it_is_now(keeper: Keeper):
    write_servers(paths.mcp_file(), zoo=raw("DeadAtStart"))
    keeper.manager.load()
    keeper.manager.start()
    await keeper.state("zoo", "failed")
    write_servers(paths.mcp_file(), zoo=raw("Plain", env={"A": "1"}))
    keeper.manager.reconnect("zoo")
    await keeper.state("zoo", "connected")
    assert json.loads(text_of(await keeper.call("zoo__env")))["A"] == "1"
    write_servers(paths.mcp_file())
    with pytest.raises(McpError, match="is no longer in"):
        keeper.manager.reconnect("zoo")


# --- approval of what comes with a project ------------------------------------------------


async def test_a_project_s_server_runs_only_with_approval_of_its_very_content(
    make_keeper, project: Path, tmp_path: Path
):
    mark = tmp_path / "ran"
    evil = raw("Plain", env={"ZOO_DIARY": str(mark)})
    write_servers(project / ".mcp.json", zoo=evil)

    def started() -> Keeper:
        keeper = make_keeper()
        keeper.manager.load()
        keeper.manager.start()
        return keeper

    first = started()
    snapshot = first.manager.snapshot("zoo")
    assert snapshot.state == "awaiting_approval" and "Runs: " in snapshot.approval_text
    with pytest.raises(McpError, match="waits for your approval"):
        first.manager.reconnect("zoo")
    assert await first.manager.wait_ready(0.2) == [] and not mark.exists()
    first.manager.approve("zoo", True)
    await first.state("zoo", "connected")
    await first.manager.close()

    second = started()  # asked once
    await second.state("zoo", "connected")
    second.manager.approve("zoo", False)
    await until(lambda: second.manager.state("zoo") == "disabled")
    await second.manager.close()
    assert started().manager.state("zoo") == "disabled"

    write_servers(project / ".mcp.json", zoo=evil | {"args": [*evil["args"], "--more"]})
    assert started().manager.state("zoo") == "awaiting_approval"
    # The same content elsewhere was approved by nobody.
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    write_servers(elsewhere / ".mcp.json", zoo=evil)
    other = make_keeper(cwd=elsewhere)
    other.manager.load()
    assert other.manager.state("zoo") == "awaiting_approval"


async def test_until_it_is_approved_a_project_s_server_hides_nobody(make_keeper, project: Path):
    write_servers(paths.mcp_file(), zoo=raw("Plain", env={"WHOSE": "mine"}))
    write_servers(project / ".mcp.json", zoo=raw("Plain", env={"WHOSE": "the project's"}))

    async def whose(keeper: Keeper) -> str:
        await keeper.state("zoo", "connected")
        return json.loads(text_of(await keeper.call("zoo__env")))["WHOSE"]

    keeper = make_keeper()
    [warning] = keeper.manager.load()
    assert f"that of {paths.mcp_file()} is used" in warning
    keeper.manager.start()
    assert await whose(keeper) == "mine"
    snapshot = keeper.manager.snapshot("zoo")
    assert (snapshot.scope, snapshot.source) == ("user", str(paths.mcp_file()))
    assert "WHOSE=the project's" in snapshot.approval_text
    assert snapshot.approval_source == str(project / ".mcp.json")
    assert "nobody has approved the project's yet" in snapshot.hidden
    # Refused: the user's own goes on, and is not even disturbed.
    pid = text_of(await keeper.call("zoo__pid"))
    keeper.manager.approve("zoo", False)
    assert text_of(await keeper.call("zoo__pid")) == pid
    snapshot = keeper.manager.snapshot("zoo")
    assert snapshot.approval_text == "" and "you have refused" in snapshot.hidden
    # Approved: the project's takes its place.
    await keeper.manager.set_enabled("zoo", True)
    await until(lambda: keeper.manager.snapshot("zoo").scope == "project")
    assert await whose(keeper) == "the project's"
    assert keeper.manager.snapshot("zoo").hidden == ""
    await keeper.manager.close()

    keeper = make_keeper()
    [warning] = keeper.manager.load()
    assert warning.endswith(f"that of {project / '.mcp.json'} is used.")
    keeper.manager.start()
    assert await whose(keeper) == "the project's"
    # It has changed on disk: nobody has approved that.
    write_servers(project / ".mcp.json", zoo=raw("Plain", env={"WHOSE": "somebody's"}))
    keeper.manager.reconnect("zoo")
    assert await whose(keeper) == "mine"
    # Without it the name means the other one.
    assert f"zoo of {project / '.mcp.json'} is there now" in await keeper.manager.remove("zoo")
    assert keeper.manager.state("zoo") == "awaiting_approval"
    assert servers_in(paths.mcp_file()) == {}
    await keeper.manager.close()


async def test_taking_out_a_project_s_server_brings_back_the_user_s_own(make_keeper, project: Path):
    write_servers(paths.mcp_file(), zoo=raw("Plain"))
    write_servers(project / ".mcp.json", zoo=raw("Plain", env={"A": "1"}))
    keeper = make_keeper()
    keeper.manager.load()
    keeper.manager.start()
    keeper.manager.approve("zoo", True)
    await keeper.state("zoo", "connected")
    assert keeper.manager.snapshot("zoo").scope == "project"
    await keeper.manager.remove("zoo")
    await keeper.state("zoo", "connected")
    assert keeper.manager.snapshot("zoo").scope == "user"
    await keeper.manager.close()


def test_a_state_file_that_is_damaged_costs_a_question(home: Path, tmp_path: Path):
    state_file.set_approval(tmp_path, "zoo", {"command": "x"}, True)
    assert state_file.approval(tmp_path, "zoo", {"command": "x"}) is True
    (home / "mcp_state.json").write_text('{"approvals": 3')
    assert state_file.approval(tmp_path, "zoo", {"command": "x"}) is None
    state_file.set_approval(tmp_path, "zoo", {"b": 1, "a": 2}, False)
    assert state_file.approval(tmp_path, "zoo", {"a": 2, "b": 1}) is False
    assert (home / "mcp_state.json").stat().st_mode & 0o777 == 0o600


# --- what is offered ----------------------------------------------------------------------


async def test_tools_are_chosen_approved_and_exposed_by_name_and_pattern(keeper: Keeper):
    keeper.add(
        "zoo", "Plain", enabled_tools=["e*", "ask*", "pid"], disabled_tools=["ask_url"],
        approval={"echo": "allow", "*": "deny", "a*": "ask"},
        exposure={"*": "deferred", "echo": "both"},
    )  # fmt: skip
    await keeper.ready()
    manager = keeper.manager
    assert list(keeper.tools()) == ["zoo__ask", "zoo__echo", "zoo__env", "zoo__pid"]
    assert manager.approval("zoo__echo") == "allow" and manager.approval("zoo__pid") == "deny"
    assert manager.approval("zoo__ask") == "ask" and manager.approval("nobody__x") == "ask"
    assert manager.exposure("zoo__echo") == "both" and manager.exposure("zoo__pid") == "deferred"
    wires = {name: tool.wire for name, tool in keeper.tools().items()}
    assert wires["zoo__echo"] == {} and wires["zoo__pid"] == {"defer_loading": True}
    infos = {info.name: info for info in manager.snapshot("zoo").tools}
    assert infos["echo"].enabled and not infos["ask_url"].enabled and not infos["slow"].enabled


async def test_the_tools_are_the_same_bytes_after_a_reconnection(keeper: Keeper):
    """A29: the order of a server's list is its own business."""
    keeper.add("zoo", "Shuffled")
    await keeper.ready()
    before = [(t.name, t.description, t.parameters) for t in keeper.manager.tools()]
    keeper.events.clear()
    keeper.manager.reconnect("zoo")
    assert [t.name for t in keeper.manager.tools()] == [name for name, *_ in before]
    await until(lambda: ToolsChanged("zoo") in keeper.events)
    await keeper.state("zoo", "connected")
    assert [(t.name, t.description, t.parameters) for t in keeper.manager.tools()] == before
    assert [name for name, *_ in before] == sorted(name for name, *_ in before)


async def test_two_servers_whose_tools_would_meet(keeper: Keeper, make_keeper):
    """Must show: every call reaches its own tool, also after a restart."""

    async def calls(keeper: Keeper, order: list[str]) -> dict[str, tuple[str, str]]:
        for name in order:
            keeper.manager.add(parse_server(name, raw("BadNames")))
        await keeper.ready()
        found = {}
        for alias in keeper.tools():
            pair = keeper.manager.resolve(alias)
            assert pair is not None
            said = text_of(await keeper.call(alias))
            assert said == f"this is {pair[1]}".replace("\x1b[2J", "")
            found[alias] = pair
        return found

    first = await calls(keeper, ["my server", "my_server"])
    other = make_keeper()
    second = await calls(other, ["my_server", "my server"])
    await other.manager.close()
    assert first == second and len(first) == 22
    assert first["my_server__read_file"] == ("my_server", "read_file")


async def test_a_reserved_name_is_not_taken(make_keeper):
    keeper = make_keeper(reserved_names=["zoo__echo"])
    keeper.add("zoo", "Plain")
    await keeper.ready()
    assert "zoo__echo" not in keeper.tools()
    [alias] = [a for a in keeper.tools() if keeper.manager.resolve(a) == ("zoo", "echo")]
    assert text_of(await keeper.call(alias, text="x")) == "x"
    await keeper.manager.close()


async def test_resources_of_a_server_that_is_not_there_say_what_to_do(keeper: Keeper):
    keeper.add("zoo", "Plain", disabled=True)
    with pytest.raises(McpError, match="/mcp enable zoo"):
        await keeper.manager.read_resource("zoo", "zoo://x")
    with pytest.raises(McpError, match="There is no MCP server other"):
        await keeper.manager.get_prompt("other", "p", {})


async def test_what_a_server_refuses_is_an_mcp_error(keeper: Keeper):
    keeper.add("zoo", "Modern")
    await keeper.ready()
    with pytest.raises(McpError, match="zoo"):
        await keeper.manager.get_prompt("zoo", "feed", {})


# --- cost ---------------------------------------------------------------------------------


def test_the_room_is_entered_without_the_sdk():
    code = (
        "import sys; from agent_tui.mcp_servers import McpManager\n"
        "McpManager('.', on_event=print, cap_text=lambda t, n: None).load()\n"
        "print(sorted({'mcp', 'mcp_types', 'anthropic', 'textual', 'jsonschema', 'httpx2'}"
        " & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
