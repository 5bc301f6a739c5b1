"""Going on in an earlier session."""

from typing import Any

from tests.tui.states.harness import User, held, state

TURNS: tuple[dict[str, Any], ...] = (
    {"text": "I'll look.", "tool_calls": [{"name": "read", "input": {"path": "shop/cart.py"}}]},
    {"text": "It asks the database once for each item."},
    {"text": "One query, then."},
)


async def first(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")


async def cut_off(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("forty items")


@state(*TURNS, before=first, wish={"continue_newest": True})
async def gone_on(user: User) -> None:
    await user.sees("once for each item")


@state(*TURNS, before=first, wish={"resume": True})
async def picked_at_the_start(user: User) -> None:
    await user.sees("Go on in which session?")


@state(*TURNS, before=first)
async def picked_by_command(user: User) -> None:
    await user.say("/resume")
    await user.sees("Go on in which session?")
    await user.press("f4", "down")


@state(*TURNS, before=first)
async def none_to_be_found(user: User) -> None:
    await user.say("/resume nonsense")
    await user.settles()


@state(held({"text": "Each item asks the database for its price, so a cart of forty items"}),
       before=cut_off, wish={"continue_newest": True})  # fmt: skip
async def was_cut_off(user: User) -> None:
    await user.sees("forty items")
