"""What waits to be delivered: steering, follow-ups, and what can be done with them."""

from typing import Any

from tests.tui.states.harness import User, state

RUNS: dict[str, Any] = {"tool_calls": [{"name": "shell", "input": {"command": "sh wait.sh"}}]}


async def running(user: User) -> None:
    """A run with one steer and one follow-up waiting."""
    await user.say("find out why checkout is slow and fix it")
    await user.sees("F....")
    await user.say("don't touch db.py, it is generated")
    await user.sees("after")
    await user.type("then write a changelog entry")
    await user.press("tab")
    await user.sees("when the turn ends")


@state(RUNS, allow=("shell",))
async def steer_and_follow_up(user: User) -> None:
    await running(user)


@state(RUNS, allow=("shell",))
async def paused_by_esc(user: User) -> None:
    await running(user)
    await user.press("escape")
    await user.ready()
    await user.sees("paused")


@state(RUNS, allow=("shell",))
async def keys_of_the_queue(user: User) -> None:
    await running(user)
    await user.press("f3")


@state(RUNS, allow=("shell",))
async def edited_in_place(user: User) -> None:
    await running(user)
    await user.press("f3", "down", "enter")
    await user.type(", in English")
    await user.sees("Enter saves")


@state(RUNS, allow=("shell",))
async def promoted(user: User) -> None:
    await running(user)
    await user.press("f3", "down", "p")
    await user.sees_no("follow-up  then")


@state(RUNS, allow=("shell",))
async def withdrawn(user: User) -> None:
    await running(user)
    await user.press("f3", "d")
    await user.sees("Withdrawn")


@state(RUNS, allow=("shell",))
async def moved(user: User) -> None:
    await running(user)
    await user.type("and a test")
    await user.press("tab")
    await user.sees("and a test")
    await user.press("f3", "down", "down", "K")
    await user.settles()


@state(RUNS, allow=("shell",))
async def more_than_fits(user: User) -> None:
    await running(user)
    for n in range(1, 9):
        await user.type(f"and step {n}: look at everything that has to do with number {n} again")
        await user.press("tab")
    await user.sees("more")


@state(
    {"tool_calls": [{"name": "shell", "input": {"command": "sleep 2"}}]},
    {"text": "Without db.py, then."}, {"text": "Written."},
    allow=("shell",),
)  # fmt: skip
async def delivered(user: User) -> None:
    await user.say("find out why checkout is slow and fix it")
    await user.sees("sleep 2")
    await user.say("don't touch db.py, it is generated")
    await user.sees("Without db.py, then.")
    await user.ready()


@state(RUNS, allow=("shell",))
async def with_attachments(user: User) -> None:
    await user.say("run the tests")
    await user.sees("F....")
    await user.type("then look at @shop/db.py ")
    await user.press("tab")
    await user.sees("when the turn ends")


@state(RUNS, allow=("shell",))
async def sent_now(user: User) -> None:
    await running(user)
    await user.press("f3", "s")
    await user.sees("Goes out next")
