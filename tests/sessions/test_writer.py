"""Writing: in order, one write a line, and what a full or broken disk means (E04)."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.sessions import SessionClosedError
from agent_tui.sessions.writer import SessionWriter


class Disk:
    """os.write and os.fsync that can be told to fail; counts what they were asked."""

    def __init__(self) -> None:
        self.room: int | None = None
        self.write_error = errno.ENOSPC
        self.sync_error: int | None = None
        self.writes: list[bytes] = []
        self.syncs = 0
        self.failed = threading.Event()
        self.synced_at: list[int] = []

    def write(self, fd: int, data: bytes) -> int:
        if self.room is not None:
            data = data[: self.room]
            if not data:
                self.failed.set()
                raise OSError(self.write_error, os.strerror(self.write_error))
            self.room -= len(data)
        self.writes.append(data)
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        self.syncs += 1
        self.synced_at.append(len(self.writes))
        if self.sync_error is not None:
            raise OSError(self.sync_error, os.strerror(self.sync_error))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "folder" / "s.jsonl"


@pytest.fixture
def disk() -> Disk:
    return Disk()


def writer_to(path: Path, disk: Disk, **options: float) -> SessionWriter:
    return SessionWriter(path, write=disk.write, sync=disk.sync, **options)  # type: ignore[arg-type]


def wait_until(condition: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(1000):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("the condition did not come true in 10 s")


def test_lines_are_written_in_order_with_one_write_each(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    lines = [f"{n}\n".encode() for n in range(200)]
    for line in lines:
        writer.put(line)
    assert writer.close()
    assert disk.writes == lines
    assert path.read_bytes() == b"".join(lines)


def test_a_synced_line_is_on_disk_before_its_ticket_says_so(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    writer.put(b"1\n").result(10)
    assert disk.syncs == 0
    assert writer.put(b"2\n", sync=True).result(10) is True
    assert disk.synced_at[-1] == 2
    writer.close()


def test_a_waiter_that_is_cancelled_cancels_no_line(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    ticket = writer.put(b"1\n")
    assert not ticket.cancel()
    assert writer.close()
    assert path.read_bytes() == b"1\n"


def test_a_full_disk_keeps_the_lines_and_warns_once(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    assert writer.put(b"first\n", sync=True).result(10)
    disk.room = 3
    for n in range(5):
        assert writer.put(b"line %d\n" % n, sync=True).result(10) is False
    assert path.read_bytes() == b"first\n", "no half line stays, and nothing old is touched"
    assert writer.unsaved == 5
    [warning] = writer.warnings()
    assert "No space left" in warning
    assert str(path) in warning
    disk.room = None
    assert writer.put(b"last\n", sync=True).result(10) is True
    assert path.read_bytes() == b"first\nline 0\nline 1\nline 2\nline 3\nline 4\nlast\n"
    assert writer.unsaved == 0
    [recovered] = writer.warnings()
    assert "written again" in recovered
    writer.close()


def test_missing_lines_are_tried_again_without_a_new_one(path: Path, disk: Disk) -> None:
    disk.room = 0
    writer = writer_to(path, disk, retry_after=0.02)
    assert writer.put(b"1\n").result(10) is False
    disk.room = None
    wait_until(lambda: writer.unsaved == 0)
    assert path.read_bytes() == b"1\n"
    writer.close()


def test_close_tries_once_more_and_tells_what_is_missing(path: Path, disk: Disk) -> None:
    disk.room = 0
    writer = writer_to(path, disk)
    writer.put(b"1\n").result(10)
    disk.room = None
    assert writer.close()
    assert path.read_bytes() == b"1\n"

    other = writer_to(path.with_name("t.jsonl"), disk)
    disk.room = 0
    other.put(b"1\n").result(10)
    assert not other.close()
    assert other.unsaved == 1


def test_a_part_that_cannot_be_taken_back_is_left_on_its_own_line(
    path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_truncate(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", no_truncate)
    writer = writer_to(path, disk)
    writer.put(b"first\n").result(10)
    disk.room = 4
    assert writer.put(b"second\n").result(10) is False
    disk.room = None
    assert writer.put(b"third\n").result(10) is True
    assert path.read_bytes() == b"first\nseco\nsecond\nthird\n"
    writer.close()


def test_an_io_error_is_told_with_its_reason(path: Path, disk: Disk) -> None:
    disk.room, disk.write_error = 0, errno.EIO
    writer = writer_to(path, disk)
    assert writer.put(b"1\n").result(10) is False
    assert "Input/output error" in writer.warnings()[0]
    writer.close()


def test_a_folder_that_cannot_be_made_costs_no_line(tmp_path: Path, disk: Disk) -> None:
    blocked = tmp_path / "home"
    blocked.write_text("a file in the way", encoding="utf-8")
    writer = writer_to(blocked / "sessions" / "s.jsonl", disk)
    assert writer.put(b"1\n").result(10) is False
    assert len(writer.warnings()) == 1
    blocked.unlink()
    assert writer.put(b"2\n").result(10) is True
    assert (blocked / "sessions" / "s.jsonl").read_bytes() == b"1\n2\n"
    writer.close()


def test_a_failed_sync_is_told_once_and_writes_nothing_twice(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    disk.sync_error = errno.EIO
    assert writer.put(b"1\n", sync=True).result(10) is False
    assert writer.put(b"2\n", sync=True).result(10) is False
    assert len(writer.warnings()) == 1
    disk.sync_error = None
    assert writer.put(b"3\n", sync=True).result(10) is True
    assert path.read_bytes() == b"1\n2\n3\n"
    writer.close()


def test_a_file_that_knows_no_sync_is_no_error(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    disk.sync_error = errno.EINVAL
    assert writer.put(b"1\n", sync=True).result(10) is True
    assert writer.warnings() == []
    writer.close()


def test_a_deleted_file_is_noticed(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    writer.put(b"1\n", sync=True).result(10)
    path.unlink()
    assert writer.put(b"2\n", sync=True).result(10) is False
    assert "deleted" in writer.warnings()[0]
    writer.close()


def test_no_line_after_close(path: Path, disk: Disk) -> None:
    writer = writer_to(path, disk)
    writer.put(b"1\n")
    assert writer.close()
    assert writer.close()
    assert writer.flush()
    with pytest.raises(SessionClosedError):
        writer.put(b"2\n")


def test_close_does_not_wait_for_a_disk_that_hangs(path: Path, disk: Disk) -> None:
    let_go = threading.Event()

    def hangs(_: int) -> None:
        let_go.wait(30)

    writer = SessionWriter(path, sync=hangs)
    writer.put(b"1\n", sync=True)
    assert writer.close(timeout=0.05) is False
    let_go.set()
    assert writer.close(timeout=10) is True
