"""A recorded programmatic run of 15 responses, played by a server: the whole loop answers it,
request after request. Needs AGENT_TUI_RECORDINGS."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import ToolCall
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.sse import read_events
from agent_tui.messages_api.wire_blocks import sent_block
from tests.faults.helpers import Talk, kinds, talking, without_marks

NAME = "vercel-programmatic-tool-calling.1-{}.sse"
RESPONSES = 15
ROLLS = {"player1": [5, 4, 5, 6, 3, 6, 2], "player2": [6, 6, 2, 6, 2, 6, 3]}
"""What the recorded program's output says was rolled."""


@pytest.fixture(scope="module")
def recorded() -> list[bytes]:
    for folder in filter(None, os.environ.get("AGENT_TUI_RECORDINGS", "").split(os.pathsep)):
        paths = [Path(folder) / NAME.format(n) for n in range(1, RESPONSES + 1)]
        if all(path.is_file() for path in paths):
            # Its container expired in 2025, and one that has is used no more.
            return [path.read_bytes().replace(b'"2025-12-', b'"2099-12-') for path in paths]
    pytest.skip("AGENT_TUI_RECORDINGS holds no programmatic run")


def blocks_of(body: bytes) -> list[dict[str, Any]]:
    """The content of a recorded response, as it goes back."""
    assembler = Assembler()
    made = [e for raw in read_events(body) for e in assembler.feed(raw)] + assembler.finish()
    return [sent_block(block) for block in made[-1].message.content]  # type: ignore[union-attr]


def roll_die(rolled: list[tuple[str, int]]) -> AgentTool:
    left = {player: list(rolls) for player, rolls in ROLLS.items()}

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        player = str(arguments["player"])
        number = left[player].pop(0)
        rolled.append((player, number))
        return ToolResult.text(str(number))

    schema = {
        "type": "object",
        "properties": {"player": {"type": "string"}},
        "required": ["player"],
    }
    return AgentTool("rollDie", "Rolls a die for a player.", schema, execute)


@pytest.fixture
async def played(
    recorded: list[bytes], tmp_path: Path
) -> AsyncIterator[tuple[Talk, list[tuple[str, int]]]]:
    """The conversation after the run, and what was rolled in it."""
    rolled: list[tuple[str, int]] = []
    turns = [{"raw_sse": body.decode()} for body in recorded]
    async with talking(
        *turns, {"text": "It was player 2."}, cwd=tmp_path, tools=[roll_die(rolled)],
        programmatic="programmatic", model="claude-sonnet-4-5-20250929", thinking="off",
    ) as talk:  # fmt: skip
        await talk.say("Play it.")
        yield talk, rolled


async def test_the_recorded_run_goes_through_the_whole_loop(
    played: tuple[Talk, list[tuple[str, int]]], recorded: list[bytes]
) -> None:
    talk, rolled = played
    talk.assert_accepted()
    assert len(talk.bodies) == RESPONSES
    assert talk.last.stop_reason == "end_turn"
    turns = zip(ROLLS["player1"], ROLLS["player2"], strict=True)
    expected = [(f"player{n}", roll) for pair in turns for n, roll in enumerate(pair, 1)]
    assert rolled == expected

    container = "container_011CWHPPTDTn1XufeRB9uHeH"
    assert [b.get("container") for b in talk.bodies] == [None, *[container] * (RESPONSES - 1)]
    offered = [without_marks(b["tools"]) for b in talk.bodies]
    assert all(tools == offered[0] for tools in offered)
    assert [t["name"] for t in offered[0]] == ["code_execution", "rollDie"]

    said = [block for body in recorded for block in blocks_of(body)]
    for number, body in enumerate(talk.bodies[1:], 1):
        assert kinds(body["messages"][-1]) == ["tool_result"]
        answer = body["messages"][-1]["content"][0]
        call = blocks_of(recorded[number - 1])[-1]
        assert answer["tool_use_id"] == call["id"]
        assert answer["content"][0]["text"] == str(expected[number - 1][1])
        sent = [b for m in body["messages"] if m["role"] == "assistant" for b in m["content"]]
        assert without_marks(sent) == said[: len(sent)], "as it came, its callers with it"
    assert call["caller"]["type"] == "code_execution_20250825"


async def test_what_comes_after_it_holds_the_whole_run(
    played: tuple[Talk, list[tuple[str, int]]], recorded: list[bytes]
) -> None:
    talk, _ = played
    await talk.say("Who won?")
    talk.assert_accepted()
    body = talk.bodies[-1]
    said = [block for raw in recorded for block in blocks_of(raw)]
    sent = [b for m in body["messages"] if m["role"] == "assistant" for b in m["content"]]
    assert without_marks(sent) == said
    calls = [b for m in talk.conversation.messages for b in getattr(m, "content", [])
             if isinstance(b, ToolCall)]  # fmt: skip
    assert len(calls) == RESPONSES - 1 and all(call.programmatic for call in calls)
