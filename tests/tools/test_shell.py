"""shell and cap_text: faults A34, A35, B18, B19, C01, C02, C03, C04, C06, C07, C10, C17, C21."""

# ruff: noqa: ASYNC221, ASYNC240

import asyncio
import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.tools import ToolContext
from agent_tui.processes import MARK
from agent_tui.text import ansi_spans, without_ansi
from agent_tui.tools import output
from agent_tui.tools.builtin import builtin_tools, kill_all, reap_leftovers
from agent_tui.tools.command_run import LiveFeed
from agent_tui.tools.output import (
    HEAD_CHARS,
    TAIL_CHARS,
    OutputBuffer,
    StreamCleaner,
    cap_text,
    plain,
)
from agent_tui.tools.shell import child_environment, run_command

from .conftest import Call, text_of, until

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)


STOP_S = 3.0
"""Fault B18: no process of a stopped command is alive 3 s later."""


def alive_with(variable: str) -> list[int]:
    """Processes, not zombies, that have `variable` in their environment."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and variable.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(autouse=True)
def no_process_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Everything a test starts carries a variable; after kill_all nothing with it may live."""
    mark = f"SHELL_TEST_{os.getpid()}_{time.monotonic_ns()}"
    monkeypatch.setenv(mark, "1")
    yield mark
    kill_all()
    end = time.monotonic() + 2
    while left := alive_with(mark):
        assert time.monotonic() < end, f"processes left over: {left}"
        time.sleep(0.02)


async def stopped_after(call: Call, command: str, ready: Path) -> tuple[Any, float]:
    """Start a command, stop it as the loop does once `ready` exists; result and seconds."""
    context = ToolContext("c", lambda partial: None)
    task = asyncio.create_task(call("shell", context, command=command))
    await until(ready.exists)
    start = time.monotonic()
    context.cancelled.set()
    task.cancel()
    result = await task
    return result, time.monotonic() - start


# --- what a command says and how it ends ------------------------------------------------


async def test_output_exit_code_and_folder(call: Call, cwd: Path) -> None:
    result = await call("shell", command="pwd; echo to err >&2; exit 3")
    assert result.is_error
    assert text_of(result) == f"{cwd}\nto err\n[exit code 3]"
    assert result.details["exit_code"] == 3 and result.details["command"].startswith("pwd")
    assert 0 < result.details["duration_s"] < 5
    quiet = await call("shell", command="true")
    assert not quiet.is_error and text_of(quiet) == "[no output]"


async def test_a_command_killed_by_a_signal(call: Call) -> None:
    result = await call("shell", command="echo before; kill -9 $$")
    assert result.is_error and "before" in text_of(result) and "SIGKILL" in text_of(result)
    assert result.details["exit_code"] == 137


@pytest.mark.parametrize("command", ["a\0b", "   ", "x" * 3_000_000])
async def test_what_cannot_be_a_command_is_told(call: Call, command: str) -> None:
    result = await call("shell", command=command)
    assert result.is_error
    assert "command" in text_of(result)


async def test_output_comes_while_the_command_runs(call: Call, cwd: Path) -> None:
    pieces: list[str] = []
    context = ToolContext("c", pieces.append)
    task = asyncio.create_task(
        call(
            "shell",
            context,
            command="echo first; while [ ! -e go ]; do sleep 0.02; done; echo last",
        )
    )
    await until(lambda: "first" in "".join(pieces))
    assert not task.done()
    (cwd / "go").touch()
    assert text_of(await task) == "first\nlast"
    assert "".join(pieces) == "first\nlast\n"


async def test_a_prompt_without_a_line_end_is_seen(call: Call, cwd: Path) -> None:
    pieces: list[str] = []
    context = ToolContext("c", pieces.append)
    command = "printf 'Continue? '; while [ ! -e go ]; do sleep 0.02; done; echo yes"
    task = asyncio.create_task(call("shell", context, command=command))
    await until(lambda: "".join(pieces) == "Continue? ")
    (cwd / "go").touch()
    assert text_of(await task) == "Continue? yes"
    assert "".join(pieces) == "Continue? yes\n"


