"""A conversation that is killed again and again, and what must hold of it afterwards."""

import asyncio
import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui.offline.scenarios import Scenario
from agent_tui.offline.server import OfflineServer

from .kill_points import POINTS
from .program import Launcher, Program, ProgramEnded
from .witness import Json, Request, check_grows, requests

KINDS = ("prompt", "steer", "follow_up")
LIFE_S = 6.0
"""A life whose point is not reached in so many seconds is ended by a plain kill."""


def scenario(rng: random.Random, turns: int) -> Scenario:
    """Busy work: most turns think, write and call tools, all of them slow enough to be hit."""
    return Scenario([_turn(rng, number) for number in range(turns)])


def _turn(rng: random.Random, number: int) -> dict[str, Any]:
    turn: dict[str, Any] = {"text": f"Working, part {number}. " * 3, "chunk_size": 12,
                            "chunk_delay_ms": rng.choice((0, 1, 4))}  # fmt: skip
    if rng.random() < 0.7:
        turn["thinking"] = f"What to do in part {number}? " * 2
    if rng.random() < 0.6:
        turn["tool_calls"] = [_call(rng, f"{number}x{n}") for n in range(rng.randint(1, 3))]
    return turn


def _call(rng: random.Random, name: str) -> dict[str, Any]:
    if rng.random() < 0.3:
        return {"name": "read", "input": {"path": "notes.txt"}}
    pause = rng.choice((0, 0.01, 0.05))
    command = f"echo {name} >> ran.log; sleep {pause}; echo did-{name}"
    return {"name": "shell", "input": {"command": command}}


@dataclass
class Kill:
    """How one life ends: at a point, the nth time, or (point "") after so many seconds."""

    point: str
    nth: int = 1
    after_s: float = 0.0


