"""Faults of tools: commands that hang or leak, output without end, edits that race, ways round
the approval, keys in the environment. Each with the very input that was reported."""

# ruff: noqa: ASYNC240

import asyncio
import json
import os
import shutil
import socket
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.tools import ToolContext
from agent_tui.conversation.events import PermissionRequestEvent
from agent_tui.processes import describe, mark_of, own_mark, processes
from agent_tui.sessions.reader import load_session
from agent_tui.sessions.store import Session
from agent_tui.tools.builtin import builtin_tools, kill_all
from agent_tui.tools.output import HEAD_CHARS, TAIL_CHARS
from tests.conversation.mcp_making import attach
from tests.conversation.test_approvals import Asked, context
from tests.faults.helpers import blocks, talking
from tests.tools.conftest import Call, call, cwd, output_dir, text_of, tools

__all__ = ["call", "cwd", "output_dir", "tools"]

CAP = HEAD_CHARS + TAIL_CHARS + 1000
"""What a result may hold, with the note about the rest."""

LONG_S = 20.0
"""None of these commands ends by itself sooner."""


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    kill_all()


def children() -> list[str]:
    """What commands of this program have left running."""
    mine = own_mark()
    return [
        describe(p.pid)
        for p in processes()
        if p.alive and p.pid != os.getpid() and (mark_of(p.pid) or "").startswith(mine)
    ]


async def within(seconds: float, work: Any) -> Any:
    async with asyncio.timeout(seconds):
        return await work


