"""Lines from and to file descriptors of every kind, a slow or absent other side included."""

import asyncio
import json
import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.headless.lines import LineReader, LineWriter, encode_line

LIMIT = 100


async def read_all(fd: int, limit: int = LIMIT) -> list[bytes | None]:
    async with asyncio.timeout(20):
        return [line async for line in LineReader(fd, limit).lines()]


def piped(*chunks: bytes) -> int:
    """A descriptor on which these come, one after the other."""
    ours, theirs = os.pipe()

    def write() -> None:
        for chunk in chunks:
            os.write(theirs, chunk)
        os.close(theirs)

    threading.Thread(target=write, daemon=True).start()
    return ours


LINE = st.binary(max_size=150).map(lambda data: data.replace(b"\n", b"/"))


@given(st.lists(LINE, max_size=8), st.booleans(), st.data())
def test_lines_come_whole_however_they_are_cut(
    lines: list[bytes], ended: bool, data: st.DataObject
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    if not ended and lines and lines[-1]:
        stream = stream[:-1]
    at = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    chunks = [stream[a:b] for a, b in zip([0, *at], [*at, len(stream)], strict=True)]
    fd = piped(*(chunk for chunk in chunks if chunk))
    try:
        found = asyncio.run(read_all(fd))
    finally:
        os.close(fd)
    assert found == [line if len(line) <= LIMIT else None for line in lines]


async def test_a_long_line_is_not_kept_and_what_follows_is_read() -> None:
    fd = piped(b"a" * 200_000, b"b" * 200_000, b"\nnext\n")
    assert await read_all(fd, 1000) == [None, b"next"]
    os.close(fd)


async def test_a_file_and_the_null_device_are_read_to_their_end(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo")
    with path.open("rb") as file:
        assert await read_all(file.fileno()) == [b"one", b"two"]
    null = os.open(os.devnull, os.O_RDONLY)
    assert await read_all(null) == []
    os.close(null)


async def test_reading_waits_for_whoever_reads() -> None:
    """A flood of commands is left to the pipe, not gathered in memory."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    reader = LineReader(ours, LIMIT)
    sent = 0
    with pytest.raises(BlockingIOError):
        while sent < 10_000_000:
            sent += os.write(theirs, b"x" * 99 + b"\n")
            await asyncio.sleep(0)
    lines = reader.lines()
    assert await anext(lines) == b"x" * 99
    await lines.aclose()  # type: ignore[attr-defined]
    os.close(theirs)


async def test_what_is_written_comes_out_in_order() -> None:
    with tempfile.TemporaryFile() as file:
        writer = LineWriter(file.fileno())
        for n in range(500):
            writer.write({"n": n, "text": "\ud800 \x1b é"})
            if n % 7 == 0:
                await asyncio.sleep(0)
        assert await writer.flush()
        file.seek(0)
        values = [json.loads(line) for line in file.read().decode("utf-8").splitlines()]
    assert [value["n"] for value in values] == list(range(500))
    assert values[0]["text"] == "\ufffd \x1b é"


@pytest.mark.parametrize("more", ["", "half \ud800", ["[" * 3]])
def test_what_json_does_not_know_is_written_as_its_text(more: object) -> None:
    line = encode_line({"path": Path("/a/b"), "inf": float("inf"), "more": more})

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    value = json.loads(line, parse_constant=refuse)
    wanted = more.replace("\ud800", "\ufffd") if isinstance(more, str) else more
    assert value == {"path": "/a/b", "inf": None, "more": wanted}
    assert line.count(b"\n") == 1


def test_deep_nesting_is_written() -> None:
    value: list[object] = []
    for _ in range(400):
        value = [value]
    assert json.loads(encode_line({"deep": value})) == {"deep": value}


async def test_a_reader_that_is_gone_is_noticed() -> None:
    ours, theirs = os.pipe()
    writer = LineWriter(theirs)
    os.close(ours)
    writer.write({"a": 1})
    async with asyncio.timeout(20):
        await writer.closed.wait()
    writer.write({"a": 2})
    assert await writer.flush() is False
    os.close(theirs)


async def test_a_reader_that_takes_nothing_holds_nobody_up() -> None:
    ours, theirs = os.pipe()
    writer = LineWriter(theirs)
    for _ in range(200):
        writer.write({"text": "x" * 5000})
    assert await writer.flush(0.05) is False
    os.close(ours)
    async with asyncio.timeout(20):
        await writer.closed.wait()