async def test_C02_the_program_s_own_input_is_not_the_command_s(call: Call) -> None:
    reading, writing = os.pipe()
    before = os.dup(0)
    os.dup2(reading, 0)
    try:
        result = await asyncio.wait_for(call("shell", command="cat; echo over"), 20)
    finally:
        os.dup2(before, 0)
        for descriptor in (before, reading, writing):
            os.close(descriptor)
    assert text_of(result) == "over"


async def test_C02_a_command_leads_a_session_of_its_own(call: Call) -> None:
    """So it has no controlling terminal, and Ctrl+C at ours does not reach it."""
    result = await call("shell", command="echo $$; cut -d' ' -f5,6,7 /proc/$$/stat")
    pid, _, rest = text_of(result).partition("\n")
    assert rest == f"{pid} {pid} 0", "group, session, terminal"


@pytest.mark.skipif(shutil.which("git") is None, reason="asks git to commit")
async def test_C02_nothing_waits_for_input_or_a_terminal(call: Call, cwd: Path) -> None:
    subprocess.run(["git", "init", "-q", str(cwd)], check=True)
    (cwd / "f").touch()
    command = (
        "cat; (read x </dev/tty) 2>&1; tty; git add f; "
        "git -c user.name=n -c user.email=e@x commit; echo $?; git --paginate log 2>&1 | head -1"
    )
    result = await asyncio.wait_for(call("shell", command=command), 20)
    text = text_of(result)
    assert "/dev/tty" in text and "not a tty" in text
    assert "empty commit message" in text and "\n1\n" in text


async def test_C03_timeout_keeps_what_came(call: Call, no_process_left: str) -> None:
    result = await call("shell", command="echo partial; tail -f /dev/null", timeout=0.3)
    assert result.is_error
    text = text_of(result)
    assert text.startswith("partial\n[timed out after 0.3 s")
    assert "timeout" in text and "background" in text
    assert result.details["ending"] == "timed out" and result.details["exit_code"] is None
    await until(lambda: not alive_with(no_process_left), STOP_S)


async def test_C03_the_default_timeout_is_the_given_one(cwd: Path) -> None:
    [shell] = [t for t in builtin_tools(str(cwd), shell_timeout_s=0.2) if t.name == "shell"]
    assert "0.2 s" in shell.description
    result = await shell.execute("c", {"command": "sleep 30"}, ToolContext("c", lambda p: None))
    assert "timed out after 0.2 s" in text_of(result)


async def test_a_child_that_ignores_TERM_is_killed(call: Call, no_process_left: str) -> None:
    start = time.monotonic()
    result = await call(
        "shell", command="trap '' TERM; (trap '' TERM; sleep 300) & wait; sleep 300", timeout=0.2
    )
    assert time.monotonic() - start < 10
    assert "timed out" in text_of(result)
    await until(lambda: not alive_with(no_process_left), STOP_S)


async def test_TERM_comes_first_so_that_a_command_can_tidy_up(call: Call, cwd: Path) -> None:
    command = "trap 'echo tidied; touch done; exit' TERM; touch ready; while :; do sleep 0.02; done"
    result, _ = await stopped_after(call, command, cwd / "ready")
    assert "tidied" in text_of(result) and (cwd / "done").exists()


# --- background -------------------------------------------------------------------------


async def test_C01_a_background_child_does_not_hold_the_call(
    call: Call, cwd: Path, no_process_left: str
) -> None:
    command = (
        "sh -c 'while [ ! -e more ]; do sleep 0.02; done; echo late; touch wrote; "
        "exec sleep 300' & echo started"
    )
    start = time.monotonic()
    result = await call("shell", command=command)
    assert time.monotonic() - start < STOP_S
    text = text_of(result)
    assert not result.is_error
    assert text.startswith("started\n[still running in the background: ")
    [child] = result.details["background"]
    assert is_alive(int(child.split()[0]))

    # It may go on writing: no SIGPIPE, and the output is kept where the note says.
    (cwd / "more").touch()
    await until((cwd / "wrote").exists)
    saved = Path(result.details["output_path"])
    assert str(saved) in text
    await until(lambda: saved.read_text() == "started\nlate\n")
    kill_all()
    await until(lambda: not alive_with(no_process_left), STOP_S)


