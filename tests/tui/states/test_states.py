"""Pictures of every state. `pytest --snapshot-update` renews them; look before you do.

A state is reached by what a person can press and what a server sends: test_reached_by_keys
holds the functions that play them to that.
"""

import ast
import getpass
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from pytest_textual_snapshot import normalize_svg

from tests.tui.states import (  # noqa: F401
    answers,
    calls,
    commands,
    composing,
    panels,
    programs,
    queueing,
    reading,
    servers,
    sessions,
    starting,
    troubles,
)
from tests.tui.states.harness import STATES, Picture, State, User

HERE = Path(__file__).parent
SNAPSHOTS = HERE / "__snapshots__" / "test_states"

MAIN = (
    "starting-no_key_is_the_demo",
    "answers-text_streams",
    "answers-table",
    "calls-edit_grows",
    "calls-several_run",
    "calls-command_is_asked_for",
    "queueing-steer_and_follow_up",
    "programs-container_is_paused",
    "servers-call_is_asked_for",
    "panels-loop_runs_calls",
    "commands-settings_page",
    "troubles-overloaded_is_tried_again",
)
"""The states that are drawn at other widths and in the light, too."""

LOOKS: dict[str, dict[str, Any]] = {
    "40-columns": {"size": (40, 24)},
    "80-columns": {"size": (80, 24)},
    "200-columns": {"size": (200, 40)},
    "light": {"theme": "light"},
}
OTHER_LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "high-contrast": ("calls-several_run", {"theme": "high-contrast"}),
    "ansi": ("calls-several_run", {"theme": "ansi"}),
    "no-color": ("calls-edit_grows", {"environ": {"NO_COLOR": "1"}}),
    "ascii": ("programs-container_is_paused", {"environ": {"TERM": "dumb"}}),
}


@pytest.fixture
def picture(
    snap_compare: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Picture:  # fmt: skip
    """picture(state, **look): takes it in ~/src/shop and compares it."""
    kept = SNAPSHOTS / f"{request.node.name}.svg"
    renewed = request.config.getoption("update_snapshots")
    expected = None if renewed or not kept.exists() else normalize_svg(kept.read_text("utf-8"))
    return Picture(snap_compare, monkeypatch, tmp_path, expected)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_state(picture: Picture, state: State) -> None:
    assert picture(state)


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("look", LOOKS)
def test_main_state(picture: Picture, name: str, look: str) -> None:
    assert picture(STATES[name], **LOOKS[look])


@pytest.mark.parametrize("look", OTHER_LOOKS)
def test_other_look(picture: Picture, look: str) -> None:
    name, how = OTHER_LOOKS[look]
    assert picture(STATES[name], **how)


# --- what holds for all of them -----------------------------------------------------------------


def test_there_are_enough_that_differ() -> None:
    """80 different pictures, before sizes and themes are counted."""
    drawn = [(SNAPSHOTS / f"test_state[{name}].svg").read_text("utf-8") for name in STATES]
    assert len(set(drawn)) >= 80
    assert len(set(drawn)) == len(drawn), "two states look the same: one of them shows nothing"


def test_no_picture_of_a_state_that_is_gone() -> None:
    kept = {path.name for path in SNAPSHOTS.glob("test_state*.svg")}
    assert kept == {f"test_state[{name}].svg" for name in STATES}


_KEYBOARD = {name for name in vars(User) if not name.startswith("_")}


_PLAYED = [
    path for path in sorted(HERE.glob("*.py"))
    if path.stem not in ("__init__", "harness", "test_states")
]  # fmt: skip


@pytest.mark.parametrize("path", _PLAYED, ids=lambda path: path.stem)
def test_reached_by_keys(path: Path) -> None:
    """The functions that play a state have the user's keys and eyes, and reach nothing else: no
    widget, no conversation, no event of their own."""
    tree = ast.parse(path.read_text("utf-8"))
    imported = {
        name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom)
                     else [alias.name for alias in node.names])
    }  # fmt: skip
    assert imported <= {"typing", "tests.tui.states.harness"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_"), node.attr
            if isinstance(node.value, ast.Name) and node.value.id == "user":
                assert node.attr in _KEYBOARD, node.attr


def test_no_picture_names_a_machine() -> None:
    """No path, user or host of whoever took it."""
    forbidden = [r"/home/", r"/root\b", r"/Users/", r"pytest-of", re.escape(str(Path.home()))]
    forbidden += [re.escape(n) for n in (getpass.getuser(), socket.gethostname()) if len(n) > 4]
    named = re.compile("|".join(forbidden))
    pictures = sorted((HERE.parents[1]).rglob("__snapshots__/**/*.svg"))
    assert pictures
    for path in pictures:
        found = named.search(path.read_text("utf-8").replace("&#160;", " "))
        assert found is None, f"{path.name}: {found}"
