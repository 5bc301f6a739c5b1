"""Every recorded answer on the page: streamed as stored, each block visible, nothing unsafe."""

import re
from pathlib import Path

import pytest

from agent_tui.agent.events import AgentEndEvent
from agent_tui.agent.messages import OpaqueContent
from agent_tui.tui.transcript import tool_text

from .harness import Page
from .replaying import played, recordings, stored

_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TIME = re.compile(r"thought for \d+ s")

every_recording = pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)


def without_times(rows: list[str]) -> list[str]:
    return [_TIME.sub("thought", row) for row in rows]


@every_recording
@pytest.mark.parametrize("opened", [False, True])
def test_streamed_and_stored_show_the_same(
    path: Path, opened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for a call without a result: only who looked on knows that it did not run."""
    monkeypatch.setattr(tool_text, "NO_RESULT", "not run")
    live, later = Page(), Page()
    live.modes.tools_open = later.modes.tools_open = opened
    streamed = live.apply(*played(path), AgentEndEvent([]))
    message = stored(path)
    assert without_times(streamed) == without_times(later.load(message)) or _interrupted(message)
    for row in streamed:
        assert _UNSAFE.search(row) is None


def _interrupted(message: object) -> bool:
    """What was cut while it streamed: how it stood then is not stored."""
    return getattr(message, "stop_reason", "") == "error"


@every_recording
@pytest.mark.parametrize("width", [20, 40])
def test_it_fits_a_narrow_screen(path: Path, width: int) -> None:
    page = Page(width=width)
    page.modes.tools_open = True
    for line in (page.load(stored(path)), page.lines())[1]:
        assert sum(segment.cell_length for segment in line.segments) <= width


@every_recording
def test_no_block_of_the_api_is_silent(path: Path) -> None:
    """Each adds a row of its own or changes the row of the call that it answers."""
    message = stored(path)
    for index, content in enumerate(message.content):
        if not isinstance(content, OpaqueContent):
            continue
        before = message.model_copy(update={"content": message.content[:index]})
        after = message.model_copy(update={"content": message.content[: index + 1]})
        assert Page().load(before) != Page().load(after), content.raw.get("type")