async def test_C01_a_silent_background_child(call: Call) -> None:
    start = time.monotonic()
    result = await call("shell", command="sleep 300 &")
    assert time.monotonic() - start < STOP_S
    assert "still running in the background" in text_of(result) and "sleep 300" in text_of(result)


async def test_a_background_child_without_our_mark_is_known_by_its_group(call: Call) -> None:
    result = await call("shell", command='env -i PATH="$PATH" sleep 300 >/dev/null 2>&1 &')
    [child] = result.details["background"]
    pid = int(child.split()[0])
    assert is_alive(pid)
    kill_all()
    await until(lambda: not is_alive(pid))


async def test_a_background_child_with_its_own_output_is_told_and_ended_at_exit(
    call: Call, no_process_left: str
) -> None:
    result = await call("shell", command="sleep 300 >/dev/null 2>&1 & echo ok")
    assert "sleep 300" in text_of(result)
    assert alive_with(no_process_left)
    kill_all()
    await until(lambda: not alive_with(no_process_left))


# --- stopping -----------------------------------------------------------------------------


async def test_B18_stopping_ends_all_children(call: Call, cwd: Path, no_process_left: str) -> None:
    command = "sh -c 'sleep 300 & echo one; touch ready; sleep 300'"
    result, seconds = await stopped_after(call, command, cwd / "ready")
    assert seconds < STOP_S
    assert result.is_error and "one" in text_of(result) and "stopped" in text_of(result)
    assert result.details["ending"] == "cancelled"
    await until(lambda: not alive_with(no_process_left), STOP_S)


@pytest.mark.parametrize(
    "command",
    [
        "setsid sh -c 'touch ready; while :; do echo x; sleep .1; done' & wait",
        "setsid sh -c 'trap \"\" TERM HUP; touch ready; while :; do echo x; sleep .1; done' & wait",
        "(setsid sh -c '(touch ready; exec sleep 300) & exit' &) ; sleep 300",
        "nohup sh -c 'touch ready; while :; do sleep .1; done' & disown; sleep 300",
    ],
    ids=["setsid writes on", "setsid ignores TERM", "daemon", "nohup"],
)
async def test_B19_stopping_settles_whatever_has_left_the_group(
    call: Call, cwd: Path, no_process_left: str, command: str
) -> None:
    _, seconds = await stopped_after(call, command, cwd / "ready")
    assert seconds < STOP_S
    await until(lambda: not alive_with(no_process_left), STOP_S)


async def test_B19_also_with_an_emptied_environment(call: Call, cwd: Path) -> None:
    """Without our mark it is found by its parents."""
    command = (
        'env -i PATH="$PATH" setsid sh -c \'echo $$ >pid; mv pid ready; '
        "while :; do sleep .1; done' & wait"
    )
    _, seconds = await stopped_after(call, command, cwd / "ready")
    assert seconds < STOP_S
    assert not is_alive(int((cwd / "ready").read_text()))


async def test_a_flood_can_be_stopped(call: Call, cwd: Path, output_dir: Path) -> None:
    result, seconds = await stopped_after(call, "touch ready; yes", cwd / "ready")
    assert seconds < STOP_S
    assert len(text_of(result)) < HEAD_CHARS + TAIL_CHARS + 1000


async def test_a_cancelling_that_is_not_the_user_s_goes_through(
    cwd: Path, no_process_left: str
) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await run_command("sleep 300", str(cwd))
    await until(lambda: not alive_with(no_process_left), STOP_S)


async def test_stopping_before_it_began(call: Call, cwd: Path) -> None:
    context = ToolContext("c", lambda partial: None)
    task = asyncio.create_task(call("shell", context, command="touch ran; sleep 300"))
    await asyncio.sleep(0)
    context.cancelled.set()
    task.cancel()
    start = time.monotonic()
    with contextlib.suppress(asyncio.CancelledError):
        assert (await task).is_error
    assert time.monotonic() - start < STOP_S


