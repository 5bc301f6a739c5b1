"""Limits of a run."""

from agent_tui.conversation.limits import Limits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_turns_are_counted_per_run():
    limits = Limits(max_turns=2)
    limits.begin()
    assert [limits.after_turn(0, goes_on=True), limits.after_turn(0, goes_on=True)] == [False, True]
    assert limits.reached and "2 turns" in limits.reached
    limits.begin()
    assert limits.reached is None
    assert limits.after_turn(0, goes_on=True) is False


def test_cost_counts_when_it_is_known():
    limits = Limits(max_cost=0.5)
    limits.begin()
    assert limits.after_turn(0.49, goes_on=True) is False
    assert limits.after_turn(None, goes_on=True) is False
    assert limits.after_turn(0.5, goes_on=True) is True


def test_seconds_left_follow_the_clock():
    clock = Clock()
    limits = Limits(max_seconds=10, clock=clock)
    clock.now = 100
    limits.begin()
    clock.now = 104
    assert limits.seconds_left() == 6
    clock.now = 200
    assert limits.seconds_left() == 0


def test_no_limit_never_ends():
    limits = Limits()
    limits.begin()
    assert not any(limits.after_turn(1e9, goes_on=True) for _ in range(1000))
    assert limits.seconds_left() is None


def test_a_run_that_ends_by_itself_was_not_stopped():
    limits = Limits(max_turns=1, max_cost=0.1)
    limits.begin()
    assert limits.after_turn(5.0, goes_on=False) is False
    assert limits.reached is None
