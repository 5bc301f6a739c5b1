"""Our path from HTTP bytes to StreamEvents against the SDK's, over one real HTTP stream.

    python benchmarks/bench_assembler.py [--quick]

A small server in a subprocess streams the same replies to three readers in this process:
`ours` (make_stream_function: every StreamEvent, the readable partials of tool arguments and
the final message), `accumulator` (client.beta.messages.stream: every event and the final
message) and `raw loop` (client.beta.messages.create(stream=True): every event, nothing kept).
CPU time of this process is what counts; what each reader assembled is checked first. Exits 1
when a result is wrong or a bound is missed.
"""

import argparse
import asyncio
import functools
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from _loopback import chunks, serve, served

TEXT_BYTES = 1_000_000
TOOL_BYTES = 250_000
FLAT_BYTES = 2_000_000
DELTA_CHARS = 20
EVENTS_PER_CHUNK = 8
"""Events that one HTTP chunk carries: a burst, as it comes through a proxy."""

TEXT_BOUND = 5.0
TOOL_BOUND = 20.0
RAW_BOUND = 1.0
"""Ours may not cost more than the raw loop, so that the loop on top has room to 1.3."""
FLAT_BOUND = 1.5
"""Cost of a delta in the last tenth of a reply of 2 MB over that in the first tenth."""


# --- what is streamed -----------------------------------------------------------------


