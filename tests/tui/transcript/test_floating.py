"""Notices that come while a program runs stand below its tree."""

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolCallEndEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import OpaqueContent, ToolCall
from agent_tui.conversation.events import NoticeEvent

from .harness import Answer, TranscriptApp, result, settled
from .test_folding import CALLER, CODE, RAW

ENDED = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srv1",
    "content": {"type": "code_execution_result", "stdout": "all done", "return_code": 0},
}


class Running:
    """A program that makes calls, one after the other."""

    def __init__(self, app: TranscriptApp) -> None:
        self.transcript = app.transcript
        self.answer = Answer(app.transcript)
        self.answer.event(OpaqueEvent(0, "start", OpaqueContent(raw=RAW)))
        self.answer.event(OpaqueEvent(0, "end", OpaqueContent(raw=CODE)))
        self.made = 0

    def calls(self) -> None:
        self.made += 1
        call = ToolCall(
            id=f"r{self.made}", name="read", arguments={"path": f"{self.made}"}, caller=CALLER
        )
        self.answer.event(ToolCallEndEvent(self.made, call))
        self.transcript.apply(ToolExecutionStartEvent(call.id, "read", call.arguments, CALLER))

    def answered(self) -> None:
        id = f"r{self.made}"
        text = result(id, "read", "text")
        self.transcript.apply(ToolExecutionEndEvent(id, "read", text, False, 100, CALLER))

    def ends(self) -> None:
        event = OpaqueEvent(99, "end", OpaqueContent(raw=ENDED))
        self.transcript.apply(MessageUpdateEvent(self.answer.message.id, event))


def row_of(app: TranscriptApp, text: str) -> int:
    lines = app.transcript.lines_shown
    found = [at for at, line in enumerate(lines) if text in line]
    assert len(found) == 1, f"{text!r} stands {len(found)} times: {lines}"
    return found[0]


async def test_it_goes_below_what_the_program_still_does() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 30)) as pilot:
        program = Running(app)
        program.calls()
        program.answered()
        app.transcript.apply(NoticeEvent("info", "The cache is cold."))
        app.transcript.apply(NoticeEvent("warning", "The disk is full."))
        await settled(pilot)
        assert row_of(app, "The cache is cold.") < row_of(app, "The disk is full.")
        for _ in range(3):
            program.calls()
            await settled(pilot)
            program.answered()
        await settled(pilot)
        tree = [row_of(app, f"read  {number}") for number in (1, 2, 3, 4)]
        assert tree == list(range(tree[0], tree[0] + 4)), "the tree is in one piece"
        assert row_of(app, "The cache is cold.") == tree[-1] + 2, "below it, behind a blank row"
        assert row_of(app, "The disk is full.") == row_of(app, "The cache is cold.") + 1
        program.ends()
        await settled(pilot)
        assert row_of(app, "The cache is cold.") > row_of(app, "all done")
        app.transcript.toggle_tools()
        await settled(pilot)
        assert row_of(app, "The cache is cold.") > row_of(app, "all done") > row_of(app, "read  4")
        assert app.transcript.source_text().count("The cache is cold.") == 1


async def test_it_stays_where_it_is_once_the_conversation_has_gone_on() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 30)) as pilot:
        program = Running(app)
        program.calls()
        program.answered()
        app.transcript.apply(NoticeEvent("info", "The cache is cold."))
        program.ends()
        await settled(pilot)
        app.transcript.add_notice("info", "after it")
        program.answer.event(TextDeltaEvent(100, "That was it."))
        app.transcript.apply(AgentEndEvent([]))
        await settled(pilot)
        app.transcript.add_notice("info", "at the end")
        await settled(pilot)
        rows = [row_of(app, t) for t in ("program 1", "The cache", "after it", "That was it.")]
        assert rows == sorted(rows)
        assert row_of(app, "at the end") > rows[-1]


async def test_what_else_comes_does_not_split_the_tree_either() -> None:
    """The answer of a command, and a notice that thinking came behind."""
    app = TranscriptApp()
    async with app.run_test(size=(80, 40)) as pilot:
        program = Running(app)
        program.calls()
        program.answered()
        app.transcript.apply(NoticeEvent("info", "The cache is cold."))
        await settled(pilot)
        app.transcript.add_markdown("| file | size |\n|---|---|\n| a.txt | 12 |")
        await settled(pilot)
        program.answer.event(ThinkingDeltaEvent(50, "Let me see."))
        await settled(pilot)
        for _ in range(3):
            program.calls()
            await settled(pilot)
            program.answered()
        await settled(pilot)
        tree = [row_of(app, f"read  {number}") for number in (2, 3, 4)]
        assert tree == list(range(tree[0], tree[0] + 3))
        assert tree[-1] < row_of(app, "The cache is cold.") < row_of(app, "a.txt")
        assert row_of(app, "read  1") < tree[0]
        program.ends()
        await settled(pilot)
        assert row_of(app, "all done") < row_of(app, "The cache is cold.") < row_of(app, "a.txt")
        app.transcript.add_markdown("after it")
        program.answer.event(TextDeltaEvent(100, "That was it."))
        await settled(pilot)
        assert row_of(app, "a.txt") < row_of(app, "after it") < row_of(app, "That was it.")
