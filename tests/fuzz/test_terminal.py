"""The installed command in a pty, harmful texts from all sides over HTTP, stdio and the disk:
every byte that it writes to the terminal is taken apart."""

import base64
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve, folder, open_terminal, serve
from tests.e2e.mcp_zoo import leave_panel, look_at_panel
from tests.e2e.servers import OfflineProcess
from tests.e2e.terminal import ENTER, ESC, F1, F3, F5, F6, Terminal, run_command
from tests.fuzz.nasty import MARKUP, SEQUENCES, UNICODE, acting, acts
from tests.fuzz.terminal_bytes import Written

__all__ = ["folder", "open_terminal", "serve"]

ALT_C, CTRL_O, CTRL_T = b"\x1bc", b"\x0f", b"\x14"
FOCUS_OUT, FOCUS_IN = b"\x1b[O", b"\x1b[I"
SERVER = Path(__file__).with_name("nasty_server.py")

EVIL = " ".join(
    text for text in (*SEQUENCES, *MARKUP, *UNICODE) if not re.search("[\ud800-\udfff]", text)
)
"""What UTF-8 can hold of them."""

NAME = "f\x1b]0;PWNED\x07\x9b2J\u202e[red]\x1b[2J"
"""Of files and folders; whole, a name would be too long."""

OUTPUT = "cat evil; ls; printf '\\233\\377\\033]52;c;UFdO\\007'"
CALLS: list[dict[str, Any]] = [
    {"name": "read", "input": {"path": NAME}},
    {"name": "list", "input": {}},
    {"name": "shell", "input": {"command": OUTPUT}},
    {"name": "evil__tool", "input": {}},
    {"name": "no" + NAME[:8], "input": {EVIL[:90]: EVIL}},
]
TURNS: list[dict[str, Any]] = [
    {"match": "first", "thinking": EVIL, "text": EVIL, "tool_calls": CALLS, "chunk_size": 7},
    {"match": "first", "text": "The calls are over."},
    {"match": "second", "tool_calls": [{"name": "write", "input": {"path": NAME, "content": EVIL}}],
     "chunk_size": 7},
    {"match": "second", "text": "It was told."},
    {"match": "third", "text": EVIL[:400], "stop_reason": "refusal",
     "stop_details": {"category": EVIL[:9], "explanation": EVIL[:400]}},
    {"match": "fourth", "status": 400, "error": {"type": EVIL[:90], "message": EVIL[:400]}},
    {"match": "plainly", "text": EVIL, "chunk_size": 7, "repeat": True},
]  # fmt: skip


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS, no_rules=True)


