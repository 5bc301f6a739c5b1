"""The recorder: what an agent and its queue do goes into the session."""

import asyncio
import threading
from pathlib import Path

import pytest
from session_making import assistant, lines_of, quick_session, result, user

from agent_tui.agent.events import (
    AgentStartEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    ToolExecutionEndEvent,
)
from agent_tui.agent.message_queue import MessageQueue
from agent_tui.sessions import Session, SessionRecorder
from agent_tui.sessions.records import Header
from agent_tui.sessions.writer import SessionWriter


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "20260101T000000_0123456789abcdef.jsonl"


def crashed(file: Path, session: Session) -> Session:
    """What a new process finds: the bytes so far, nothing of memory."""
    assert session.flush()
    copy = file.with_name("copy.jsonl")
    copy.write_bytes(file.read_bytes())
    return Session.open(copy, read_only=True)


def queue_of(session: Session) -> list[tuple[str, str]]:
    return [(item.kind, item.message.text) for item in session.queue_items()]  # type: ignore


async def test_messages_and_tools_are_on_disk_when_on_event_returns(file: Path) -> None:
    session = quick_session(file)
    recorder = SessionRecorder(session)
    asked, call, answer = user("q"), assistant("a", "t1"), result("t1", "found")
    for message in (asked, call):
        await recorder.on_event(MessageStartEvent(message))
        await recorder.on_event(MessageEndEvent(message))
        assert crashed(file, session).messages()[-1] == message
    await recorder.on_event(ToolExecutionEndEvent("t1", "read", answer, False, 12))
    assert len(lines_of(file)) == 5, "header, question, answer began, answer, tool"
    assert crashed(file, session).messages() == [asked, call, answer]
    await recorder.on_event(MessageEndEvent(answer))
    assert crashed(file, session).messages() == [asked, call, answer]
    session.close()


async def test_an_answer_that_a_kill_cut_off_is_told_until_something_follows(file: Path) -> None:
    """Nothing of its text is on disk (no delta is written); that it began is."""
    session = quick_session(file)
    recorder = SessionRecorder(session)
    asked, cut, again = user("q"), assistant("half"), assistant("whole")
    await recorder.on_event(MessageEndEvent(asked))
    assert crashed(file, session).notices == []
    await recorder.on_event(MessageStartEvent(cut))
    for _ in range(3):
        await recorder.on_event(MessageUpdateEvent(cut.id, TextDeltaEvent(0, "hal")))
    found = crashed(file, session)
    (told,) = found.notices
    assert "in the middle of an answer" in told and "/retry" in told
    assert found.messages() == [asked], "the record holds what is whole"
    await recorder.on_event(MessageStartEvent(again))
    assert len(crashed(file, session).notices) == 1
    await recorder.on_event(MessageEndEvent(again))
    assert crashed(file, session).notices == []
    assert crashed(file, session).messages() == [asked, again]
    session.close()


async def test_streaming_writes_nothing(file: Path) -> None:
    session = quick_session(file)
    recorder = SessionRecorder(session)
    await recorder.on_event(AgentStartEvent())
    await recorder.on_event(MessageStartEvent(assistant("")))
    await recorder.on_event(MessageUpdateEvent("m", TextDeltaEvent(0, "x")))
    session.close()
    assert list(file.parent.iterdir()) == []


async def test_an_event_twice_is_recorded_once(file: Path) -> None:
    session = quick_session(file)
    recorder = SessionRecorder(session)
    message = user("q")
    await recorder.on_event(MessageEndEvent(message))
    await recorder.on_event(MessageEndEvent(message))
    session.close()
    assert len(lines_of(file)) == 2


async def test_a_full_disk_stops_no_run_and_is_told_once(file: Path) -> None:
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    told: list[str] = []
    writer = SessionWriter(file, write=full)
    session = Session(Header(id="a", cwd="/"), path=file, writer=writer, new=True)
    recorder = SessionRecorder(session, notify=told.append)
    for text in ("1", "2", "3"):
        await recorder.on_event(MessageEndEvent(user(text)))
    assert len(session.messages()) == 3
    assert len(told) == 1
    assert "No space left" in told[0]
    assert session.unsaved == 4
    assert not session.close()


