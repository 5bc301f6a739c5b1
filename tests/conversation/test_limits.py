"""Limits of a run."""

from agent_tui.conversation.limits import Limits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_turns_are_counted_per_run():
    limits = Limits(max_turns=2)
    limits.begin()
    assert [limits.after_turn(0), limits.after_turn(0)] == [False, True]
    assert limits.reached and "2 turns" in limits.reached
    limits.begin()
    assert limits.reached is None
    assert limits.after_turn(0) is False


def test_cost_counts_when_it_is_known():
    limits = Limits(max_cost=0.5)
    limits.begin()
    assert limits.after_turn(0.49) is False
    assert limits.after_turn(None) is False
    assert limits.after_turn(0.5) is True


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
    assert not any(limits.after_turn(1e9) for _ in range(1000))
    assert limits.seconds_left() is None
