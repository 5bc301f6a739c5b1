"""The timeline of a conversation that is opened again."""

from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.conversation.session_link import Restored
from agent_tui.tui.past_tools import show_past
from agent_tui.tui.tools_state import MAX_ROWS, ToolsState
from tests.tui.conftest import Drive
from tests.tui.fake_conversation import FakeConversation


def result(call_id: str, text: str = "", *, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, content=[TextContent(text=text)], is_error=is_error
    )


def call(call_id: str, command: str = "ls") -> ToolCall:
    return ToolCall(id=call_id, name="shell", arguments={"command": command})


def test_every_call_has_its_end_and_its_time() -> None:
    tools = ToolsState()
    use = {"type": "server_tool_use", "id": "srv", "name": "code_execution"}
    ended = {
        "type": "code_execution_tool_result", "tool_use_id": "srv",
        "content": {"type": "code_execution_result", "return_code": 0},
    }  # fmt: skip
    inner = ToolCall(id="p", name="query", caller={"type": "code_execution_1", "tool_id": "srv"})
    show_past(
        tools,
        [
            UserMessage(content="go"),
            AssistantMessage(content=[call("a", "make"), call("b"), call("c"), call("d")]),
            result("a"),
            result("b", "no such file", is_error=True),
            result("c", "Interrupted: the user stopped this call.", is_error=True),
            AssistantMessage(content=[OpaqueContent(raw=use), inner, OpaqueContent(raw=ended)]),
            result("p"),
        ],
        {"a": 1500, "b": 20},
    )
    rows = [(r.name, r.argument, r.state, r.seconds, r.depth) for r in tools.ordered()]
    assert rows == [
        ("shell", "make", "done", 1.5, 0),
        ("shell", "ls", "failed", 0.02, 0),
        ("shell", "ls", "stopped", None, 0),
        ("shell", "ls", "stopped", None, 0),
        ("program 1", "", "done", None, 0),
        ("query", "", "done", None, 1),
    ]
    assert not tools.active and not tools.under_way


def test_the_oldest_are_only_counted() -> None:
    tools = ToolsState()
    calls = [call(f"c{n}") for n in range(MAX_ROWS + 7)]
    show_past(tools, [AssistantMessage(content=[c]) for c in calls], {})
    assert len(tools.rows) == MAX_ROWS and tools.dropped == 7


async def test_the_panel_of_a_resumed_session_is_not_empty(drive: Drive):
    conv = FakeConversation(messages=[AssistantMessage(content=[call("a", "make")]), result("a")])
    conv.brings_back = Restored(durations={"a": 1500})
    async with drive(size=(120, 30), conv=conv) as d:
        panel = "\n".join(line[d.app.panel.region.x :] for line in d.screen.splitlines())
        assert "make" in panel and "1.5 s" in panel


async def test_a_call_that_was_stopped_while_it_ran_did_run(drive: Drive):
    stopped = result("a", "Interrupted: the user stopped this call.", is_error=True)
    conv = FakeConversation(messages=[AssistantMessage(content=[call("a"), call("b")]), stopped])
    conv.brings_back = Restored(durations={"a": 7000})
    async with drive(size=(120, 30), conv=conv) as d:
        lines = [line[d.app.panel.region.x :] for line in d.screen.splitlines()][2:4]
        assert "7.0 s" in lines[0] and "no result" in lines[1]


async def test_a_call_of_an_answer_that_broke_off_did_not_run(drive: Drive):
    cut = AssistantMessage(content=[call("a")], stop_reason="aborted")
    async with drive(size=(120, 30), conv=FakeConversation(messages=[cut])) as d:
        assert "not run" in [line[d.app.panel.region.x :] for line in d.screen.splitlines()][2]
