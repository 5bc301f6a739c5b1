"""Servers of the zoo in a conversation: how they are attached, and what is waited for."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from agent_tui.conversation.results import CommandResult
from tests.faults.helpers import Talk
from tests.mcp_servers.conftest import ZOO

ZOO_COMMAND = [sys.executable, "-S", "-E", "-u", str(ZOO)]


def entry(kind: str = "Plain", env: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A server of the zoo as it stands in mcp.json."""
    command, *args = ZOO_COMMAND
    return {"command": command, "args": [*args, kind], "env": env or {}} | more


def configure(path: Path, **servers: dict[str, Any]) -> None:
    """Write servers into an mcp.json or .mcp.json."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))


def add_line(name: str, kind: str = "Plain", env: dict[str, str] | None = None) -> str:
    """The slash command that attaches a server of the zoo."""
    variables = [word for item in (env or {}).items() for word in ("-e", "=".join(item))]
    return shlex.join(["/mcp", "add", name, *variables, "--", *ZOO_COMMAND, kind])


async def run(talk: Talk, line: str) -> CommandResult:
    """A slash command that has to succeed."""
    result = await talk.conversation.command(line)
    assert result.error is None, result.error
    return result


async def attach(talk: Talk, name: str, kind: str = "Plain", **more: Any) -> None:
    """By a sentence; until it is connected."""
    if more:
        await run(talk, f"/mcp add-json {name} {json.dumps(entry(kind, **more))}")
    else:
        await run(talk, add_line(name, kind))
    await connected(talk, name)


async def connected(talk: Talk, name: str) -> None:
    await talk.until(lambda: state(talk, name) == "connected")


def state(talk: Talk, name: str) -> str:
    """What was told of a server last."""
    told = [e.state for e in talk.all("mcp_server_changed") if e.server == name]
    return told[-1] if told else ""


def call(name: str, id: str = "toolu_1", **arguments: Any) -> dict[str, Any]:
    """A turn of the scenario in which the model calls a tool."""
    return {"tool_calls": [{"id": id, "name": name, "input": arguments}]}


def offered(body: dict[str, Any], prefix: str = "zoo__") -> list[str]:
    """The names of the tools of a request that begin so."""
    return [t["name"] for t in body["tools"] if t["name"].startswith(prefix)]


def result_text(body: dict[str, Any]) -> str:
    """All texts of the results that a request brings."""
    texts: list[str] = []
    for message in body["messages"]:
        for block in message["content"]:
            if block["type"] == "tool_result":
                content = block["content"]
                texts += [content] if isinstance(content, str) else [b["text"] for b in content]
    return "\n".join(texts)
