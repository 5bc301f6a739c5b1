"""The container panel: what it says in each state, and when it counts."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agent_tui.agent.events import MessageStartEvent, MessageUpdateEvent, OpaqueEvent
from agent_tui.agent.messages import AssistantMessage, OpaqueContent
from agent_tui.conversation.events import (
    ContainerChangedEvent,
    PermissionRequestEvent,
    ProgramRun,
)
from agent_tui.tui.panels.container_panel import ContainerPanel
from tests.tui.conftest import Drive, Driven
from tests.tui.fake_conversation import FakeConversation

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC).timestamp()
PAUSED = ContainerChangedEvent(
    "container_01abcXyz789", "paused", "2026-12-01T10:27:41Z",
    pending=2, reused=3, programs=2, last_output="one\ntwo\n",
    files=[
        {"file_id": "file_1", "name": "sales.csv", "size": 18_000},
        {"file_id": "file_2", "name": "chart.png", "size": 44_100},
        {"file_id": "file_3"},
    ],
    created_at=NOW - 100, answer_due_at=NOW + 232, calls=23, failed=1,
    runs=[
        ProgramRun("p1", 1, "failed", NOW - 90, 4.2, False, 1, None, 3, 1),
        ProgramRun("p2", 2, "running", NOW - 8, calls=20),
    ],
    kept_out_tokens_estimate=48_200, round_trips_saved=21,
)  # fmt: skip


@pytest.fixture
def panel_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of day that panels see; tests move it."""
    now = [NOW]
    monkeypatch.setattr(
        ContainerPanel.__init__, "__kwdefaults__", {"id": None, "clock": lambda: now[0]}
    )
    return now


def rows(d: Driven) -> list[str]:
    edge = d.app.panel.region.x
    lines = [line[edge + 1 :].strip() for line in d.screen.splitlines()]
    return [line for line in lines[2:-2] if line]


async def opened(d: Driven, event: Any = PAUSED) -> ContainerPanel:
    await d.press("f6")
    d.conv.emit(event)
    await d.until(lambda: event.id in d.screen)
    return d.app.query_one(ContainerPanel)


async def test_a_paused_container(drive: Drive, panel_clock: list[float]):
    async with drive(size=(120, 34)) as d:
        await opened(d)
        shown = [" ".join(row.split()) for row in rows(d)]
        assert shown == [
            "container_01abcXyz789 hosted",
            "⏸ paused, waiting for 2 calls",
            "expires in 27:41 reused 3 times",
            "answer due in 3:52",
            "programs 2 23 calls 1 failed",
            "in the whole session",
            "kept out of context ≈ 48,200 tokens",
            "round trips saved 21",
            "✗ program 1 exit 1 1 of 3 failed 4.2 s",
            "● program 2 20 calls 8 s",
            "files",
            "sales.csv 18 kB chart.png 44 kB",
            "file_3",
            "last output",
            "one",
            "two",
        ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": "created", "runs": [], "pending": 0}, "· created, no program yet"),
        ({"state": "busy", "pending": 0}, "● busy: program 2 runs"),
        ({"state": "paused", "pending": 1}, "⏸ paused, waiting for 1 call"),
        ({"state": "idle", "pending": 0}, "✓ idle"),
        ({"state": "expired"}, "⊘ expired; the next is fresh"),
    ],
)
async def test_each_state_has_its_words(
    drive: Drive, panel_clock: list[float], change: dict[str, Any], words: str
):
    async with drive(size=(120, 30)) as d:
        await opened(d, replace(PAUSED, **change))
        await d.shows(words)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (2 * 86_400 - 1, "expires in 47:59:59"),
        (3 * 86_400 + 5, "expires in 3 days"),
        (70 * 365 * 86_400, "expires in more than a year"),
    ],
)
async def test_a_far_end_is_told_in_days(
    drive: Drive, panel_clock: list[float], seconds: float, words: str
):
    async with drive(size=(120, 30)) as d:
        end = datetime.fromtimestamp(NOW + seconds, UTC).isoformat()
        await opened(d, replace(PAUSED, expires_at=end))
        await d.shows(words)


