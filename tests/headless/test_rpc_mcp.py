"""MCP servers over RPC: attached by a command, their questions answered, nothing held up."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.headless import rpc as module
from tests.conversation.mcp_making import add_line, call, result_text
from tests.headless.rpc_making import Rpc, rpc

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


async def attached(it: Rpc, name: str = "zoo") -> None:
    await it.ok("command", text=add_line(name))
    await it.until(
        lambda: any(
            (e["server"], e["state"], e["tools"]) == (name, "connected", 13)
            for e in it.all("mcp_server_changed")
        )
    )


@pytest.mark.parametrize(
    "answer, expected",
    [
        ({"action": "accept", "content": {"name": "Ann"}}, {"action": "accept",
                                                           "content": {"name": "Ann"}}),
        ({"action": "decline"}, {"action": "decline"}),
        ({"action": "cancel"}, {"action": "cancel"}),
    ],
)  # fmt: skip
async def test_a_servers_question_is_an_event_that_a_command_answers(
    tmp_path: Path, answer: dict[str, Any], expected: dict[str, Any]
) -> None:
    turns = [call("zoo__ask", schema=SCHEMA), {"text": "Done."}]
    async with rpc(tmp_path, *turns, allow=["zoo__*"]) as it:
        await attached(it)
        (server,) = (await it.ok("state"))["mcp_servers"]
        assert (server["server"], server["state"], server["tools"]) == ("zoo", "connected", 13)
        await it.ok("prompt", text="ask")
        question = await it.event("server_question")
        assert question["kind"] == "form" and question["schema"] == SCHEMA
        ident = question["request_id"]
        for wrong, says in (
            ({"action": "maybe"}, "accept, decline or cancel"),
            ({"action": "accept", "content": {}}, "name"),
            ({"action": "accept", "content": [1]}, "an object"),
        ):
            assert says in await it.error("answer_question", request_id=ident, **wrong)
        await it.ok("answer_question", request_id=ident, **answer)
        await it.idle()
        assert json.loads(result_text(it.server.journal[-1]["body"])) == expected
        resolved = await it.event("server_question_resolved")
        assert (resolved["request_id"], resolved["action"]) == (ident, answer["action"])
        gone = await it.error("answer_question", request_id=ident, **answer)
        assert gone == "that question is no longer open"


async def test_the_permission_request_names_server_and_tool(tmp_path: Path) -> None:
    async with rpc(tmp_path, call("zoo__echo", text="x"), {"text": "Done."}) as it:
        await attached(it)
        await it.ok("prompt", text="call it")
        asked = await it.event("permission_request")
        assert (asked["server"], asked["server_tool"]) == ("zoo", "echo")
        await it.ok("answer", request_id=asked["request_id"], decision="allow_always")
        await it.idle()


async def test_a_resource_that_cannot_be_had_refuses_the_prompt(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        await attached(it)
        await it.ok("command", text="/mcp disable zoo")
        said = await it.error("prompt", text="see @zoo:zoo://cage/1")
        assert said.startswith("@zoo:zoo://cage/1: ") and "disabled" in said
        assert (await it.ok("messages")) == []


class Lines:
    """Lines as they come in, one by one."""

    def __init__(self, *commands: dict[str, Any]) -> None:
        self._lines = [json.dumps(c).encode() for c in commands]

    async def lines(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line


class Slow:
    """A face whose commands about servers never end by themselves."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = asyncio.Event()
        self.quit = asyncio.Event()

    takes_its_time = module.RpcFace.takes_its_time

    async def handle(self, line: str) -> None:
        self.begun.append(json.loads(line)["text"])
        if "/zoo:feed" in line or "/mcp get" in line:
            await self.may_end.wait()


async def test_a_command_that_waits_for_a_server_lets_others_through() -> None:
    face = Slow()
    texts = ["/zoo:feed who=Ann", "/mcp get zoo", "/model", "/mcp list", "hello"]
    lines = Lines(*({"type": "command", "text": text} for text in texts))
    async with asyncio.timeout(5):
        await module._serve(lines, face)  # type: ignore[arg-type]
    assert face.begun == texts, "in their order, though the first two have not ended"
    face.may_end.set()


@pytest.mark.parametrize(
    "text, beside",
    [("/mcp add x -- y", True), ("/mcp", True), ("/zoo:feed", True), ("/model x:y", False),
     ("/mcpx", False), ("say /mcp", False), ("/clear", False)],
)  # fmt: skip
def test_which_commands_may_wait_for_a_server(text: str, beside: bool) -> None:
    line = json.dumps({"id": 1, "type": "command", "text": text})
    assert module.RpcFace.takes_its_time(None, line) is beside  # type: ignore[arg-type]
