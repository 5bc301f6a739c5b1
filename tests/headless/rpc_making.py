"""A conversation with the RPC face on it, in this process, against a scripted server."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from agent_tui import paths
from agent_tui.conversation.build import build_conversation
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.endpoint import configured_endpoint
from agent_tui.conversation.retry import RetryPolicy
from agent_tui.headless.rpc import RpcFace
from agent_tui.offline import OfflineServer, Scenario
from agent_tui.sessions.store import Session
from agent_tui.settings import load_settings

Json = dict[str, Any]
BOUND_S = 20.0


class Rpc:
    """call() gives the answer to a command; lines is all that was written, as JSON says it."""

    def __init__(self, conversation: Conversation, server: OfflineServer) -> None:
        self.conversation = conversation
        self.server = server
        self.lines: list[Json] = []
        self.face = RpcFace(conversation, self)  # type: ignore[arg-type]
        self._news = asyncio.Event()
        self._count = 0
        conversation.subscribe(self.face.on_event)

    def write(self, value: Json) -> None:
        """The face's writer: what it writes must be JSON."""
        self.lines.append(json.loads(json.dumps(value, allow_nan=False)))
        self._news.set()

    async def line(self, text: str) -> Json:
        """The answer to this very line."""
        before = len(self.lines)
        async with asyncio.timeout(BOUND_S):
            await self.face.handle(text)
        (answer,) = [x for x in self.lines[before:] if x["type"] == "response"]
        return answer

    async def call(self, command: str, /, **fields: Any) -> Json:
        self._count += 1
        answer = await self.line(json.dumps({"id": self._count, "type": command, **fields}))
        assert answer["id"] == self._count
        return answer

    async def ok(self, command: str, /, **fields: Any) -> Any:
        """The data of an answer that is accepted."""
        answer = await self.call(command, **fields)
        assert answer["ok"] is True, answer
        assert answer.keys() <= {"type", "id", "ok", "data"}
        return answer.get("data")

    async def error(self, command: str, /, **fields: Any) -> str:
        answer = await self.call(command, **fields)
        assert answer["ok"] is False, answer
        assert answer.keys() == {"type", "id", "ok", "error"}
        return answer["error"]

    def all(self, kind: str) -> list[Json]:
        return [line for line in self.lines if line["type"] == kind]

    async def until(self, condition: Callable[[], Any]) -> Any:
        """The first true value of the condition, looked at after each line."""
        async with asyncio.timeout(BOUND_S):
            while not (value := condition()):
                self._news.clear()
                await self._news.wait()
            return value

    async def event(self, kind: str, count: int = 1) -> Json:
        """The so many-th event of this type."""
        await self.until(lambda: len(self.all(kind)) >= count)
        return self.all(kind)[count - 1]

    async def idle(self) -> None:
        async with asyncio.timeout(BOUND_S):
            await self.conversation.wait_idle()

    def stored(self) -> Session:
        """The session as its file holds it now."""
        path = self.conversation.session.path
        assert path is not None
        return Session.open(path, read_only=True)


@contextlib.asynccontextmanager
async def rpc(
    folder: Path, *turns: Json, allow: Sequence[str] = (), models: Sequence[str] = ()
) -> AsyncIterator[Rpc]:
    """turns: a scenario; past its end every answer is "(unscripted)"."""
    work = folder / "work"
    work.mkdir()
    server = OfflineServer(scenario=Scenario(turns=list(turns), models=list(models)))
    await asyncio.to_thread(server.start)
    try:
        flags = {"base_url": server.url, "api_key": "sk-test-key"}
        loaded = load_settings(cwd=str(work), flags=flags, environ={})
        endpoint = configured_endpoint(loaded.settings, {})
        assert endpoint is not None
        conversation = await build_conversation(
            loaded,
            endpoint,
            str(work),
            session=Session.create(str(work), paths.home()),
            allow=allow,
            retry_policy=RetryPolicy(first_wait_s=0.01),
        )
        try:
            yield Rpc(conversation, server)
        finally:
            await conversation.close()
    finally:
        await asyncio.to_thread(server.stop)


HANGS: Json = {"text": "I am on it.", "hang": "mid_stream", "cut_after": 4}
"""A turn that does not end by itself."""


def calling(*commands: str) -> Json:
    """A turn that calls shell with each of these."""
    calls = [
        {"id": f"toolu_{n}", "name": "shell", "input": {"command": command}}
        for n, command in enumerate(commands)
    ]
    return {"text": "Working.", "tool_calls": calls}
