from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.agent.events import MessageStartEvent, MessageUpdateEvent, TextDeltaEvent
from agent_tui.agent.messages import AssistantMessage
from agent_tui.conversation.events import RetryEvent, SettingChangedEvent, UsageChangedEvent
from agent_tui.money import money
from tests.tui.conftest import Drive, Driven


@pytest.mark.parametrize(
    ("cost", "shown"), [(None, "$?"), (0.0, "$0.000"), (0.0421, "$0.042"), (12.345, "$12.35")]
)
def test_money(cost: float | None, shown: str):
    assert money(cost) == shown


def last(d: Driven) -> str:
    return d.screen.splitlines()[-1]


async def test_it_says_status_model_effort_context_cost_and_rate(drive: Drive):
    async with drive(size=(160, 30)) as d:
        d.conv.set_status("streaming")
        d.conv.emit(UsageChangedEvent(1, 2, 3, 4, 0.0421, 36_000, 200_000))
        d.conv.emit(MessageStartEvent(AssistantMessage(id="m")))
        for _ in range(20):
            d.conv.emit(MessageUpdateEvent("m", TextDeltaEvent(0, "x" * 24)))
            d.clock.pass_(0.1)
        d.app.view.tick()
        await d.until(lambda: "tok/s" in last(d))
        assert last(d).startswith(
            " streaming · claude-sonnet-5-5 high · context 18 % · $0.042 · 57 tok/s"
        )
        d.conv.set_status("ready")
        await d.until(lambda: "tok/s" not in last(d))


@pytest.mark.parametrize("status", ["ready", "waiting", "streaming", "tools", "stopping"])
async def test_every_status_is_shown(drive: Drive, status):
    async with drive(size=(100, 20)) as d:
        d.conv.set_status("tools")
        d.conv.set_status(status)
        await d.until(lambda: last(d).startswith(f" {status}"))


async def test_model_and_effort_follow_changes(drive: Drive):
    async with drive() as d:
        d.conv.emit(SettingChangedEvent("model", "claude-opus-5"))
        d.conv.emit(SettingChangedEvent("thinking", "max"))
        await d.until(lambda: "claude-opus-5 max" in last(d))


async def test_hints_follow_the_state(drive: Drive):
    async with drive() as d:
        assert "Enter send" in last(d)
        d.conv.set_status("tools")
        await d.until(lambda: "Enter steer" in last(d) and "Esc stop" in last(d))
        d.conv.queue_item("steer", "x")
        await d.press("escape")
        await d.until(lambda: "Ctrl+C twice: leave now" in last(d))
        d.conv.queue_changed()
        d.conv.set_status("ready")
        await d.until(lambda: "Enter resume" in last(d))


async def test_when_narrow_the_model_is_short_and_nothing_wraps(drive: Drive):
    async with drive(size=(60, 12)) as d:
        d.conv.emit(UsageChangedEvent(1, 2, 3, 4, 0.04, 36_000, 200_000))
        await d.until(lambda: "18 %" in last(d))
        assert "sonnet-5-5" in last(d) and "claude" not in last(d)
        assert len(last(d)) <= 60


async def test_the_narrowest_line_says_the_most_needed_keys_before_any_number(drive: Drive):
    async with drive(size=(40, 20)) as d:
        d.conv.emit(UsageChangedEvent(1, 2, 3, 4, 0.04, 36_000, 200_000))
        await d.until(lambda: "Enter send  F1 help" in last(d))
        assert "$" not in last(d)
        d.conv.set_status("streaming")
        await d.until(lambda: "Enter steer  Esc stop" in last(d))
        d.conv.queue_item("steer", "x")
        await d.press("f3")
        await d.until(lambda: "Enter edit  Esc back" in last(d))
        assert max(map(len, d.screen.splitlines())) <= 40


