"""Reading back: scrolled, searched, copied, block by block."""

from typing import Any

from tests.tui.states.harness import User, state

LONG: dict[str, Any] = {
    "text": "\n\n".join(f"Step {n}: the cart asks for price {n * 3}." for n in range(1, 40))
}
CODE: dict[str, Any] = {"text": "Like this:\n\n```python\nprices = db.prices(items)\n```\n\nDone."}


@state(LONG)
async def scrolled_up(user: User) -> None:
    await user.ask("explain it step by step", "Step 39")
    await user.press("pageup", "pageup")
    await user.sees_no("Step 39")


@state(LONG, {"text": "I try.", "tool_calls": [{"name": "shell", "input": {"command": "true"}}]},
       {"text": LONG["text"]})  # fmt: skip
async def new_lines_below(user: User) -> None:
    await user.ask("explain it step by step", "Step 39")
    await user.say("again")
    await user.sees("wants to run")
    await user.press("pageup", "pageup", "f4", "y")
    await user.ready()
    await user.sees("new lines below")


@state(LONG)
async def search_finds(user: User) -> None:
    await user.ask("explain it step by step", "Step 39")
    await user.press("ctrl+f")
    await user.type("price 3")
    await user.sees("of 5")


@state(LONG)
async def search_finds_nothing(user: User) -> None:
    await user.ask("explain it step by step", "Step 39")
    await user.press("ctrl+f")
    await user.type("warehouse")
    await user.settles()


@state(LONG)
async def search_goes_on_by_n(user: User) -> None:
    await user.ask("explain it step by step", "Step 39")
    await user.press("ctrl+f")
    await user.type("price 3")
    await user.sees("of 5")
    await user.press("enter", "N")
    await user.settles()


@state({"tool_calls": [{"name": "read", "input": {"path": "shop/cart.py"}}]}, CODE)
async def block_is_opened(user: User) -> None:
    await user.ask("show me", "Done.")
    await user.press("f8", "p", "enter")
    await user.sees("def total")


@state(CODE)
async def answer_is_copied(user: User) -> None:
    await user.ask("show me", "Done.")
    await user.press("alt+c")
    await user.sees("to the terminal")


@state(CODE)
async def code_is_copied_by_command(user: User) -> None:
    await user.ask("show me", "Done.")
    await user.say("/copy code")
    await user.sees("to the terminal")


@state({"text": "First."}, {"text": "Second."}, LONG)
async def jumped_to_a_prompt(user: User) -> None:
    await user.ask("one", "First.")
    await user.ask("two", "Second.")
    await user.ask("explain it step by step", "Step 39")
    await user.press("ctrl+up", "ctrl+up")
    await user.sees("Second.")
