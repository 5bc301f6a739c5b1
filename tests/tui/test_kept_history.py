"""What was sent outlives the app: a private file for each folder, bounded, none where unwanted."""

import json
from pathlib import Path

from agent_tui import paths
from agent_tui.tui.input_history import InputHistory
from agent_tui.tui.kept_history import LONGEST, KeptHistory


def start(cwd: str, size: int = 100) -> tuple[InputHistory, KeptHistory]:
    past = InputHistory()
    kept = KeptHistory(past)
    kept.take(kept.open(cwd, size))
    return past, kept


def file_of(cwd: str) -> Path:
    return paths.history_dir() / f"{paths.folder_slug(cwd)}.jsonl"


def test_the_next_start_has_it_and_another_folder_has_not(tmp_path: Path) -> None:
    here, there = str(tmp_path / "a"), str(tmp_path / "b")
    past, kept = start(here)
    for text in ("one", "two\nlines", "/login sk-ant-secret", "/login sk-ant-secret"):
        past.add(text)
    past.add("of an earlier session", earlier=True)
    kept.close()
    again, _ = start(here)
    assert again.entries == ["one", "two\nlines", "/login"]
    assert start(there)[0].entries == []
    assert file_of(here).stat().st_mode & 0o777 == 0o600
    assert "sk-ant" not in file_of(here).read_text()


def test_what_was_sent_before_it_was_read_comes_after_it(tmp_path: Path) -> None:
    past, kept = start(str(tmp_path))
    past.add("old")
    kept.close()
    later = InputHistory()
    later.add("typed at once")
    keeper = KeptHistory(later)
    keeper.take(keeper.open(str(tmp_path), 100))
    assert later.entries == ["old", "typed at once"]


def test_so_many_are_kept_and_none_where_the_setting_says_so(tmp_path: Path) -> None:
    cwd = str(tmp_path)
    past, kept = start(cwd, size=3)
    for number in range(10):
        past.add(str(number))
    kept.close()
    assert start(cwd, size=3)[0].entries == ["7", "8", "9"]
    assert len(file_of(cwd).read_text().splitlines()) == 3, "it was made short again"
    silent, kept = start(cwd, size=0)
    silent.add("unkept")
    kept.close()
    assert silent.entries == ["unkept"]
    assert "unkept" not in file_of(cwd).read_text()


def test_a_line_that_was_cut_costs_that_line_only(tmp_path: Path) -> None:
    cwd = str(tmp_path)
    file_of(cwd).write_bytes(b'"one"\n{"no": "text"}\n"tw\xff\n\n"three"\n"fou')
    past, kept = start(cwd)
    assert past.entries == ["one", "three"]
    past.add("five")
    kept.close()
    assert start(cwd)[0].entries == ["one", "three", "five"]


def test_a_megabyte_is_not_kept(tmp_path: Path) -> None:
    past, kept = start(str(tmp_path))
    past.add("x" * (LONGEST + 1))
    past.add("short")
    kept.close()
    assert json.loads(file_of(str(tmp_path)).read_text()) == "short"


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path / "file"))
    past, kept = start(str(tmp_path))
    past.add("one")
    kept.close()
    assert past.entries == ["one"]
