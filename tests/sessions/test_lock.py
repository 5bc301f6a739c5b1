"""One writer per session (E05)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from session_making import quick_session, user

from agent_tui.sessions import Session, SessionLockedError
from agent_tui.sessions.lock import SessionLock


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "20260101T000000_0123456789abcdef.jsonl"
    session = quick_session(path)
    session.append_message(user("x"))
    session.close()
    return path


def test_a_second_writer_is_told_who_holds_it(file: Path) -> None:
    first = Session.open(file)
    with pytest.raises(SessionLockedError, match=f"process {os.getpid()}") as found:
        Session.open(file)
    assert found.value.pid == os.getpid()
    assert Session.open(file, read_only=True).messages() == first.messages()
    first.close()
    Session.open(file).close()


def test_a_new_session_is_locked_from_its_first_line(tmp_path: Path) -> None:
    session = Session.create("/work", tmp_path)
    session.append_message(user("x")).result(10)
    assert session.path is not None
    with pytest.raises(SessionLockedError):
        Session.open(session.path)
    session.close()


def test_a_closed_session_leaves_no_lock_file(file: Path) -> None:
    Session.open(file).close()
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_the_lock_of_another_process_ends_with_it(file: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, pathlib\n"
            "from agent_tui.sessions.lock import SessionLock\n"
            "lock = SessionLock.acquire(pathlib.Path(sys.argv[1]))\n"
            "print('held', flush=True)\n"
            "sys.stdin.read()\n",
            str(file),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(SessionLockedError, match=str(holder.pid)):
            Session.open(file)
    finally:
        holder.kill()
        holder.communicate()
    assert file.with_name(file.name + ".lock").exists(), "kill -9 leaves the file"
    session = Session.open(file)
    session.append_message(user("taken over"))
    assert session.close()


def test_a_lock_file_without_a_readable_pid_still_says_what_to_do(file: Path) -> None:
    lock = SessionLock.acquire(file)
    assert lock is not None
    file.with_name(file.name + ".lock").write_text("", encoding="utf-8")
    with pytest.raises(SessionLockedError, match="another process") as found:
        SessionLock.acquire(file)
    assert found.value.pid is None
    lock.release()
    lock.release()


def test_where_no_lock_can_be_made_the_session_opens(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system without locks, or a folder that cannot be written."""

    def refused(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("agent_tui.sessions.lock.fcntl.flock", refused)
    assert SessionLock.acquire(file) is None
    session = Session.open(file)
    assert len(session.messages()) == 1
    session.close()
