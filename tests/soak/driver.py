"""Random commands to one conversation, most of them while it works, against a faulty server."""

import asyncio
import os
import random
import signal
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_tui.offline.scenarios import Scenario
from agent_tui.offline.server import OfflineServer

from . import faulty_server
from .model import Model
from .program import Launcher, Program
from .witness import Json, Request, check_grows, requests

SILENCE_S = 3.0
"""A run from which nothing has come for so long hangs (the scenario has turns that do): the
waits between tries are shorter."""

REST_S = 120.0

END_S = 3.0
"""So long the end may take at most (DESIGN), on a machine that has nothing else to do."""

ACTIONS: dict[str, float] = {
    "steer": 16, "follow_up": 12, "custom": 3, "queue": 5, "queue_edit": 6, "queue_move": 6,
    "queue_remove": 3, "queue_promote": 4, "queue_demote": 4, "queue_pause": 2,
    "queue_resume": 4, "send_now": 4, "abort": 4, "abort_tool": 5, "set_model": 3,
    "set_thinking": 3, "answer": 10, "command": 3, "continue": 2, "prompt": 3, "state": 3,
    "messages": 1, "nonsense": 1, "switch": 0.5, "kill": 1, "terminate": 0.5, "end": 0.5,
}  # fmt: skip
"""The weight of each. switch: /clear, or /resume of an earlier session."""

AT_REST: dict[str, float] = {"prompt": 60, "queue_resume": 20, "continue": 5, "switch": 1.5}
"""At rest these are more likely, so that most of the actions meet a run."""

MODELS = ("claude-sonnet-5-5", "claude-opus-4-8", "claude-haiku-4-5")


