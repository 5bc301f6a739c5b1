"""The user's keys: what is wrong with them is named, with what to do."""

import pytest

from agent_tui.tui.key_problems import key_problems, keys_table, wrong_name
from agent_tui.tui.keys import KEYS, KeyTable


def test_the_keys_there_are_have_no_problem() -> None:
    assert key_problems(KeyTable()) == []
    for key in KEYS:
        for name in KeyTable().keys_of(key):
            assert wrong_name(name) == "", name


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sned": "f9"}, "keys.sned: there is no key of this name: did you mean send?"),
        ({"zzz": "f9"}, "keys.zzz: there is no key of this name: /keys lists the names."),
        (
            {"editor": "ctrl+o"},
            "keys.editor: Ctrl+O is also fold_tools and now does editor; give keys.fold_tools "
            "another key, or this one.",
        ),
        (
            {"queue_edit": "d"},
            "keys.queue_edit: d is also queue_withdraw and now does queue_edit; give "
            "keys.queue_withdraw another key, or this one.",
        ),
        (
            {"editor": "Ctrl+s"},
            "keys.editor = Ctrl+s: Ctrl is no modifier; they are ctrl, alt, shift and super in "
            "small letters.",
        ),
        ({"editor": "ctrl+"}, "keys.editor = ctrl+: the key itself is missing; write plus for +."),
        ({"editor": "/"}, "keys.editor = /: write its name, slash."),
        ({"editor": "entr"}, "keys.editor = entr: no key is called so; did you mean enter?"),
    ],
)
def test_each_problem_says_what_to_do(changes: dict[str, str], problem: str) -> None:
    assert key_problems(KeyTable(changes)) == [problem]


@pytest.mark.parametrize(
    "changes",
    [
        {"editor": "ctrl+e,alt+e"},
        {"editor": "ctrl+o", "fold_tools": "ctrl+g"},
        {"queue_edit": "ctrl+o"},
        {"stop": "underscore"},
        {"stop": "ctrl+question_mark"},
    ],
)
def test_what_is_right_is_not_a_problem(changes: dict[str, str]) -> None:
    assert key_problems(KeyTable(changes)) == []


def test_two_changes_that_clash_are_told_once() -> None:
    (problem,) = key_problems(KeyTable({"editor": "f12", "recall": "f12"}))
    assert "F12 is also" in problem


def test_a_changed_key_wins_over_one_that_was_there() -> None:
    for changed, old in (("fold_tools", "editor"), ("editor", "fold_tools")):
        key = next(KeyTable().keys_of(k)[0] for k in KEYS if k.id == old)
        action = next(k.action for k in KEYS if k.id == changed)
        assert KeyTable({changed: key}).actions()[key].removeprefix("app.") == action


def test_the_table_names_every_key_and_what_is_changed() -> None:
    text = keys_table(KeyTable({"editor": "ctrl+e"}))
    for key in KEYS:
        if key.where != "dialog":
            assert f"| `{key.id}`" in text
    assert "| `Ctrl+E` | `editor` (changed) |" in text and "To mend" not in text
    assert "To mend:\n\n- keys.sned" in keys_table(KeyTable({"sned": "x"}))