async def test_a_queue_that_cannot_be_written_is_told_when_somebody_asks(file: Path) -> None:
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    told: list[str] = []
    writer = SessionWriter(file, write=full)
    session = Session(Header(id="a", cwd="/"), path=file, writer=writer, new=True)
    recorder = SessionRecorder(session, notify=told.append)
    queue = MessageQueue()
    recorder.attach_queue(queue)
    queue.add("steer", user("s"))
    assert await recorder.written() is False
    assert len(told) == 1
    assert "No space left" in told[0]
    session.close()


async def test_a_disk_that_hangs_holds_a_run_only_for_its_patience(file: Path) -> None:
    let_go = threading.Event()
    told: list[str] = []
    writer = SessionWriter(file, sync=lambda _: let_go.wait(30) and None)  # type: ignore
    session = Session(Header(id="a", cwd="/"), path=file, writer=writer, new=True)
    recorder = SessionRecorder(session, notify=told.append, patience=0.02)
    message = user("q")
    await recorder.on_event(MessageEndEvent(message))
    assert "has not answered" in told[0]
    assert await recorder.written() is False, "who asks whether all is on disk waits no longer"
    assert len(told) == 2
    let_go.set()
    assert await SessionRecorder(session).written()
    assert crashed(file, session).messages() == [message]
    session.close()


