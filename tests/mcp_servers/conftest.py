"""A manager with its events, ended after each test with a look at what is left over."""

import asyncio
import json
import stat
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_tui import processes
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.mcp_servers.config import ServerConfig, parse_server
from agent_tui.mcp_servers.manager import McpManager
from agent_tui.mcp_servers.types import McpEvent, ServerSnapshot
from agent_tui.tools.output import cap_text

ZOO = Path(__file__).with_name("zoo.py")
LONG = 20.0
"""Seconds in which anything must have happened, however busy the machine is."""


async def until(condition: Callable[[], Any], what: str = "it") -> Any:
    """Wait for a condition, looking often; its value."""
    async with asyncio.timeout(LONG):
        while not (value := condition()):  # noqa: ASYNC110 - it is others that are waited for
            await asyncio.sleep(0.01)
    return value


def animal(
    name: str, animal: str = "", *, env: dict[str, str] | None = None, **fields: Any
) -> ServerConfig:
    """The configuration of a server of the zoo."""
    raw = {
        "command": sys.executable,
        "args": ["-S", "-E", "-u", str(ZOO), animal or name],
        "env": env or {},
    }
    return parse_server(name, raw | fields)


def text_of(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def content_of(path: str | Path) -> str:
    return Path(path).read_text()


def size_of(path: str | Path) -> int:
    return Path(path).stat().st_size


def is_private(path: str | Path) -> bool:
    return stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def zoo_processes() -> list[str]:
    """Processes that a manager of this program has started and that still live."""
    mark = f"{processes.own_mark()}mcp"
    return [
        processes.describe(p.pid)
        for p in processes.processes()
        if p.alive and (processes.mark_of(p.pid) or "").startswith(mark)
    ]


@dataclass
class Keeper:
    """The manager under test, what it told, and short ways to its tools."""

    manager: McpManager
    events: list[McpEvent]
    diary_path: Path
    updates: list[Any] = field(default_factory=list)

    def add(self, name: str, kind: str = "", **fields: Any) -> None:
        env = {"ZOO_DIARY": str(self.diary_path)} | fields.pop("env", {})
        self.manager.add(animal(name, kind, env=env, **fields))

    async def ready(self, *names: str) -> None:
        """Until these (or all) are connected or have failed."""
        await until(
            lambda: not set(names or self.manager.servers()) & set(self.manager.connecting())
        )

    async def state(self, name: str, state: str) -> ServerSnapshot:
        await until(lambda: self.manager.snapshot(name).state == state)
        return self.manager.snapshot(name)

    def tools(self) -> dict[str, AgentTool]:
        return {tool.name: tool for tool in self.manager.tools()}

    async def call(self, alias: str, /, **arguments: Any) -> ToolResult:
        """As the loop does it: prepare the arguments, execute."""
        tool = self.tools()[alias]
        given = tool.prepare_arguments(arguments) if tool.prepare_arguments else arguments
        async with asyncio.timeout(LONG):
            return await tool.execute("c1", given, ToolContext("c1", self.updates.append))

    def diary(self) -> list[dict[str, Any]]:
        """What servers of the zoo were told."""
        if not self.diary_path.exists():
            return []
        return [json.loads(line) for line in self.diary_path.read_text().splitlines()]

    def told(self, method: str) -> list[dict[str, Any]]:
        return [entry for entry in self.diary() if entry.get("method") == method]

    def notices(self, server: str) -> list[str]:
        return self.manager.snapshot(server).warnings


async def garbled(keeper: Keeper) -> None:
    """What can be said of an answer is kept; where there is nothing, the call fails with a
    reason."""
    for name, says in [
        ("digits", "so many"), ("deep", "[left out: what is nested more than 128 levels deep]"),
        ("deep300", "300 of them"), ("latin1", "caf\ufffd"), ("surrogate", "half \ufffd of it"),
        ("control", "a\tb"),
    ]:  # fmt: skip
        result = await keeper.call(f"zoo__{name}")
        assert not result.is_error and says in text_of(result), name
    for name in ("broken", "cut"):
        result = await keeper.call(f"zoo__{name}")
        assert result.is_error, name
        assert text_of(result) == (
            "The MCP server zoo refused: The server's answer cannot be read: it is not valid JSON."
        )


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    folder = tmp_path / "outputs"
    folder.mkdir()
    return folder


@pytest.fixture
def make_keeper(tmp_path: Path, outputs: Path) -> Any:
    def make(**options: Any) -> Keeper:
        events: list[McpEvent] = []
        project = tmp_path / "project"
        project.mkdir(exist_ok=True)
        manager = McpManager(
            options.pop("cwd", project),
            on_event=events.append,
            cap_text=lambda text, name: cap_text(text, str(outputs), name),
            **options,
        )
        return Keeper(manager, events, tmp_path / "diary")

    return make


@pytest.fixture
async def keeper(make_keeper: Any) -> AsyncIterator[Keeper]:
    """A manager that can ask nobody."""
    keeper = make_keeper()
    yield keeper
    await keeper.manager.close()
    await until(lambda: not zoo_processes(), "the end of all servers")
