"""Which sessions there are: lists from the ends of files, ids by prefix (E09, E11, E12, E16)."""

import os
from pathlib import Path

import pytest
from session_making import assistant, user

from agent_tui.agent.messages import ImageContent, TextContent, UserMessage
from agent_tui.sessions import (
    NoSessionYetError,
    Session,
    SessionAmbiguousError,
    SessionElsewhereError,
    SessionInfo,
    SessionNotFoundError,
    find,
    index,
    list_all,
    list_sessions,
    newest,
)
from agent_tui.sessions.index import PROMPT_LENGTH, SAMPLE, read_info


def make(home: Path, cwd: str, prompt: str, modified: float, more: int = 0) -> Path:
    session = Session.create(cwd, home)
    session.record_model("m")
    session.append_message(user(prompt))
    for n in range(more):
        session.append_message(assistant(f"answer {n}"))
    assert session.close()
    assert session.path is not None
    os.utime(session.path, (modified, modified))
    return session.path


def rename(path: Path, session_id: str) -> Path:
    return path.rename(path.with_name(f"20260101T000000_{session_id}.jsonl"))


def test_the_last_changed_comes_first(tmp_path: Path) -> None:
    make(tmp_path, "/projects/a", "oldest", 100.0)
    make(tmp_path, "/projects/a", "newest", 300.0, more=4)
    make(tmp_path, "/projects/a", "middle", 200.0)
    make(tmp_path, "/projects/b", "other folder", 400.0)
    here = list_sessions("/projects/a", tmp_path)
    assert [i.first_prompt for i in here] == ["newest", "middle", "oldest"]
    assert [i.messages for i in here] == [5, 1, 1]
    assert all(i.exact and not i.damage and i.cwd == "/projects/a" for i in here)
    assert [i.modified for i in here] == [300.0, 200.0, 100.0]
    everywhere = list_all(tmp_path)
    assert [i.cwd for i in everywhere] == [
        "/projects/b",
        "/projects/a",
        "/projects/a",
        "/projects/a",
    ]
    latest = newest("/projects/a", tmp_path)
    assert latest is not None
    assert latest.first_prompt == "newest"


def test_where_nothing_is_there_is_nothing(tmp_path: Path) -> None:
    assert list_sessions("/projects/a", tmp_path) == []
    assert list_all(tmp_path) == []
    assert newest("/projects/a", tmp_path) is None
    with pytest.raises(SessionNotFoundError):
        find("abc", "/projects/a", tmp_path)
    assert list(tmp_path.iterdir()) == [], "looking makes no folders"


def test_a_folder_is_the_same_by_every_name(tmp_path: Path) -> None:
    folder, link = tmp_path / "real", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    make(tmp_path / "home", str(folder), "hello", 1.0)
    assert len(list_sessions(f"{link}/", tmp_path / "home")) == 1


def test_a_huge_file_is_listed_by_its_ends(tmp_path: Path) -> None:
    """Sparse: whoever reads 20 GB of it does not come back in time."""
    path = make(tmp_path, "/projects/a", "hello", 1.0, more=500)
    os.truncate(path, 20 * 1024**3)
    info = read_info(path)
    assert info is not None
    assert info.first_prompt == "hello"
    assert not info.exact
    assert info.size == 20 * 1024**3


def test_the_count_of_a_long_session_is_about_right(tmp_path: Path) -> None:
    path = make(tmp_path, "/projects/a", "hello", 1.0, more=3000)
    assert path.stat().st_size > 4 * SAMPLE
    info = read_info(path)
    assert info is not None
    assert not info.exact
    assert 2700 < info.messages < 3300


@pytest.mark.parametrize("shift", [0, 40, 100])
def test_the_users_prompts_are_counted_and_only_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    """Also where one lies across two of the pieces that are read."""
    monkeypatch.setattr(index, "_CHUNK", 256)
    session = Session.create("/projects/a", tmp_path)
    assert session.path is not None
    seen: list[int] = []
    for n in range(30):
        session.append_message(UserMessage.model_validate({"content": "x" * (shift + n)}))
        said = '"message":{"id":"a","timestamp":1.0,"role":"user"'
        session.append_message(assistant(said))
        session.append_message(assistant("more " * 50))
        if n % 5 == 4:
            assert session.flush()
            info = read_info(session.path)
            assert info is not None and info.prompts_whole
            seen.append(info.prompts)
    session.close()
    assert seen == [5, 10, 15, 20, 25, 30], "what only quotes one is none"


def test_of_a_vast_session_the_prompts_of_its_beginning_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path, "/projects/a", "hello", 1.0, more=3)
    for size, whole in ((index.COUNTED, True), (index.COUNTED + 1, False)):
        os.truncate(path, size)
        info = read_info(path)
        assert info is not None and (info.prompts, info.prompts_whole) == (1, whole)


def test_the_first_prompt_is_one_short_line(tmp_path: Path) -> None:
    make(tmp_path, "/projects/a", "one\n\n  two\t" + "three " * 1000, 1.0)
    [info] = list_sessions("/projects/a", tmp_path)
    assert info.first_prompt.startswith("one two three three")
    assert len(info.first_prompt) <= PROMPT_LENGTH


def test_the_first_prompt_is_found_beside_a_large_image(tmp_path: Path) -> None:
    session = Session.create("/projects/a", tmp_path)
    image = ImageContent(data="A" * 3 * SAMPLE, media_type="image/png")
    session.append_message(UserMessage(content=[TextContent(text='what "is" é?'), image]))
    session.close()
    [info] = list_sessions("/projects/a", tmp_path)
    assert info.first_prompt == 'what "is" é?'
    assert not info.damage


