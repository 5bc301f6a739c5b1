"""Lines of a server's output: messages, batches, broken answers, and what is none."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.mcp_servers.server_log import BURST, MAX_FILE, ServerLog
from agent_tui.mcp_servers.server_process import child_environment
from agent_tui.mcp_servers.stdio import mended, parse_line

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}


def as_json(messages: list) -> list:
    return [m.model_dump(by_alias=True, mode="json", exclude_unset=True) for m in messages]


def test_a_line_is_a_message_or_a_batch_of_them():
    assert as_json(parse_line(json.dumps(ANSWER).encode())) == [ANSWER]
    notice = {"jsonrpc": "2.0", "method": "x"}
    assert as_json(parse_line(json.dumps([ANSWER, notice]).encode())) == [ANSWER, notice]


@pytest.mark.parametrize(
    "line",
    [b"Starting...", b"{not json}", b"[1, 2]", b"{}", b'"text"', b"\xff\xfe{", b"[" * 50_000],
)
def test_what_is_no_message_is_none(line: bytes):
    assert parse_line(line) == []


@pytest.mark.parametrize(
    ("answer", "comes"),
    [
        ({"id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 1, "result": {}}),
        ({"id": 1, "result": None}, -32603),
        ({"id": 1, "error": {"code": "E", "message": "why"}}, "why"),
        ({"id": 1, "error": {"code": -1, "message": "why"}}, -1),
        ({"id": 1, "error": "text"}, "text"),
        ({"id": 1}, -32603),
    ],
)
def test_a_broken_answer_still_answers(answer: dict, comes: object):
    found = mended(answer)
    assert found["id"] == 1
    assert comes in (found, *found.get("error", {}).values())
    assert len(parse_line(json.dumps(answer).encode())) == 1


@given(st.binary(max_size=40))
def test_any_line_can_be_read(line: bytes):
    parse_line(line)


def test_the_environment_of_a_server_is_chosen():
    environ = {"PATH": "p", "HOME": "h", "LC_ALL": "C", "XDG_DATA_HOME": "x", "API_KEY": "k",
               "ANTHROPIC_API_KEY": "k", "AGENT_TUI_HOME": "a", "https_proxy": "y"}  # fmt: skip
    assert child_environment(environ, {"PATH": "mine", "API_KEY": "given"}) == {
        "PATH": "mine", "HOME": "h", "LC_ALL": "C", "XDG_DATA_HOME": "x", "https_proxy": "y",
        "API_KEY": "given",
    }  # fmt: skip


# --- the log -----------------------------------------------------------------------------------


def test_the_log_is_private_bounded_and_masked(home: Path):
    log = ServerLog("my server")
    log.secrets.add(["the-secret-value"])
    for _ in range(MAX_FILE // 400 + 10):
        log.line("stderr", "the-secret-value " + "x" * 380)
    path = Path(log.path)
    assert path.parent == home / "logs" and path.name.startswith("mcp-my-server-")
    files = sorted(path.parent.iterdir())
    assert [f.name for f in files] == [path.name, f"{path.stem}.log.old"]
    assert sum(f.stat().st_size for f in files) <= 2 * MAX_FILE
    assert all(f.stat().st_mode & 0o777 == 0o600 for f in files)
    assert all("the-secret-value" not in f.read_text() for f in files)
    log.close()


def test_a_secret_in_two_pieces_is_masked():
    log = ServerLog("zoo")
    log.secrets.add(["the-secret-value"])
    log.feed("stderr", b"key: the-sec")
    log.feed("stderr", b"ret-value\nnext")
    log.flush()
    assert log.tail(5) == ["stderr: key: ***", "stderr: next"]


def test_output_that_comes_too_fast_is_counted_and_left_out():
    now = 0.0
    log = ServerLog("zoo", clock=lambda: now)
    log.feed("stderr", b"x\n" * (BURST // 2))
    log.feed("stderr", b"y\n" * 1000)
    now = 1.0
    log.feed("stderr", b"z\n")
    assert log.tail(2) == [
        "agent-tui: 2,000 bytes of output came too fast and are left out", "stderr: z",
    ]  # fmt: skip


def test_nothing_a_terminal_acts_on_is_in_the_log():
    log = ServerLog("zoo")
    log.feed("stderr", b"\x1b[31mred\x1b[0m\r\n10%\r100%\n\x1b]52;c;aGk=\x07\x1b[2J\xff\x00\n")
    tail = log.tail(9)
    assert tail[:2] == ["stderr: red", "stderr: 100%"]
    assert not set("\x1b\x00\x07") & set("".join(tail))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can write everywhere")
def test_a_disk_that_cannot_be_written_costs_the_file_only(home: Path):
    (home / "logs").mkdir()
    (home / "logs").chmod(0o500)
    log = ServerLog("zoo")
    log.line("stderr", "x")
    assert log.tail(1) == ["stderr: x"]