def draw_kills(rng: random.Random, count: int) -> list[Kill]:
    """Half of them between named steps (each in turn), half at any time; shuffled."""
    points = [*POINTS]
    rng.shuffle(points)
    kills = [_at(rng, points[n % len(points)]) for n in range(count // 2)]
    kills += [Kill("", after_s=rng.uniform(0.0, 1.2)) for _ in range(count - len(kills))]
    rng.shuffle(kills)
    return kills


def _at(rng: random.Random, point: str) -> Kill:
    # Prompts are few: while a run is on there are only steers and follow-ups.
    return Kill(point, 1 if point == "prompted" else rng.randint(1, 3))


@dataclass
class Ledger:
    """What the witnesses said: the RPC answers, the events and the notes of the killer."""

    sent: list[str] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)
    recorded_calls: set[str] = field(default_factory=set)
    reached: list[str] = field(default_factory=list)

    def on_line(self, line: Json) -> None:
        if line["type"] == "tool_execution_end":
            # A face hears of it only after the session has it.
            self.recorded_calls.add(line["tool_call_id"])


class KilledConversation:
    """Runs one conversation through its kills and to its end; check() says what is wrong."""

    def __init__(self, seed: str, folder: Path, launcher: Launcher) -> None:
        self.rng = random.Random(seed)
        self.ledger = Ledger()
        self.history: list[Request] = []
        self._launcher = launcher
        self._work = folder / "work"
        self._home = folder / "home"
        self._note = folder / "killed.json"
        self._url = ""
        for path in (self._work, self._home):
            path.mkdir()
        (self._work / "notes.txt").write_text("did-read\n", encoding="utf-8")

    async def run(self, kills: list[Kill]) -> None:
        # Turns enough to be killed in; what is left at the end is answered at once.
        server = OfflineServer(scenario=scenario(self.rng, 12 * len(kills)))
        self._url = await asyncio.to_thread(server.start)
        try:
            for number, kill in enumerate(kills):
                await self._live(kill, first=number == 0)
            await self._finish()
            self.history = requests(server.journal)
        finally:
            await asyncio.to_thread(server.stop)

    async def _start(self, *, again: bool, plan: Json | None = None) -> Program:
        args = ["--base-url", self._url, "--allow", "shell", *(["-c"] if again else [])]
        return await self._launcher.start(
            args, cwd=self._work, home=self._home, plan=plan, on_line=self.ledger.on_line
        )

    async def _live(self, kill: Kill, *, first: bool) -> None:
        plan = None
        if kill.point:
            plan = {"point": kill.point, "nth": kill.nth, "note": str(self._note)}
        program = await self._start(again=not first and self._begun(), plan=plan)
        try:
            async with asyncio.timeout(LIFE_S):
                await self._talk(program, kill)
        except ProgramEnded:
            pass
        except TimeoutError:
            program.kill()
        status = await program.wait()
        assert status == -9, f"it ended by itself with {status}: {self._stderr()}"
        if self._note.exists():
            note = json.loads(self._note.read_text(encoding="utf-8"))
            self._note.unlink()
            self.ledger.reached.append(note["point"])
            if note["point"] == "outcome":
                self.ledger.recorded_calls.add(note["tool_call_id"])
        else:
            self.ledger.reached.append("missed" if kill.point else "any time")

    def _begun(self) -> bool:
        """A session is there that -c can go on in: with a record behind its header."""
        files = self._home.glob("sessions/*/*.jsonl")
        return any(path.read_bytes().count(b"\n") > 1 for path in files)

    async def _talk(self, program: Program, kill: Kill) -> None:
        """Say things until the program is dead."""
        await self._check_queue(await program.ok("state"))
        if not kill.point:
            asyncio.get_running_loop().call_later(kill.after_s, program.kill)
        answers: set[asyncio.Task[None]] = set()
        try:
            if kill.point == "prompted":
                await self._say(program, "prompt")
            await self._go_on(program)
            while True:
                for _ in range(self.rng.randint(1, 2)):
                    kind = self.rng.choice(KINDS)
                    if kind == "prompt" and self._status(program) != "ready":
                        kind = "steer"
                    answers.add(self._say(program, kind))
                await asyncio.sleep(self.rng.choice((0.0, 0.05, 0.2, 0.4)))
                if program.ended.is_set():
                    raise ProgramEnded
                if self._status(program) == "ready" and self.rng.random() < 0.5:
                    await self._go_on(program)
        finally:
            await asyncio.gather(*answers)

    async def _go_on(self, program: Program) -> None:
        """After a start, or when it rests: one of the ways to go on with what there is."""
        way = self.rng.choice(("continue", "queue_resume", "prompt"))
        if way == "prompt":
            await self._say(program, "prompt")
        else:
            await program.call(way)  # "nothing to continue" is an answer too

    def _say(self, program: Program, kind: str) -> "asyncio.Task[None]":
        name = f"{kind}-{len(self.ledger.sent)}"
        self.ledger.sent.append(name)
        answer = program.send(kind, text=f"Please note <{name}>.")

        async def hear() -> None:
            try:
                if (await answer)["ok"]:
                    self.ledger.accepted.add(name)
            except ProgramEnded:
                pass

        return asyncio.create_task(hear())

    @staticmethod
    def _status(program: Program) -> str:
        for line in reversed(program.lines):
            if line["type"] == "status":
                return line["status"]
        return "ready"

    async def _check_queue(self, state: Json) -> None:
        """After a restart the queue is there in the order of sending, each item once."""
        for kind in ("steer", "follow_up"):
            names = [
                re.search(r"<(.+?)>", item["text"])[1]  # type: ignore[index]
                for item in state["queue"]
                if item["kind"] == kind
            ]
            assert names == sorted(names, key=self.ledger.sent.index), names
            assert len(names) == len(set(names)), names

    async def _finish(self) -> None:
        """The last life: everything goes out, and it ends as it should."""
        program = await self._start(again=self._begun())
        await self._check_queue(await program.ok("state"))
        for _ in range(1000):
            if not (await program.ok("queue"))["items"]:
                break
            await program.ok("queue_resume")
            await program.until(lambda: self._status(program) == "ready")
        else:
            raise AssertionError("the queue does not get empty")
        self.ledger.sent.append("prompt-last")
        await program.ok("prompt", text="The end <prompt-999999>.")
        await program.until(lambda: program.lines[-1] == {"type": "status", "status": "ready"})
        program.close_stdin()
        assert await program.wait() == 0, self._stderr()

    def _stderr(self) -> str:
        return (self._home / "stderr.txt").read_text(encoding="utf-8")[-2000:]

    # --- what must hold ------------------------------------------------------------------

    def check(self) -> None:
        self._check_requests()
        self._check_messages()
        self._check_calls()

    def _check_requests(self) -> None:
        refused = [(r.n, r.error) for r in self.history if r.status not in (200, None)]
        assert not refused, f"requests were refused: {refused}"
        for earlier, later in zip(self.history, self.history[1:], strict=False):
            check_grows(earlier, later)

    def _check_messages(self) -> None:
        said = self.history[-1].said()
        assert said[-1] == "prompt-999999", said[-3:]
        said = said[:-1]
        doubled = sorted({name for name in said if said.count(name) > 1})
        missing = [n for n in self.ledger.sent if n in self.ledger.accepted and n not in said]
        strange = [name for name in said if name not in self.ledger.sent]
        assert not doubled, f"delivered more than once: {doubled}"
        assert not missing, f"accepted and never delivered: {missing}"
        assert not strange, f"never sent: {strange}"
        for kind in KINDS:
            order = [name for name in said if name.startswith(kind + "-")]
            wanted = sorted(order, key=self.ledger.sent.index)
            assert order == wanted, f"{kind}: delivered in the order {order}"

    def _check_calls(self) -> None:
        last = self.history[-1]
        results = last.results()
        log = self._work / "ran.log"
        ran = log.read_text(encoding="utf-8").split() if log.exists() else []
        assert len(ran) == len(set(ran)), "a command ran twice"
        calls = last.calls()
        for call_id, call in calls.items():
            assert len(results.get(call_id, [])) == 1, f"results of {call}: {results.get(call_id)}"
            (text,) = results[call_id]
            if call["name"] == "shell":
                name = call["input"]["command"].split()[1]
                done = f"did-{name}" in text
                assert not done or name in ran, f"{call} has a result and never ran"
            else:
                done = "did-read" in text
            if call_id in self.ledger.recorded_calls:
                assert done, f"the real result of {call} was lost: {text}"
        lost = self.ledger.recorded_calls - set(calls)
        assert not lost, f"calls with a recorded outcome that the model no longer sees: {lost}"
