"""/tools: what it shows, what it changes, what it completes, and what it says to wrong words."""

from pathlib import Path
from typing import Any

import pytest

from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.event_hub import EventHub
from agent_tui.conversation.events import NoticeEvent, StatusChangedEvent
from agent_tui.conversation.toolset import BUILTIN
from agent_tui.messages_api.models import info_from_api
from agent_tui.messages_api.server_tools import for_programs
from tests.faults.helpers import Script, instant, make_conversation


def conversation(**settings: Any) -> Conversation:
    made = make_conversation(Script([]), instant("shell"), instant("read"), **settings)
    made.approvals._allow = {"shell"}
    made.toolset.offer("files", [instant("files__open")])
    return made


async def rows(made: Conversation, line: str = "/tools") -> dict[str, dict[str, Any]]:
    result = await made.command(line)
    assert result.error is None and result.data is not None
    return {row["name"]: row for row in result.data["tools"]}


async def text(made: Conversation, line: str) -> str:
    result = await made.command(line)
    assert result.error is None
    return result.text


async def error(made: Conversation, line: str) -> str:
    before = [t.wire for t in made.toolset.tools()]
    result = await made.command(line)
    assert result.error is not None
    assert [t.wire for t in made.toolset.tools()] == before
    return result.error


async def test_every_tool_is_listed_with_source_callers_and_approval() -> None:
    made = conversation(tools={"files__open": "both", "web_search": "direct"})
    listed = await rows(made)
    shown = {name: (r["source"], r["exposure"], r["approval"]) for name, r in listed.items()}
    assert shown["shell"] == ("builtin", "direct", "allowed")
    assert shown["read"] == ("builtin", "direct", "asks outside folder")
    assert shown["files__open"] == ("files", "both", "asks")
    assert shown["web_search"] == ("server tools", "direct", "runs at the service")
    assert shown["memory"] == ("server tools", "off", "asks")
    assert shown["code_execution"][1] == "direct", "a tool needs it"
    table = await text(made, "/tools")
    for name in listed:
        assert f"`{name}`" in table
    assert "programs may call 1 tool" in table
    assert [*listed][:3] == ["shell", "read", "files__open"], "what runs here comes first"
    assert set(await rows(made, "/tools shell read")) == {"shell", "read"}


async def test_a_change_is_said_and_offered_from_the_next_request_on() -> None:
    made = conversation()
    said = await text(made, "/tools read files__open both")
    assert "`read`" in said and "`files__open`" in said and "programs" in said
    assert "next request" in said
    offered = {t.name: t.wire.get("allowed_callers") for t in made.agent.config.tools}
    assert offered["read"] == offered["files__open"] == ["direct", "code_execution_20260120"]
    assert offered["shell"] is None and "code_execution" in offered
    assert "Nothing changes" in await text(made, "/tools read both")
    await text(made, "/tools all off")
    assert made.agent.config.tools == []
    await text(made, "/tools files__* DIRECT")
    assert [t.name for t in made.agent.config.tools] == ["files__open"]


async def test_wrong_words_get_the_right_ones() -> None:
    made = conversation()
    assert "Did you mean shell?" in await error(made, "/tools shel off")
    assert "Did you mean both?" in await error(made, "/tools shell bth")
    assert "direct, programmatic, both, off" in await error(made, "/tools shell everyone")
    assert "The form is: /tools" in await error(made, "/tools both")
    assert "The form is: /tools" in await error(made, "/tools all")
    assert "Did you mean shell?" in await error(made, "/tools shel")
    assert "No tool is named like" in await error(made, "/tools nobody__* off")
    assert "direct or off" in await error(made, "/tools code_execution programmatic")


@pytest.mark.parametrize("names", ["shell nobody", "all nobody", "sh* nobody", "read shell nobody"])
async def test_of_several_names_all_change_or_none(names: str) -> None:
    made = conversation()
    await text(made, "/tools read off")
    before, chosen = await rows(made), made.toolset.choices()
    assert "no tool nobody" in await error(made, f"/tools {names} both")
    assert (await rows(made), made.toolset.choices()) == (before, chosen)


async def test_what_cannot_be_called_by_programs_says_why() -> None:
    made = conversation()
    notices: list[str] = []
    made.subscribe(lambda e: notices.append(e.text) if isinstance(e, NoticeEvent) else None)
    made.toolset.offer("odd", [instant("odd__strict", strict=True)])
    said = await text(made, "/tools all both")
    listed = await rows(made)
    assert listed["odd__strict"]["exposure"] == "direct"
    assert "strict" in listed["odd__strict"]["note"]
    assert [n for n in notices if "odd__strict stays direct" in n], said
    count = len(notices)
    await text(made, "/tools shell off")
    assert len(notices) == count, "it is said once"