async def test_it_counts_down_to_the_end(drive: Drive, panel_clock: list[float]):
    async with drive(size=(120, 30)) as d:
        panel = await opened(d)
        panel_clock[0] = NOW + 231
        panel._tick()
        await d.shows("answer due in 1 s")
        panel_clock[0] = NOW + 300
        panel._tick()
        await d.shows("the answer is overdue")
        assert "expires in 22:41" in d.screen
        panel_clock[0] = NOW + 27 * 60 + 41
        panel._tick()
        await d.shows("expired; the next is fresh")
        assert "expires in" not in d.screen


async def test_its_timer_runs_only_while_it_is_seen_and_something_counts(
    drive: Drive, panel_clock: list[float]
):
    async with drive(size=(120, 30)) as d:
        panel = d.app.query_one(ContainerPanel)
        d.conv.emit(PAUSED)
        await d.settle()
        assert not panel.ticking, "the tools are shown"
        await d.press("f6")
        await d.until(lambda: panel.ticking)
        await d.press("f2")
        await d.until(lambda: not panel.ticking, "the panel is closed")
        await d.press("f2")
        await d.until(lambda: panel.ticking)
        still = replace(PAUSED, state="idle", expires_at=None, answer_due_at=None, runs=[])
        d.conv.emit(still)
        await d.until(lambda: not panel.ticking, "nothing counts")
        d.conv.emit(replace(PAUSED, state="expired"))
        await d.settle()
        assert not panel.ticking
        assert not d.app.presenter.moving, "and nothing else ticks for it"


async def test_a_face_that_comes_later_sees_the_container_of_the_session(drive: Drive):
    conv = FakeConversation()
    conv.container = replace(PAUSED, state="idle", expires_at=None, answer_due_at=None)
    async with drive(size=(120, 30), conv=conv) as d:
        await d.press("f6")
        await d.shows("container_01abcXyz789")


async def test_what_goes_out_with_the_next_message(drive: Drive):
    async with drive(size=(120, 30)) as d:
        await d.press("f6")
        upload = {"file_id": "file_9", "name": "data.csv", "size": 820}
        d.conv.emit(ContainerChangedEvent("", "created", attached=[upload]))
        await d.shows("with your next message")
        await d.shows("data.csv  820 B")


async def test_foreign_names_and_output_are_shown_safe(drive: Drive):
    async with drive(size=(120, 30)) as d:
        await d.press("f6")
        files = [{"name": "a\x1b]2;x\x07\u202eb.txt", "size": 1}]
        d.conv.emit(
            ContainerChangedEvent(
                "c\x1b[31m[/]", "idle", files=files, last_output="[bold]\x9b31m\x1b[2J end"
            )
        )
        await d.shows("[bold]")
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(d.screen)


async def test_a_long_id_shows_its_end(drive: Drive):
    async with drive(size=(100, 30)) as d:
        await d.press("f6")
        d.conv.emit(ContainerChangedEvent("container_" + "0" * 60 + "yz789", "idle"))
        await d.shows("yz789")
        assert any(row.startswith("…0") and row.endswith("hosted") for row in rows(d))


def test_the_clock_is_the_time_of_day():
    assert ContainerPanel()._clock is time.time


async def test_a_question_says_which_line_of_the_program_asks(drive: Drive):
    async with drive(size=(120, 30)) as d:
        code = "for r in rows:\n    await geocode(place=r)\n"
        raw = {"type": "server_tool_use", "id": "s1", "name": "code_execution"}
        whole = OpaqueContent(raw={**raw, "input": {"code": code}})
        d.conv.emit(MessageStartEvent(AssistantMessage(id="m")))
        d.conv.emit(MessageUpdateEvent("m", OpaqueEvent(0, "end", whole)))
        caller = {"type": "code_execution_20260120", "tool_id": "s1"}
        arguments = {"place": "Rome"}
        d.conv.emit(PermissionRequestEvent("r1", "c1", "geocode", arguments, caller, "", 1))
        await d.shows("asked by program 1, line 2")


async def test_a_program_that_was_given_up_is_said_to_be_held(
    drive: Drive, panel_clock: list[float]
):
    given_up = replace(PAUSED, pending=0, answer_due_at=None, held_until=NOW + 125)
    async with drive(size=(140, 40)) as d:
        await opened(d, given_up)
        assert any("paused, given up" in row for row in rows(d))
        assert any("the service holds it for 2:05" in row for row in rows(d)), rows(d)