class Soak:
    """run() carries out so many actions and then lets everything go out; it raises what is
    wrong. histogram: how often each action met each status."""

    def __init__(self, seed: str, actions: int, folder: Path, launcher: Launcher) -> None:
        self.rng = random.Random(seed)
        self.histogram: Counter[tuple[str, str]] = Counter()
        self.model = Model()
        self.recent: list[str] = []
        """The last things that happened, for whoever looks into a failure."""
        self._actions = actions
        self._launcher = launcher
        self._work = folder / "work"
        self._home = folder / "home"
        self._mark = uuid.uuid4().hex
        self._names = 0
        self._failure: BaseException | None = None
        self._program: Program
        self._server: OfflineServer
        self._url = ""
        self._heard_at = 0.0
        self._sessions: list[str] = []
        self._session_of: dict[str, str] = {}
        self._checked = 0
        self._last_request: dict[str, Request] = {}
        for path in (self._work, self._home):
            path.mkdir()
        (self._work / "notes.txt").write_text("some notes\n", encoding="utf-8")

    async def run(self) -> None:
        script = Scenario(faulty_server.turns(self.rng, 2 * self._actions))
        self._server = OfflineServer(scenario=script)
        self._url = await asyncio.to_thread(self._server.start)
        try:
            await self._start()
            for _ in range(self._actions):
                await self._act()
            await self._let_all_go_out()
            self._check_requests()
            await self._leave("end")
            self._check_leftovers()
        finally:
            await asyncio.to_thread(self._server.stop)

    @property
    def requests(self) -> int:
        """Requests that the server has got."""
        return len(self._server.journal)

    # --- the program -----------------------------------------------------------------------

    async def _start(self) -> None:
        """In a new session."""
        self._program = await self._launch(self._hear)
        session_id = (await self._call("state"))["data"]["session_id"]
        self.model.begin(session_id)
        self._sessions.append(session_id)

    async def _launch(self, on_line: Callable[[Json], None], *args: str) -> Program:
        self._heard_at = asyncio.get_running_loop().time()
        return await self._launcher.start(
            ["--base-url", self._url, *args],
            cwd=self._work,
            home=self._home,
            env={"SOAK_MARK": self._mark},
            on_line=on_line,
        )

    def _hear(self, line: Json) -> None:
        if line["type"] not in ("response", "queue_changed", "setting_changed"):
            self._heard_at = asyncio.get_running_loop().time()
        if line["type"] not in ("message_update", "tool_execution_update"):
            self._note(f"< {str(line)[:400]}")
        try:
            if self._failure is None:
                self.model.heard(line)
        except BaseException as error:
            self._failure = error

    def _note(self, what: str) -> None:
        self.recent.append(what)
        del self.recent[:-200]

    def _send(self, kind: str, /, **fields: Any) -> "asyncio.Future[Json]":
        self._note(f"> {kind} {fields}")
        answer = self._program.send(kind, **fields)
        self.model.sent(self._program.last_id, kind, fields)
        return answer

    async def _call(self, kind: str, /, **fields: Any) -> Json:
        async with asyncio.timeout(30):
            answer = await self._send(kind, **fields)
        self._look()
        return answer

    def _look(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def _rest(self) -> None:
        """Until the run is over; one that hangs is aborted, what it asks is answered."""
        async with asyncio.timeout(REST_S):
            while self.model.status != "ready":
                if self.model.requests:
                    request_id = self.rng.choice(self.model.requests)["request_id"]
                    await self._call("answer", request_id=request_id, decision="allow")
                await self._end_what_hangs()
                await asyncio.sleep(0.02)
                self._look()

    async def _end_what_hangs(self) -> None:
        silence = asyncio.get_running_loop().time() - self._heard_at
        if self.model.status != "ready" and silence > SILENCE_S and not self.model.requests:
            self._count("abort")
            await self._call("abort")
            self._heard_at = asyncio.get_running_loop().time()

    # --- actions ---------------------------------------------------------------------------

    def _count(self, action: str) -> None:
        self.histogram[action, self.model.status] += 1

    async def _act(self) -> None:
        """One action; often the next one does not wait for its answer."""
        if self._program.ended.is_set():
            raise AssertionError(f"the program ended by itself: {self._stderr()}")
        await self._end_what_hangs()
        weights = dict(ACTIONS)
        if self.model.status == "ready":
            weights |= AT_REST
        if self.model.requests:
            weights["answer"] *= 3
        action = self.rng.choices(list(weights), list(weights.values()))[0]
        self._count(action)
        special = {"switch": self._switch, "kill": self._kill, "terminate": self._terminate,
                   "end": self._end}  # fmt: skip
        if action in special:
            await special[action]()
        else:
            kind, fields = self._command(action)
            answer = self._send(kind, **fields)
            if self.rng.random() < 0.7:
                async with asyncio.timeout(30):
                    self._check_answer(kind, fields, await answer)
        await asyncio.sleep(self.rng.choice((0.0, 0.0, 0.0, 0.01, 0.05, 0.2)))
        self._look()

    def _command(self, action: str) -> tuple[str, Json]:
        rng = self.rng
        match action:
            case "steer" | "follow_up" | "prompt":
                return action, {"text": self._text(action)}
            case "custom":
                return action, {"kind": "note", "text": self._text(action)}
            case "queue_edit":
                return action, {"item_id": self._item(), "text": self._text("edited")}
            case "queue_move":
                return action, {"item_id": self._item(), "index": rng.randint(-1, 6)}
            case "queue_remove" | "queue_promote" | "queue_demote":
                return action, {"item_id": self._item()}
            case "abort":
                return action, {"pause_queue": True} if rng.random() < 0.3 else {}
            case "abort_tool":
                calls = self.model.running_calls or ["no_such_call"]
                return action, {"tool_call_id": rng.choice(calls)}
            case "set_model":
                return action, {"model": rng.choice(MODELS)}
            case "set_thinking":
                return action, {"level": rng.choice(("off", "low", "medium", "high", "much"))}
            case "answer":
                ids = [r["request_id"] for r in self.model.requests] or ["no_such_request"]
                decision = rng.choice(("allow", "allow", "deny", "allow_always"))
                return action, {"request_id": rng.choice(ids), "decision": decision,
                                "reason": "so it was drawn"}  # fmt: skip
            case "command":
                lines = ("/help", "/effort low", "/effort", "/model", "/nonsense", "/system")
                return action, {"text": rng.choice(lines)}
            case "nonsense":
                return rng.choice(("no_such_type", "queue_move", "steer", "set_model")), {}
            case _:
                return action, {}

    def _text(self, kind: str) -> str:
        self._names += 1
        name = f"{kind}-{self._names}"
        self._session_of[name] = self.model.session.id
        return f"Please note <{name}>."

    def _item(self) -> str:
        ids = [i.id for i in (*self.model.session.items(), *self.model.session.taken)]
        ids += [*list(self.model.session.gone)[:1], "no_such_item"]
        return self.rng.choice(ids)

    def _check_answer(self, kind: str, fields: Json, answer: Json) -> None:
        self._look()
        error = answer.get("error", "")
        if "unexpected error" in error:
            raise AssertionError(f"{kind} {fields}: {error}")

    async def _switch(self) -> None:
        """/clear, or back to an earlier session, at rest; then a prompt, so that -c finds it."""
        await self._call("state")  # what was sent before has been carried out, and begins no run
        await self._stop()
        self._check_requests()
        others = [s for s in self._sessions if s != self.model.session.id]
        back = others and self.rng.random() < 0.5
        line = f"/resume {self.rng.choice(others)}" if back else "/clear"
        answer = await self._call("command", text=line)
        assert answer["ok"] and answer["data"]["action"] != "queued", answer
        state = (await self._call("state"))["data"]
        self.model.begin(state["session_id"])
        if not back:
            self._sessions.append(state["session_id"])
        await self._call("queue")
        answer = await self._call("prompt", text=self._text("prompt"))
        assert answer["ok"], answer

    async def _stop(self) -> None:
        while self.model.status != "ready":
            await self._call("abort")
            await asyncio.sleep(0.01)

    # --- ways to end, and to begin again -------------------------------------------------------

    async def _kill(self) -> None:
        self._program.kill()
        status = await self._program.wait()
        assert status == -signal.SIGKILL, status
        await self._go_on()

    async def _terminate(self) -> None:
        await self._leave("terminate")
        await self._go_on()

    async def _end(self) -> None:
        await self._leave("end")
        await self._go_on()

    async def _leave(self, how: str) -> None:
        """The program ends within 3 s, whatever it is doing, and by the code for it."""
        began = asyncio.get_running_loop().time()
        if how == "terminate":
            os.kill(self._program.pid, signal.SIGTERM)
        else:
            self._program.close_stdin()
        status = await self._program.wait()
        took = asyncio.get_running_loop().time() - began
        self._look()
        # The end of stdin under a run that was on is told by code 1.
        wanted = {"terminate": {128 + signal.SIGTERM}, "end": {0, 1}}.get(how, {0})
        assert status in wanted, status
        share = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert took < END_S * share, f"it took {took:.1f} s to end"

    async def _go_on(self) -> None:
        """Begin again where it ended."""
        self._look()
        wanted = self.model.session
        if not (wanted.said or wanted.items()):
            self._sessions.remove(wanted.id)  # nothing was to be kept
            self.model.restarted([], {"items": [], "paused": False})
            await self._start()
            return
        self._program = await self._launch(self._hear_later, "-c")
        messages = await self._program.ok("messages")
        queue = await self._program.ok("queue")
        state = await self._program.ok("state")
        assert state["session_id"] == wanted.id, "-c goes on in another session"
        self.model.restarted(messages, queue)
        self._program.on_line = self._hear

    def _hear_later(self, line: Json) -> None:
        """What the model is only told of as a whole, by restarted()."""
        self._note(f"< (at the start) {str(line)[:300]}")

    # --- the end -----------------------------------------------------------------------------

    async def _let_all_go_out(self) -> None:
        for _ in range(400):
            await self._rest()
            if not self.model.session.items():
                break
            await self._call("queue_resume")
            # The answer comes before the run that it begins has told its status.
            await asyncio.sleep(0.05)
        assert not self.model.session.items(), "the queue does not get empty"
        answer = await self._call("prompt", text=self._text("prompt"))
        assert answer["ok"], answer
        await self._rest()
        said = requests(self._server.journal)[-1].said()
        assert said == self.model.session.said, f"sent were {said}, not {self.model.session.said}"

    def _check_requests(self) -> None:
        """Of all requests so far: none refused but by the script; each session's history only
        grows; and what was said in it, and only that, is in it, once, in order."""
        sent = requests(self._server.journal[self._checked :])
        self._checked += len(sent)
        for request in sent:
            scripted = (request.error or {}).get("message", "").startswith("scripted")
            assert request.status not in (400, 404, 413) or scripted, (
                f"request {request.n} was refused: {request.error}"
            )
            said = request.said()
            session = self._session_of[said[0]]
            earlier = self._last_request.get(session)
            if earlier is not None:
                check_grows(earlier, request)
            self._last_request[session] = request
        for session, request in self._last_request.items():
            wanted = self.model.sessions[session].said
            said = request.said()
            assert said == wanted[: len(said)], f"session {session}: {said} is not {wanted}"

    def _check_leftovers(self) -> None:
        left = marked_processes(self._mark)
        assert not left, f"processes are left over: {left}"
        errors = self._stderr()
        assert "Traceback" not in errors and "never" not in errors, errors
        for log in self._home.glob("logs/*"):
            bad = [
                line
                for line in log.read_text(encoding="utf-8").splitlines()
                if " ERROR " in line or "never retrieved" in line or "was destroyed" in line
            ]
            assert not bad, bad[:5]

    def _stderr(self) -> str:
        return (self._home / "stderr.txt").read_text(encoding="utf-8")[-4000:]


def marked_processes(mark: str) -> list[str]:
    """Command lines of living processes with this mark in their environment (Linux)."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"SOAK_MARK={mark}".encode() in (entry / "environ").read_bytes():
                command = (entry / "cmdline").read_bytes()
                found.append(command.replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found
