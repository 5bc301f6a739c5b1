"""Faults of MCP servers: what they print, what they leave behind, what they are switched off for.
The installed command in a pty; the panel, every byte it writes, and processes are looked at."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conversation.mcp_making import attach, call, offered, run
from tests.e2e.fixtures import Open, Serve
from tests.e2e.mcp_zoo import configured, leave_panel, look_at_panel
from tests.e2e.servers import result_text
from tests.e2e.terminal import Terminal, wait_until
from tests.faults.helpers import blocks, talking
from tests.mcp_servers.conftest import ZOO

BANNER = """
import subprocess, sys, time
sys.stdout.write("Starting...\\n╔══════╗\\n║ BOX  ║\\n╚══════╝\\n")
sys.stdout.flush()
sys.stderr.write("\\x1b[2J\\x1b]0;PAINTED\\x07painted over the screen\\n" * 50)
sys.stderr.flush()
"""

MUTE = f"""{BANNER}
time.sleep(1)
sys.stderr.write("the last words of it\\n")
sys.stderr.flush()
time.sleep(600)
"""

LOUD = (
    BANNER
    + """
raise SystemExit(subprocess.call([sys.executable, "-S", "-E", "-u", *sys.argv[1:]]))
"""
)
"""It wraps the real server, as npx does."""


@pytest.fixture(scope="module")
def terminal(serve: Serve, open_terminal: Open, folder: Callable[[str], Path]) -> Terminal:
    home = folder("servers")
    env = {"ZOO_DIARY": str(home / "diary"), "PYTHONUTF8": "1"}
    (home / "loud.py").write_text(LOUD, encoding="utf-8")
    (home / "mute.py").write_text(MUTE, encoding="utf-8")
    wrapper = f"{sys.executable} {home}/loud.py {ZOO} LeavesAChild; true"
    servers: dict[str, dict[str, Any]] = {
        "loud": {"command": "sh", "args": ["-c", wrapper], "env": env},
        "mute": {"command": sys.executable, "args": [f"{home}/mute.py"], "env": env,
                 "connect_timeout_s": 3},
    }  # fmt: skip
    allow = configured(home, servers)
    server = serve(
        [
            {"tool_calls": [{"name": "loud__echo", "input": {"text": "through the noise"}}]},
            {"text": "heard", "repeat": True},
        ]
    )
    opened = open_terminal("--base-url", server.url, "--allow", allow, home=home, cols=150)
    opened.server = server  # type: ignore[attr-defined]
    return opened


def test_C18_banners_and_errors_of_a_server_stay_off_the_screen(terminal: Terminal) -> None:
    terminal.wait_ready()
    terminal.write("the keys work")
    look_at_panel(terminal)
    terminal.wait_for(lambda _: re.search(r"✓ loud .*tool", terminal.panel()), timeout=20)
    leave_panel(terminal)
    terminal.wait_for("mute: it did not answer within 3.0 s.", timeout=20)
    terminal.wait_for("the last words of it")  # of it is told what it said last
    terminal.write(" meanwhile")
    terminal.say(".")
    terminal.wait_for("heard")
    [result] = terminal.server.wait_requests(2)[-1].tool_results  # type: ignore[attr-defined]
    assert result_text(result) == "through the noise"
    assert b"PAINTED" not in terminal.raw.replace("␛]0;PAINTED".encode(), b"")
    assert not re.search(rb"\x1b\]0;|\x07painted", terminal.raw)
    assert terminal.raw.count(b"\x1b[2J") == 0
    log = next((terminal.state / "logs").glob("mcp-loud*")).read_text(encoding="utf-8")
    assert "painted over the screen" in log and "║ BOX  ║" in log and "\x1b" not in log


def test_C19_servers_behind_a_wrapper_end_with_the_terminal(terminal: Terminal) -> None:
    """The shell, the wrapper, the server, and what that had started."""
    terminal.wait_ready()
    entries = [json.loads(line) for line in (terminal.home / "diary").read_text().splitlines()]
    pids = [pid for entry in entries for pid in entry.get("pids", [])]
    assert len(pids) == 2 and all(lives(pid) for pid in pids)
    wrappers = processes_with(str(terminal.home / "loud.py"))
    assert len(wrappers) == 2, "the shell and the wrapper"
    terminal.hang_up()
    wait_until(lambda: not any(map(lives, [*pids, *wrappers])), 15, "the end of all of them; that")


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def processes_with(word: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (entry / "cmdline").read_bytes() and lives(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def test_C20_tools_of_a_server_switched_off_leave_the_request(tmp_path: Path) -> None:
    """What was called before stays in the history as it was."""
    async with talking(
        call("zoo__echo", text="x"), *[{"text": "Yes."}] * 2, cwd=tmp_path, allow=["zoo__*"]
    ) as talk:
        await attach(talk, "zoo")
        await talk.say("call it")
        assert offered(talk.bodies[0])
        await run(talk, "/mcp disable zoo")
        await talk.say("and now?")
        body = talk.bodies[-1]
        assert offered(body) == []
        assert [b["name"] for b in blocks(body, "tool_use")] == ["zoo__echo"]
        assert [b["tool_use_id"] for b in blocks(body, "tool_result")] == ["toolu_1"]
        talk.assert_accepted()
