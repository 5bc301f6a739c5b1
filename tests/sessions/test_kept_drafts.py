"""A draft: recorded with its pastes, there again, and gone by the very record that sends it."""

from pathlib import Path

import pytest
from session_making import assistant, lines_of, quick_session, user

from agent_tui.sessions import Draft, Session

BIG = "a pasted line\n" * 1000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "20260101T000000_0123456789abcdef.jsonl"


def reopened(session: Session) -> Session:
    session.close()
    assert session.path is not None
    return Session.open(session.path)


def test_a_draft_says_what_would_be_sent() -> None:
    pastes = {"[pasted 9 lines]": "one", "[pasted 9 lines #2]": "two [pasted 9 lines]"}
    draft = Draft("a [pasted 9 lines #2] b [pasted 9 lines] [pasted 8 lines]", pastes)
    assert draft.whole == "a two [pasted 9 lines] b one [pasted 8 lines]"
    assert Draft("plain").whole == "plain" and not Draft()


def test_it_comes_back_with_its_pastes(file: Path) -> None:
    draft = Draft("look at [pasted 1,000 lines] please", {"[pasted 1,000 lines]": BIG})
    session = quick_session(file)
    session.record_draft(draft)
    again = reopened(session)
    assert again.draft == draft and again.notices == []
    again.close()


def test_each_paste_is_written_once_however_often_the_text_changes(file: Path) -> None:
    session = quick_session(file)
    for n in range(20):
        session.record_draft(Draft(f"[p] {n}", {"[p]": BIG}))
    again = reopened(session)
    again.record_draft(Draft("[p] more, and [q]", {"[p]": BIG, "[q]": "other"}))
    last = reopened(again)
    assert last.draft.whole == f"{BIG} more, and other"
    last.close()
    assert sum(line["type"] == "paste" for line in lines_of(file)) == 2
    assert file.stat().st_size < 2 * len(BIG) + 10_000


@pytest.mark.parametrize("way", ["message", "queue"])
def test_the_record_that_sends_it_ends_it(file: Path, way: str) -> None:
    session = quick_session(file)
    session.append_message(user("before"))
    session.record_draft(Draft("say [p]", {"[p]": BIG}))
    if way == "message":
        session.append_message(user(f"say {BIG}"))
    else:
        session.record_queue("add", "q1", kind="steer", message=user(f"say {BIG}"))
    assert not session.draft
    lines = len(lines_of(file)) if session.flush() else 0
    again = reopened(session)
    assert not again.draft, "nothing but that record was written, so no crash can come between"
    assert lines == 5
    again.close()


def test_other_messages_leave_it(file: Path) -> None:
    session = quick_session(file)
    session.record_draft(Draft("mine"))
    session.append_message(user("something else"))
    session.append_message(assistant("mine"))
    assert reopened(session).draft == Draft("mine")


def test_a_paste_that_was_lost_is_told_and_the_text_stays(file: Path) -> None:
    session = quick_session(file)
    session.record_draft(Draft("say [p] and [q]", {"[p]": "gone", "[q]": "there"}))
    session.close()
    data = file.read_bytes()
    file.write_bytes(data.replace(b'"text":"gone"', b'"text" "gone"'))
    again = Session.open(file)
    assert again.draft == Draft("say [p] and [q]", {"[q]": "there"})
    assert any("paste that could not be read" in notice for notice in again.notices)
    again.close()


def test_secrets_are_taken_out_of_pastes(file: Path) -> None:
    session = quick_session(file, mask=lambda text: text.replace("SECRET", "***"))
    session.record_draft(Draft("SECRET [p]", {"[p]": "a SECRET"}))
    session.close()
    assert b"SECRET" not in file.read_bytes()
    assert Session.open(file, read_only=True).draft.whole == "*** a ***"


def test_in_memory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session.in_memory("/work")
    session.record_draft(Draft("[p]", {"[p]": BIG}))
    assert session.draft.whole == BIG
    assert session.close() and list(tmp_path.iterdir()) == []


def test_another_face_is_recorded_with_what_it_does_and_not_by_looking(file: Path) -> None:
    session = quick_session(file)
    session.append_message(user("x"))
    before = reopened(session)
    before.enter("screen")
    before.enter("screen")
    assert before.face == "screen"
    again = reopened(before)
    assert again.face is None and len(lines_of(file)) == 2
    again.enter("screen")
    again.append_message(user("y"))
    last = reopened(again)
    assert last.face == "screen"
    assert [line["type"] for line in lines_of(file)][2:] == ["face", "message"]
    last.close()


def test_what_was_put_away_comes_back_with_its_pastes(file: Path) -> None:
    session = quick_session(file)
    draft = Draft("now", {}, (Draft("older"), Draft("see [p]", {"[p]": BIG})))
    session.record_draft(draft)
    again = reopened(session)
    assert again.draft == draft
    again.close()


def test_what_was_put_away_outlives_a_draft_that_is_sent(file: Path) -> None:
    session = quick_session(file)
    away = (Draft("see [p]", {"[p]": BIG}),)
    session.record_draft(Draft("", {}, away))
    session.record_draft(Draft("now", {}, away))
    session.append_message(user("now"))
    again = reopened(session)
    assert again.draft == Draft("", {}, away)
    again.record_draft(Draft())
    last = reopened(again)
    assert not last.draft
    last.close()


def test_a_draft_without_what_must_not_be_kept() -> None:
    draft = Draft("/login sk", {}, (Draft("mine"), Draft("/login sk")))
    assert draft.without(lambda text: text.startswith("/")) == Draft("", {}, (Draft("mine"),))
