"""A working folder, and the built-in tools called as the loop calls them."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.tools.builtin import builtin_tools

Call = Callable[..., Coroutine[Any, Any, ToolResult]]


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def output_dir(tmp_path: Path) -> Path:
    return tmp_path / "outputs"


@pytest.fixture
def tools(cwd: Path, output_dir: Path) -> dict[str, AgentTool]:
    return {tool.name: tool for tool in builtin_tools(str(cwd), output_dir=str(output_dir))}


@pytest.fixture
def call(tools: dict[str, AgentTool]) -> Call:
    """call(name, context=None, **arguments): prepare, validate, execute."""

    async def run(name: str, context: ToolContext | None = None, **arguments: Any) -> ToolResult:
        tool = tools[name]
        assert tool.prepare_arguments
        prepared = tool.prepare_arguments(arguments)
        jsonschema.validate(prepared, tool.parameters)
        context = context or ToolContext("call_1", lambda partial: None)
        return await tool.execute(context.call_id, prepared, context)

    return run


def text_of(result: ToolResult) -> str:
    """The text blocks of a result; every one must be fit for the wire."""
    texts = [block.text for block in result.content if block.type == "text"]
    for text in texts:
        assert text.strip(), "an empty text block is refused by the API"
        assert not any(ord(c) < 32 and c not in "\n\t" for c in text), f"control in {text!r}"
        text.encode("utf-8")
    return "\n".join(texts)


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait for a condition, with a bound."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"still not so after {seconds} s"
        await asyncio.sleep(0.01)
