"""Servers that others wrote, of both protocols, over pipes and over HTTP: installed from their
registries once; skipped where that cannot be, never in CI."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.tools import ToolContext
from agent_tui.mcp_servers.config import server_from_command, server_from_url
from agent_tui.mcp_servers.types import (
    ElicitAnswer,
    FormQuestion,
    SamplingAnswer,
    SamplingQuestion,
    ToolsChanged,
)
from tests.e2e.peers import from_npm, from_pypi
from tests.e2e.servers import free_port
from tests.mcp_servers.conftest import Keeper, text_of, until

pytestmark = pytest.mark.network_registry

NPM = "2026.8.31"
PYPI = "2026.10.19"
# What they need beside our own dependencies; those are here already.
PYPI_PACKAGES = (
    "--no-deps", f"mcp-server-time=={PYPI}", f"mcp-server-git=={PYPI}", "gitpython", "gitdb",
    "smmap", "tzlocal", "tzdata",
)  # fmt: skip


@pytest.fixture(scope="module")
def npm(request: pytest.FixtureRequest) -> Path:
    names = [
        f"@modelcontextprotocol/server-{n}@{NPM}" for n in ("everything", "filesystem", "memory")
    ]
    return from_npm(request.config, f"mcp-servers-{NPM}", *names) / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def pypi(request: pytest.FixtureRequest) -> Path:
    return from_pypi(request.config, f"mcp-servers-{PYPI}", *PYPI_PACKAGES)


class User:
    """Answers what servers ask."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answer: Any = ElicitAnswer("cancel")

    async def __call__(self, question: Any) -> Any:
        self.asked.append(question)
        return self.answer


@pytest.fixture
def user() -> User:
    return User()


@pytest.fixture
async def asking(make_keeper, user: User) -> AsyncIterator[Keeper]:
    keeper = make_keeper(elicit=user, sample=user)
    yield keeper
    await keeper.manager.close()


def git(folder: Path, *words: str) -> None:
    options = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", "-C", str(folder), *options, *words], check=True, capture_output=True)


async def test_five_servers_of_others_by_pipe(
    asking: Keeper, npm: Path, pypi: Path, tmp_path: Path
):
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    folder, repository = tmp_path / "files", tmp_path / "repo"
    folder.mkdir()
    repository.mkdir()
    (folder / "a.txt").write_text("the content of a")
    git(repository, "init", "-q")
    (repository / "b.txt").write_text("b")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "The first commit")
    path = {"PYTHONPATH": str(pypi)}
    # A server of files takes the client's roots in place of its arguments.
    await asking.manager.set_roots([folder])
    for config in (
        server_from_command("everything", [str(npm / "mcp-server-everything")], {}),
        server_from_command("files", [str(npm / "mcp-server-filesystem"), str(folder)], {}),
        server_from_command("memory", [str(npm / "mcp-server-memory")],
                            {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}),
        server_from_command("time", [sys.executable, "-m", "mcp_server_time",
                                     "--local-timezone", "UTC"], path),
        server_from_command("git", [sys.executable, "-m", "mcp_server_git", "--repository",
                                    str(repository)], path),
    ):  # fmt: skip
        asking.manager.add(config)
    assert await asking.manager.wait_ready(60) == []
    found = {s.name: (s.state, s.protocol, len(s.tools)) for s in asking.manager.snapshots()}
    assert found == {
        "everything": ("connected", "2025-11-25", 16), "files": ("connected", "2025-11-25", 14),
        "memory": ("connected", "2025-11-25", 9), "time": ("connected", "2026-07-28", 2),
        "git": ("connected", "2026-07-28", 12),
    }  # fmt: skip

    result = await asking.call("files__read_text_file", path=str(folder / "a.txt"))
    assert text_of(result) == "the content of a" and not result.is_error
    result = await asking.call("files__read_text_file", path="/etc/passwd")
    assert result.is_error and "Access denied" in text_of(result)
    entity = {"name": "Ann", "entityType": "person", "observations": ["feeds the bear"]}
    await asking.call("memory__create_entities", entities=[entity])
    assert "feeds the bear" in text_of(await asking.call("memory__read_graph"))
    result = await asking.call("time__get_current_time", timezone="Asia/Tokyo")
    assert json.loads(text_of(result))["timezone"] == "Asia/Tokyo"
    result = await asking.call("time__get_current_time", timezone="Nowhere")
    assert result.is_error
    result = await asking.call("git__git_log", repo_path=str(repository))
    assert "The first commit" in text_of(result)

    begun = time.monotonic()
    await asking.manager.close()
    assert time.monotonic() - begun < 6


