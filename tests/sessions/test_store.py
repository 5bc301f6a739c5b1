"""A session: what is recorded comes back; branches, tool outcomes, the queue, settings."""

import os
import stat
from pathlib import Path

import pytest
from session_making import assistant, every_kind, lines_of, quick_session, result, user

from agent_tui.agent.messages import AgentMessage, BashExecutionMessage, Container
from agent_tui.drafts import Draft
from agent_tui.sessions import Session, SessionClosedError
from agent_tui.sessions.records import MAX_DETAILS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "20260101T000000_0123456789abcdef.jsonl"


def reopened(session: Session) -> Session:
    assert session.path is not None
    assert session.close()
    return Session.open(session.path)


def test_all_kinds_of_messages_come_back_equal_and_in_order(tmp_path: Path) -> None:
    session = Session.create("/src/p", tmp_path)
    for message in every_kind():
        assert session.append_message(message).result(10)
    ids = [m.id for m in session.messages()]
    again = reopened(session)
    assert (again.id, again.cwd, again.created) == (session.id, "/src/p", session.created)
    assert [m.id for m in again.messages()] == ids
    kept = session.messages()
    assert again.messages() == kept
    assert [type(m) for m in again.messages()] == [type(m) for m in kept]
    assert again.notices == []
    again.close()


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    """E10."""
    old = os.umask(0o022)
    try:
        session = Session.create("/src/p", tmp_path / "a" / "home")
        session.append_message(user("x")).result(10)
        assert session.path is not None
        for path in [session.path, *session.path.parent.glob("*.lock")]:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        folder = session.path.parent
        while folder != tmp_path:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            folder = folder.parent
    finally:
        os.umask(old)
        session.close()


def test_looking_around_leaves_no_file(tmp_path: Path) -> None:
    session = Session.create("/src/p", tmp_path)
    session.record_model("m")
    session.record_thinking("high")
    session.record_draft(Draft(""))
    assert session.close()
    assert list(tmp_path.rglob("*")) == []


def test_settings_chosen_before_the_first_message_are_kept(file: Path) -> None:
    session = quick_session(file)
    session.record_model("m")
    session.record_thinking("high")
    session.append_message(user("go"))
    again = reopened(session)
    assert (again.model, again.thinking) == ("m", "high")
    again.close()


def test_the_last_setting_counts_and_equal_ones_are_not_repeated(file: Path) -> None:
    session = quick_session(file)
    session.append_message(user("go"))
    for _ in range(3):
        session.record_model("one")
        session.record_thinking("low")
        session.record_draft(Draft("half a th"))
        session.record_container(Container(id="c1", expires_at="2026-01-01T00:00:00Z"))
    session.record_model("two")
    session.record_draft(Draft("half a thought"))
    again = reopened(session)
    assert (again.model, again.thinking, again.draft.text) == ("two", "low", "half a thought")
    assert again.container == Container(id="c1", expires_at="2026-01-01T00:00:00Z")
    assert len(lines_of(file)) == 2 + 6
    again.record_container(None)
    again.record_draft(Draft(""))
    last = reopened(again)
    assert (last.container, last.draft.text) == (None, "")
    last.close()


def test_a_message_is_written_once(file: Path) -> None:
    session = quick_session(file)
    message = user("x")
    session.append_message(message)
    session.append_message(message)
    session.append_message(message.model_copy(deep=True))
    again = reopened(session)
    assert again.append_message(message).result(10)
    assert again.messages() == [message]
    again.close()
    assert len(lines_of(file)) == 2


def test_a_session_in_memory_has_the_same_interface(tmp_path: Path) -> None:
    session = Session.in_memory("/work")
    message = user("x")
    assert session.append_message(message).result(1)
    session.record_queue("add", "i", kind="steer", message=user("y"))
    assert session.messages() == [message]
    assert session.path is None
    assert session.flush()
    assert session.close()


def test_a_closed_session_takes_no_records(file: Path) -> None:
    session = quick_session(file)
    session.append_message(user("x"))
    session.close()
    with pytest.raises(SessionClosedError):
        session.append_message(user("y"))
    with pytest.raises(SessionClosedError):
        session.record_draft(Draft("y"))
    assert len(lines_of(file)) == 2


def test_what_is_added_to_a_session_opened_for_reading_stays_in_memory(file: Path) -> None:
    session = quick_session(file)
    first, more = user("x"), user("y")
    session.append_message(first)
    session.close()
    before = file.read_bytes()
    reading = Session.open(file, read_only=True)
    assert reading.append_message(more).result(1)
    reading.record_draft(Draft("z"))
    assert (reading.messages(), reading.draft.text) == ([first, more], "z")
    assert reading.close()
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [file.name], "it takes no lock"


# --- branches -------------------------------------------------------------------------


def test_a_broken_sample_stays_on_a_dead_branch(file: Path) -> None:
    session = quick_session(file)
    asked, broken, retry = user("q"), assistant("brok"), assistant("whole")
    for message in (asked, broken):
        session.append_message(message)
    session.set_aside(broken.id)
    assert session.leaf == asked.id
    session.append_message(retry)
    assert session.messages() == [asked, retry]
    again = reopened(session)
    assert again.messages() == [asked, retry]
    assert again.parent_of(retry.id) == again.parent_of(broken.id) == asked.id
    again.close()


