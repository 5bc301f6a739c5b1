"""Programs that call the tools here, in the installed command: seen, steered, approved, and
interrupted in every way, against the offline server that runs them for real."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.offline import OfflineServer, Scenario
from agent_tui.offline.containers import ContainerOptions
from tests.e2e.fixtures import Open
from tests.e2e.servers import texts_of
from tests.e2e.terminal import TAB, Terminal, all_words, start_command, wait_until

COUNT = """\
import asyncio
texts = await asyncio.gather(*[read(path=name) for name in ("a.txt", "b.txt", "c.txt")])
print(len(texts), "files")
print(await shell(command="echo from the program"))
for _ in range(20):
    await glob(pattern="*.txt")
print("twenty looks")
"""
TWO_STEPS = """\
first = await read(path="a.txt")
print(await shell(command="until [ -e go ]; do sleep 0.05; done; echo over"))
"""

TURNS: list[dict[str, Any]] = [
    {"match": "count it", "text": "I count.", "program": COUNT},
    {"match": "count it", "text": "Counted."},
    {"match": "in EUR", "text": "In EUR then."},
    {"match": "say hello", "text": "Hello."},
    {"match": "once more", "text": "Again.", "program": "print('new ground')"},
    {"match": "once more", "text": "As new."},
    {"match": "two steps", "text": "Step by step.", "program": TWO_STEPS, "repeat": 2},
    {"text": "Noted.", "repeat": True},
]


class Impatient:
    """A server whose containers can be made to expire soon after their next use."""

    def __init__(self) -> None:
        self._options = ContainerOptions()
        self.server = OfflineServer(scenario=Scenario(turns=TURNS), containers=self._options)
        self.server.start()

    def expire_soon(self) -> None:
        object.__setattr__(self._options, "idle_seconds", 0.1)

    def be_patient(self) -> None:
        object.__setattr__(self._options, "idle_seconds", 270.0)

    def bodies(self, said: str) -> list[dict[str, Any]]:
        """The requests in which the user last said this, oldest first."""
        found = [e["body"] for e in self.server.journal if e["path"].startswith("/v1/messages")]
        return [body for body in found if said in "\n".join(last_said(body))]


def last_said(body: dict[str, Any]) -> list[str]:
    """The newest texts of the user."""
    users = [texts_of(m) for m in body["messages"] if m["role"] == "user"]
    return next((texts for texts in reversed(users) if texts), [])


@pytest.fixture(scope="module")
def impatient() -> Iterator[Impatient]:
    made = Impatient()
    yield made
    made.server.stop()


@pytest.fixture(scope="module")
def terminal(impatient: Impatient, open_terminal: Open, folder: Callable[[str], Path]) -> Terminal:
    home = folder("programs")
    opened = open_terminal("--base-url", impatient.server.url, home=home)
    for name in ("a.txt", "b.txt", "c.txt"):
        (opened.cwd / name).write_text(f"{name}\n", encoding="utf-8")
    opened.wait_ready()
    return opened


def kinds(body: dict[str, Any]) -> list[str]:
    return [block["type"] for block in body["messages"][-1]["content"]]


def test_a_program_is_paused_resumed_steered_and_approved(
    impatient: Impatient, terminal: Terminal
) -> None:
    terminal.send("/tools al")
    terminal.wait_for("/tools all")
    terminal.send(TAB)
    terminal.wait_for("/tools all both")
    terminal.say("both")
    terminal.wait_for("the model and its programs call it. From the next request on.")

    terminal.say("count it")
    terminal.wait_for(all_words(["shell wants to run", "asked by program 1"]))
    terminal.say("in EUR, please")
    terminal.wait_for("held: a program is paused (1 call)")
    assert len(impatient.bodies("in EUR")) == 0
    terminal.answer("wants to run", "y")
    terminal.wait_for("In EUR then.", timeout=20)
    terminal.wait_ready()

    bodies = impatient.bodies("count it")
    assert len(bodies) == 1 + 1 + 1 + 20, "the prompt, three at once, one, and one by one"
    assert [kinds(b) for b in bodies[1:]] == [["tool_result"] * 3, *[["tool_result"]] * 21]
    (container,) = [c["id"] for c in impatient.server.containers]
    assert [b.get("container") for b in bodies] == [None, *[container] * 22]
    offered = [[(t["name"], t.get("allowed_callers")) for t in b["tools"]] for b in bodies]
    assert all(tools == offered[0] for tools in offered)
    assert dict(offered[0])["shell"] == ["direct", "code_execution_20260120"]
    (steered,) = impatient.bodies("in EUR")
    assert last_said(steered) == ["in EUR, please"]
    output = next(
        block["content"]
        for m in steered["messages"]
        for block in m["content"]
        if block["type"] == "code_execution_tool_result"
    )
    assert output["stdout"] == "3 files\nfrom the program\ntwenty looks\n"
    assert (output["return_code"], output["stderr"]) == (0, "")


def test_an_expired_container_recovers(impatient: Impatient, terminal: Terminal) -> None:
    impatient.expire_soon()
    terminal.say("say hello")
    terminal.wait_for("Hello.")
    wait_until(lambda: impatient.server.containers[0]["state"] == "expired")
    impatient.be_patient()
    terminal.say("once more")
    terminal.wait_for("As new.")
    terminal.wait_for("The code execution container is gone")
    terminal.wait_ready()
    old, new = impatient.server.containers
    tried = impatient.bodies("once more")
    assert [b.get("container") for b in tried] == [old["id"], None]
    assert (new["state"], new["programs"]) == ("idle", 1)
    told = "\n".join(last_said(tried[-1]))
    assert "once more" in told and "container" in told and "gone" in told


# --- stopped and killed, over RPC -----------------------------------------------------------


class Rpc:
    """`agent-tui rpc` with its lines."""

    def __init__(self, *argv: str, home: Path) -> None:
        self.process: subprocess.Popen[bytes] = start_command("rpc", *argv, home=home)
        self._number = 0

    def ask(self, type_: str, **more: Any) -> Any:
        self._number += 1
        line = json.dumps({"id": str(self._number), "type": type_} | more)
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = self.until(lambda m: m["type"] == "response" and m["id"] == str(self._number))
        assert answer["ok"], answer
        return answer.get("data")

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if wanted(message):
                return message
        raise AssertionError("it ended first")

    def until_shell(self) -> None:
        """The program has its first result and waits for the shell."""
        self.until(lambda m: m["type"] == "tool_execution_start" and m["tool_name"] == "shell")

    def until_status(self, status: str) -> None:
        self.until(lambda m: m["type"] == "status" and m["status"] == status)


def test_stopped_or_killed_while_a_program_is_paused(impatient: Impatient, tmp_path: Path) -> None:
    """Then a prompt: the request is valid, and the model is told what had finished."""
    argv = ["--base-url", impatient.server.url, "--allow", "shell"]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("first\n", encoding="utf-8")
    rpc = Rpc(*argv, home=tmp_path)
    try:
        listed = rpc.ask("command", text="/tools all both")
        assert {"read": "both", "shell": "both"}.items() <= {
            row["name"]: row["exposure"] for row in listed["data"]["tools"]
        }.items()
        rpc.ask("prompt", text="two steps, first try")
        rpc.until_shell()
        rpc.ask("abort")
        rpc.until_status("ready")
        rpc.ask("prompt", text="after the stop")
        rpc.until_status("ready")
        rpc.ask("prompt", text="two steps, second try")
        rpc.until_shell()
        session = rpc.ask("state")["session_id"]
        os.kill(rpc.process.pid, signal.SIGKILL)
        rpc.process.wait(10)
    finally:
        rpc.process.kill()
    rpc = Rpc(*argv, "-r", session, home=tmp_path)
    try:
        rpc.ask("prompt", text="after the kill")
        rpc.until_status("ready")
        rpc.ask("quit")
        assert rpc.process.wait(20) == 0
    finally:
        rpc.process.kill()

    for said, how in (("after the stop", "stopped"), ("after the kill", "without a result")):
        (body,) = impatient.bodies(said)
        note, text = last_said(body)
        assert text == said
        assert "program you had started was interrupted" in note
        finished, _, rest = note.partition(how)
        assert 'read({"path": "a.txt"})' in finished and "first" in finished
        assert "shell(" in rest
        assert kinds(body) == ["text", "text"]
    statuses = {e["status"] for e in impatient.server.journal if "/messages" in e["path"]}
    assert statuses == {200, 400}, "400 is the container that had expired"
    refused = [e for e in impatient.server.journal if e["status"] == 400]
    assert all("container_expired" in e["error"]["message"] for e in refused)
