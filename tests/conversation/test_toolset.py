"""Who may call a tool: what is chosen, what the API allows, and what a request then offers."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import UserMessage, text_content
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.conversation.tool_offer import make_toolset
from agent_tui.conversation.toolset import (
    ALL,
    BUILTIN,
    CONNECTOR,
    EXPOSURES,
    SERVER,
    Exposure,
    ToolChoiceError,
    Toolset,
)
from agent_tui.messages_api.request import build_request
from agent_tui.messages_api.server_tools import SERVER_TOOLS, connector_tool
from agent_tui.offline import validate_request
from agent_tui.settings import Settings

PROGRAM = "code_execution_20260120"
LIST = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}


def tool(name: str, schema: dict[str, Any] | None = None, **wire: Any) -> AgentTool:
    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult.text("done")

    return AgentTool(name, "About it.", schema or {"type": "object"}, execute, wire=wire)


def toolset(*tools: AgentTool, **more: Any) -> Toolset:
    made = Toolset(**more)
    made.offer(BUILTIN, tools or [tool("read"), tool("shell")])
    return made


def sent(made: Toolset) -> dict[str, dict[str, Any]]:
    """The definitions of a request, by name; it must break no rule."""
    body = request(made.tools())
    return {str(t.get("name") or t.get("mcp_server_name")): t for t in body.get("tools", [])}


def request(tools: Sequence[AgentTool]) -> dict[str, Any]:
    context = LLMContext("", [UserMessage(content=text_content("hi"))], list(tools))
    body = build_request("claude-sonnet-5-5", context, StreamOptions(), cache="off")
    assert not [p.message for p in validate_request({**body, "stream": True})]
    return body


# --- exposures on the wire ------------------------------------------------------------


@pytest.mark.parametrize(
    ("exposure", "callers"),
    [("programmatic", [PROGRAM]), ("both", ["direct", PROGRAM])],
)
def test_a_tool_for_programs_says_so_and_brings_code_execution(
    exposure: Exposure, callers: list[str]
) -> None:
    made = toolset()
    assert set(sent(made)) == {"read", "shell"}, "off by default"
    assert "allowed_callers" not in sent(made)["read"]
    made.set_exposure("read", exposure)
    offered = sent(made)
    assert offered["read"]["allowed_callers"] == callers
    assert "allowed_callers" not in offered["shell"]
    assert offered["code_execution"] == {"type": PROGRAM, "name": "code_execution"}
    made.set_exposure("read", "direct")
    assert set(sent(made)) == {"read", "shell"}


def test_all_is_every_tool_that_runs_here_now_and_later() -> None:
    made = toolset(chosen={"shell": "off", "web_search": "direct"})
    made.set_exposure(ALL, "both")
    made.offer("files", [tool("files__open")])
    offered = sent(made)
    for name in ("read", "shell", "files__open"):
        assert offered[name]["allowed_callers"] == ["direct", PROGRAM]
    assert offered["web_search"]["allowed_callers"] == ["direct"], "it does not run here"
    made.set_exposure(ALL, "off")
    assert set(sent(made)) == {"web_search"}


def test_a_pattern_is_for_all_tools_of_a_server_and_a_name_wins() -> None:
    made = toolset(chosen={"files__*": "programmatic", "files__open": "off"})
    made.offer("files", [tool("files__open"), tool("files__find")])
    assert set(sent(made)) == {"read", "shell", "files__find", "code_execution"}
    made.set_exposure("files__*", "direct")
    assert set(sent(made)) == {"read", "shell", "files__open", "files__find"}
    made.withdraw("files")
    assert set(sent(made)) == {"read", "shell"}
    with pytest.raises(ToolChoiceError, match="No tool is named like"):
        made.set_exposure("files__*", "both")


def test_a_choice_outlives_the_coming_and_going_of_its_server() -> None:
    made = toolset(chosen={"files__open": "both"})
    for _ in range(2):
        made.offer("files", [tool("files__open")])
        assert sent(made)["files__open"]["allowed_callers"] == ["direct", PROGRAM]
        made.withdraw("files")


def test_a_tool_that_brings_callers_keeps_them_until_it_is_chosen_for() -> None:
    made = toolset(tool("work", allowed_callers=[PROGRAM]))
    assert made.exposure("work") == "programmatic"
    assert set(sent(made)) == {"work", "code_execution"}
    made.set_exposure("work", "direct")
    assert "allowed_callers" not in sent(made)["work"]


def test_the_same_tool_is_the_same_object_each_time() -> None:
    """What was worked out for a tool stays true for it, and the prompt's prefix with it."""
    made = toolset()
    made.set_exposure(ALL, "both")
    assert all(a is b for a, b in zip(made.tools(), made.tools(), strict=True))


def test_what_changes_is_told() -> None:
    told: list[int] = []
    made = toolset()
    leave = made.subscribe(lambda: told.append(len(made.tools())))
    made.set_exposure("shell", "off")
    made.offer("files", [tool("files__open")])
    made.withdraw("files")
    made.withdraw("files")
    leave()
    made.set_exposure("shell", "direct")
    assert told == [1, 2, 1]


# --- the service's own ------------------------------------------------------------------


def test_the_services_tools_are_off_until_they_are_switched_on() -> None:
    made = toolset()
    for name, callers in (("web_search", "direct"), ("web_fetch", "both")):
        made.set_exposure(name, callers)  # type: ignore[arg-type]
    offered = sent(made)
    assert offered["web_search"]["type"] == "web_search_20260318"
    assert offered["web_search"]["allowed_callers"] == ["direct"]
    assert offered["web_fetch"]["allowed_callers"] == ["direct", PROGRAM]
    assert "code_execution" in offered, "a page may be read by a program"
    made.set_exposure("web_fetch", "off")
    assert set(sent(made)) == {"read", "shell", "web_search"}


