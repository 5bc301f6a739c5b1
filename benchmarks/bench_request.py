"""Building the requests of a conversation of 2,000 messages, one after the other.

    python benchmarks/bench_request.py [--quick]

A run of turns with a call each, as an agent makes them: after every answer the whole transcript
is converted, repaired and built into a request again. What is measured is the CPU time of that,
for the first requests and for the last, apart from serialising (pydantic's to_json), which has
to write all of it each time. The last request is checked against one built from nothing. Exits 1
when a result is wrong or a bound is missed.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_tui.agent.growing_history import HistoryConverter
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation.request_look import RequestLook, RequestReader
from agent_tui.messages_api.request import RequestBuilder, build_request
from agent_tui.messages_api.wire_request import encode_body

MESSAGES = 2_000
SAMPLES = 40
"""Requests at the beginning, and at the end, whose median counts."""
WARM_UP = 20
TOOLS = 30

FLAT_BOUND = 1.75
"""A request at the end over one at the beginning, without serialising. What is left to grow is
a walk over the list of messages, some nanoseconds for each."""
SERIALISING_BOUND = 1.0
"""What is done for a request at the end over serialising it."""
SCRATCH_BOUND = 10.0
"""The same request built from nothing over the one built on from the one before."""

MODEL = "claude-sonnet-5-5"
OPTIONS = StreamOptions(thinking_level="high")


async def _nothing(*_: Any) -> Any: ...


def tools() -> list[AgentTool]:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where to look."}},
        "required": ["path"],
    }
    return [AgentTool(f"tool_{n:02}", "Looks something up. " * 10, schema, _nothing)
            for n in range(TOOLS)]  # fmt: skip


def turn(n: int) -> list[AgentMessage]:
    call = ToolCall(id=f"toolu_{n}", name="tool_00", arguments={"path": f"src/file_{n}.py"})
    thought = ThinkingContent(thinking="I look at the next one. " * 5, signature="s" * 120)
    said = TextContent(text=f"Now number {n}. " * 4)
    return [
        AssistantMessage(model=MODEL, content=[thought, said, call], stop_reason="tool_use"),
        ToolResultMessage(tool_call_id=call.id, content=text_content("a line of code\n" * 30)),
    ]


@dataclass
class Spent:
    """CPU seconds of each request, by what was done."""

    convert: list[float] = field(default_factory=list[float])
    build: list[float] = field(default_factory=list[float])
    look: list[float] = field(default_factory=list[float])
    encode: list[float] = field(default_factory=list[float])

    def at(self, where: slice) -> dict[str, float]:
        """Medians."""
        return {
            name: statistics.median(getattr(self, name)[where])
            for name in ("convert", "build", "look", "encode")
        }


class Conversation:
    """What a conversation does for a request, step by step."""

    def __init__(self) -> None:
        self.messages: list[AgentMessage] = [UserMessage(content=text_content("Look at them all."))]
        self.tools = tools()
        self.spent = Spent()
        self._convert = HistoryConverter()
        self._builder = RequestBuilder()
        self._reader = RequestReader()

    def request(self) -> tuple[dict[str, Any], RequestLook]:
        context = self._timed(self.spent.convert, lambda: self._convert(self.messages))
        whole = LLMContext("You are a careful helper. " * 40, context, self.tools)
        built = self._timed(self.spent.build, lambda: self._builder.build(MODEL, whole, OPTIONS))
        look = self._timed(self.spent.look, lambda: self._reader.read(built))
        self._timed(self.spent.encode, lambda: encode_body(built))
        return built, look

    @staticmethod
    def _timed(to: list[float], step: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = step()
        to.append(time.process_time() - began)
        return result


def check(conversation: Conversation, built: dict[str, Any], look: RequestLook) -> None:
    whole = LLMContext(
        "You are a careful helper. " * 40,
        convert_to_llm(conversation.messages),
        conversation.tools,
    )
    anew = build_request(MODEL, whole, OPTIONS)
    assert json.dumps(built) == json.dumps(anew), "the request differs from one built anew"
    assert look == RequestReader().read(anew), "the look at it differs from one taken anew"


def main(*, quick: bool) -> int:
    count = MESSAGES // (4 if quick else 1)
    conversation = Conversation()
    gc.collect()
    gc.disable()  # a collection would fall on one request or another
    built, look = conversation.request()
    while len(conversation.messages) < count:
        conversation.messages += turn(len(conversation.messages))
        built, look = conversation.request()
    gc.enable()
    check(conversation, built, look)

    first = conversation.spent.at(slice(WARM_UP, WARM_UP + SAMPLES))
    last = conversation.spent.at(slice(-SAMPLES, None))
    began = time.process_time()
    fresh = LLMContext("", convert_to_llm(conversation.messages), conversation.tools)
    build_request(MODEL, fresh, OPTIONS)
    scratch = time.process_time() - began

    print(f"CPU milliseconds of a request, median of {SAMPLES}; {TOOLS} tools")
    for name, what in (
        ("convert", "convert and repair"), ("build", "build"), ("look", "look at its parts"),
        ("encode", "serialise"),
    ):  # fmt: skip
        print(f"     {what:<22} first {first[name] * 1e3:7.3f}   "
              f"at {count} messages {last[name] * 1e3:7.3f}")  # fmt: skip
    own_first = first["convert"] + first["build"]
    own_last = last["convert"] + last["build"]
    missed = False
    for what, ratio, bound, at_least in (
        (f"request at {count} messages / first, not serialising", own_last / own_first,
         FLAT_BOUND, False),
        ("the same / serialising it", own_last / last["encode"],
         SERIALISING_BOUND * (4 if quick else 1), False),
        ("built from nothing / built on", scratch / own_last,
         SCRATCH_BOUND / (4 if quick else 1), True),
    ):  # fmt: skip
        good = ratio >= bound if at_least else ratio <= bound
        missed |= not good
        sign = ">=" if at_least else "<="
        print(f"{'ok  ' if good else 'MISS'} {what:<52} {ratio:8.2f} {sign} {bound:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the messages")
    sys.exit(main(quick=parser.parse_args().quick))
