"""What is on disk when a ticket says so, who may read it, and damage between branches and
batches (DESIGN: On disk)."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from session_making import assistant, lines_of, result, user

from agent_tui.agent.messages import AssistantMessage, ImageContent, ThinkingContent, UserMessage
from agent_tui.sessions import Session, SessionDamagedError, SessionLockedError
from agent_tui.sessions import lock as lock_module
from agent_tui.sessions.lock import SessionLock
from agent_tui.sessions.reader import Line, read_line
from agent_tui.sessions.records import Header, MessageRecord, encode
from agent_tui.sessions.writer import SessionWriter


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "20260101T000000_0123456789abcdef.jsonl"


def session_with(file: Path, **options: Any) -> Session:
    header = Header(id="0123456789abcdef", cwd="/src", created=1.0)
    return Session(header, path=file, writer=SessionWriter(file, **options), new=True)


def damage(file: Path, record_id: str, keep: int | None = None) -> None:
    """Make the record's line unreadable: all of it, or all behind its first `keep` bytes."""
    lines = file.read_bytes().splitlines(keepends=True)
    at = [line.get("id") for line in lines_of(file)].index(record_id)
    kept = lines[at][: keep or 0]
    lines[at] = kept + b"\xff" * (len(lines[at]) - 1 - len(kept)) + b"\n"
    file.write_bytes(b"".join(lines))


# --- durable --------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["message", "tool_outcome", "mend"])
def test_what_must_outlive_the_machine_is_synced_before_its_ticket_is_done(
    file: Path, what: str
) -> None:
    on_disk: list[bytes] = []

    def sync(_: int) -> None:
        on_disk.append(file.read_bytes())

    session = session_with(file, sync=sync)
    assert session.append_message(user("first")).result(10)
    match what:
        case "message":
            ticket = session.append_message(assistant("the answer"))
        case "tool_outcome":
            ticket = session.record_tool_outcome(result("t1", "the answer"))
        case _:
            ticket = session.record_mend("note", ["m"], "the answer")
    assert ticket.result(10)
    assert b"the answer" in on_disk[-1]
    session.close()


# --- private, one writer ----------------------------------------------------------------------


def test_session_and_lock_are_for_their_owner_only(file: Path) -> None:
    before = os.umask(0o022)
    try:
        session = session_with(file)
        assert session.append_message(user("x")).result(10)
    finally:
        os.umask(before)
    lock = file.with_name(file.name + ".lock")
    for path in (file, lock):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    session.close()


def test_a_file_that_cannot_be_read_is_not_left_locked(file: Path) -> None:
    file.write_bytes(b"no session\n")
    with pytest.raises(SessionDamagedError):
        Session.open(file)
    lock = SessionLock.acquire(file)
    assert lock is not None
    lock.release()


def test_a_lock_on_a_file_that_its_holder_removed_keeps_others_out(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our open and our lock the holder may release: what we locked is then no file."""
    path = file.with_name(file.name + ".lock")
    assert lock_module.fcntl is not None
    flock = lock_module.fcntl.flock
    removed: list[Path] = []

    def removing(fd: int, operation: int) -> None:
        if not removed:
            path.unlink()
            removed.append(path)
        flock(fd, operation)

    monkeypatch.setattr("agent_tui.sessions.lock.fcntl.flock", removing)
    lock = SessionLock.acquire(file)
    assert lock is not None and removed
    with pytest.raises(SessionLockedError):
        SessionLock.acquire(file)
    lock.release()


# --- damage -----------------------------------------------------------------------------------


def test_a_torn_retry_does_not_bring_the_broken_sample_back(file: Path) -> None:
    """Its line is cut behind its place in the tree, and that place still counts."""
    session = session_with(file)
    first, broken, retry, last = user("q"), assistant("brok"), assistant("whole"), user("thanks")
    session.append_message(first)
    session.append_message(broken)
    session.append_message(retry, after=first.id)
    session.append_message(last)
    session.close()
    damage(file, retry.id, keep=120)
    assert Session.open(file, read_only=True).messages() == [first, last]


def test_a_move_to_a_record_that_is_lost_moves_nothing(file: Path) -> None:
    session = session_with(file)
    first, second, third = user("one"), user("two"), user("three")
    for message in (first, second, third):
        session.append_message(message)
    session.move_leaf(second.id)
    session.close()
    damage(file, second.id)
    found = Session.open(file, read_only=True)
    assert found.messages() == [first, third]
    assert len(found.notices) == 2


def test_a_lost_result_is_found_again_in_its_place(file: Path) -> None:
    """Its outcome was written when the tool ended; the results after it were not hit."""
    session = session_with(file)
    calls = assistant("look", "a", "b", "c")
    results = [result(call_id, f"result of {call_id}") for call_id in ("a", "b", "c")]
    session.append_message(user("go"))
    session.append_message(calls)
    for ended in (results[2], results[0], results[1]):
        session.record_tool_outcome(ended)
    for ended in results:
        session.append_message(ended)
    session.close()
    damage(file, results[0].id)
    found = Session.open(file, read_only=True).messages()
    assert [m.text for m in found[2:]] == [  # type: ignore[union-attr]
        "result of a",
        "result of b",
        "result of c",
    ]


# --- what a mask must leave alone ---------------------------------------------------------------


def test_no_mask_touches_what_must_go_back_as_it_came() -> None:
    """A signature, an id or the data of a picture with a mark in it would be refused."""

    def mask(text: str) -> str:
        return text.replace("SECRET", "***")

    messages = [
        AssistantMessage(
            api_id="msg_SECRET",
            content=[
                ThinkingContent(thinking="my SECRET", signature="sig-SECRET"),
                ThinkingContent(redacted="data-SECRET"),
            ],
        ),
        UserMessage(
            content=[ImageContent(data="SECRET", media_type="image/png")],
            queue_item_id="q-SECRET",
        ),
        result("call-SECRET", "the SECRET"),
    ]
    back = []
    for message in messages:
        line = encode(MessageRecord(id=message.id, message=message), mask)
        (record,) = read_line(Line(1, line.rstrip(b"\n")))
        assert isinstance(record, MessageRecord)
        back.append(record.message)
    answer, said, ended = back
    assert answer.api_id == "msg_SECRET"
    assert answer.content[0].thinking == "my ***"
    assert answer.content[0].signature == "sig-SECRET"
    assert answer.content[1].redacted == "data-SECRET"
    assert said.content[0].data == "SECRET"
    assert said.queue_item_id == "q-SECRET"
    assert (ended.tool_call_id, ended.text) == ("call-SECRET", "the ***")