def test_code_execution_can_be_had_by_itself() -> None:
    made = toolset()
    made.set_exposure("code_execution", "direct")
    assert set(sent(made)) == {"read", "shell", "code_execution"}
    with pytest.raises(ToolChoiceError, match="direct or off"):
        made.set_exposure("code_execution", "both")


def test_code_execution_stays_while_a_tool_is_for_programs() -> None:
    made = toolset(default="both")
    made.set_exposure("code_execution", "off")
    assert "code_execution" in sent(made)
    row = next(row for row in made.rows() if row.name == "code_execution")
    assert (row.exposure, row.wanted) == ("direct", "off")
    assert "2 tools" in row.note


# --- what the API does not allow ------------------------------------------------------------


def test_what_programs_cannot_call_stays_direct_and_says_why() -> None:
    made = toolset(
        tool("fine"),
        tool("strict", strict=True),
        tool("linked", LIST),
        default="both",
    )
    offered = sent(made)
    assert [name for name in offered if "allowed_callers" in offered[name]] == ["fine"]
    assert offered["strict"]["strict"] is True, "it is not changed to fit"
    held_back = made.held_back()
    assert set(held_back) == {"strict", "linked"}
    assert "strict" in held_back["strict"] and "itself" in held_back["linked"]
    notes = {row.name: (row.exposure, row.wanted, row.note) for row in made.rows()}
    assert notes["linked"] == ("direct", "both", held_back["linked"])


def test_the_connector_leaves_programmatic_calling_off() -> None:
    made = toolset(default="programmatic")
    made.offer(CONNECTOR, [connector_tool("docs", "https://example.com/mcp", "secret-token")])
    body = request(made.tools())
    assert body["mcp_servers"] == [
        {
            "type": "url",
            "name": "docs",
            "url": "https://example.com/mcp",
            "authorization_token": "secret-token",
        }
    ]
    assert {"type": "mcp_toolset", "mcp_server_name": "docs"} in body["tools"]
    assert set(sent(made)) == {"read", "shell", "docs"}
    assert all("allowed_callers" not in t for t in body["tools"])
    assert all("docs" in why for why in made.held_back().values())
    with pytest.raises(ToolChoiceError, match="direct or off"):
        made.set_exposure("docs", "both")
    made.set_exposure("docs", "off")
    body = request(made.tools())
    assert "mcp_servers" not in body
    assert sent(made)["read"]["allowed_callers"] == [PROGRAM]


def test_a_model_that_runs_no_programs_gets_direct_tools() -> None:
    made = toolset(default="both")
    made.programs_refused("the model x runs no programs")
    assert all("allowed_callers" not in t for t in sent(made).values())
    assert made.held_back()["read"] == "the model x runs no programs"
    made.programs_refused(None)
    assert sent(made)["read"]["allowed_callers"] == ["direct", PROGRAM]


# --- names -------------------------------------------------------------------------------------


def test_a_wrong_name_or_exposure_gets_the_nearest_right_one() -> None:
    made = toolset()
    with pytest.raises(ToolChoiceError, match="Did you mean shell"):
        made.set_exposure("shel", "off")
    with pytest.raises(ToolChoiceError, match="direct, programmatic, both, off"):
        made.set_exposure("shell", "on")  # type: ignore[arg-type]
    assert set(sent(made)) == {"read", "shell"}


def test_settings_that_name_no_tool_are_known() -> None:
    made = toolset(chosen={"web_serch": "direct", "later__tool": "both", "read": "both"})
    assert list(made.unknown()) == ["web_serch"]
    assert "web_search" in made.unknown()["web_serch"]


def test_names_to_choose_from() -> None:
    made = toolset()
    made.offer("files", [tool("files__open")])
    names = made.names()
    assert {"read", "web_search", "files__open", "files__*", ALL} <= set(names)
    assert f"{BUILTIN}__*" not in names and f"{SERVER}__*" not in names


# --- from the settings ----------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "wanted"), [("off", "direct"), ("both", "both"),
                                               ("programmatic", "programmatic")])  # fmt: skip
def test_the_setting_programmatic_is_for_the_tools_that_run_here(value: str, wanted: str) -> None:
    settings = Settings(programmatic=value, tools={"memory": "direct"})  # type: ignore[call-arg]
    made = make_toolset(settings, [tool("read")])
    assert made.exposure("read") == wanted
    assert made.exposure("web_search") == "off"
    memory = sent(made)["memory"]
    assert memory == {"type": "memory_20250818", "name": "memory"}


def test_the_connector_of_the_settings_is_on_the_wire() -> None:
    settings = Settings(connector={"docs": {"url": "https://example.com/mcp"}})  # type: ignore[call-arg]
    body = request(make_toolset(settings, []).tools())
    assert body["mcp_servers"] == [
        {"type": "url", "name": "docs", "url": "https://example.com/mcp"}
    ]


def test_every_exposure_has_every_tool_of_the_service() -> None:
    """None of them makes a request that breaks a rule."""
    for exposure in EXPOSURES:
        made = make_toolset(Settings(), [tool("read")])  # type: ignore[call-arg]
        made.set_exposure(ALL, exposure)
        for kind in SERVER_TOOLS:
            if kind.name != "code_execution":
                made.set_exposure(kind.name, exposure)
        assert set(sent(made)) == (
            {"direct": {"read", "web_search", "web_fetch"}, "off": set()}.get(
                exposure, {"read", "web_search", "web_fetch", "code_execution"}
            )
        )
