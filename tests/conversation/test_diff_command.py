"""/diff: one diff per file against what was first seen, from the calls of the session."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.conversation.session_diff import _CannotUndo, session_diffs, undone
from agent_tui.sessions.store import Session
from agent_tui.tools.diffs import changed_lines, split_lines, unified_diff
from tests.faults.helpers import Turn, talking

TEXTS = st.text(alphabet="ab\n", max_size=40)


@given(TEXTS, TEXTS)
def test_a_diff_undone_gives_what_it_was_made_from(old: str, new: str) -> None:
    before, after = split_lines(old), split_lines(new)
    diff = unified_diff(before, after, changed_lines(before, after), "f")
    if diff:
        assert undone(after, diff) == before


@given(TEXTS, TEXTS, TEXTS)
def test_other_text_is_never_undone_wrongly(old: str, new: str, other: str) -> None:
    """Either it cannot be undone, or doing it again gives the text back."""
    before, after = split_lines(old), split_lines(new)
    diff = unified_diff(before, after, changed_lines(before, after), "f")
    try:
        found = undone(split_lines(other), diff)
    except _CannotUndo:
        return
    if "\\ No newline" not in diff:
        again = unified_diff(
            found, split_lines(other), changed_lines(found, split_lines(other)), ""
        )
        assert sorted(x for x in again.split("\n")[2:] if x[:1] in "+-") == sorted(
            x for x in diff.split("\n")[2:] if x[:1] in "+-"
        )


def calls(*made: tuple[str, dict[str, Any]]) -> list[Turn]:
    """A turn for each call, so that they happen one after the other."""
    turns: list[Turn] = [{"tool_calls": [{"name": name, "input": args}]} for name, args in made]
    return [*turns, {"text": "done"}]


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return ("edit", {"path": path, "edits": [{"old": old, "new": new}]})


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return ("write", {"path": path, "content": content})


ALLOW = ("write", "edit", "read")
CART = "def total(items):\n    return sum(items)\n"


async def test_many_calls_are_one_diff_for_each_file(tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text(CART)
    made = calls(
        ("read", {"path": "cart.py"}),
        edit("cart.py", "sum(items)", "sum(fix(items))"),
        write("new.txt", "one\n"),
        edit("cart.py", "sum(fix(items))", "sum(prices(items))"),
        edit("new.txt", "one", "two"),
    )
    kept = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(*made, cwd=tmp_path, session=kept, allow=ALLOW) as talk:
        await talk.say("go")
        result = await talk.conversation.command("/diff")
        assert result.data is not None
        cart, new = result.data["files"]
        assert (cart["path"], cart["calls"], cart["whole"]) == ("cart.py", 2, True)
        assert cart["diff"].split("\n")[2:] == [
            "@@ -1,2 +1,2 @@",
            " def total(items):",
            "-    return sum(items)",
            "+    return sum(prices(items))",
            "",
        ]
        assert new["diff"].split("\n")[2:] == ["@@ -0,0 +1 @@", "+two", ""]
        assert "`cart.py`  +1 -1, 2 calls" in result.text and "```diff\n--- cart.py" in result.text
        one = await talk.conversation.command("/diff new.txt")
        assert one.data is not None and [f["path"] for f in one.data["files"]] == ["new.txt"]
        wrong = await talk.conversation.command("/diff old.txt")
        assert wrong.error is not None and "`cart.py`, `new.txt`" in wrong.error
        assert talk.conversation.completions("/diff c") == [("/diff cart.py", "")]
        path = kept.path
    assert path is not None
    resumed = Session.open(path)
    assert [f.diff for f in session_diffs(resumed.messages(), str(tmp_path))] == [
        cart["diff"],
        new["diff"],
    ], "the same after a resume"
    resumed.close()


async def test_what_was_changed_back_is_no_change(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    made = calls(("read", {"path": "a"}), edit("a", "x", "y"), edit("a", "y", "x"))
    async with talking(*made, cwd=tmp_path, allow=ALLOW) as talk:
        await talk.say("go")
        result = await talk.conversation.command("/diff")
        assert result.text == "This session has changed no file by write or edit."


@pytest.mark.parametrize("then", ["z\n", None, "binary"])
async def test_a_file_that_others_changed_too_shows_the_calls(
    tmp_path: Path, then: str | None
) -> None:
    (tmp_path / "a").write_text("x\n")
    made = calls(("read", {"path": "a"}), edit("a", "x", "y"), edit("a", "y", "```w"))
    async with talking(*made, cwd=tmp_path, allow=ALLOW) as talk:
        await talk.say("go")
        if then is None:
            (tmp_path / "a").unlink()
        else:
            (tmp_path / "a").write_bytes(b"\0\1" if then == "binary" else then.encode())
        result = await talk.conversation.command("/diff")
        assert result.data is not None
        (one,) = result.data["files"]
        assert not one["whole"] and "-x\n+y\n" in one["diff"] and "-y\n+```w" in one["diff"]
        assert "Something else has changed this file too" in result.text
        assert "````diff" in result.text, "a fence longer than any inside"


async def test_nothing_changed_is_said(tmp_path: Path) -> None:
    async with talking({"text": "fine"}, cwd=tmp_path) as talk:
        result = await talk.conversation.command("/diff")
        assert result.text == "This session has changed no file by write or edit."
        assert result.data == {"files": []}
