"""MCP servers in a conversation: attached by a sentence, their tools asked for and called."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_tui import paths
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation import build
from agent_tui.conversation.approvals import Approvals
from agent_tui.conversation.mcp.link import McpLink
from agent_tui.conversation.mcp.plan import McpPlan
from agent_tui.conversation.toolset import Toolset
from agent_tui.mcp_servers.names import Names
from tests.conversation.mcp_making import (
    add_line,
    attach,
    call,
    configure,
    connected,
    entry,
    offered,
    result_text,
    run,
    state,
)
from tests.faults.helpers import Gate, talking
from tests.mcp_servers.conftest import animal


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def test_a_server_attached_by_a_sentence_is_asked_for_and_called(work: Path) -> None:
    async with talking(
        {"text": "Hi."}, call("zoo__echo", text="hello"), {"text": "Done."}, cwd=work
    ) as talk:
        await talk.say("hi")
        assert offered(talk.bodies[0]) == [] and "Be kind" not in str(talk.bodies[0]["system"])
        said = await run(talk, add_line("zoo"))
        assert "zoo" in said.text and said.data and said.data["server"]["state"] == "connecting"
        await connected(talk, "zoo")
        states = [e.state for e in talk.all("mcp_server_changed")]
        assert states[0] == "connecting" and states[-1] == "connected"
        assert talk.all("mcp_server_changed")[-1].tools == 13
        assert "zoo is connected: 13 tools" in talk.notices
        await talk.conversation.submit("call it")
        asked = await talk.until_event("permission_request")
        assert (asked.server, asked.server_tool) == ("zoo", "echo")
        assert (asked.tool_name, asked.arguments) == ("zoo__echo", {"text": "hello"})
        assert "zoo__echo" in asked.rule
        talk.conversation.answer(asked.request_id, "allow")
        await talk.idle()
        talk.assert_accepted()
        assert "zoo__echo" in offered(talk.bodies[1])
        assert result_text(talk.bodies[2]) == "hello"
        prompt = talk.bodies[1]["system"][-1]["text"]
        assert prompt.startswith(talk.bodies[0]["system"][0]["text"].rstrip())
        assert "[zoo]\nBe kind to the animals." in prompt
        shown = await run(talk, "/system")
        assert "Be kind to the animals." in shown.text
        (server,) = talk.conversation.state()["mcp_servers"]
        assert (server["server"], server["state"], server["tools"]) == ("zoo", "connected", 13)


async def test_tools_that_come_in_mid_run_join_at_the_next_request(work: Path) -> None:
    gate = Gate()
    async with talking(
        call("work"), {"text": "Done."}, cwd=work, tools=[gate.tool], allow=["zoo__*"]
    ) as talk:
        await talk.conversation.submit("work")
        await talk.until(lambda: gate.begun)
        await attach(talk, "zoo")
        assert talk.conversation.status == "tools", "the command acted in the middle of the run"
        gate.may_end("toolu_1")
        await talk.idle()
        talk.assert_accepted()
        assert offered(talk.bodies[0]) == []
        assert len(offered(talk.bodies[1])) == 13
        assert "Be kind" in talk.bodies[1]["system"][-1]["text"]


async def test_always_holds_for_one_tool_until_its_server_is_another(work: Path) -> None:
    turns = [call("zoo__echo", f"toolu_{n}", text=str(n)) for n in range(3)]
    scenario = [turn for one in turns for turn in (one, {"text": "Done."})]
    async with talking(
        *scenario, call("zoo__fail", "toolu_f"), {"text": "Done."}, cwd=work
    ) as talk:
        await attach(talk, "zoo")
        await talk.conversation.submit("first")
        asked = await talk.until_event("permission_request")
        talk.conversation.answer(asked.request_id, "allow_always")
        await talk.idle()
        await talk.say("second")
        assert len(talk.all("permission_request")) == 1, "not asked again"
        await run(talk, "/mcp remove zoo")
        assert state(talk, "zoo") == "removed"
        await attach(talk, "zoo")
        await talk.conversation.submit("third")
        asked = await talk.until_event("permission_request", 2)
        talk.conversation.answer(asked.request_id, "allow_always")
        await talk.idle()
        await talk.conversation.submit("another tool of it")
        asked = await talk.until_event("permission_request", 3)
        assert asked.server_tool == "fail"
        talk.conversation.answer(asked.request_id, "deny")
        await talk.idle()
        talk.assert_accepted()


async def test_the_configuration_allows_denies_and_places_tools(work: Path) -> None:
    turns = [call("zoo__echo", text="unasked"), call("zoo__fail", "toolu_2"), {"text": "Done."}]
    async with talking(*turns, cwd=work, allow=["zoo__fail"]) as talk:
        await attach(
            talk, "zoo",
            approval={"echo": "allow", "fail": "deny"},
            exposure={"slow": "off", "pid": "both"}, disabled_tools=["crash"],
        )  # fmt: skip
        await talk.say("call both")
        talk.assert_accepted()
        assert talk.all("permission_request") == [], "one is allowed, one is denied"
        assert "unasked" in result_text(talk.bodies[1])
        assert "does not allow zoo__fail" in result_text(talk.bodies[2]), "also over --allow"
        names = offered(talk.bodies[0])
        assert "zoo__slow" not in names and "zoo__crash" not in names and "zoo__echo" in names
        (pid,) = [t for t in talk.bodies[0]["tools"] if t["name"] == "zoo__pid"]
        assert pid["allowed_callers"] == ["direct", "code_execution_20260120"]
        rows = {r["name"]: r for r in (await run(talk, "/tools")).data["tools"]}  # type: ignore[index]
        assert rows["zoo__echo"]["approval"] == "allowed"
        assert rows["zoo__slow"]["exposure"] == "off"
        await run(talk, "/tools zoo__slow direct")
        assert "zoo__slow" in [t.name for t in talk.conversation.toolset.tools()]


async def test_a_server_switched_off_or_removed_takes_its_tools_along(work: Path) -> None:
    async with talking(
        call("zoo__echo", text="x"), *[{"text": "Yes."}] * 4, cwd=work, allow=["zoo__*"]
    ) as talk:
        await attach(talk, "zoo")
        await talk.say("call it")
        await run(talk, "/mcp disable zoo")
        await talk.say("and now?")
        await run(talk, "/mcp enable zoo")
        await connected(talk, "zoo")
        await talk.say("and again?")
        await run(talk, "/mcp remove zoo")
        await talk.say("and at last?")
        talk.assert_accepted()
        assert [len(offered(body)) for body in talk.bodies] == [13, 13, 0, 13, 0]
        assert "Be kind" not in talk.bodies[-1]["system"][-1]["text"]


async def test_clear_keeps_the_servers(work: Path) -> None:
    async with talking({"text": "A."}, {"text": "B."}, cwd=work) as talk:
        await attach(talk, "zoo")
        await talk.say("one")
        await run(talk, "/clear")
        await talk.say("two")
        assert [len(offered(body)) for body in talk.bodies] == [13, 13]
        assert len(talk.bodies[1]["messages"]) == 1


async def test_no_server_can_put_itself_in_the_place_of_the_built_in_tools(work: Path) -> None:
    async with talking({"text": "A."}, cwd=work) as talk:
        for name in ("builtin", "connector", "read"):
            await attach(talk, name)
        await talk.say("hello")
        talk.assert_accepted()
        names = [tool["name"] for tool in talk.bodies[0]["tools"]]
        assert {"read", "shell", "builtin__echo", "connector__echo", "read__echo"} <= set(names)
        await run(talk, "/mcp remove builtin")
        assert "read" in [tool.name for tool in talk.conversation.toolset.tools()]


async def test_the_tools_of_a_request_stand_in_one_order(work: Path) -> None:
    """A29: the cache holds although a server lists its tools in another order each time."""
    async with talking({"text": "A."}, {"text": "B."}, cwd=work) as talk:
        await attach(talk, "zoo", "Shuffled")
        await talk.say("one")
        await run(talk, "/mcp reconnect zoo")
        await talk.until(
            lambda: [e.state for e in talk.all("mcp_server_changed")].count("connected") >= 2
        )
        await talk.say("two")
        assert talk.bodies[0]["tools"] == talk.bodies[1]["tools"]
        assert talk.bodies[0]["system"] == talk.bodies[1]["system"]


async def test_the_cache_lens_names_what_a_server_changed(work: Path) -> None:
    async with talking(*[{"text": "Yes."}] * 3, cwd=work) as talk:
        await talk.say("one " * 2000)
        await attach(talk, "zoo")
        await talk.say("two")
        await talk.say("three")
        _, broken, whole = talk.all("cache")
        assert broken.broke and broken.cause == "tools"
        assert "added zoo__ask" in broken.detail and "system prompt changed" in broken.detail
        assert not whole.broke


# --- who may be asked --------------------------------


async def test_nobody_to_ask_refuses_unless_it_is_allowed(work: Path) -> None:
    configure(paths.mcp_file(), zoo=entry())
    for allow, told in (
        ([], "nobody can be asked"),
        (["zoo__echo"], "hello"),
        (["zoo__*"], "hello"),
        (["zoo__fail", "farm__*"], "nobody can be asked"),
    ):
        async with talking(
            call("zoo__echo", text="hello"), {"text": "Done."}, cwd=work, allow=allow
        ) as talk:
            talk.conversation.approvals.interactive = False
            await connected(talk, "zoo")
            await talk.say("call it")
            assert told in result_text(talk.bodies[1]), allow
            assert talk.all("permission_request") == []


class Known:
    """Servers and their tools, as the link knows them."""

    def __init__(self, **servers: list[str]) -> None:
        self.names = Names()
        for server, tools in servers.items():
            self.names.set_server(server, tools)

    def owner(self, alias: str) -> tuple[str, str] | None:
        return self.names.pair(alias)

    def approval(self, alias: str) -> str:
        return "ask"


def test_a_wildcard_means_the_server_of_that_name_and_no_other() -> None:
    """The tools of `a__b` do not begin with its name, and one of `a` does."""
    known = Known(a=["read", "b__read"], a__b=["read"])
    of_ab = known.names.alias("a__b", "read")
    for allow, allowed in (
        ("a__*", {"a__read", "a__b__read"}),
        ("a__b__*", {of_ab}),
        (f"{of_ab.removesuffix('read')}*", {of_ab}),
        ("a__b__read", {"a__b__read"}),
        ("*", set()),
        ("__*", set()),
    ):
        approvals = Approvals("/", lambda event: None, allow=[allow])
        approvals.servers = known
        names = ("a__read", "a__b__read", of_ab)
        assert {name for name in names if approvals.allowed(name)} == allowed, allow


# --- servers that are not there yet --------------------------------


async def test_a_prompt_goes_at_once_and_says_which_servers_are_missing(
    work: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    configure(
        paths.mcp_file(), late=entry("Gated", {"ZOO_GATE": str(gate)}), zoo=entry(),
        dead=entry("DeadAtStart"),
    )  # fmt: skip
    async with talking(*[{"text": "Yes."}] * 3, cwd=work) as talk:
        await connected(talk, "zoo")
        await talk.until(lambda: state(talk, "dead") == "failed")
        await talk.say("now")
        assert offered(talk.bodies[0], "late__") == [] and offered(talk.bodies[0]) != []
        told = [e.text for e in talk.all("notice") if "still connecting" in e.text]
        assert len(told) == 1 and told[0].startswith("late is still connecting")
        await talk.say("still")
        told = [e.text for e in talk.all("notice") if "still connecting" in e.text]
        assert len(told) == 1, "said once"
        failures = [e.text for e in talk.all("notice") if "dead" in e.text]
        assert len(failures) == 1 and "cannot open the gate: no key" in failures[0]
        gate.touch()
        await connected(talk, "late")
        await talk.say("then")
        assert len(offered(talk.bodies[2], "late__")) == 13


@pytest.mark.parametrize("wait_s, waits", [(15.0, True), (0.0, False)])
async def test_faces_without_a_screen_wait_as_long_as_mcp_wait_s_says(
    work: Path, tmp_path: Path, wait_s: float, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    configure(paths.mcp_file(), late=entry("Gated", {"ZOO_GATE": str(gate)}))
    made = build.build_conversation

    async def waiting(*args: Any, **more: Any) -> Any:
        return await made(*args, **more, waits=True)

    monkeypatch.setattr("tests.faults.helpers.build_conversation", waiting)
    turns = [call("late__echo", text="I am here"), {"text": "Yes."}]
    async with talking(*turns, cwd=work, mcp_wait_s=wait_s, allow=["late__*"]) as talk:
        await talk.until(lambda: state(talk, "late") == "connecting")
        await talk.conversation.submit("now")
        if waits:
            await talk.until_event("turn_start")
            await asyncio.sleep(0)
            assert talk.bodies == [], "the request waits"
            gate.touch()
        await talk.idle()
        assert len(offered(talk.bodies[0], "late__")) == (13 if waits else 0)
        assert ("I am here" in result_text(talk.bodies[1])) is waits
        missing = [e.text for e in talk.all("notice") if "still connecting" in e.text]
        assert bool(missing) is not waits
    gate.touch()


async def test_lists_are_waited_for_no_longer_than_they_take(work: Path) -> None:
    """Of the servers that are asked for, and not of one that has none or cannot list them."""
    configure(paths.mcp_file(), bare=entry("ToolsOnly"), sour=entry("BadPrompts"))
    async with talking({"text": "-"}, cwd=work) as talk:
        link = talk.conversation.mcp
        await connected(talk, "bare")
        await connected(talk, "sour")
        async with asyncio.timeout(20):
            await link.wait_for_catalogs(1000)
            await link.wait_for_catalogs(1000, ["bare"])


async def test_esc_ends_the_wait_for_servers(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(paths.mcp_file(), never=entry("Silent"))
    made = build.build_conversation

    async def waiting(*args: Any, **more: Any) -> Any:
        return await made(*args, **more, waits=True)

    monkeypatch.setattr("tests.faults.helpers.build_conversation", waiting)
    async with talking({"text": "Yes."}, cwd=work, mcp_wait_s=3600) as talk:
        await talk.until(lambda: state(talk, "never") == "connecting")
        await talk.conversation.submit("now")
        await talk.until_event("turn_start")
        talk.conversation.abort()
        await talk.idle()
        assert talk.bodies == []
        assert talk.last.stop_reason == "aborted"


async def test_a_missing_variable_fails_one_server_with_one_clear_line(work: Path) -> None:
    configure(
        paths.mcp_file(),
        lost=entry(env={"ZOO_TOKEN": "${NO_SUCH_VARIABLE_HERE}"}), zoo=entry(),
    )  # fmt: skip
    async with talking({"text": "Yes."}, cwd=work) as talk:
        await connected(talk, "zoo")
        await talk.until(lambda: state(talk, "lost") == "failed")
        told = [e.text for e in talk.all("notice") if "NO_SUCH_VARIABLE_HERE" in e.text]
        assert len(told) == 1 and "lost" in told[0] and "env" in told[0]


async def test_without_a_server_nothing_of_the_protocol_is_loaded(work: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from agent_tui.conversation.mcp.link import McpLink\n"
        "from agent_tui.conversation.mcp.plan import McpPlan\n"
        "from agent_tui.conversation.toolset import Toolset\n"
        "async def main():\n"
        "    link = McpLink('.', McpPlan(), Toolset(), print)\n"
        "    link.begin()\n"
        "    await link.settled()\n"
        "    assert link.servers() == [] and link.manager is None\n"
        "    await link.close()\n"
        "asyncio.run(main())\n"
        "print('mcp' in sys.modules, 'agent_tui.mcp_servers.manager' in sys.modules)\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=work, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out.decode().split() == ["False", "False"]


# --- what is deferred --------------------------------


async def test_tools_of_servers_are_deferred_when_they_are_too_many(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mcp_defer_share: 300 tools take more than a hundredth of the window, and less than half."""
    configure(paths.mcp_file(), many=entry("Many"), zoo=entry(exposure={"echo": "direct"}))
    monkeypatch.setattr("agent_tui.conversation.endpoint.Endpoint.is_service", True)
    for share, deferred in ((0.01, True), (0.5, False)):
        async with talking({"text": "Yes."}, cwd=work, mcp_defer_share=share) as talk:
            await connected(talk, "many")
            await connected(talk, "zoo")
            await talk.say("hello")
            talk.assert_accepted()
            tools = {t["name"]: t for t in talk.bodies[0]["tools"]}
            assert ("tool_search_tool_bm25" in tools) is deferred
            assert bool(tools["many__t005"].get("defer_loading")) is deferred
            assert bool(tools["zoo__fail"].get("defer_loading")) is deferred
            assert not tools["zoo__echo"].get("defer_loading"), "somebody has placed it"
            assert not tools["read"].get("defer_loading")
            rows = (await run(talk, "/tools")).data["tools"]  # type: ignore[index]
            search = [r for r in rows if r["name"] == "tool_search_tool_bm25"]
            assert [r["exposure"] for r in search] == (["direct"] if deferred else [])


