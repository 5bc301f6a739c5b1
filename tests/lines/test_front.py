"""When plain lines are opened: by the flag, by the setting, and where nothing can be drawn."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.front import plain_lines_wanted
from agent_tui.front_options import Options


@pytest.mark.parametrize(
    ("flags", "setting", "term", "wanted"),
    [
        ({}, False, "xterm-256color", False),
        ({"screen_reader": True}, False, "xterm-256color", True),
        ({}, True, "xterm-256color", True),
        ({}, False, "dumb", True),
        ({}, False, "", False),
    ],
)
def test_who_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch, flags: dict[str, Any], setting: bool, term: str, wanted: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    settings = SimpleNamespace(screen_reader=setting)
    assert plain_lines_wanted(Options(flags=flags), settings) is wanted
