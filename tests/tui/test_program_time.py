"""How long a program took is one figure: beside its code and in the Tools panel."""

from agent_tui.agent.events import MessageStartEvent, MessageUpdateEvent, OpaqueEvent
from agent_tui.agent.messages import AssistantMessage, OpaqueContent
from agent_tui.tui.panels.tools_panel import ToolsPanel
from tests.tui.conftest import Drive, Driven

CODE = "for n in range(3):\n    print(n)\n"
USE = {"type": "server_tool_use", "id": "srv1", "name": "code_execution", "input": {}}
RESULT = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srv1",
    "content": {"type": "code_execution_result", "stdout": "0\n1\n2\n", "return_code": 0},
}


def beside(d: Driven) -> str:
    """The program's line in the transcript, the panel left out."""
    lines = [line.split("│")[0] for line in d.screen.split("\n")]
    return next((line.rstrip() for line in lines if "program 1" in line), "")


def in_panel(d: Driven) -> str:
    panel = d.app.query_one(ToolsPanel)
    texts = ["".join(s.text for s in panel.render_line(y)) for y in range(3)]
    return next((text.rstrip() for text in texts if "program 1" in text), "")


async def test_both_count_from_when_the_code_is_whole(drive: Drive) -> None:
    async with drive() as d:

        def stream(index: int, phase: str, raw: dict[str, object], partial=()) -> None:
            block = OpaqueContent(raw=raw) if raw else None
            event = OpaqueEvent(index, phase, block, "", list(partial))  # type: ignore[arg-type]
            d.conv.emit(MessageUpdateEvent("m", event))

        d.conv.set_status("streaming")
        d.conv.emit(MessageStartEvent(AssistantMessage(id="m")))
        stream(0, "start", USE)
        await d.until(lambda: in_panel(d).endswith("being written"), "the panel says so")
        await d.until(lambda: beside(d).endswith("being written"), "so does the transcript")
        d.clock.pass_(4)  # as long as it is written no time of it counts
        stream(0, "end", USE | {"input": {"code": CODE}})
        stream(1, "start", {**RESULT, "content": {}})
        d.clock.pass_(2.5)  # all this may come between two frames
        stream(1, "end", RESULT)
        d.clock.pass_(7)
        await d.until(lambda: in_panel(d).endswith("2.5 s"), "2.5 s in the panel")
        await d.until(lambda: beside(d).endswith("2.5 s"), "2.5 s beside the code")
