"""What goes wrong at the service or on the way, and how an answer can end."""

from typing import Any

from tests.tui.states.harness import User, state

TEXT = "Each item asks the database for its price, so a cart of forty items makes forty"
OVERLOADED = {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}


def told(status: int, type_: str, message: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "error": {"type": type_, "message": message}, **more}


@state(OVERLOADED | {"retry_after": 30})
async def overloaded_is_tried_again(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("30 s")
    await user.waits(4)


@state(told(429, "rate_limit_error", "This would exceed your organization's rate limit of 50 "
            "requests per minute", retry_after=12))  # fmt: skip
async def rate_limit_is_waited_for(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("12 s")


@state(OVERLOADED, OVERLOADED, OVERLOADED, patient=False)
async def tries_are_over(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("verloaded")
    await user.ready()


@state(told(401, "authentication_error", "invalid x-api-key"))
async def key_is_refused(user: User) -> None:
    await user.ask("why is checkout slow?", "key")


@state(told(413, "request_too_large", "Request exceeds the maximum size"))
async def request_is_too_large(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.ready()


@state(told(400, "invalid_request_error", "Your credit balance is too low to access the API."))
async def no_credit(user: User) -> None:
    await user.ask("why is checkout slow?", "credit")


@state(flags={"base_url": "http://127.0.0.1:9"}, patient=False)
async def no_server(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.ready()


@state({"text": TEXT, "chunk_size": 8, "cut": True},
       {"text": "It asks the database once for each item."}, patient=False)  # fmt: skip
async def broken_stream_is_struck(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")


@state({"text": TEXT, "sse_error": "overloaded_error", "chunk_size": 8})
async def stream_breaks_off(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("again")


@state({"hang": "before_headers"})
async def server_is_silent(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.settles()
    await user.waits(42)


@state({"text": "I can't help with", "stop_reason": "refusal", "stop_details": {
    "type": "refusal", "category": "cyber", "explanation": "It may help an attack."}})  # fmt: skip
async def refusal(user: User) -> None:
    await user.say("write a worm")
    await user.ready()


@state({"text": TEXT, "stop_reason": "max_tokens"})
async def longest_answer(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.ready()


@state({"text": TEXT, "stop_reason": "model_context_window_exceeded"})
async def context_is_full(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.ready()


@state({"text": "I look it up.", "stop_reason": "pause_turn"},
       {"text": "It asks the database once for each item."})  # fmt: skip
async def paused_by_the_service(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")


@state({"tool_calls": [{"name": "read", "partial_json": '{"path": "shop/ca'}],
        "stop_reason": "max_tokens"})  # fmt: skip
async def call_is_cut_by_the_limit(user: User) -> None:
    await user.say("read the cart")
    await user.ready()


@state({"tool_calls": [{"name": "read", "input": {"file": "shop/cart.py"}},
                       {"name": "make_coffee", "input": {"cups": 2}}]},
       {"text": "Then by its right name."})  # fmt: skip
async def calls_that_cannot_run(user: User) -> None:
    await user.ask("read the cart", "by its right name")


@state({"text": TEXT, "chunk_size": 8, "hang": "mid_stream", "cut_after": 9})
async def stopped_while_it_streams(user: User) -> None:
    await user.say("why is checkout slow?")
    await user.sees("asks the")
    await user.press("escape")
    await user.ready()


@state({"tool_calls": [{"name": "read", "input": {"path": "shop/cart.py"}}]},
       {"text": "Never sent."}, flags={"max_turns": 1})  # fmt: skip
async def limit_of_turns(user: User) -> None:
    await user.say("read the cart")
    await user.ready()


@state({"tool_calls": [{"name": "read", "input": {"path": "shop/cart.py"}}],
        "usage": {"output_tokens": 40_000}},
       {"text": "Never sent."}, flags={"max_cost": 0.2})  # fmt: skip
async def limit_of_cost(user: User) -> None:
    await user.say("read the cart")
    await user.ready()
