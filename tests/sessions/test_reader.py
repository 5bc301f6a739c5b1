"""Reading damaged files: a bad line costs only itself (E01, E02, E12)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from session_making import assistant, lines_of, quick_session, result, user

from agent_tui.agent.messages import AgentMessage, Container
from agent_tui.drafts import Draft
from agent_tui.sessions import (
    Session,
    SessionDamagedError,
    SessionNotFoundError,
    SessionTooNewError,
)
from agent_tui.sessions import reader as reader_module
from agent_tui.sessions.records import MessageRecord, encode


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "20260101T000000_0123456789abcdef.jsonl"


def write(file: Path, count: int) -> list[AgentMessage]:
    messages: list[AgentMessage] = [user(f"message {n}") for n in range(count)]
    session = quick_session(file)
    for message in messages:
        session.append_message(message)
    assert session.close()
    return messages


def change_line(file: Path, number: int, change: Callable[[bytes], bytes]) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    file.write_bytes(b"".join(lines))


def without(messages: list[AgentMessage], *indexes: int) -> list[AgentMessage]:
    return [m for n, m in enumerate(messages) if n not in indexes]


def test_one_line_cut_in_the_middle_of_many(file: Path) -> None:
    messages = write(file, 300)
    change_line(file, 120, lambda line: line[: len(line) // 2] + b"\n")
    before = file.read_bytes()
    session = Session.open(file)
    assert session.messages() == without(messages, 118)
    assert len(session.notices) == 1
    assert "Line 120 " in session.notices[0]
    assert "kept and left out" in session.notices[0]
    assert session.close()
    assert file.read_bytes() == before, "opening changes nothing"


@pytest.mark.parametrize(
    "bad",
    [
        b"\x00" * 5000 + b"\n",
        b"\xff\xfe garbage\n",
        b'"a string"\n',
        b"[1, 2]\n",
        b"{}\n",
        b'{"type":"message"}\n',
        b'{"type":"message","id":7,"parent_id":null}\n',
        b'{"type":"message","id":"x","parent_id":null,"message":{"role":"user","content":7}}\n',
        b'{"type":"message","id":"x","parent_id":null,"message":{"id":"no role"}}\n',
        b'{"type":"queue","id":"x","parent_id":null,"op":"shuffle"}\n',
        b'{"type":"tool_outcome","id":"x","parent_id":null,"message":{"role":"user"}}\n',
        b"[" * 100_000 + b"\n",
        b'{"a":' * 50_000 + b"\n",
    ],
    ids=range(13),
)
def test_a_line_that_is_no_record(file: Path, bad: bytes) -> None:
    messages = write(file, 3)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:3], bad, lines[3]]))
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert [n for n in session.notices if n.startswith("Line 4 ")], session.notices
    assert len(session.notices) == 1


def test_blank_lines_are_no_damage(file: Path) -> None:
    messages = write(file, 2)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n\n"))
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert session.notices == []


def test_a_torn_tail_gets_a_line_of_its_own(file: Path) -> None:
    """E02: the next record must not be glued to the stub."""
    messages = write(file, 2)
    with file.open("ab") as out:
        out.write(b'{"type":"mess')
    stub = file.read_bytes()
    session = Session.open(file)
    assert session.messages() == messages
    assert "cut short" in session.notices[0]
    more = user("after the crash")
    session.append_message(more)
    assert session.close()
    assert file.read_bytes().startswith(stub + b"\n")
    again = Session.open(file, read_only=True)
    assert again.messages() == [*messages, more]
    assert len(again.notices) == 1


def test_a_whole_tail_without_its_newline_counts(file: Path) -> None:
    messages = write(file, 2)
    file.write_bytes(file.read_bytes()[:-1])
    session = Session.open(file)
    assert session.messages() == messages
    assert session.notices == []
    more = user("more")
    session.append_message(more)
    assert session.close()
    assert Session.open(file, read_only=True).messages() == [*messages, more]


def test_a_record_glued_to_a_stub_is_found(file: Path) -> None:
    messages = write(file, 3)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:3], b'{"type":"mess', lines[3]]))
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert "Line 4 " in session.notices[0]


def test_two_records_whose_newline_was_hit_are_both_there(file: Path) -> None:
    messages = write(file, 4)
    change_line(file, 3, lambda line: line[:-1] + b"?")
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert session.notices == [], "nothing is missing"


def test_stray_bytes_behind_a_record_cost_nothing_and_are_told(file: Path) -> None:
    messages = write(file, 3)
    change_line(file, 3, lambda line: line[:-1] + b"\x00\x00\n")
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert "Line 3 has something after its record" in session.notices[0]


def test_a_record_behind_a_broken_one_is_found_though_its_parent_is_lost(file: Path) -> None:
    session = quick_session(file)
    first, lost, last = user("first"), user("lost"), user("last")
    session.append_message(first)
    session.append_message(lost)
    session.record_draft(Draft("a draft"))
    session.append_message(last)
    session.close()
    change_line(file, 3, lambda _: b"\x00" * 50 + b"\n")
    change_line(file, 4, lambda line: line[:-4] + b"!!!!")
    assert Session.open(file, read_only=True).messages() == [first, last]


def test_a_line_written_twice_counts_once(file: Path) -> None:
    """As after an error in which the disk had kept it after all."""
    messages = write(file, 3)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines, lines[2], lines[1]]))
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert session.notices == []


def test_an_object_in_a_torn_record_is_not_taken_for_a_record(file: Path) -> None:
    """Arguments of a call come from the model; a cut just behind them must not let them in."""
    messages = write(file, 2)
    forged = encode(MessageRecord(id="forged", message=user("forged")))[:-1]
    torn = encode(MessageRecord(id="torn", parent_id=messages[1].id, message=user("MARK")))
    torn = torn[: torn.index(b'"MARK"')] + forged + b"\n"
    file.write_bytes(file.read_bytes() + torn)
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert len(session.notices) == 1


@pytest.mark.parametrize("key", [b'"parent_id"', b'"id"'])
def test_a_damaged_key_makes_no_new_root(file: Path, key: bytes) -> None:
    """A value without its key would be null, and what is before would be hidden."""
    messages = write(file, 4)
    change_line(file, 4, lambda line: line.replace(key, b'"?"', 1))
    assert Session.open(file, read_only=True).messages() == without(messages, 2)


def test_a_damaged_key_empties_no_branch_and_ends_no_container(file: Path) -> None:
    session = quick_session(file)
    first, second = user("first"), user("second")
    session.append_message(first)
    session.append_message(second)
    session.record_container(Container(id="c1"))
    session.record_container(None)
    session.move_leaf(None)
    session.close()
    change_line(file, 5, lambda line: line.replace(b'"container":n', b'"?":n', 1))
    change_line(file, 6, lambda line: line.replace(b'"target"', b'"?"', 1))
    found = Session.open(file, read_only=True)
    assert found.messages() == [first, second]
    assert found.container == Container(id="c1")
    assert len(found.notices) == 1


def test_what_follows_a_lost_message_stays_on_its_branch(file: Path) -> None:
    """Also where the lost one was the retry of a broken sample."""
    session = quick_session(file)
    first, broken, retry, last = user("q"), assistant("brok"), assistant("whole"), user("thanks")
    session.append_message(first)
    session.append_message(broken)
    session.set_aside(broken.id)
    session.append_message(retry)
    session.append_message(last)
    session.close()
    number = 1 + [line.get("id") for line in lines_of(file)].index(retry.id)
    change_line(file, number, lambda line: b"\xff" * (len(line) - 1) + b"\n")
    assert Session.open(file, read_only=True).messages() == [first, last]


def test_unknown_records_and_those_of_newer_versions_keep_their_place(file: Path) -> None:
    """The file is left as it is; what is behind such a record on the branch is still found."""
    session = quick_session(file)
    first = user("first")
    session.append_message(first)
    session.close()
    last = user("last")
    newer = (
        b'{"type":"bookmark","id":"b1","parent_id":"%b","time":1,"name":"x"}\n'
        b'{"type":"message","id":"m2","parent_id":"b1","time":1,"version":2,"body":"?"}\n'
        % first.id.encode()
    )
    with file.open("ab") as out:
        out.write(newer + encode(MessageRecord(id=last.id, parent_id="m2", message=last)))
    before = file.read_bytes()
    session = Session.open(file)
    assert session.messages() == [first, last]
    assert "bookmark" in session.notices[0]
    assert "newer version" in session.notices[1]
    session.record_draft(Draft("on"))
    session.close()
    assert file.read_bytes().startswith(before)


def test_a_result_whose_outcome_line_is_lost_is_left_out(file: Path) -> None:
    session = quick_session(file)
    asked, call, answer = user("q"), assistant("a", "t1"), result("t1", "found")
    session.append_message(asked)
    session.append_message(call)
    session.record_tool_outcome(answer)
    session.append_message(answer)
    last = user("and?")
    session.append_message(last)
    session.close()
    change_line(file, 4, lambda _: b"lost\n")
    session = Session.open(file, read_only=True)
    assert session.messages() == [asked, call, last]
    assert len(session.notices) == 2 or "Lines 4 to 5" in session.notices[0]


def test_many_damaged_lines_are_told_in_one_sentence(file: Path) -> None:
    messages = write(file, 50)
    for number in range(10, 30):
        change_line(file, number, lambda _: b"x\n")
    session = Session.open(file, read_only=True)
    assert session.messages() == without(messages, *range(8, 28))
    assert len(session.notices) == 1
    assert "Lines 10 to 29" in session.notices[0]


def test_a_line_without_an_end_takes_bounded_memory(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = write(file, 2)
    monkeypatch.setattr(reader_module, "MAX_LINE", 10_000)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], b"\x00" * 3_000_000 + b"\n", lines[2]]))
    with file.open("rb") as raw:
        assert max(len(line.data) for line in reader_module.iter_lines(raw)) <= 10_000
    session = Session.open(file, read_only=True)
    assert session.messages() == messages
    assert "Line 3 is too long" in session.notices[0]


def test_missing_damaged_and_too_new_are_three_errors(tmp_path: Path, file: Path) -> None:
    write(file, 2)
    with pytest.raises(SessionNotFoundError):
        Session.open(tmp_path / "none.jsonl")
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"not json\n" + b"".join(file.read_bytes().splitlines(True)[1:]))
    with pytest.raises(SessionDamagedError) as found:
        Session.open(damaged)
    assert found.value.records == 2
    newer = tmp_path / "newer.jsonl"
    newer.write_bytes(file.read_bytes().replace(b'"version":1', b'"version":2', 1))
    with pytest.raises(SessionTooNewError) as new:
        Session.open(newer)
    assert new.value.version == 2
    texts = {str(e) for e in (found.value, new.value)}
    assert len(texts) == 2
    assert all("Traceback" not in text for text in texts)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"hello\nworld\n", b'{"type":"session","version":"x"}\n', b"\x00" * 99, b"{}"],
)
def test_a_file_that_is_no_session(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(SessionDamagedError) as found:
        Session.open(path)
    assert found.value.records == 0
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["x.jsonl"], "no lock is left behind"


def test_repair_gives_a_session_without_header_a_new_one(file: Path) -> None:
    messages = write(file, 2)
    change_line(file, 1, lambda line: b"#" * (len(line) - 1) + b"\n")
    damaged = file.read_bytes()
    session = Session.open(file, repair=True)
    assert session.id == "0123456789abcdef", "the id in the file's name"
    assert session.messages() == messages
    assert session.close()
    assert file.read_bytes().startswith(damaged)
    again = Session.open(file, read_only=True)
    assert again.messages() == messages
    assert again.id == "0123456789abcdef"


def test_a_folder_in_place_of_a_file_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "x.jsonl"
    folder.mkdir()
    with pytest.raises(Exception, match="could not be read") as found:
        Session.open(folder, read_only=True)
    assert "\n" not in str(found.value)
