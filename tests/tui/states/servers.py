"""MCP servers: their states, their tools, their questions."""

from typing import Any

from tests.tui.states.harness import User, held, state, zoo

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "as in the passport"},
        "age": {"type": "integer", "minimum": 18},
        "fed": {"type": "boolean", "description": "the animals have been fed"},
        "cage": {"type": "string", "enum": ["north", "south"]},
    },
}
ONE = {"shop": zoo("Plain")}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": f"shop__{name}", "input": arguments}]}


async def connected(user: User, name: str = "shop") -> None:
    """Its panel is open, and the server answers."""
    await user.press("f7")
    await user.sees(f"✓ {name}")
    if user.columns >= 100:  # what it offers beside tools is asked for after it is connected
        await user.sees("user · 2")
    await user.press("escape")


@state(servers={
    "asleep": zoo("Silent"), "broken": zoo("DeadAtStart"), "odd": zoo("Many"),
    "off": zoo("Plain", enabled=False), "shop": zoo("Plain"),
}, size=(120, 34))  # fmt: skip
async def each_state(user: User) -> None:
    await user.press("f7")
    await user.sees("✓ shop")
    await user.press("escape")
    await user.sees("● asleep", "✗ broken", "⊘ off", "✓ odd")


@state(servers={"broken": zoo("DeadAtStart")}, size=(120, 34))
async def broken_one_is_chosen(user: User) -> None:
    await user.press("f7")
    await user.sees("✗ broken")
    await user.settles()


@state(servers=ONE, size=(120, 34))
async def tools_are_listed(user: User) -> None:
    await connected(user)
    await user.say("/mcp tools shop")
    await user.sees("echo")
    await user.settles()


@state(servers=ONE, size=(120, 34))
async def server_is_switched_off(user: User) -> None:
    await user.press("f7")
    await user.sees("✓ shop", "2 resources")
    await user.press("e")
    await user.sees("⊘ shop")


@state(held(call("echo", text="the price of item 12")), servers=ONE)
async def arguments_are_a_table(user: User) -> None:
    await connected(user)
    await user.say("ask the shop")
    await user.sees("the price of")


@state(call("echo", text="the price of item 12"), servers=ONE)
async def call_is_asked_for(user: User) -> None:
    await connected(user)
    await user.say("ask the shop")
    await user.sees("wants to run")


@state(call("slow", steps=8, stays=5), servers=ONE, allow=("shop__slow",))
async def call_tells_its_progress(user: User) -> None:
    await connected(user)
    await user.say("ask the shop")
    await user.sees("5 of 8")


@state(call("ask", schema=SCHEMA), servers=ONE, allow=("shop__ask",))
async def form_is_asked(user: User) -> None:
    await connected(user)
    await user.say("ask the shop")
    await user.sees("asks for details")


@state(call("ask_url", url="https://shop.example/login?next=%2Fcart"), servers=ONE,
       allow=("shop__ask_url",))  # fmt: skip
async def address_is_asked(user: User) -> None:
    await connected(user)
    await user.say("ask the shop")
    await user.sees("shop.example")


@state(call("sample", tokens=50), servers=ONE, allow=("shop__sample",))
async def sampling_is_asked(user: User) -> None:
    await connected(user)
    await user.say("ask the shop")
    await user.sees("wants an answer of the model")


@state()
async def wrong_form(user: User) -> None:
    await user.say("/mcp add")
    await user.sees("The form is")
    await user.settles()


@state(gated=("shop",), size=(120, 30))
async def needs_a_login(user: User) -> None:
    await user.press("f7")
    await user.sees("login")
    await user.settles()
