"""What a write or an edit would change, told before it does."""

from pathlib import Path
from typing import Any

import pytest

from agent_tui.tools.preview import Preview, preview


def edit(*pairs: tuple[str, str], path: str = "a.txt") -> dict[str, Any]:
    return {"path": path, "edits": [{"old": old, "new": new} for old, new in pairs]}


def test_an_edit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    seen = preview("edit", edit(("two", "2")), str(tmp_path))
    assert seen == Preview("--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"


def test_a_write_over_a_file_and_of_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    seen = preview("write", {"path": "a.txt", "content": "uno\n"}, str(tmp_path))
    assert seen == Preview("--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+uno\n")
    new = preview("write", {"path": "sub/b.txt", "content": "b"}, str(tmp_path))
    assert new.diff.endswith("+b\n\\ No newline at end of file\n")
    assert new.note == "The file does not exist yet."
    assert not (tmp_path / "sub").exists(), "nothing is made by looking"


def test_an_edit_that_would_fail_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    seen = preview("edit", edit(("two", "2")), str(tmp_path))
    assert seen.diff == "" and "would fail" in seen.note
    gone = preview("edit", edit(("two", "2"), path="no.txt"), str(tmp_path))
    assert "does not exist" in gone.note


def test_what_has_no_diff_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\0\1\2")
    assert "binary" in preview("write", {"path": "a.txt", "content": "x"}, str(tmp_path)).note
    (tmp_path / "b.txt").write_text("same\n", encoding="utf-8")
    same = preview("write", {"path": "b.txt", "content": "same\n"}, str(tmp_path))
    assert same == Preview(note="Nothing would change.")
    long = "".join(f"line {n}\n" for n in range(9000))
    seen = preview("write", {"path": "c.txt", "content": long}, str(tmp_path))
    assert seen.diff == "" and "too long" in seen.note, "a diff that is cut hides what would run"


def test_a_link_is_told(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("one\n", encoding="utf-8")
    (tmp_path / "a.txt").symlink_to("real.txt")
    seen = preview("edit", edit(("one", "1")), str(tmp_path))
    assert "+1" in seen.diff and str(tmp_path / "real.txt") in seen.note


@pytest.mark.parametrize(
    "arguments", [{}, {"path": 3}, {"path": "a", "edits": 5}, {"path": "\0", "content": "x"}]
)
def test_odd_arguments_give_no_diff(arguments: dict[str, Any], tmp_path: Path) -> None:
    for name in ("write", "edit"):
        assert preview(name, arguments, str(tmp_path)).diff == ""


def test_other_tools_have_none(tmp_path: Path) -> None:
    assert preview("shell", {"command": "ls"}, str(tmp_path)) == Preview()