async def test_where_nothing_can_be_searched_nothing_is_deferred(work: Path) -> None:
    configure(paths.mcp_file(), zoo=entry(exposure={"echo": "deferred"}))
    async with talking({"text": "Yes."}, cwd=work, mcp_defer_share=0.0) as talk:
        await connected(talk, "zoo")
        await talk.say("hello")
        assert all("defer_loading" not in tool for tool in talk.bodies[0]["tools"])


# --- the project's servers --------------------------------


class Answers:
    """A face that answers questions with these keys, and keeps what it was asked."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)
        self.asked: list[tuple[str, str, list[str]]] = []

    async def choose(self, title: str, text: str, options: Any, *, wanted: bool = False) -> str:
        self.asked.append((title, text, [option.key for option in options]))
        return self.keys.pop(0)


async def _opened(work: Path, *keys: str) -> tuple[Answers, dict[str, str], str]:
    """(what was asked, states of the servers then, notices) of a conversation in this folder."""
    answers = Answers(*keys)
    async with talking({"text": "Yes."}, cwd=work) as talk:
        talk.conversation.mcp.ask_with(answers.choose)
        async with asyncio.timeout(20):
            await talk.conversation.mcp.settled()
        states = {s.name: s.state for s in talk.conversation.mcp.snapshots()}
        return answers, states, talk.notices


async def test_a_projects_servers_are_asked_for_once_by_their_content(work: Path) -> None:
    secret = {"ZOO_TOKEN": "sk-very-secret-0123456789"}
    configure(work / ".mcp.json", one=entry(env=secret), two=entry(), three=entry())
    asked, states, _ = await _opened(work, "yes", "none")
    assert [title.split()[-1] for title, _, _ in asked.asked] == ["one", "three"]
    _, text, keys = asked.asked[0]
    assert "zoo.py Plain" in text and "ZOO_TOKEN=***" in text and "sk-very" not in text
    assert keys == ["no", "yes", "none"], "the safe answer is what a hasty Enter chooses"
    assert states["one"] in ("connecting", "connected")
    assert (states["two"], states["three"]) == ("disabled", "disabled")
    asked, states, _ = await _opened(work)
    assert asked.asked == [], "remembered"
    configure(work / ".mcp.json", one=entry("Many", env=secret), two=entry(), three=entry())
    asked, states, _ = await _opened(work, "no")
    assert [title.split()[-1] for title, _, _ in asked.asked] == ["one"], "it is another one now"
    assert states["one"] == "disabled"


async def test_the_question_says_that_the_users_own_is_used_until_then(work: Path) -> None:
    configure(paths.mcp_file(), one=entry())
    configure(work / ".mcp.json", one=entry("Many"))
    asked, states, notices = await _opened(work, "no")
    (_, text, _) = asked.asked[0]
    assert f"From {work / '.mcp.json'}." in text
    assert f"Until then your own one of {paths.mcp_file()} is used." in text
    assert states["one"] in ("connecting", "connected")
    assert f"that of {paths.mcp_file()} is used" in str(notices)
    asked, states, _ = await _opened(work)
    assert asked.asked == [], "remembered"


async def test_where_nobody_can_be_asked_a_projects_server_is_not_used(work: Path) -> None:
    configure(work / ".mcp.json", one=entry())
    told: list[Any] = []
    link = McpLink(str(work), McpPlan(interactive=False), Toolset(), told.append)
    link.begin()
    await link.settled()
    assert link.snapshot("one").state == "awaiting_approval"
    (notice,) = [e.text for e in told if e.type == "notice"]
    assert "one of this project's .mcp.json is not used" in notice and "mcp enable" in notice
    await link.close()


async def test_a_tool_of_our_own_outlives_every_server(work: Path) -> None:
    """What servers do changes nothing about the tools beside them."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: Any) -> Any:
        raise AssertionError

    own = AgentTool("own", "", {"type": "object"}, execute)
    async with talking(*[{"text": "Yes."}] * 2, cwd=work, tools=[own]) as talk:
        await attach(talk, "zoo")
        await talk.say("one")
        await run(talk, "/mcp remove zoo")
        await talk.say("two")
        first, second = ([t["name"] for t in body["tools"]] for body in talk.bodies)
        assert "own" in first and second == ["own"]


async def test_a_server_that_had_its_time_keeps_nobody_waiting(work: Path, tmp_path: Path) -> None:
    """Each server has mcp_wait_s from when it began: a new one has its own, an old one no more."""
    gate = tmp_path / "gate"
    told: list[Any] = []
    link = McpLink(str(work), McpPlan(wait_s=3600.0), Toolset(), told.append)
    link.begin()
    manager = await link.get_manager()
    manager.add(animal("never", "Silent"))
    link._since["never"] -= 3600.0
    manager.add(animal("late", "Gated", env={"ZOO_GATE": str(gate)}))
    waiting = asyncio.create_task(link.wait_ready())
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.touch()
    async with asyncio.timeout(20):
        assert await waiting == ["never"]
    await link.close()