async def test_a_note_of_a_tool_that_was_named_is_in_the_answer() -> None:
    made = conversation()
    made.toolset.offer("odd", [instant("odd__strict", strict=True)])
    assert "strict, which programs cannot call" in await text(made, "/tools odd__strict both")


def test_arguments_are_completed() -> None:
    made = conversation()

    def lines(typed: str) -> list[str]:
        return [line for line, _ in made.completions(typed)]

    assert lines("/tools sh") == ["/tools shell "]
    assert {"/tools shell ", "/tools files__* ", "/tools all "} <= set(lines("/tools "))
    assert lines("/tools shell pr") == ["/tools shell programmatic"]
    after = lines("/tools shell ")
    assert after[:4] == [f"/tools shell {e}" for e in ("direct", "programmatic", "both", "off")]
    assert "/tools shell read " in after and "/tools shell shell " not in after
    assert lines("/tools shell re") == ["/tools shell read "]
    assert lines("/tools") == [] and lines("/model x") == [] and lines("/nothing ") == []


async def test_a_setting_that_names_no_tool_is_told_once_somebody_listens() -> None:
    made = conversation(tools={"web_serch": "direct"})
    notices: list[str] = []
    made.subscribe(lambda e: notices.append(e.text) if isinstance(e, NoticeEvent) else None)
    (said,) = [n for n in notices if "web_serch" in n]
    assert "web_search" in said


def test_the_system_prompt_names_the_tools_on_offer() -> None:
    made = conversation(tools={"shell": "off"})
    named = made.agent.system_prompt.split("Tools: ")[1]
    assert "read" in named and "shell" not in named


@pytest.mark.parametrize("programmatic", ["off", "both"])
async def test_a_tool_that_comes_later_is_offered_as_chosen(programmatic: str) -> None:
    made = conversation(programmatic=programmatic)
    made.toolset.offer("late", [instant("late__x")])
    offered = {t.name: t.wire.get("allowed_callers") for t in made.agent.config.tools}
    wanted = {"off": None, "both": ["direct", "code_execution_20260120"]}[programmatic]
    assert offered["late__x"] == wanted
    made.toolset.withdraw("late")
    assert "late__x" not in {t.name for t in made.agent.config.tools}
    made.toolset.offer(BUILTIN, [])
    assert "shell" not in {t.name for t in made.agent.config.tools}


def test_the_memory_is_kept_among_the_users_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_tui import paths

    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path / "home"))
    assert paths.memories_dir() == tmp_path / "home" / "memories"
    assert paths.memories_dir().stat().st_mode & 0o777 == 0o700


# --- models that run no programs ---------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "programs"),
    [
        ({"code_execution": {"supported": False}}, False),
        ({"code_execution": {"supported": True}}, True),
        ({}, True),
        (None, True),
    ],
)
async def test_with_a_model_that_runs_no_programs_tools_stay_direct(
    capabilities: Any, programs: bool
) -> None:
    made = conversation(programmatic="both")
    notices: list[str] = []
    made.subscribe(lambda e: notices.append(e.text) if isinstance(e, NoticeEvent) else None)
    listed = {"id": "old-model", "capabilities": capabilities}
    info = info_from_api(listed)
    assert info is not None
    made.models._known.models["old-model"] = info
    made.set_model("old-model")
    offered = {t.name: for_programs(t) for t in made.agent.config.tools}
    assert offered.get("code_execution") is (False if programs else None)
    assert offered["read"] is programs
    told = [n for n in notices if "old-model runs no programs" in n]
    assert len(told) == (not programs)
    made.set_model("claude-sonnet-5-5")
    assert {t.name: for_programs(t) for t in made.agent.config.tools}["read"]


# --- what is said before anybody listens --------------------------------------------------


def test_notices_from_before_the_first_subscriber_are_kept_for_it() -> None:
    hub = EventHub()
    early = [NoticeEvent("warning", "one"), NoticeEvent("info", "two")]
    for event in [*early, StatusChangedEvent("ready")]:
        hub.emit(event)
    first: list[Any] = []
    second: list[Any] = []
    hub.subscribe(lambda event: first.append(event))
    hub.subscribe(lambda event: second.append(event))
    assert (first, second) == (early, [])
    hub.emit(NoticeEvent("info", "three"))
    assert [e.text for e in first] == ["one", "two", "three"]
    assert [e.text for e in second] == ["three"]