def listed(path: Path) -> SessionInfo:
    info = read_info(path)
    assert info is not None
    return info


def test_damaged_and_newer_ones_are_listed_each_with_its_reason(tmp_path: Path) -> None:
    """E12."""
    sound = make(tmp_path, "/projects/a", "sound", 1.0)
    data = sound.read_bytes()
    headless = rename(make(tmp_path, "/projects/a", "x", 2.0), "aaaa")
    headless.write_bytes(b"#" + data)
    newer = rename(make(tmp_path, "/projects/a", "x", 3.0), "bbbb")
    newer.write_bytes(data.replace(b'"version":1', b'"version":9', 1))
    torn = rename(make(tmp_path, "/projects/a", "x", 4.0), "cccc")
    torn.write_bytes(data[:-5])
    holed = rename(make(tmp_path, "/projects/a", "x", 5.0), "dddd")
    holed.write_bytes(data.replace(b'"model"', b'"mo\x00el"', 1))
    empty = rename(make(tmp_path, "/projects/a", "x", 6.0), "eeee")
    empty.write_bytes(b"")
    reasons = [listed(path).damage for path in (headless, newer, torn, holed, empty)]
    assert "first line" in reasons[0] or "line 1" in reasons[0]
    assert "newer" in reasons[1]
    assert "cut short" in reasons[2]
    assert "line 2" in reasons[3]
    assert "first line" in reasons[4]
    assert not listed(sound).damage
    assert len(list_sessions("/projects/a", tmp_path)) == 6
    assert [listed(path).id for path in (headless, newer, empty)] == ["aaaa", "bbbb", "eeee"]


def test_files_that_may_not_be_read_are_left_out(tmp_path: Path) -> None:
    path = make(tmp_path, "/projects/a", "hello", 1.0)
    (path.parent / "20260101T000000_folder.jsonl").mkdir()
    (path.parent / "note.txt").write_text("x", encoding="utf-8")
    assert [i.path for i in list_sessions("/projects/a", tmp_path)] == [path]


def test_an_id_is_found_by_its_beginning(tmp_path: Path) -> None:
    one = rename(make(tmp_path, "/projects/a", "one", 1.0), "abcd1111")
    rename(make(tmp_path, "/projects/a", "two", 2.0), "abce2222")
    assert find("abcd", "/projects/a", tmp_path).path == one
    assert find("abcd1111", "/projects/a", tmp_path).path == one
    with pytest.raises(SessionAmbiguousError, match="abce2222") as found:
        find("abc", "/projects/a", tmp_path)
    assert sorted(found.value.matches) == ["abcd1111", "abce2222"]


def test_a_whole_id_wins_over_longer_ones(tmp_path: Path) -> None:
    one = rename(make(tmp_path, "/projects/a", "one", 1.0), "abcd")
    rename(make(tmp_path, "/projects/a", "two", 2.0), "abcd2222")
    assert find("abcd", "/projects/a", tmp_path).path == one


def test_an_unknown_id_names_the_nearest(tmp_path: Path) -> None:
    rename(make(tmp_path, "/projects/a", "one", 1.0), "abcd1111")
    rename(make(tmp_path, "/projects/b", "two", 2.0), "ffff9999")
    with pytest.raises(SessionNotFoundError, match="abcd1111") as found:
        find("abdc", "/projects/a", tmp_path)
    assert found.value.nearest == ["abcd1111"]
    for nothing in ("zzzz", "", "x" * 5000):
        with pytest.raises(SessionNotFoundError) as lost:
            find(nothing, "/projects/a", tmp_path)
        assert lost.value.nearest == []


def test_a_folder_without_sessions_says_what_to_do() -> None:
    error = NoSessionYetError("/projects/a\x1b[31m")
    assert isinstance(error, SessionNotFoundError)
    assert "No conversation was kept in /projects/a" in str(error)
    assert "\x1b" not in str(error), "a folder's name is foreign text"


def test_a_session_of_another_folder_is_named_with_it(tmp_path: Path) -> None:
    """E16."""
    path = rename(make(tmp_path, "/projects/b", "two", 2.0), "ffff9999")
    with pytest.raises(SessionElsewhereError, match="belongs to /projects/b") as found:
        find("ffff", "/projects/a", tmp_path)
    assert (found.value.cwd, found.value.path) == ("/projects/b", path)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("left", [0, 9, -1])
def test_one_killed_before_its_first_record_hides_no_older_one(tmp_path: Path, left: int) -> None:
    make(tmp_path, "/projects/a", "kept", 100.0)
    killed = make(tmp_path, "/projects/a", "lost", 200.0)
    header, newline, _ = killed.read_bytes().partition(b"\n")
    killed.write_bytes(header + newline if left < 0 else header[:left])
    os.utime(killed, (200.0, 200.0))
    latest = newest("/projects/a", tmp_path)
    assert latest is not None
    assert latest.first_prompt == "kept"
    damaged = make(tmp_path, "/projects/a", "its header is broken", 300.0)
    damaged.write_bytes(b"#" + damaged.read_bytes())
    os.utime(damaged, (300.0, 300.0))
    latest = newest("/projects/a", tmp_path)
    assert latest is not None
    assert latest.path == damaged, "what holds records is not passed over in silence"