@pytest.fixture(scope="module")
def terminal(
    server: OfflineProcess, open_terminal: Open, folder: Callable[[str], Path]
) -> Terminal:
    home = folder("evil")
    work, state = home / NAME, home / "agent-tui"
    work.mkdir()
    state.mkdir()
    (work / "evil").write_text(EVIL, encoding="utf-8", newline="")
    (work / NAME).write_text(EVIL, encoding="utf-8", newline="")
    servers = {"evil": {"command": sys.executable, "args": [str(SERVER), str(work / "evil")]}}
    (state / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    (state / "config.toml").write_text('notify = "osc9"\nprogress = "on"\n', encoding="utf-8")
    return open_terminal(
        "--base-url", server.url, "--allow", "read,list,shell,evil__*", home=home, cwd=work,
        cols=130, rows=44,
    )  # fmt: skip


def test_C08_no_byte_of_others_is_obeyed_by_the_terminal(terminal: Terminal) -> None:
    """A visit to all that shows what others said; at its end the screen takes keys as before."""
    terminal.wait_ready()
    look_at_panel(terminal)
    terminal.wait_for(re.compile("✓ evil"), timeout=20)
    leave_panel(terminal)
    terminal.write("first [/x] [bold]")
    terminal.send(ENTER + FOCUS_OUT)
    terminal.wait_for("The calls are over.", timeout=30)
    terminal.wait_ready()
    terminal.send(FOCUS_IN)
    for key in (CTRL_O, CTRL_T, F6, F5, F3, F1):
        terminal.send(key)
    terminal.wait_for("While you type")
    terminal.send(ESC)
    terminal.wait_gone("While you type")
    terminal.send(CTRL_O + CTRL_T)
    terminal.say("second")
    terminal.answer("wants to run", "n")  # y is not taken: all of it has to be read first
    terminal.wait_for("It was told.")
    for said, shown in (("third", "declined"), ("fourth", "400")):
        terminal.wait_ready()
        terminal.say(said)
        terminal.wait_for(shown)
    terminal.wait_ready()
    terminal.send(ALT_C)
    for command in ("/mcp get evil", "/mcp tools", "/mcp log evil", "/tools", "/clear", "/resume"):
        terminal.say(command)
    terminal.wait_for("first [/x]")  # the title of the session before
    terminal.send(ESC)
    terminal.wait_gone("first [/x]")
    terminal.send("@" + NAME[0])
    terminal.send(ESC)
    terminal.send(b"\x7f\x7f")
    terminal.write("the keys work")
    written = Written(terminal.raw)
    assert written.foreign == []
    copies = [base64.b64decode(text).decode() for text in written.clipboard]
    # What Alt+C has copied and nothing else: as it is shown, so that pasting it is harmless too.
    assert [set(acting(text)) <= {"U+000A", "U+0009"} for text in copies] == [True]
    assert copies[0].startswith("␛[2J␛[H ␛[31;1m")
    assert all(title.endswith("agent-tui") and not acting(title) for title in written.titles)
    assert written.titles and all("PWNED" not in t or "␛]0;PWNED␇" in t for t in written.titles)
    assert written.notifications and not any(map(acting, written.notifications))
    assert written.bells == 0, "notifications are OSC 9 here"
    assert all(link.startswith(("http://", "https://")) for link in written.links if link)


def test_C08_no_log_file_holds_what_a_terminal_obeys(terminal: Terminal) -> None:
    """A log is read with cat."""
    logs = list((terminal.state / "logs").glob("*"))
    assert any("evil" in log.name for log in logs)
    for log in logs:
        text = log.read_text(encoding="utf-8")
        assert {c for c in text if acts(c)} <= {"\n", "\t"}, log.name


# --- without a screen -------------------------------------------------------------------------


def test_C08_what_p_writes_on_a_terminal_is_text(server: OfflineProcess, tmp_path: Path) -> None:
    url = ("--base-url", server.url)
    with Terminal("-p", "say it plainly", *url, home=tmp_path, cols=200) as terminal:
        assert terminal.exit_code(30) == 0
        written = Written(terminal.raw, ours=["\t"])
    assert written.foreign == [] and not written.clipboard and not written.titles
    assert "␛]52;c;UFdO␇" in terminal.raw.decode()


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_C08_what_p_writes_for_programs(
    server: OfflineProcess, tmp_path: Path, output: str
) -> None:
    """JSON is escaped and whole; text has no C0 control but line ends and tabs."""
    done = run_command(
        "-p", "say it plainly", "--output", output, "--base-url", server.url, home=tmp_path
    )
    assert done.returncode == 0
    text = done.stdout.decode()
    if output == "text":
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
        return
    assert {c for c in text if acts(c)} == {"\n"}
    values = [json.loads(line) for line in text.splitlines()]
    if output == "json":
        assert values[0]["result"] == EVIL


def test_C08_rpc_writes_escaped_lines(server: OfflineProcess, tmp_path: Path) -> None:
    asked = [{"id": "1", "type": "prompt", "text": "say it plainly"}]
    from tests.e2e.terminal import start_command

    with start_command("rpc", "--base-url", server.url, home=tmp_path) as process:
        assert process.stdin and process.stdout
        for line in asked:
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        events: list[dict[str, Any]] = []
        for raw in process.stdout:
            text = raw.decode()
            assert {c for c in text if acts(c)} == {"\n"}
            events.append(json.loads(text))
            if events[-1]["type"] == "agent_end":
                break
        process.stdin.close()
        process.wait(20)
    assert EVIL in json.dumps(events, ensure_ascii=False) or any(
        block.get("text") == EVIL
        for event in events
        if event["type"] == "message_end"
        for block in event["message"]["content"]
    )


def test_C08_complaints_are_text(tmp_path: Path) -> None:
    """Of a wrong option, a wrong file, an address that is none: what was given is quoted."""
    config = tmp_path / "c.toml"
    config.write_text('mod\\u001bel = "x"\n"\\u001b]0;p\\u0007" = 1\n', encoding="utf-8")
    for argv in (
        ("--base-url", f"http://{NAME}", "-p", "x"),
        ("--config", str(config), "--demo", "-p", "x"),
        ("--config", NAME, "--demo", "-p", "x"),
        ("--model", NAME, "--output", NAME, "-p", "x"),
        ("-r", NAME, "--demo", "-p", "x"),
        (NAME, "--no-such-option"),
        (f"--{NAME}",),
    ):
        done = run_command(*argv, home=tmp_path)
        assert done.returncode != 0, argv
        said = (done.stdout + done.stderr).decode()
        # The parser of options quotes what was typed, but for control characters.
        mild = {"\n", "\u202e"} if argv[-1].startswith("--") else {"\n"}
        assert {c for c in said if acts(c)} <= mild, (argv, said)
        assert "Traceback" not in said