async def test_many_commands_at_once_do_not_wait_for_each_other(call: Call, cwd: Path) -> None:
    """Each makes its file and waits for all: fewer threads than commands would hang."""
    count = 40
    command = f"touch m$$; until set -- m*; [ $# -ge {count} ]; do sleep 0.1; done"
    results = await asyncio.gather(*(call("shell", command=command) for _ in range(count)))
    assert not any(result.is_error for result in results)


def test_C04_leftovers_of_a_killed_program_are_ended_at_the_next_start(
    tmp_path: Path, no_process_left: str
) -> None:
    program = (
        "import asyncio, sys\n"
        "from agent_tui.tools.shell import run_command\n"
        "asyncio.run(run_command('setsid sleep 1000 >/dev/null 2>&1 &', sys.argv[1]))\n"
        "print('ran', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"ran\n"
        assert len(set(alive_with(no_process_left)) - {owner.pid}) == 1
        owner.kill()
        owner.wait(60)
    # Another start on this machine may come first: what counts is that it is ended.
    reap_leftovers()
    end = time.monotonic() + 2
    while alive_with(no_process_left):
        assert time.monotonic() < end
        time.sleep(0.02)


async def test_C04_the_next_start_leaves_alone_what_a_living_program_owns(
    call: Call, no_process_left: str
) -> None:
    await call("shell", command="setsid sleep 300 >/dev/null 2>&1 &")
    before = alive_with(no_process_left)
    assert before
    reap_leftovers()
    assert alive_with(no_process_left) == before


def test_C04_what_holds_our_own_terminal_is_left_alone(
    tmp_path: Path, no_process_left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started inside something a killed program has left (a tmux, say): it is not ended."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    mark = f"{gone.pid}-1-1"
    with subprocess.Popen(["sleep", "300"], env=dict(os.environ) | {MARK: mark}) as holder:
        try:
            monkeypatch.setenv(MARK, mark)
            reap_leftovers()
            assert is_alive(holder.pid)
            monkeypatch.delenv(MARK)
            reap_leftovers()
            assert holder.wait(5) == -signal.SIGKILL
        finally:
            holder.kill()


def test_C04_the_end_of_the_program_ends_its_commands(tmp_path: Path, no_process_left: str) -> None:
    program = (
        "import asyncio, sys\n"
        "from agent_tui.tools.shell import run_command\n"
        "command = 'setsid sleep 1000 & sleep 1000 >/dev/null &'\n"
        "asyncio.run(run_command(command, sys.argv[1], output_dir=sys.argv[1]))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=60, check=True)
    assert alive_with(no_process_left) == []


# --- environment --------------------------------------------------------------------------


async def test_C17_our_keys_are_not_in_a_command_s_environment(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "CUSTOM_HEADERS"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", "sk-ant-very-secret")
    monkeypatch.setenv("AGENT_TUI_API_KEY", "sk-ant-very-secret")
    monkeypatch.setenv("MY_SETTING", "kept")
    text = text_of(await call("shell", command="env"))
    assert "very-secret" not in text
    assert "MY_SETTING=kept" in text


def test_C17_more_can_be_hidden_by_pattern() -> None:
    environ = {"GITHUB_TOKEN": "x", "PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "y"}
    kept = child_environment(environ, ["*_token", "AWS_*"])
    assert kept["PATH"] == "/bin"
    assert "GITHUB_TOKEN" not in kept and "AWS_SECRET_ACCESS_KEY" not in kept


# --- output: what it becomes ----------------------------------------------------------------


async def test_C10_A35_bytes_that_are_no_text(call: Call) -> None:
    result = await call(
        "shell", command=r"printf '\xff\xf0 a\0b \x1b[2J\x1b]52;c;eA==\x07 \x1b[31mred\x1b[0m'"
    )
    assert text_of(result) == "\ufffd\ufffd a\\x00b \\x1b]52;c;eA==\\x07 red"
    assert without_ansi(result.details["styled"]) == text_of(result)
    assert ansi_spans(result.details["styled"])[-1][1] == {"color": "color(1)"}


async def test_C10_a_character_cut_by_a_read(call: Call) -> None:
    command = r"printf '\xf0\x9f'; sleep 0.1; printf '\x98\x80'"
    assert text_of(await call("shell", command=command)) == "\U0001f600"


async def test_C21_of_a_progress_bar_the_last_frame_stays(call: Call) -> None:
    pieces: list[str] = []
    context = ToolContext("c", pieces.append)
    command = r"for i in $(seq 1 10000); do printf '\r%d%%' $i; done; echo; echo done"
    result = await call("shell", context, command=command)
    assert text_of(result) == "10000%\ndone"
    assert sum(map(len, pieces)) < 10_000
    assert without_ansi("".join(pieces)) == "10000%\ndone\n"


async def test_C07_a_huge_output_is_bounded_and_saved_whole(call: Call, output_dir: Path) -> None:
    pieces: list[str] = []
    context = ToolContext("c", pieces.append)
    result = await call("shell", context, command="seq 1 1500000")
    text = text_of(result)
    assert len(text) < HEAD_CHARS + TAIL_CHARS + 1000
    assert text.startswith("1\n2\n3\n") and text.endswith("\n1499999\n1500000")
    saved = Path(result.details["output_path"])
    assert saved.parent == output_dir and str(saved) in text and "left out" in text
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert stat.S_IMODE(output_dir.stat().st_mode) == 0o700
    assert saved.read_text() == "".join(f"{n}\n" for n in range(1, 1_500_001))
    assert len(repr(result.details)) < 2000, "details go into the session as well"
    assert max(map(len, pieces)) < 10_000, "a flood is shown in part"
    left_out = int(text.split("[… ")[1].split(" characters")[0].replace(",", ""))
    shown = len(text) - len(text.split("\n[… ")[1].split(" …]\n")[0]) - len("\n[…  …]\n")
    assert left_out + shown + 1 == saved.stat().st_size  # 1: the last line end


async def test_an_output_that_cannot_be_saved_still_comes(call: Call, output_dir: Path) -> None:
    output_dir.write_text("a file in the way")
    result = await call("shell", command="seq 1 100000")
    assert not result.is_error
    assert "could not be saved" in text_of(result) and text_of(result).endswith("100000")
    assert "output_path" not in result.details


def test_what_is_saved_is_clean_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "MAX_SAVED_CHARS", 40_000)
    capped = cap_text("\x1b[31mred\x1b[0m\n" * 20_000, str(tmp_path), "x")
    assert capped.path and Path(capped.path).read_text() == "red\n" * 10_000
    assert "first 40,000 characters" in capped.text
    assert capped.styled and capped.styled.startswith("\x1b[31mred")


def test_C06_any_long_text_can_be_cut_the_same_way(output_dir: Path) -> None:
    text = "".join(f"row {n} \ud83d\n" for n in range(200_000))
    capped = cap_text(text, str(output_dir), "srv__query")
    assert len(capped.text) < HEAD_CHARS + TAIL_CHARS + 1000
    assert capped.path and capped.path in capped.text and "srv__query" in capped.path
    assert Path(capped.path).read_text("utf-8") == text.replace("\ud83d", "\ufffd")
    short = cap_text("short\n", str(output_dir), "x")
    assert (short.text, short.path, short.omitted) == ("short\n", None, 0)


_chunks = st.lists(
    st.sampled_from(
        ["a", "é", "\U0001f600", "\n", "\r\n", "\r", "10%\r", "\x1b[31m", "\x1b[0m", "\x1b[2K",
         "\x1b]8;;http://x\x1b\\", "\0", "\x07", "word ", "\x1b"]
    ),
    max_size=20,
)  # fmt: skip


@settings(deadline=None)
@given(_chunks, st.data())
def test_cleaning_does_not_depend_on_where_reads_are_cut(chunks: list[str], data: Any) -> None:
    raw = "".join(chunks).encode()
    at_once = StreamCleaner()
    whole = at_once.feed(raw) + at_once.flush()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    piecewise = StreamCleaner()
    out = ""
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        out += piecewise.feed(raw[start:end])
    out += piecewise.flush()
    assert out == whole
    clean = plain(whole)
    assert not any(ord(c) < 32 and c not in "\n\t" for c in clean)
    # Line by line the last non-empty frame: said anew, without looking at how it is done.
    if "\x1b" not in raw.decode():
        lines = raw.decode().split("\n")
        frames = [[f for f in line.split("\r") if f] for line in lines]
        expected = "\n".join(f[-1] if f else "" for f in frames)
        assert clean == expected.replace("\0", "\\x00").replace("\x07", "\\x07")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_become_text_fit_for_the_wire(raw: bytes) -> None:
    cleaner = StreamCleaner()
    text = plain(cleaner.feed(raw) + cleaner.flush())
    text.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\n\t" for c in text)


def test_a_line_without_end_is_held_in_bounded_memory() -> None:
    cleaner = StreamCleaner()
    total = 0
    for _ in range(100):
        total += len(cleaner.feed(b"x" * 65_536))
        assert len(cleaner.pending) < 20_000
    assert total + len(cleaner.flush()) == 100 * 65_536


_runs = st.tuples(st.sampled_from(["a", "\n", "b\n", "a longer line\n"]), st.integers(0, 40_000))


@settings(deadline=None)
@given(st.lists(_runs, max_size=8))
def test_head_and_tail_are_of_the_text_and_the_rest_is_counted(runs: list[tuple[str, int]]) -> None:
    pieces = [text * times for text, times in runs]
    whole = "".join(pieces)
    buffer = OutputBuffer("/dev/null/no-folder", "x")
    for piece in pieces:
        buffer.feed(piece)
    capped = buffer.result()
    assert capped.total == len(whole)
    assert len(capped.text) <= HEAD_CHARS + TAIL_CHARS + 300
    if len(whole) <= HEAD_CHARS + TAIL_CHARS:
        assert (capped.text, capped.omitted) == (whole, 0)
        return
    head, _, rest = capped.text.partition("\n[… ")
    tail = rest.partition(" …]\n")[2]
    assert whole.startswith(head) and whole.endswith(tail)
    assert capped.omitted == len(whole) - len(head) - len(tail)
    assert len(head) > HEAD_CHARS // 2 and len(tail) > TAIL_CHARS // 2


def test_a_cut_never_splits_a_character(tmp_path: Path) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for shift in range(6):
        capped = cap_text("x" * shift + family * 20_000, str(tmp_path), "x")
        head, _, rest = capped.text.partition("\n[… ")
        tail = rest.partition(" …]\n")[2]
        assert head.rstrip("x").endswith("\U0001f467"), "not in the middle of the family"
        assert not tail.startswith(("\u200d", "\ufe0f"))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a", "bc", "\n", "\r", "\r\n", "12%\r", "long line "]), max_size=25)
)
def test_the_live_pieces_read_by_a_terminal_are_the_output(chunks: list[str]) -> None:
    cleaner, pieces = StreamCleaner(), list[str]()
    live = LiveFeed(pieces.append)
    out = ""
    for n, chunk in enumerate(chunks):
        text = cleaner.feed(chunk.encode())
        out += text
        live.add(text)
        live.tick(float(n), cleaner.pending)
    rest = cleaner.flush()
    live.add(rest)
    live.tick(99.0, "", last=True)
    assert without_ansi("".join(pieces)) == plain(out + rest)


def test_the_live_pieces_come_at_most_ten_times_a_second() -> None:
    pieces: list[str] = []
    live = LiveFeed(pieces.append)
    for n in range(1000):
        live.add(f"{n}\n")
        live.tick(n * 0.001, "")
    assert len(pieces) <= 11
    live.tick(1.0, "", last=True)
    assert "".join(pieces) == "".join(f"{n}\n" for n in range(1000))
