"""The side panel, tab by tab, and where it is a drawer."""

from typing import Any

from tests.tui.states.harness import User, held, state

RUNS: dict[str, Any] = {"tool_calls": [{"name": "shell", "input": {"command": "sh wait.sh"}}]}
READS: dict[str, Any] = {"tool_calls": [{"name": "read", "input": {"path": "shop/cart.py"}}]}


@state()
async def hidden(user: User) -> None:
    await user.press("f2")


@state()
async def loop_at_rest(user: User) -> None:
    await user.press("f6", "f6")


@state(held({"text": "Each item asks the database for its price, so a cart of forty items"}))
async def loop_streams(user: User) -> None:
    await user.press("f6", "f6")
    await user.say("why is checkout slow?")
    await user.sees("forty items")
    await user.waits(3)


@state(RUNS, allow=("shell",))
async def loop_runs_calls(user: User) -> None:
    await user.press("f6", "f6")
    await user.say("run the tests")
    await user.sees("F....")
    await user.say("only those of the cart")
    await user.type("then fix them")
    await user.press("tab")
    await user.sees("when the turn ends")


@state(READS, {"text": "It asks once for each item."})
async def loop_has_ended(user: User) -> None:
    await user.press("f6", "f6")
    await user.ask("why is checkout slow?", "once for each item")


@state(RUNS, allow=("shell",))
async def loop_was_stopped(user: User) -> None:
    await user.press("f6", "f6")
    await user.say("run the tests")
    await user.sees("F....")
    await user.press("escape")
    await user.ready()


@state()
async def mcp_without_servers(user: User) -> None:
    await user.press("f7")


@state()
async def context_at_the_start(user: User) -> None:
    await user.press("f6", "f6", "f6", "f6")
    await user.sees("tools")
    await user.settles()


@state(READS, {"text": "It asks once for each item.", "usage": {
    "input_tokens": 412, "output_tokens": 96, "cache_read_input_tokens": 2200,
    "cache_creation_input_tokens": 310}}, size=(120, 36))  # fmt: skip
async def context_after_an_answer(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")
    await user.press("f6", "f6", "f6", "f6")
    await user.sees("counted")
    await user.settles()


@state(
    {"tool_calls": [{"name": "read", "input": {"path": "shop/cart.py"}}] * 14},
    {"tool_calls": [{"name": "grep", "input": {"pattern": f"price_{n}"}} for n in range(14)]},
    {"text": "Read it all."},
)  # fmt: skip
async def tools_after_many_calls(user: User) -> None:
    await user.ask("read everything", "Read it all.")


@state(RUNS, allow=("shell",), size=(60, 24))
async def drawer(user: User) -> None:
    await user.say("run the tests")
    await user.sees("F....")
    await user.press("f2")
    await user.settles()