def test_the_leaf_moves_and_the_move_is_remembered(file: Path) -> None:
    session = quick_session(file)
    one, two, three = user("1"), user("2"), user("3")
    for message in (one, two):
        session.append_message(message)
    session.move_leaf(one.id)
    moved = reopened(session)
    assert moved.messages() == [one]
    moved.append_message(three)
    moved.move_leaf(two.id)
    assert moved.messages() == [one, two]
    moved.move_leaf(None)
    assert moved.messages() == []
    four = user("4")
    moved.append_message(four)
    moved.append_message(user("5"), after=three.id)
    again = reopened(moved)
    assert [m.text for m in again.messages()] == ["1", "3", "5"]
    with pytest.raises(KeyError):
        again.move_leaf("nothing")
    with pytest.raises(KeyError):
        again.append_message(user("x"), after="nothing")
    again.close()


def test_a_message_may_be_on_two_branches(file: Path) -> None:
    session = quick_session(file)
    one, two, again_said = user("1"), user("2"), user("again")
    for message in (one, two, again_said):
        session.append_message(message)
    session.move_leaf(one.id)
    session.append_message(again_said)
    assert session.messages() == [one, again_said]
    again = reopened(session)
    assert again.messages() == [one, again_said]
    again.close()


# --- tool outcomes --------------------------------------------------------------------


def test_a_result_message_refers_to_its_outcome(file: Path) -> None:
    session = quick_session(file)
    answer = result("t1", "only once " * 100, details={"x": 1})
    messages: list[AgentMessage] = [user("q"), assistant("a", "t1"), answer]
    session.append_message(messages[0])
    session.append_message(messages[1])
    session.record_tool_outcome(answer, duration_ms=41)
    session.append_message(answer)
    again = reopened(session)
    assert again.messages() == messages
    assert again.durations == {"t1": 41}
    assert file.read_text("utf-8").count("only once ") == 100, "the text is there once"
    again.close()


def test_a_result_changed_after_its_outcome_is_written_as_it_is(file: Path) -> None:
    session = quick_session(file)
    session.append_message(assistant("a", "t1"))
    answer = result("t1", "first")
    session.record_tool_outcome(answer)
    changed = answer.model_copy(update={"is_error": True})
    session.append_message(changed)
    again = reopened(session)
    assert again.messages()[1:] == [changed]
    again.close()


def test_outcomes_without_message_are_rebuilt_in_call_order(file: Path) -> None:
    """The process died in the batch: B ended first, then A; C was running."""
    session = quick_session(file)
    head: list[AgentMessage] = [user("q"), assistant("a", "A", "B", "C", "D")]
    for message in head:
        session.append_message(message)
    a, b, d = result("A", "ra"), result("B", "rb", is_error=True), result("D", "rd")
    for ended in (b, d, a):
        session.record_tool_outcome(ended)
    again = reopened(session)
    assert again.messages() == [*head, a, b, d]
    goes_on = user("go on")
    again.append_message(goes_on)
    later = reopened(again)
    assert later.messages() == [*head, a, b, d, goes_on]
    later.close()


def test_an_outcome_fills_only_what_is_missing(file: Path) -> None:
    """It died between the result messages of a batch."""
    session = quick_session(file)
    head: list[AgentMessage] = [user("q"), assistant("a", "A", "B")]
    for message in head:
        session.append_message(message)
    a, b = result("A", "ra"), result("B", "rb")
    session.record_tool_outcome(b)
    session.record_tool_outcome(a)
    session.append_message(a)
    again = reopened(session)
    assert again.messages() == [*head, a, b]
    again.append_message(b)
    assert again.messages() == [*head, a, b]
    last = reopened(again)
    assert last.messages() == [*head, a, b]
    last.close()


def test_an_old_outcome_of_the_same_call_id_is_not_taken(file: Path) -> None:
    session = quick_session(file)
    old = result("same", "old")
    messages: list[AgentMessage] = [user("1"), assistant("a", "same"), old, user("2")]
    for message in messages[:2]:
        session.append_message(message)
    session.record_tool_outcome(old)
    for message in messages[2:]:
        session.append_message(message)
    second = assistant("b", "same")
    session.append_message(second)
    again = reopened(session)
    assert again.messages() == [*messages, second]
    again.close()


def test_a_stored_line_is_bounded_by_what_the_model_saw(file: Path) -> None:
    """C07."""
    session = quick_session(file)
    session.append_message(assistant("a", "t1"))
    answer = result("t1", "cut for the model", details={"all": "y" * 12_000_000})
    session.record_tool_outcome(answer)
    session.append_message(answer)
    again = reopened(session)
    assert file.stat().st_size < MAX_DETAILS
    assert again.messages()[1].content == answer.content  # type: ignore[union-attr]
    again.close()


# --- the queue ------------------------------------------------------------------------