async def everything(keeper: Keeper, user: User) -> None:
    """What server-everything has for a client to get right."""
    await keeper.state("everything", "connected")
    tools = keeper.tools()
    assert "everything__simulate-research-query" not in tools  # runs only as a task
    assert text_of(await keeper.call("everything__echo", message="hello")) == "Echo: hello"
    assert "5" in text_of(await keeper.call("everything__get-sum", a=2, b=3))

    image = await keeper.call("everything__get-tiny-image")
    assert [b.type for b in image.content] == ["text", "image", "text"]
    assert image.content[1].media_type == "image/png"
    structured = await keeper.call("everything__get-structured-content", location="Chicago")
    assert json.loads(text_of(structured)) == structured.details["structured"]
    links = text_of(await keeper.call("everything__get-resource-links", count=2))
    assert links.count("[link to the resource demo://") == 2
    embedded = await keeper.call(
        "everything__get-resource-reference", resourceType="Text", resourceId=1
    )
    assert "[resource demo://resource/dynamic/text/1" in text_of(embedded)

    await until(lambda: keeper.manager.resources() and keeper.manager.prompts())
    static = next(r for r in keeper.manager.resources() if not r.template)
    [block] = await keeper.manager.read_resource("everything", static.uri)
    assert block.text.startswith(f"[resource {static.uri}")
    assert any(r.template for r in keeper.manager.resources())
    [message] = await keeper.manager.get_prompt("everything", "args-prompt", {"city": "Bern"})
    assert "Bern" in message.content[0].text
    words = await keeper.manager.complete(
        "everything", prompt="completable-prompt", argument="department", value="E"
    )
    assert words and all(word.startswith("E") for word in words)

    keeper.updates.clear()
    slow = "everything__trigger-long-running-operation"
    assert "completed" in text_of(await keeper.call(slow, duration=0.4, steps=4))
    assert [update["progress"] for update in keeper.updates] == [1, 2, 3, 4]
    keeper.updates.clear()
    ctx = ToolContext("c", keeper.updates.append)
    stopped = asyncio.create_task(tools[slow].execute("c", {"duration": 60, "steps": 300}, ctx))
    await until(lambda: keeper.updates)
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    assert text_of(await keeper.call("everything__echo", message="on")) == "Echo: on"

    for answer in (
        ElicitAnswer("decline"), ElicitAnswer("cancel"),
        ElicitAnswer("accept", {"name": "Ann", "check": True, "email": "ann@example.org"}),
    ):  # fmt: skip
        user.answer = answer
        said = text_of(await keeper.call("everything__trigger-elicitation-request"))
        assert {"accept": "Ann", "decline": "declin", "cancel": "cancel"}[answer.action] in said
    assert (
        isinstance(user.asked[-1], FormQuestion) and "name" in user.asked[-1].schema["properties"]
    )
    user.answer = SamplingAnswer("words of a model", "model-x")
    said = text_of(await keeper.call("everything__trigger-sampling-request", prompt="Hi"))
    assert isinstance(user.asked[-1], SamplingQuestion) and "words of a model" in said
    roots = text_of(await keeper.call("everything__get-roots-list"))
    assert keeper.diary_path.parent.name in roots


async def test_server_everything_by_pipe(asking: Keeper, user: User, npm: Path):
    command = [str(npm / "mcp-server-everything")]
    asking.manager.add(server_from_command("everything", command, {}))
    await everything(asking, user)
    # It says that its tools have changed when it knows what the client can do.
    assert asking.events.count(ToolsChanged("everything")) > 1


async def test_server_everything_by_http(asking: Keeper, user: User, npm: Path):
    port = free_port()
    server = served([str(npm / "mcp-server-everything"), "streamableHttp"], port)
    try:
        url = f"http://127.0.0.1:{port}/mcp"
        asking.manager.add(server_from_url("everything", url, {}))
        # It listens a moment later than it is asked: the manager tries again.
        await everything(asking, user)
        await asking.manager.close()
    finally:
        server.terminate()
        server.wait(10)


def served(command: list[str], port: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        env={"PATH": os.environ.get("PATH", os.defpath), "PORT": str(port)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
