"""A long scenario of busy work with the faults that a service and its models have."""

import random
from typing import Any

Turn = dict[str, Any]


def turns(rng: random.Random, count: int) -> list[Turn]:
    return [turn for number in range(count) for turn in _turns(rng, number)]


def _turns(rng: random.Random, number: int) -> list[Turn]:
    """One turn of work, or a fault and what follows it."""
    chance = rng.random()
    if chance < 0.78:
        return [_work(rng, number)]
    fault = rng.choice(FAULTS)
    return fault(rng, number)


def _work(rng: random.Random, number: int) -> Turn:
    turn: Turn = {"text": f"Part {number} is under way. " * rng.randint(1, 4)}
    turn |= {"chunk_size": rng.choice((3, 12, 40)), "chunk_delay_ms": rng.choice((0, 0, 2, 8))}
    if rng.random() < 0.5:
        turn["thinking"] = f"What to do in part {number}? " * rng.randint(1, 3)
    if rng.random() < 0.6:
        turn["tool_calls"] = [_call(rng, f"{number}x{n}") for n in range(rng.randint(1, 3))]
    if rng.random() < 0.05:
        turn["first_event_delay_ms"] = 250
    return turn


def _call(rng: random.Random, name: str) -> Turn:
    kind = rng.choice(("quick", "quick", "quick", "slow", "long", "fails", "read", "absent",
                       "unknown", "wrong", "write", "background"))  # fmt: skip
    match kind:
        case "read":
            return {"name": "read", "input": {"path": "notes.txt"}}
        case "absent":
            return {"name": "read", "input": {"path": f"absent-{name}.txt"}}
        case "unknown":
            return {"name": "no_such_tool", "input": {}}
        case "wrong":
            return {"name": "read", "input": {"path": ["notes.txt"], "limit": "many"}}
        case "write":
            return {"name": "write", "input": {"path": f"made-{name}.txt", "content": name}}
        case _:
            commands = {
                "quick": f"echo did-{name}",
                "slow": f"for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done; echo did-{name}",
                "long": "sleep 600",
                "fails": f"echo did-{name}; exit 3",
                "background": f"setsid sleep 600 & echo did-{name}",
            }
            return {"name": "shell", "input": {"command": commands[kind]}}


def _overloaded(rng: random.Random, number: int) -> list[Turn]:
    return [{"status": 529, "retry_after": 0}]


def _overloaded_for_long(rng: random.Random, number: int) -> list[Turn]:
    return [{"status": rng.choice((529, 429, 500)), "retry_after": 0, "repeat": 3}]


def _refused(rng: random.Random, number: int) -> list[Turn]:
    return [{"status": 400, "error": "scripted: this request is refused"}]


def _cut(rng: random.Random, number: int) -> list[Turn]:
    turn = _work(rng, number) | {"cut": rng.choice((True, "clean"))}
    if rng.random() < 0.7:
        turn["cut_after"] = rng.randint(0, 12)
    return [turn]


def _error_event(rng: random.Random, number: int) -> list[Turn]:
    kinds = ("overloaded_error", "api_error", "invalid_request_error")
    return [_work(rng, number) | {"sse_error": rng.choice(kinds)}]


def _slow(rng: random.Random, number: int) -> list[Turn]:
    return [_work(rng, number) | {rng.choice(("delay_ms", "first_event_delay_ms")): 400}]


def _hang(rng: random.Random, number: int) -> list[Turn]:
    return [_work(rng, number) | {"hang": rng.choice(("mid_stream", "before_headers"))}]


def _stops(rng: random.Random, number: int) -> list[Turn]:
    reason = rng.choice(("max_tokens", "refusal", "stop_sequence", "new_reason"))
    return [_work(rng, number) | {"stop_reason": reason}]


def _pauses(rng: random.Random, number: int) -> list[Turn]:
    """The service pauses a turn in which its own tool has run."""
    call_id = f"srvtoolu_{number:08d}"
    found = {"type": "web_search_result", "url": "https://example.com", "title": "An example",
             "encrypted_content": "eA==", "page_age": None}  # fmt: skip
    blocks = [
        {"type": "server_tool_use", "id": call_id, "name": "web_search",
         "input": {"query": "an example"}},
        {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [found]},
    ]  # fmt: skip
    return [{"text": "Searching.", "blocks": blocks, "stop_reason": "pause_turn"}]


def _cut_arguments(rng: random.Random, number: int) -> list[Turn]:
    call = {"name": "read", "partial_json": '{"path": "no'}
    return [{"text": "Reading.", "tool_calls": [call], "stop_reason": "max_tokens"}]


def _broken_arguments(rng: random.Random, number: int) -> list[Turn]:
    return [{"tool_calls": [{"name": "read", "partial_json": '{"path": nonsense}'}]}]


def _empty(rng: random.Random, number: int) -> list[Turn]:
    return [rng.choice(({"text": ""}, {}, {"thinking": "Nothing to say."}))]


FAULTS = (
    _overloaded, _overloaded, _overloaded_for_long, _refused, _cut, _cut, _error_event, _slow,
    _hang, _stops, _stops, _pauses, _pauses, _cut_arguments, _broken_arguments, _empty,
)  # fmt: skip
