"""Faults B20 and B22: what Ctrl+C does, press by press."""

import pytest

from agent_tui.tui.interrupts import Interrupts
from tests.tui.conftest import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def press(
    ladder: Interrupts, *, running=False, stopping=False, draft_empty=True, last_key_at=0.0
) -> str:
    return ladder.press(
        running=running or stopping,
        stopping=stopping,
        draft_empty=draft_empty,
        last_key_at=last_key_at,
    )


def test_running_it_stops(clock: FakeClock):
    assert press(Interrupts(clock), running=True, draft_empty=False) == "stop"


def test_idle_it_clears_the_draft_and_does_not_count_as_the_first_of_two(clock: FakeClock):
    ladder = Interrupts(clock)
    assert press(ladder, draft_empty=False) == "clear"
    assert press(ladder) == "arm_quit"


def test_twice_within_a_second_on_an_empty_draft_quits(clock: FakeClock):
    ladder = Interrupts(clock)
    assert press(ladder) == "arm_quit"
    clock.pass_(0.9)
    assert press(ladder) == "quit"


def test_after_a_second_it_begins_again(clock: FakeClock):
    ladder = Interrupts(clock)
    press(ladder)
    clock.pass_(1.1)
    assert press(ladder) == "arm_quit"


def test_typing_in_between_disarms(clock: FakeClock):
    ladder = Interrupts(clock)
    press(ladder)
    clock.pass_(0.2)
    assert press(ladder, last_key_at=clock.now - 0.1) == "arm_quit"


def test_the_press_that_stopped_a_run_does_not_lead_to_quit(clock: FakeClock):
    ladder = Interrupts(clock)
    assert press(ladder, running=True) == "stop"
    assert press(ladder) == "arm_quit"


def test_a_run_that_does_not_settle_is_left_by_a_second_pair(clock: FakeClock):
    ladder = Interrupts(clock)
    assert press(ladder, running=True) == "stop"
    clock.pass_(0.3)
    assert press(ladder, stopping=True) == "arm_force"
    clock.pass_(0.3)
    assert press(ladder, stopping=True) == "force"


def test_one_late_press_while_stopping_never_forces(clock: FakeClock):
    ladder = Interrupts(clock)
    for _ in range(5):
        assert press(ladder, stopping=True) == "arm_force"
        clock.pass_(5)
