"""Pictures of every state. `pytest --snapshot-update` renews them; look before you do."""

from pathlib import Path
from typing import Any

import pytest

from tests.tui.states import (  # noqa: F401
    answers,
    calls,
    composing,
    queueing,
    starting,
    troubles,
)
from tests.tui.states.harness import STATES, Picture, State


@pytest.fixture
def picture(
    snap_compare: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path
) -> Picture:
    """picture(state, **look): takes it in ~/src/shop and compares it."""
    return Picture(snap_compare, monkeypatch, tmp_path)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_state(picture: Picture, state: State) -> None:
    assert picture(state)
