"""Lines of a server's output: messages, batches, broken answers, and what is none."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.mcp_servers.readable import mended, mended_events, read_message
from agent_tui.mcp_servers.server_log import BURST, MAX_FILE, ServerLog
from agent_tui.mcp_servers.server_process import child_environment

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}


def as_json(messages: list) -> list:
    return [m.model_dump(by_alias=True, mode="json", exclude_unset=True) for m in messages]


def test_a_line_is_a_message_or_a_batch_of_them():
    assert as_json(read_message(json.dumps(ANSWER).encode()).messages) == [ANSWER]
    notice = {"jsonrpc": "2.0", "method": "x"}
    assert as_json(read_message(json.dumps([ANSWER, notice]).encode()).messages) == [ANSWER, notice]


@pytest.mark.parametrize(
    "line",
    [b"Starting...", b"{not json}", b"[1, 2]", b"{}", b'"text"', b"\xff\xfe{", b"[" * 50_000],
)
def test_what_is_no_message_is_none(line: bytes):
    assert read_message(line).messages == []


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
    assert len(read_message(json.dumps(answer).encode()).messages) == 1


@given(st.binary(max_size=40))
def test_any_line_can_be_read(line: bytes):
    assert isinstance(read_message(line).messages, list)


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        (b'{"id":7,"result":{"id":8,"x":nope}}', [7]),
        (b'{"result":{"a":[{"id":8}], nope},"id":"seven"}', ["seven"]),
        (b'{"result":{"text":"\\"id\\":8"} nope,"id":7}', [7]),
        # A request of the server is no answer to ours, whatever its number.
        (b'{"id":7,"method":"roots/list","params":nope}', []),
        (b'{"result":{"id":7},nope}', []),
    ],
)
def test_whose_answer_it_is_that_cannot_be_read(line: bytes, answers: list):
    read = read_message(line)
    assert [message.id for message in read.messages] == answers
    assert [m.error.code for m in read.messages] == [-32700] * len(answers)
    assert bool(read.troubles) is bool(answers)


def test_what_nobody_can_read_takes_no_more_time_than_its_length():
    """Quotes and brackets that never end: looked through once, not once for each of them."""
    for piece in (b'\\"', b"[", b'"', b"9"):
        assert read_message(b'{"id":7,"result":' + piece * 300_000).messages[0].id == 7


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_a_stream_of_events_is_the_same_however_it_is_cut(value: object):
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"v": value}})
    whole = f": hi\r\n\r\nevent: message\ndata: {text}\n\nid: 1\ndata: {{broken\n\n".encode()

    async def mend(data: bytes) -> bytes:
        return data if b"broken" not in data else b"{}"

    async def collect(size: int) -> bytes:
        async def pieces():
            for at in range(0, len(whole), size):
                yield whole[at : at + size]

        return b"".join([piece async for piece in mended_events(pieces(), mend)])

    expected = whole.replace(b"{broken", b"{}")
    for size in (1, 3, 1000):
        assert asyncio.run(collect(size)) == expected


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