# --- commands that do not end ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [("python3 -m http.server {port} & echo done", "done"), ("sleep 100 &", "")],
    ids=["server", "silent"],
)
async def test_C01_the_call_ends_with_the_shell_not_with_what_it_left_behind(
    call: Call, command: str, said: str
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    result = await within(LONG_S, call("shell", command=command.format(port=port)))
    text = text_of(result)
    assert not result.is_error and text.startswith(said)
    assert "still running in the background" in text
    [child] = result.details["background"]
    assert (Path("/proc") / child.split()[0]).exists()


ASKS_AT_THE_TERMINAL = "#!/bin/sh\nprintf 'Password: ' >/dev/tty && read -r word </dev/tty\n"


@pytest.mark.parametrize(
    "command", ["sudo true", "cat", "ssh newhost", "git commit", "git commit --amend", "tty"]
)
async def test_C02_nobody_is_waited_for_at_a_terminal(
    call: Call, cwd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """sudo and ssh ask at /dev/tty for the password: stand-ins do just that, no host is asked."""
    ways = tmp_path / "bin"
    ways.mkdir()
    for name in ("sudo", "ssh", "vi", "editor"):
        (ways / name).write_text(ASKS_AT_THE_TERMINAL)
        (ways / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{ways}:{os.environ['PATH']}")
    monkeypatch.setenv("EDITOR", "vi")
    if command.startswith("git"):
        if shutil.which("git") is None:
            pytest.skip("asks git to commit")
        setup = (
            "git init -q . && git config user.name n && git config user.email e@x && "
            "touch f && git add f && git commit -q -m first && echo 1 > f && git add f"
        )
        assert not (await call("shell", command=setup)).is_error
    result = await within(LONG_S, call("shell", command=f"{command}; echo ended $?"))
    assert "ended" in text_of(result)
    if command in ("sudo true", "ssh newhost", "git commit", "tty"):
        assert "ended 0" not in text_of(result)
    assert "timed out" not in text_of(result)


async def test_C03_a_command_without_end_times_out_with_what_it_said(cwd: Path) -> None:
    [shell] = [t for t in builtin_tools(str(cwd), shell_timeout_s=0.3) if t.name == "shell"]
    for more in ({}, {"timeout": 0.2}):
        arguments = {"command": "echo started; tail -f /dev/null", **more}
        work = shell.execute("c", arguments, ToolContext("c", lambda partial: None))
        result = await within(LONG_S, work)
        assert result.is_error and result.details["ending"] == "timed out"
        assert text_of(result).startswith(f"started\n[timed out after {more.get('timeout', 0.3)} s")


# --- output without end ---------------------------------------------------------------------


async def test_C06_the_result_of_an_mcp_tool_is_cut_like_a_commands(tmp_path: Path) -> None:
    turns = [
        {"tool_calls": [{"id": "toolu_1", "name": "zoo__megabytes", "input": {}}]},
        {"text": "read"},
    ]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo", "Wild")
        await talk.say("go")
        [sent] = blocks(talk.bodies[-1], "tool_result")
        text = "".join(b["text"] for b in sent["content"])
        assert len(text) < CAP
        half = len(text) // 2
        assert "a line of the four megabytes" in text[:half]
        assert "a line of the four megabytes" in text[half:]
        [saved] = [word.strip("[].,;:") for word in text.split() if word.startswith("/")]
        assert Path(saved).stat().st_size > 2_000_000
        assert stat.S_IMODE(Path(saved).stat().st_mode) == 0o600


async def test_C07_what_is_stored_is_what_the_model_saw(tmp_path: Path) -> None:
    """The session holds neither the 12 MB nor twice what the model saw; it is read again."""
    command = "yes | head -c 12000000"
    turns = [
        {"tool_calls": [{"id": "toolu_1", "name": "shell", "input": {"command": command}}]},
        {"text": "seen"},
    ]
    session = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(*turns, cwd=tmp_path, allow=["shell"], session=session) as talk:
        await talk.say("go")
    file = session.path
    assert file is not None
    lines = file.read_bytes().splitlines()
    assert max(map(len, lines)) < 2 * CAP
    assert file.stat().st_size < 4 * CAP
    [sent] = blocks(talk.bodies[-1], "tool_result")
    seen = "".join(block["text"] for block in sent["content"])
    stored = [json.loads(line) for line in lines]
    assert any(seen in text for record in stored for text in strings(record))
    loaded = load_session(file)
    assert not loaded.notices and len(loaded.tree.messages()) == 4


def strings(value: Any) -> Iterator[str]:
    """Every string in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


async def test_C10_bytes_that_are_no_text_and_a_character_over_two_reads(call: Call) -> None:
    assert text_of(await call("shell", command=r"printf '\xff\xf0'")) == "\ufffd\ufffd"
    for before in (4093, 4094, 4095):
        command = f"head -c {before} /dev/zero | tr '\\0' x; printf '\\360\\237\\230\\200'"
        assert text_of(await call("shell", command=command)) == "x" * before + "\U0001f600"


async def test_C11_a_binary_file_is_named_and_not_decoded(call: Call, cwd: Path) -> None:
    with zipfile.ZipFile(cwd / "table.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("content.xml", "<x/>" * 100, zipfile.ZIP_DEFLATED)
    size = (cwd / "table.ods").stat().st_size
    result = await call("read", path="table.ods")
    text = text_of(result)
    assert result.is_error and "PK" not in text
    assert "binary" in text and f"{size:,}" in text


async def test_C21_of_ten_thousand_frames_the_last_stays(call: Call) -> None:
    command = "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); printf '\\r%d%%' $i; done"
    pieces: list[str] = []
    result = await call("shell", ToolContext("c", pieces.append), command=command)
    assert text_of(result) == "10000%"
    assert sum(map(len, pieces)) < 10_000


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["f", "./f", "link"])
async def test_C12_two_edits_of_one_answer_are_both_there(tmp_path: Path, second: str) -> None:
    (tmp_path / "f").write_text("".join(f"{n}\n" for n in range(1, 101)))
    (tmp_path / "link").symlink_to("f")
    calls = [
        ("toolu_1", "f", "\n50\n", "\nFIFTY\n"),
        ("toolu_2", second, "\n75\n", "\nSEVENTYFIVE\n"),
    ]
    made = [
        {"id": id, "name": "edit", "input": {"path": path, "edits": [{"old": old, "new": new}]}}
        for id, path, old, new in calls
    ]
    turns = [{"tool_calls": made}, {"text": "both"}]
    async with talking(*turns, cwd=tmp_path, allow=["edit"]) as talk:
        await talk.say("go")
        results = blocks(talk.bodies[-1], "tool_result")
        assert [bool(r.get("is_error")) for r in results] == [False, False]
    lines = (tmp_path / "f").read_text().split()
    assert lines[49] == "FIFTY" and lines[74] == "SEVENTYFIVE" and len(lines) == 100


def leads_out(cwd: Path, tmp_path: Path) -> dict[str, str]:
    (cwd / "esc").symlink_to("/")
    (cwd / "d").symlink_to(tmp_path / "new")
    (cwd / "parent").symlink_to(tmp_path / "not" / "yet")
    return {
        "link to the root": f"esc{tmp_path}/x",
        "dangling link": "d",
        "behind a dangling link": "parent/a/b",
        "up and out": "a/../../x",
    }


@pytest.mark.parametrize(
    "way", ["link to the root", "dangling link", "behind a dangling link", "up and out"]
)
async def test_C16_a_path_that_leads_out_is_asked_about_by_its_real_name(
    cwd: Path, tmp_path: Path, way: str
) -> None:
    """Also for reading, which is free inside the folder; and "always" for the folder does not
    cover it."""
    path = leads_out(cwd, tmp_path)[way]
    asked = Asked(cwd)
    await allowed_always(asked, context("write", "t0", path="inside"))
    assert await asked.approvals.before_tool_call(context("write", "t1", path="other")) is None
    for name in ("read", "write", "edit"):
        assert await is_asked(asked, context(name, f"t-{name}", path=path)), name


# --- what an approval covers --------------------------------------------------------------------


async def allowed_always(asked: Asked, call: Any) -> PermissionRequestEvent:
    task = asyncio.create_task(asked.approvals.before_tool_call(call))
    request = await asked.request()
    asked.approvals.answer(request.request_id, "allow_always")
    assert await within(5, task) is None
    return request


async def is_asked(asked: Asked, call: Any) -> bool:
    """Whether this call waits for an answer; it is refused then."""
    task = asyncio.create_task(asked.approvals.before_tool_call(call))
    async with asyncio.timeout(5):
        while not task.done() and not asked.approvals.open_requests:  # noqa: ASYNC110
            await asyncio.sleep(0.001)  # what a path really is, is looked up in a thread
    if task.done():
        return task.result() is not None
    [request] = asked.approvals.open_requests
    asked.approvals.answer(request.request_id, "deny")
    refused = await within(5, task)
    return bool(refused and refused.block)


@pytest.mark.parametrize(
    "other",
    [
        "git status && rm -rf x",
        "git status;rm -rf x",
        "git status | sh",
        "git status\nrm -rf x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status & rm x",
        "git status > x",
        "git statusx",
        "git 'unclosed",
    ],
)
async def test_C14_an_allowed_command_allows_no_longer_one(tmp_path: Path, other: str) -> None:
    """There are no rules by prefix: "always" is for this very command."""
    asked = Asked(tmp_path)
    request = await allowed_always(asked, context("shell", "t0", command="git status"))
    assert "git status" in request.rule
    assert not await is_asked(asked, context("shell", "t1", command="git status"))
    assert await is_asked(asked, context("shell", "t2", command=other))


@pytest.mark.parametrize("star", ["git *", "git status", "shell(git *)", "shell:git *", "sh*"])
async def test_C14_what_is_allowed_by_option_is_a_tool_and_no_command(
    tmp_path: Path, star: str
) -> None:
    asked = Asked(tmp_path, allow=[star])
    assert await is_asked(asked, context("shell", command="git status && rm -rf x"))
    assert await is_asked(asked, context("shell", "t2", command="git status"))


@pytest.mark.parametrize(
    "other",
    [
        "git -C /p commit",
        "env git commit",
        "command git commit",
        "python -c 'import os'",
        "find . -exec rm {} ;",
        "xargs git commit",
        "GIT_DIR=/p git commit",
    ],
)
async def test_C15_options_and_wrappers_are_other_commands(tmp_path: Path, other: str) -> None:
    """Denied once, it is asked again; allowed for ever, it allows no wrapper and no interpreter."""
    asked = Asked(tmp_path)
    for allowed in ("git commit", "python -c 'print(1)'", "find . -name x", "env"):
        await allowed_always(asked, context("shell", allowed, command=allowed))
    assert await is_asked(asked, context("shell", "t2", command=other))
    assert await is_asked(asked, context("shell", "t3", command=other))


# --- keys ---------------------------------------------------------------------------------


async def test_C17_our_key_is_in_no_childs_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a command, and of an MCP server, which gets only what it needs."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AGENT_TUI_API_KEY"):
        monkeypatch.setenv(name, "sk-ant-the-secret")
    monkeypatch.setenv("OTHER_API_KEY", "of-another-program")
    calls = [
        {"id": "toolu_1", "name": "shell", "input": {"command": "env | grep -i key"}},
        {"id": "toolu_2", "name": "zoo__env", "input": {}},
    ]
    turns = [{"tool_calls": calls}, {"text": "seen"}]
    async with talking(*turns, cwd=tmp_path, allow=["shell", "zoo__*"]) as talk:
        await attach(talk, "zoo")
        await talk.say("go")
        command, server = (json.dumps(r) for r in blocks(talk.bodies[-1], "tool_result"))
    assert "PATH" in server and "the-secret" not in command + server
    assert "ANTHROPIC" not in command and "sk-test-key" not in command + server
    assert "of-another-program" in command, "what is not ours is the user's to hide"
    assert "of-another-program" not in server


def test_C04_nothing_outlives_the_end_of_a_program(cwd: Path) -> None:
    """In an orderly end; killed: test_terminal.py."""

    async def run() -> None:
        [shell] = [t for t in builtin_tools(str(cwd)) if t.name == "shell"]
        work = {"command": "setsid sleep 1000 & setsid sleep 1001 >/dev/null 2>&1 &"}
        await shell.execute("c", work, ToolContext("c", lambda partial: None))

    asyncio.run(run())
    assert len(children()) == 2
    kill_all()
    end = time.monotonic() + 5
    while children():
        assert time.monotonic() < end, children()
        time.sleep(0.02)
