"""What the model says, as it comes and when it is whole."""

from tests.tui.states.harness import User, held, state

PROSE = (
    "Each item asks the database for its price, so a cart of forty items makes forty round "
    "trips. One query for all prices would do:\n\n"
    "1. collect the ids,\n2. ask once,\n3. sum up what comes back.\n\n"
    "The tests cover an empty cart only"
)
CODE = (
    "Like this:\n\n```python\ndef total(items):\n    prices = db.prices(items)\n"
    "    return sum(prices[item] for item in items)\n```\n\nNothing else changes."
)


@state(held({"text": PROSE}))
async def text_streams(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("an empty cart only")


@state({"text": PROSE + ", so I'd add one first."})
async def text_is_whole(user: User) -> None:
    await user.ask("why is checkout slow?", "add one first")


@state(held({"text": CODE[: CODE.index("return") + 20]}))
async def code_is_open(user: User) -> None:
    await user.say("show me")
    await user.sees("return sum(price")


@state({"text": CODE})
async def code_is_closed(user: User) -> None:
    await user.ask("show me", "Nothing else changes")


@state(held({"thinking": "The cart asks for each price alone. That is one query for each item."}))
async def thinking_streams(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("thinking")
    await user.waits(3.4)


@state(
    {"thinking": "The cart asks for each price alone.\nThat is a query for each item.",
     "text": "It asks the database once for each item."},
)  # fmt: skip
async def thinking_is_folded(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")


@state(
    {"thinking": "The cart asks for each price alone.\nThat is a query for each item.",
     "text": "It asks the database once for each item."},
)  # fmt: skip
async def thinking_is_open(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")
    await user.press("ctrl+t")
    await user.sees("That is a query")