@pytest.mark.parametrize("status", ["ready", "streaming", "tools"])
async def test_at_80_columns_help_stands_before_the_price(drive: Drive, status: Any):
    async with drive(size=(80, 24)) as d:
        d.conv.set_status(status)
        d.conv.emit(UsageChangedEvent(1, 2, 3, 4, 0.04, 36_000, 200_000))
        await d.until(lambda: status == "ready" or "Esc stop" in last(d))
        await d.until(lambda: "F1 help" in last(d))
        assert "claude-sonnet-5-5 high" in last(d)
        assert len(last(d)) <= 80


async def test_in_a_mode_a_sentence_leaves_the_keys(drive: Drive):
    async with drive(size=(80, 24)) as d:
        d.conv.set_status("tools")
        for text in ("one", "two", "a longer one that has many words to be withdrawn"):
            d.conv.queue_item("steer", text)
        await d.press("f3", "d")
        await d.until(lambda: last(d).startswith(' Withdrawn: "'))
        assert "Enter edit  Esc back" in last(d) and len(last(d)) <= 80


async def test_while_paused_in_a_run_enter_is_said_to_resume(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        d.conv.queue_item("steer", "x")
        d.conv.queue_pause()
        await d.until(lambda: "Enter resume" in last(d))
        await d.type("y")
        await d.until(lambda: "Enter steer" in last(d))


async def test_an_errand_brings_its_own_words(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        d.app.desk.ask_why_stop("c1")
        await d.until(lambda: "Enter stop it  Esc let it go on" in last(d))
        await d.press("escape")
        d.app.desk.ask_reason("r1")
        await d.until(lambda: "Enter send  Esc back" in last(d))


async def test_a_silent_server_is_seen_and_counted_towards_the_next_try(drive: Drive):
    """Fault A20: never a still screen that says nothing."""
    settings = SimpleNamespace(theme="dark", idle_timeout_s=120.0)
    async with drive(settings=settings) as d:
        d.conv.set_status("waiting")
        d.clock.pass_(2)
        d.app.view.tick()
        assert "no answer" not in d.screen
        d.clock.pass_(10)
        d.app.view.tick()
        await d.shows("waiting no answer for 12 s (asks again at 120 s)")
        d.conv.emit(MessageUpdateEvent("m", TextDeltaEvent(0, "here")))
        d.app.view.tick()
        await d.until(lambda: "no answer" not in d.screen.splitlines()[-1])
        d.clock.pass_(5)
        d.app.view.tick()
        await d.shows("no answer for 5 s (asks again at 120 s)")
        d.conv.emit(RetryEvent(1, 8.0, "The server has been silent for too long."))
        d.app.view.tick()
        await d.until(lambda: "no answer" not in d.screen.splitlines()[-1])
        d.conv.set_status("ready")
        d.clock.pass_(50)
        d.app.view.tick()
        await d.until(lambda: "no answer" not in d.screen.splitlines()[-1])


async def test_how_to_stop_stays_in_sight_when_the_server_is_silent(drive: Drive):
    async with drive(size=(100, 20)) as d:
        d.app.status_line.state.status = "waiting"
        d.app.status_line.state.silent_s, d.app.status_line.state.silence_limit_s = 42, 120
        d.app.status_line.hints = (("Enter", "steer"), ("Tab", "follow-up"), ("Esc", "stop"))
        d.app.status_line.refresh()
        await d.until(
            lambda: "no answer for 42 s (asks again at 120 s)" in last(d) and "Esc stop" in last(d)
        )


async def test_the_way_back_is_not_the_hint_that_is_left_out(drive: Drive):
    async with drive(size=(80, 20)) as d:
        many = (("Enter", "edit"), ("d", "withdraw"), ("p", "steer"), ("m", "follow-up"),
                ("s", "send now"), ("Space", "pause"), ("Esc", "back"))  # fmt: skip
        d.app.status_line.hints = many
        await d.until(lambda: "Enter edit  Esc back" in last(d))


async def test_what_flashes_is_said_whole(drive: Drive):
    async with drive(size=(80, 20)) as d:
        words = "Sent the last answer (58 characters) to the terminal (OSC 52)."
        d.app.flash(words)
        await d.until(lambda: words in last(d))
