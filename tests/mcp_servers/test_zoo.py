"""The manager against servers that misbehave: the fault is one clear line, the rest works."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from agent_tui.agent.tools import ToolContext
from agent_tui.mcp_servers import life, schemas
from agent_tui.mcp_servers.types import CatalogChanged, Notice, ServerChanged, ToolsChanged
from agent_tui.processes import process
from tests.mcp_servers import zoo
from tests.mcp_servers.conftest import (
    Keeper,
    content_of,
    garbled,
    is_private,
    size_of,
    text_of,
    until,
    zoo_processes,
)

# --- a server that does as it should ----------------------------------------------------------


async def test_a_server_connects_and_answers(keeper: Keeper):
    keeper.add("zoo", "Plain")
    snapshot = await keeper.state("zoo", "connected")
    assert snapshot.protocol == "2025-11-25"
    assert snapshot.server_title == "Plain 1"
    assert snapshot.instructions == "Be kind to the animals."
    assert keeper.manager.instructions() == {"zoo": "Be kind to the animals."}
    assert ToolsChanged("zoo") in keeper.events
    states = [e.state for e in keeper.events if isinstance(e, ServerChanged)]
    assert states[0] == "connecting" and states[-1] == "connected"
    result = await keeper.call("zoo__echo", text="hello")
    assert (text_of(result), result.is_error) == ("hello", False)
    result = await keeper.call("zoo__fail")
    assert (text_of(result), result.is_error) == ("it went wrong", True)


async def test_resources_prompts_and_completion(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await until(lambda: keeper.manager.prompts() and keeper.manager.resources())
    cage, template = keeper.manager.resources("zoo")
    assert (cage.uri, cage.size, cage.template) == ("zoo://cage/1", 12, False)
    assert (template.uri, template.template) == ("zoo://cage/{n}", True)
    [block] = await keeper.manager.read_resource("zoo", "zoo://cage/7")
    assert block.text == "[resource zoo://cage/7]\ninside zoo://cage/7"
    [prompt] = keeper.manager.prompts()
    assert [(a.name, a.required) for a in prompt.arguments] == [("who", True)]
    [message] = await keeper.manager.get_prompt("zoo", "feed", {"who": "Ann"})
    assert (message.role, message.content[0].text) == ("user", "Feed Ann.")
    complete = keeper.manager.complete
    assert await complete("zoo", argument="who", value="a", prompt="feed") == ["ape", "ant"]
    assert await complete("zoo", argument="n", value="b", uri_template=template.uri) == ["bear"]


@pytest.mark.parametrize("kind", ["ToolsOnly", "BadPrompts", "Plain"])
async def test_who_waits_for_lists_hears_of_each_of_them(keeper: Keeper, kind: str):
    """Also of a server that has none, or cannot list them."""
    keeper.add("zoo", kind)
    both = {CatalogChanged("zoo", "resources"), CatalogChanged("zoo", "prompts")}
    await until(lambda: both <= {e for e in keeper.events if isinstance(e, CatalogChanged)})
    assert bool(keeper.manager.prompts("zoo")) is (kind == "Plain")


async def test_progress_becomes_updates(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    result = await keeper.call("zoo__slow", steps=3)
    assert text_of(result) == "done"
    assert keeper.updates == [
        {"progress": n, "total": 3, "message": f"step {n}"} for n in (1, 2, 3)
    ]


async def test_stopping_a_call_tells_the_server_and_takes_no_time(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    tool = keeper.tools()["zoo__slow"]
    running = asyncio.create_task(
        tool.execute("c", {"steps": 500, "s": 0.05}, ToolContext("c", keeper.updates.append))
    )
    await until(lambda: keeper.updates)
    running.cancel()
    begun = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - begun < 1.0
    await until(lambda: any("stopped" in entry for entry in keeper.diary()))
    assert keeper.told("notifications/cancelled")
    assert text_of(await keeper.call("zoo__echo", text="still there")) == "still there"


async def test_a_list_that_changes_is_listed_again(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    assert "zoo__grown0" not in keeper.tools()
    await keeper.call("zoo__grow")
    await until(lambda: "zoo__grown0" in keeper.tools())
    assert text_of(await keeper.call("zoo__grown0")) == "grown0"


async def test_all_pages_are_listed(keeper: Keeper):
    keeper.add("zoo", "Pages")
    await keeper.ready()
    assert list(keeper.tools()) == ["zoo__p0", "zoo__p1", "zoo__p2"]


async def test_log_messages_go_into_the_server_s_log(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    await keeper.manager.set_log_level("info")
    await keeper.call("zoo__log")
    await until(lambda: "warning: from the log" in keeper.manager.log_tail("zoo"))
    assert keeper.told("logging/setLevel")[-1]["params"]["level"] == "info"
    path = keeper.manager.log_path("zoo")
    assert "warning: from the log" in content_of(path) and is_private(path)


async def test_roots_are_told_and_told_again(keeper: Keeper, tmp_path: Path):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    roots = json.loads(text_of(await keeper.call("zoo__roots")))["roots"]
    assert [root["uri"] for root in roots] == [(tmp_path / "project").as_uri()]
    await keeper.manager.set_roots([tmp_path])
    await until(lambda: keeper.told("notifications/roots/list_changed"))
    roots = json.loads(text_of(await keeper.call("zoo__roots")))["roots"]
    assert [root["uri"] for root in roots] == [tmp_path.as_uri()]


# --- names and schemas -------------------------------------------------------------------------


async def test_every_call_reaches_its_own_tool_whatever_its_name(keeper: Keeper, make_keeper):
    keeper.add("a", "BadNames")
    keeper.add("a__b", "BadNames")
    await keeper.ready()
    aliases = {}
    for info in [t for s in keeper.manager.snapshots() for t in s.tools]:
        assert text_of(await keeper.call(info.alias)) == f"this is {zoo_text(info.name)}"
        assert keeper.manager.resolve(info.alias) == (info.server, info.name)
        aliases[info.server, info.name] = info.alias
    assert len(set(aliases.values())) == 2 * len(zoo.BadNames.NAMES)
    said = " | ".join(keeper.notices("a"))
    assert said.count("without a name is left out") == 1 and "listed twice" in said
    # After a restart, and without the other server, they are the same.
    other = make_keeper()
    other.add("a", "BadNames")
    await other.ready()
    for info in other.manager.snapshot("a").tools:
        assert info.alias == aliases["a", info.name]
    await other.manager.close()


def zoo_text(name: str) -> str:
    """A name as it comes back in a result, where controls become text."""
    return name.replace("\x1b[2J", "")


async def test_of_300_tools_the_impossible_is_left_out_and_named(keeper: Keeper):
    keeper.add("zoo", "Many")
    snapshot = await keeper.state("zoo", "connected")
    assert snapshot.left_out == {"array": "its schema is not that of an object"}
    assert len(keeper.tools()) == len(snapshot.tools) == 299
    [union] = [tool for tool in snapshot.tools if tool.name == "union"]
    assert union.notes and list(union.input_schema) == ["type", "oneOf"]  # as it was sent
    assert Notice("zoo", "the tool array is left out: its schema is not that of an object") in (
        keeper.events
    )
    for name, given, comes in [
        ("typeless", {"a": "x"}, {"a": "x"}),
        ("union", {"input": {"a": 1}}, {"a": 1}),
        ("keys", {"user_name": "Ann"}, {"user name": "Ann"}),
        ("none", {}, {}),
    ]:
        said = json.loads(text_of(await keeper.call(f"zoo__{name}", **given)))
        assert said == {"name": name, "arguments": comes}


@pytest.mark.parametrize(
    ("kind", "number", "says"),
    [("Endless", 100, "has no end"), ("Circular", 2, "repeats itself")],
)
async def test_pages_without_end_are_cut_short(keeper: Keeper, kind: str, number: int, says: str):
    keeper.add("zoo", kind)
    await keeper.state("zoo", "connected")
    assert len(keeper.tools()) == number
    [notice] = keeper.notices("zoo")
    assert says in notice


async def test_pages_without_end_that_come_slowly_are_cut_by_time(keeper: Keeper, monkeypatch):
    monkeypatch.setattr("agent_tui.mcp_servers.listing.MAX_PAGES", 10**9)
    monkeypatch.setattr("agent_tui.mcp_servers.listing.MAX_ITEMS", 10**9)
    keeper.add("zoo", "Endless", list_timeout_s=0.5)
    await keeper.state("zoo", "connected")
    assert len(keeper.tools()) > 1
    assert "was cut short after 0.5 s" in keeper.notices("zoo")[0]


# --- results -------------------------------------------------------------------------------------


async def test_four_megabytes_are_cut_and_saved_whole(keeper: Keeper, outputs: Path):
    keeper.add("zoo", "Wild")
    await keeper.ready()
    result = await keeper.call("zoo__megabytes")
    text = text_of(result)
    assert len(text) < 40_000 and text.startswith("start ") and text.endswith("end")
    whole = Path(result.details["output_path"])
    assert whole.parent == outputs and str(whole) in text
    assert size_of(whole) > 4_000_000 and is_private(whole)


async def test_answers_that_are_no_json_rpc_fail_their_own_call_only(keeper: Keeper):
    keeper.add("zoo", "Rude")
    await keeper.ready()
    for name, says in [
        ("null_result", "not valid JSON-RPC"), ("text_code", "why"), ("both", "just text"),
    ]:  # fmt: skip
        result = await keeper.call(f"zoo__{name}")
        assert result.is_error and says in text_of(result)
    assert text_of(await keeper.call("zoo__bare")) == "without a version"
    assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


async def test_answers_that_no_parser_takes_end_their_call_at_once(keeper: Keeper):
    keeper.add("zoo", "Garbled", call_timeout_s=600)
    await keeper.ready()
    await garbled(keeper)
    # The notice names the server, and says what happened.
    assert Notice("zoo", "an answer of it is not valid JSON, so its call has failed") in (
        keeper.events
    )
    assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


async def test_a_schema_beyond_every_parser_costs_its_own_tool(keeper: Keeper):
    keeper.add("zoo", "Garbled")
    snapshot = await keeper.state("zoo", "connected")
    assert set(snapshot.left_out) == {"nested", "abyss"}
    for name in ("nested", "abyss"):
        said = f"the tool {name} is left out: its schema is nested more than 64 levels deep"
        assert Notice("zoo", said) in keeper.events
    # A number that nobody can read costs that one word of its schema.
    assert keeper.tools()["zoo__huge"].parameters["properties"] == {"a": {}}
    assert text_of(await keeper.call("zoo__echo", text="x")) == "x"


async def test_a_tool_that_nobody_can_make_sense_of_costs_itself(keeper: Keeper, monkeypatch):
    def repair(schema):
        if "a" in (schema.get("properties") or {}):
            raise RuntimeError("a shape nobody thought of")
        return schemas.Repaired(schema)

    monkeypatch.setattr("agent_tui.mcp_servers.listing.repair", repair)
    keeper.add("zoo", "Garbled")
    snapshot = await keeper.state("zoo", "connected")
    assert snapshot.left_out["nested"] == "its schema cannot be made legal"
    assert "zoo__echo" in keeper.tools()


# --- servers that do not start, answer or stay ----------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        ("Silent", {"connect_timeout_s": 0.5}, "it did not answer within 0.5 s"),
        ("SilentList", {"list_timeout_s": 0.5}, "it did not list its tools within 0.5 s"),
        ("DeadAtStart", {}, "it ended with exit code 7. It said: cannot open the gate: no key"),
        ("Plain", {"command": "no-such-program"}, "the command no-such-program is not found"),
        ("Plain", {"cwd": "/no/such/folder"}, "its cwd /no/such/folder is not a folder"),
        ("Plain", {"args": ["-c", "${NO_SUCH_VARIABLE}"]}, "args[1] needs the variable NO_SUCH_"),
        ("Flood", {"connect_timeout_s": 15}, "something else than MCP messages to its standard"),
    ],
)
async def test_what_is_wrong_is_one_clear_line(keeper: Keeper, kind: str, fields: dict, says: str):
    keeper.add("good", "Plain")
    keeper.add("bad", kind, **fields)
    snapshot = await keeper.state("bad", "failed")
    assert says in (snapshot.error or "") and "\n" not in (snapshot.error or "")
    # One line is what it is to be on a screen, too.
    assert "⏎" not in snapshot.error and len(snapshot.error) < 200
    await keeper.ready("good")
    assert text_of(await keeper.call("good__echo", text="fine")) == "fine"
    assert not [name for name in keeper.tools() if name.startswith("bad__")]


async def test_a_silent_server_delays_nobody(keeper: Keeper):
    for number in range(5):
        keeper.add(f"silent{number}", "Silent", connect_timeout_s=60)
    keeper.add("good", "Plain")
    await keeper.ready("good")
    assert keeper.manager.connecting() == [f"silent{n}" for n in range(5)]
    assert await keeper.manager.wait_ready(0.05) == [f"silent{n}" for n in range(5)]
    assert text_of(await keeper.call("good__echo", text="fine")) == "fine"


async def test_a_server_that_falls_over_the_newer_protocol_is_spoken_to_in_the_older(
    keeper: Keeper, make_keeper, monkeypatch
):
    keeper.add("zoo", "DiesOfTheNew")
    await keeper.state("zoo", "connected")
    # The next start asks in the older protocol at once.
    other = make_keeper()
    other.diary_path = other.diary_path.with_name("second")
    other.add("zoo", "DiesOfTheNew")
    await other.state("zoo", "connected")
    assert other.diary()[0]["method"] == "initialize"
    await other.manager.close()


async def test_a_server_that_ignores_the_newer_protocol_is_remembered(
    keeper: Keeper, make_keeper, monkeypatch
):
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 2.2)
    keeper.add("zoo", "DeafToTheNew")
    await keeper.state("zoo", "connected")
    other = make_keeper()
    other.diary_path = other.diary_path.with_name("second")
    other.add("zoo", "DeafToTheNew")
    await other.state("zoo", "connected")
    assert other.diary()[0]["method"] == "initialize"
    await other.manager.close()


async def test_a_crash_during_a_call_is_told_and_mended(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    begun = time.monotonic()
    result = await keeper.call("zoo__crash")
    assert time.monotonic() - begun < 2
    assert result.is_error
    assert "ended with exit code 3. It said: the cage is open" in text_of(result)
    # It may have had an effect, so nobody calls it a second time.
    assert [c["params"]["name"] for c in keeper.told("tools/call")] == ["crash"]
    assert "zoo__echo" in keeper.tools()  # offered all the time: the request's tools stay
    # The next call waits for the new connection.
    assert text_of(await keeper.call("zoo__echo", text="again")) == "again"


async def test_a_server_that_keeps_crashing_is_given_up_with_the_reason(
    keeper: Keeper, monkeypatch
):
    monkeypatch.setattr("agent_tui.mcp_servers.connection._pause_s", lambda failures: 0.01)
    keeper.add("zoo", "DeadAtStart")
    await until(
        lambda: (
            keeper.manager.state("zoo") == "failed"
            and keeper.manager.snapshot("zoo").retry_in_s is None
        )
    )
    assert len([e for e in keeper.events if getattr(e, "state", "") == "failed"]) == 3
    keeper.manager.reconnect("zoo")
    await until(lambda: len([e for e in keeper.events if getattr(e, "state", "") == "failed"]) > 3)


async def test_a_call_without_an_answer_ends_by_time_and_the_server_is_told(keeper: Keeper):
    keeper.add("zoo", "Plain", call_timeout_s=0.3)
    await keeper.ready()
    result = await keeper.call("zoo__stuck")
    assert result.is_error and "said nothing for 0.3 s" in text_of(result)
    await until(lambda: keeper.told("notifications/cancelled"))
    # One that reports progress may take longer than that.
    assert text_of(await keeper.call("zoo__slow", steps=8, s=0.1)) == "done"


async def test_a_call_of_a_server_that_is_gone_says_what_to_do(keeper: Keeper, monkeypatch):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    tool = keeper.tools()["zoo__echo"]
    ctx = ToolContext("c", lambda partial: None)
    await keeper.manager.set_enabled("zoo", False)
    result = await tool.execute("c", {"text": "x"}, ctx)
    assert result.is_error and "/mcp enable zoo" in text_of(result)
    await keeper.manager.remove("zoo")
    result = await tool.execute("c", {"text": "x"}, ctx)
    assert result.is_error and "has been removed" in text_of(result)


# --- noise -----------------------------------------------------------------------------------


async def test_noise_is_kept_apart_from_messages_and_without_secrets(keeper: Keeper):
    keeper.add("zoo", "Noisy", env={"ZOO_TOKEN": "s3cret-of-the-zoo"})
    await keeper.state("zoo", "connected")
    assert text_of(await keeper.call("zoo__echo", text="x")) == "x"
    log = "\n".join(keeper.manager.log_tail("zoo"))
    assert "stdout: Starting..." in log and "stdout: DEBUG called" in log
    [notice] = keeper.notices("zoo")
    assert notice == "it writes to stdout what is no message: Starting..."
    assert "stderr: listening with ***" in log
    assert "\x1b" not in log and "s3cret" not in log
    assert "s3cret" not in content_of(keeper.manager.log_path("zoo"))
    # A tool that shows its environment does not show the secret either.
    assert "s3cret" not in text_of(await keeper.call("zoo__env"))


async def test_a_flood_on_stderr_leaves_the_loop_and_the_disk_in_peace(keeper: Keeper, monkeypatch):
    keeper.add("zoo", "ErrorFlood")
    await keeper.state("zoo", "connected")
    longest = 0.0
    for _ in range(60):
        begun = time.perf_counter()
        await asyncio.sleep(0.005)
        longest = max(longest, time.perf_counter() - begun)
    # It does not stand still, on the busiest machine; how smooth it is, is measured elsewhere.
    assert longest < 5.0
    assert text_of(await keeper.call("zoo__echo", text="x")) == "x"
    await until(lambda: any("came too fast" in x for x in keeper.manager.log_tail("zoo", 200)))
    assert size_of(keeper.manager.log_path("zoo")) < 1_100_000


async def test_own_keys_do_not_reach_a_server(keeper: Keeper, make_keeper):
    environ = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-ant-1", "OTHER_SECRET": "2",
               "LC_ALL": "C.UTF-8", "GIVEN": "value-of-given"}  # fmt: skip
    own = make_keeper(environ=environ)
    own.add("zoo", "Plain", env={"MINE": "${GIVEN}!"})
    await own.ready()
    env = json.loads(text_of(await own.call("zoo__env")).replace("***", "value-of-given"))
    assert env["LC_ALL"] == "C.UTF-8" and env["MINE"] == "value-of-given!"
    assert not {"ANTHROPIC_API_KEY", "OTHER_SECRET", "GIVEN"} & env.keys()
    await own.manager.close()


# --- the end -----------------------------------------------------------------------------------


async def test_closing_ends_all_at_once_with_all_they_started(keeper: Keeper):
    for number in range(3):
        keeper.add(f"stubborn{number}", "Stubborn")
        keeper.add(f"wrapper{number}", "LeavesAChild")
    keeper.add("silent", "Silent", connect_timeout_s=60)
    await keeper.ready(*[n for n in keeper.manager.servers() if n != "silent"])
    pids = [pid for entry in keeper.diary() for pid in entry.get("pids", [])]
    assert len(pids) == 12 and all(process(pid) for pid in pids)
    begun = time.monotonic()
    await keeper.manager.close()
    assert time.monotonic() - begun < 8
    assert not [pid for pid in pids if (known := process(pid)) and known.alive]
    assert zoo_processes() == []


async def test_disabling_ends_the_process_and_enabling_brings_it_back(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    pid = int(text_of(await keeper.call("zoo__pid")))
    await keeper.manager.set_enabled("zoo", False)
    assert keeper.manager.state("zoo") == "disabled" and keeper.tools() == {}
    assert keeper.events[-2:] == [ToolsChanged("zoo"), ServerChanged("zoo", "disabled")]
    assert process(pid) is None
    await keeper.manager.set_enabled("zoo", True)
    await keeper.state("zoo", "connected")
    assert int(text_of(await keeper.call("zoo__pid"))) != pid


async def test_reconnecting_leaves_a_server_that_hangs(keeper: Keeper):
    keeper.add("zoo", "Silent", connect_timeout_s=60)
    await until(lambda: keeper.diary())
    keeper.manager.reconnect("zoo")
    await until(lambda: len(keeper.told("server/discover")) == 2)
    assert keeper.manager.state("zoo") == "connecting"


# --- the newer protocol -------------------------------------------------------------------------


async def test_the_newer_protocol_lists_calls_asks_and_listens(make_keeper, monkeypatch):
    monkeypatch.setattr(life, "RELISTEN_S", 0.05)
    asked = []

    async def elicit(question):
        asked.append(question)
        from agent_tui.mcp_servers.types import ElicitAnswer

        return ElicitAnswer("accept", {"name": "Ann"})

    keeper = make_keeper(elicit=elicit)
    keeper.add("zoo", "Modern")
    snapshot = await keeper.state("zoo", "connected")
    assert (snapshot.protocol, snapshot.server_title) == ("2026-07-28", "Modern 2")
    assert text_of(await keeper.call("zoo__echo", text="x")) == "x"
    said = json.loads(text_of(await keeper.call("zoo__ask")))
    assert said["content"] == {"name": "Ann"} and asked[0].message == "Who are you?"
    await until(lambda: {"listening": True} in keeper.diary())
    await keeper.call("zoo__grow")
    await until(lambda: "zoo__grown0" in keeper.tools())
    await keeper.manager.close()