def text_of(size: int) -> str:
    words = "the loop steers a tool and a tool answers the loop; "
    return (words * (size // len(words) + 1))[:size]


def arguments_of(size: int) -> str:
    rows: list[dict[str, Any]] = []
    length = 0
    while length < size:
        n = len(rows)
        rows.append({"id": n, "name": f"row {n}", "ok": n % 3 == 0, "note": "a\tb \u00e9"})
        length += len(json.dumps(rows[-1])) + 2
    return json.dumps({"rows": rows})


def reply(kind: str, size: int) -> Iterator[dict[str, Any]]:
    """The raw events of one reply: a text block, or a tool_use block, in deltas of 20."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {
            "id": "msg_bench", "type": "message", "role": "assistant", "model": "bench",
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        },
    }  # fmt: skip
    if kind == "text":
        block: dict[str, Any] = {"type": "text", "text": ""}
        whole, field, delta_type = text_of(size), "text", "text_delta"
    else:
        block = {"type": "tool_use", "id": "toolu_bench", "name": "save", "input": {}}
        whole, field, delta_type = arguments_of(size), "partial_json", "input_json_delta"
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for at in range(0, len(whole), DELTA_CHARS):
        delta = {"type": delta_type, field: whole[at : at + DELTA_CHARS]}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = "end_turn" if kind == "text" else "tool_use"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 9},
    }
    yield {"type": "message_stop"}


# --- the server -----------------------------------------------------------------------


async def serve_replies() -> None:
    """Every POST gets the reply that its model names ("text-1000")."""

    @functools.cache
    def reply_of(model: str) -> list[bytes]:
        kind, _, size = model.partition("-")
        return chunks(reply(kind, int(size)), EVENTS_PER_CHUNK)

    await serve(lambda body: reply_of(body["model"]))


# --- the readers ----------------------------------------------------------------------


@dataclass
class Read:
    """What a reader assembled, its CPU seconds, and for `ours` the CPU time at each event."""

    result: Any
    cpu: float
    events: int
    marks: list[float]


class Readers:
    def __init__(self, port: int) -> None:
        from agent_tui.messages_api import ApiEndpoint, make_client, make_stream_function

        endpoint = ApiEndpoint(base_url=f"http://127.0.0.1:{port}")
        self._stream = make_stream_function(endpoint)
        self._client = make_client(endpoint)

    async def ours(self, model: str, *, mark: bool = False) -> Read:
        from agent_tui.agent.loop import LLMContext, StreamOptions
        from agent_tui.agent.messages import UserMessage

        context = LLMContext("", [UserMessage(content="go")], [])
        marks: list[float] = []
        shown: dict[str, list[str]] = {}
        count, message = 0, None
        began = time.process_time()
        async for event in self._stream(model, context, StreamOptions()):
            count += 1
            kind = event.type
            if kind == "toolcall_delta":
                for path, text in event.partial:
                    shown.setdefault(path, []).append(text)
            elif kind == "done":
                message = event.message
            if mark:
                marks.append(time.process_time())
        cpu = time.process_time() - began
        assert message is not None, "no done event"
        block = message.content[0]
        if block.type == "text":
            return Read(block.text, cpu, count, marks)
        readable = {path: "".join(parts) for path, parts in shown.items()}
        return Read((block.arguments, readable), cpu, count, marks)

    async def accumulator(self, model: str) -> Read:
        count = 0
        began = time.process_time()
        async with self._client.beta.messages.stream(**_request(model)) as stream:
            async for _ in stream:
                count += 1
            message = await stream.get_final_message()
        cpu = time.process_time() - began
        block = message.content[0]
        return Read(block.text if block.type == "text" else block.input, cpu, count, [])

    async def raw_loop(self, model: str) -> Read:
        count = 0
        began = time.process_time()
        stream = await self._client.beta.messages.create(**_request(model), stream=True)
        async for _ in stream:
            count += 1
        return Read(None, time.process_time() - began, count, [])


def _request(model: str) -> dict[str, Any]:
    return {"model": model, "max_tokens": 8192, "messages": [{"role": "user", "content": "go"}]}


async def best(run: Callable[[], Awaitable[Read]], times: int) -> Read:
    reads: list[Read] = []
    for _ in range(times):
        gc.collect()
        reads.append(await run())
    return min(reads, key=lambda r: r.cpu)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, text) of every scalar, as the readable partials name them."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}.{i}" if path else str(i))
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)


def last_over_first(read: Read) -> float:
    """CPU per event in the last tenth of the reply over that in the first (after the start)."""
    marks = read.marks[20:-20]
    tenth = len(marks) // 10
    first, last = marks[tenth] - marks[0], marks[-1] - marks[-1 - tenth]
    return last / first


# --- the run --------------------------------------------------------------------------


class Table:
    def __init__(self) -> None:
        self.failed = False

    def row(self, what: str, ratio: float, bound: float, detail: str, *, at_least: bool) -> None:
        good = ratio >= bound if at_least else ratio <= bound
        self.failed |= not good
        sign = ">=" if at_least else "<="
        print(f"{'ok  ' if good else 'MISS'} {what:<52} {ratio:8.2f} {sign} {bound:<5} {detail}")


async def compare(readers: Readers, *, quick: bool) -> bool:
    table = Table()
    scale = 10 if quick else 1
    await readers.ours("text-1000")  # imports, connections, first use
    await readers.raw_loop("text-1000")
    await readers.accumulator("text-1000")

    model = f"text-{TEXT_BYTES // scale}"
    ours = await best(lambda: readers.ours(model), 3)
    sdk = await best(lambda: readers.accumulator(model), 1)
    raw = await best(lambda: readers.raw_loop(model), 3)
    wanted = text_of(TEXT_BYTES // scale)
    assert ours.result == wanted and sdk.result == wanted, "the text is wrong"
    what = f"text, {TEXT_BYTES // scale / 1e6:g} MB"
    table.row(f"{what}: accumulator / ours", sdk.cpu / ours.cpu, TEXT_BOUND,
              f"{sdk.cpu:.2f} s / {ours.cpu:.2f} s", at_least=True)  # fmt: skip
    table.row(f"{what}: ours / raw loop", ours.cpu / raw.cpu, RAW_BOUND,
              f"{ours.cpu:.2f} s / {raw.cpu:.2f} s", at_least=False)  # fmt: skip

    model = f"tool-{TOOL_BYTES // scale}"
    ours = await best(lambda: readers.ours(model), 3)
    sdk = await best(lambda: readers.accumulator(model), 1)
    raw = await best(lambda: readers.raw_loop(model), 3)
    arguments = json.loads(arguments_of(TOOL_BYTES // scale))
    assert ours.result[0] == arguments and sdk.result == arguments, "the arguments are wrong"
    assert ours.result[1] == dict(leaves(arguments)), "the readable partials are wrong"
    what = f"tool arguments, {TOOL_BYTES // scale / 1e6:g} MB"
    table.row(f"{what}: accumulator / ours", sdk.cpu / ours.cpu, TOOL_BOUND / scale,
              f"{sdk.cpu:.2f} s / {ours.cpu:.2f} s", at_least=True)  # fmt: skip
    table.row(f"{what}: ours / raw loop", ours.cpu / raw.cpu, RAW_BOUND,
              f"{ours.cpu:.2f} s / {raw.cpu:.2f} s", at_least=False)  # fmt: skip

    for kind in ("text", "tool"):
        model = f"{kind}-{FLAT_BYTES // scale}"
        reads = [await readers.ours(model, mark=True) for _ in range(3)]
        ratios = sorted(last_over_first(r) for r in reads)
        table.row(f"{kind}, {FLAT_BYTES // scale / 1e6:g} MB: last tenth / first tenth",
                  ratios[1], FLAT_BOUND, f"median of 3, {reads[0].events} events",
                  at_least=False)  # fmt: skip
    return not table.failed


def main(*, quick: bool) -> int:
    with served(__file__) as port:
        print("CPU seconds of the reading process; deltas of "
              f"{DELTA_CHARS} characters, {EVENTS_PER_CHUNK} events to an HTTP chunk")  # fmt: skip
        return 0 if asyncio.run(compare(Readers(port), quick=quick)) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve_replies())
    else:
        sys.exit(main(quick=options.quick))