def queue_of(session: Session) -> list[tuple[str, str, str]]:
    return [(i.kind, i.id, i.message.text) for i in session.queue_items()]  # type: ignore


def test_accepted_items_come_back_until_their_message_is_recorded(file: Path) -> None:
    session = quick_session(file)
    session.record_queue("add", "s1", kind="steer", message=user("one", queue_item_id="s1"))
    session.record_queue("add", "f1", kind="follow_up", message=user("two", queue_item_id="f1"))
    session.record_queue("add", "s2", kind="steer", message=user("three", queue_item_id="s2"))
    session.record_queue("edit", "f1", message=user("two!", queue_item_id="f1"))
    session.record_queue("order", steer=["s2", "f1", "s1"], follow_up=[])
    session.record_queue("pause")
    again = reopened(session)
    assert queue_of(again) == [
        ("steer", "s2", "three"), ("steer", "f1", "two!"), ("steer", "s1", "one"),
    ]  # fmt: skip
    assert again.queue_paused
    delivered = again.queue_items()[0].message
    again.append_message(delivered)
    again.record_queue("withdraw", "s1")
    again.record_queue("resume")
    last = reopened(again)
    assert queue_of(last) == [("steer", "f1", "two!")]
    assert last.was_delivered("s2")
    assert not last.queue_paused
    assert last.messages() == [delivered]
    last.close()


def test_a_delivered_item_does_not_come_back_by_a_late_record(file: Path) -> None:
    session = quick_session(file)
    session.append_message(user("x", queue_item_id="i"))
    session.record_queue("add", "i", kind="steer", message=user("x", queue_item_id="i"))
    session.record_queue("edit", "i", message=user("y"))
    session.record_queue("order", steer=["i"], follow_up=[])
    again = reopened(session)
    assert again.queue_items() == []
    again.close()


def test_a_kind_that_carries_no_item_id_is_delivered_too(file: Path) -> None:
    session = quick_session(file)
    command = BashExecutionMessage(command="ls")
    session.record_queue("add", "i", kind="steer", message=command)
    session.append_message(command)
    again = reopened(session)
    assert again.queue_items() == []
    assert again.was_delivered("i")
    again.close()


def test_a_delivery_counts_on_a_branch_that_was_left(file: Path) -> None:
    session = quick_session(file)
    session.append_message(user("first"))
    session.record_queue("add", "i", kind="steer", message=user("x", queue_item_id="i"))
    session.append_message(user("x", queue_item_id="i"))
    session.move_leaf(None)
    again = reopened(session)
    assert again.queue_items() == []
    again.close()


def test_what_an_order_does_not_name_stays_at_the_end(file: Path) -> None:
    session = quick_session(file)
    for item_id in ("a", "b", "c"):
        session.record_queue("add", item_id, kind="steer", message=user(item_id))
    session.record_queue("order", steer=["c", "gone"], follow_up=[])
    assert [i.id for i in session.queue_items()] == ["c", "a", "b"]
    session.close()


def test_a_queue_record_without_what_it_needs_is_refused(file: Path) -> None:
    session = quick_session(file)
    with pytest.raises(ValueError):
        session.record_queue("add", "i", kind="steer")
    with pytest.raises(ValueError):
        session.record_queue("order", steer=[])
    session.close()
    assert not file.exists()


def test_editing_the_queued_message_later_does_not_change_the_record(file: Path) -> None:
    session = quick_session(file)
    message = user("as accepted")
    session.record_queue("add", "i", kind="steer", message=message)
    message.content[0].text = "changed in place"  # type: ignore[union-attr]
    assert queue_of(session) == [("steer", "i", "as accepted")]
    session.close()


# --- secrets --------------------------------------------------------------------------


def test_no_secret_is_written(file: Path) -> None:
    secret = "sk-ant-api03-abcdefgh"
    session = quick_session(file, mask=lambda text: text.replace(secret, "***"))
    session.append_message(user(f"my key is {secret}"))
    session.append_message(assistant(f"you said {secret}", "t1"))
    answer = result("t1", f"KEY={secret}", details={"env": {"KEY": secret}})
    session.record_tool_outcome(answer)
    session.append_message(answer)
    session.record_queue("add", "i", kind="steer", message=user(secret))
    session.record_draft(Draft(secret))
    again = reopened(session)
    assert secret not in file.read_text("utf-8")
    assert [m.text for m in again.messages()][:2] == ["my key is ***", "you said ***"]  # type: ignore
    again.close()


def test_a_mask_that_throws_lets_nothing_through(file: Path) -> None:
    def mask(text: str) -> str:
        if "bad" in text:
            raise RuntimeError("no pattern")
        return text

    session = quick_session(file, mask=mask)
    session.append_message(user("good"))
    assert session.append_message(user("bad")).result(10) is False
    session.append_message(user("good again"))
    assert len(session.warnings()) == 1
    assert [m.text for m in session.messages()] == ["good", "bad", "good again"]  # type: ignore
    again = reopened(session)
    assert [m.text for m in again.messages()] == ["good", "good again"]  # type: ignore
    again.close()