async def test_a_cancelled_run_loses_no_record(file: Path) -> None:
    let_go = threading.Event()
    writer = SessionWriter(file, sync=lambda _: let_go.wait(30) and None)  # type: ignore
    session = Session(Header(id="a", cwd="/"), path=file, writer=writer, new=True)
    recorder = SessionRecorder(session)
    message = user("q")
    task = asyncio.create_task(recorder.on_event(MessageEndEvent(message)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    let_go.set()
    assert await recorder.written()
    assert crashed(file, session).messages() == [message]
    session.close()


async def test_events_after_close_are_no_error(file: Path) -> None:
    session = quick_session(file)
    recorder = SessionRecorder(session)
    queue = MessageQueue()
    recorder.attach_queue(queue)
    session.close()
    await recorder.on_event(MessageEndEvent(user("late")))
    queue.add("steer", user("late"))


def test_every_change_of_the_queue_comes_back(file: Path) -> None:
    session = quick_session(file)
    queue = MessageQueue()
    SessionRecorder(session).attach_queue(queue)
    one = queue.add("steer", user("one"))
    two = queue.add("follow_up", user("two"))
    three = queue.add("follow_up", user("three"))
    four = queue.add("steer", user("four"))
    assert queue_of(crashed(file, session)) == [
        ("steer", "one"), ("steer", "four"), ("follow_up", "two"), ("follow_up", "three"),
    ]  # fmt: skip
    queue.edit(one.id, "one!")
    queue.move(four.id, 0)
    queue.promote(three.id)
    queue.demote(one.id)
    queue.withdraw(two.id)
    queue.pause()
    found = crashed(file, session)
    assert queue_of(found) == [("steer", "four"), ("steer", "three"), ("follow_up", "one!")]
    assert found.queue_paused
    queue.resume()
    assert not crashed(file, session).queue_paused
    session.close()


def test_a_queue_that_was_emptied_while_paused_comes_back_ready(file: Path) -> None:
    session = quick_session(file)
    queue = MessageQueue()
    SessionRecorder(session).attach_queue(queue)
    item = queue.add("steer", user("one"))
    queue.pause_waiting()
    assert crashed(file, session).queue_paused
    queue.withdraw(item.id)
    assert not crashed(file, session).queue_paused
    session.close()


def test_the_pause_of_an_empty_queue_is_not_brought_back(file: Path) -> None:
    """As sessions have it that were written before that ended a pause."""
    session = quick_session(file)
    queue = MessageQueue()
    SessionRecorder(session).attach_queue(queue)
    queue.withdraw(queue.add("steer", user("one")).id)
    session.record_queue("pause")
    session.close()
    again = Session.open(file)
    assert again.queue_paused
    restored = MessageQueue()
    SessionRecorder(again).attach_queue(restored)
    assert not restored.paused and not again.queue_paused
    assert restored.add("steer", user("two")).state == "queued"
    again.close()


def test_what_comes_behind_a_pause_that_was_brought_back_goes_out(file: Path) -> None:
    session = quick_session(file)
    queue = MessageQueue()
    SessionRecorder(session).attach_queue(queue)
    queue.add("steer", user("one"))
    queue.pause()
    session.close()
    again = Session.open(file)
    restored = MessageQueue()
    SessionRecorder(again).attach_queue(restored)
    restored.add("steer", user("two"))
    assert [(i.text, i.state) for i in restored.items()] == [("one", "paused"), ("two", "queued")]
    again.close()


async def test_an_item_is_delivered_by_the_record_of_its_message(file: Path) -> None:
    session = quick_session(file)
    recorder = SessionRecorder(session)
    queue = MessageQueue()
    recorder.attach_queue(queue)
    queue.add("steer", user("one"))
    queue.add("steer", user("two"))
    [taken] = queue.take("steer")
    assert queue_of(crashed(file, session)) == [("steer", "one"), ("steer", "two")]
    message = taken.message.model_copy(update={"queue_item_id": taken.id})
    await recorder.on_event(MessageEndEvent(message))
    found = crashed(file, session)
    assert queue_of(found) == [("steer", "two")]
    assert [m.text for m in found.messages()] == ["one"]  # type: ignore[union-attr]
    queue.commit(taken.id, "turn 1")
    after = crashed(file, session)
    assert queue_of(after) == [("steer", "two")]
    assert after.messages() == found.messages()
    session.close()


def test_taken_and_given_back_or_committed_too_early_is_not_lost(file: Path) -> None:
    session = quick_session(file)
    queue = MessageQueue()
    SessionRecorder(session).attach_queue(queue)
    queue.add("steer", user("one"))
    queue.add("steer", user("two"))
    queue.give_back(queue.take("steer"))
    assert queue_of(crashed(file, session)) == [("steer", "one"), ("steer", "two")]
    [taken] = queue.take("steer")
    queue.commit(taken.id)  # its message never reached the session
    assert queue_of(crashed(file, session)) == [("steer", "one"), ("steer", "two")]
    session.close()


def test_the_queue_is_restored_and_not_recorded_again(file: Path) -> None:
    session = quick_session(file)
    queue = MessageQueue()
    SessionRecorder(session).attach_queue(queue)
    for kind, text in (("steer", "a"), ("follow_up", "b"), ("steer", "c")):
        queue.add(kind, user(text))  # type: ignore[arg-type]
    queue.pause()
    ids = [item.id for item in queue.items()]
    session.close()
    before = file.read_bytes()
    again = Session.open(file)
    restored = MessageQueue()
    SessionRecorder(again).attach_queue(restored)
    assert [item.id for item in restored.items()] == ids
    assert [item.text for item in restored.items()] == ["a", "c", "b"]
    assert restored.paused
    assert again.flush()
    assert file.read_bytes() == before
    restored.edit(ids[0], "a!")
    restored.resume()
    assert again.close()
    last = Session.open(file, read_only=True)
    assert queue_of(last) == [("steer", "a!"), ("steer", "c"), ("follow_up", "b")]
    assert not last.queue_paused


def test_items_queued_before_the_recorder_came_are_recorded(file: Path) -> None:
    session = quick_session(file)
    queue = MessageQueue()
    queue.add("steer", user("early"))
    SessionRecorder(session).attach_queue(queue)
    assert queue_of(crashed(file, session)) == [("steer", "early")]
    session.close()


def test_detached_the_queue_is_not_recorded(file: Path) -> None:
    session = quick_session(file)
    queue = MessageQueue()
    detach = SessionRecorder(session).attach_queue(queue)
    queue.add("steer", user("a"))
    detach()
    queue.add("steer", user("b"))
    assert queue_of(crashed(file, session)) == [("steer", "a")]
    session.close()
