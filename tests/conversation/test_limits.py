"""Limits of a run."""

from agent_tui.conversation.limits import Limits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Purse:
    """What a conversation has spent."""

    dollars = 0.0

    def __call__(self) -> float:
        return self.dollars


def test_turns_are_counted_per_run():
    limits = Limits(max_turns=2)
    limits.begin()
    assert [limits.after_turn(goes_on=True), limits.after_turn(goes_on=True)] == [False, True]
    assert limits.reached and "2 turns" in limits.reached
    limits.begin()
    assert limits.reached is None
    assert limits.after_turn(goes_on=True) is False


def test_cost_is_that_of_the_run():
    purse = Purse()
    limits = Limits(max_cost=0.5, spent=purse)
    limits.begin()
    purse.dollars = 0.49
    assert limits.after_turn(goes_on=True) is False
    purse.dollars = 0.5
    assert limits.after_turn(goes_on=True) is True
    assert limits.reached and "$0.5" in limits.reached
    limits.begin()
    purse.dollars = 0.99
    assert limits.after_turn(goes_on=True) is False
    purse.dollars = 1.01
    assert limits.after_turn(goes_on=True) is True


def test_what_a_session_cost_before_it_was_resumed_is_not_of_this_run():
    purse = Purse()
    purse.dollars = 20.0
    limits = Limits(max_cost=0.5, spent=purse)
    limits.begin()
    assert limits.after_turn(goes_on=True) is False


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
    limits = Limits(spent=lambda: 1e9)
    limits.begin()
    assert not any(limits.after_turn(goes_on=True) for _ in range(1000))
    assert limits.seconds_left() is None


def test_a_run_that_ends_by_itself_was_not_stopped():
    purse = Purse()
    limits = Limits(max_turns=1, max_cost=0.1, spent=purse)
    limits.begin()
    purse.dollars = 5.0
    assert limits.after_turn(goes_on=False) is False
    assert limits.reached is None


def test_a_limit_is_said_as_people_write_it():
    one = Limits(max_turns=1)
    one.begin()
    assert one.after_turn(goes_on=True)
    assert one.reached == "the limit of 1 turn is reached (max_turns)"
    for dollars, written in ((0.2, "$0.20"), (2.5, "$2.50"), (0.005, "$0.005")):
        purse = Purse()
        limits = Limits(max_cost=dollars, spent=purse)
        limits.begin()
        purse.dollars = dollars
        assert limits.why_spent() == f"the limit of {written} is reached (max_cost)"
