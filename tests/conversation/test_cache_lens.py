"""The cache lens names what broke the prefix: injected changes, one by one and together."""

from collections.abc import Callable
from typing import Any

import pytest

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    Usage,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation.cache_lens import CacheLens
from agent_tui.conversation.events import CacheEvent
from agent_tui.conversation.request_look import RequestReader
from agent_tui.messages_api.request import RequestBuilder


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def _nothing(*_: Any) -> Any: ...


def tool(name: str, description: str = "Looks.") -> AgentTool:
    return AgentTool(name, description, {"type": "object", "properties": {}}, _nothing)


def usage(read: int, written: int, new: int = 10, **raw: Any) -> Usage:
    return Usage(input=new, output=5, cache_read=read, cache_write=written, raw=raw)


class Asked:
    """A conversation that goes on, request by request; each answer's usage is given."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.lens = CacheLens(clock=self.clock)
        self.model = "claude-sonnet-5-5"
        self.system = "You help."
        self.tools = [tool("grep"), tool("read")]
        self.level: Any = "high"
        self.history: list[Message] = []
        self._builder = RequestBuilder()
        self._reader = RequestReader()
        self._number = 0

    def ask(self, read: int, written: int, new: int = 10) -> CacheEvent:
        self.history.append(UserMessage(content=f"question {len(self.history)}"))  # type: ignore[arg-type]
        context = LLMContext(self.system, list(self.history), list(self.tools))
        options = StreamOptions(thinking_level=self.level)
        self.lens.sent(self._reader.read(self._builder.build(self.model, context, options)))
        self._number += 1
        event = self.lens.answered(self._number, usage(read, written, new))
        self.history.append(AssistantMessage(content=[TextContent(text="an answer")]))
        self.clock.now += 10
        assert event is not None
        return event


def begun() -> Asked:
    """Two answers whose cache held: 5,000 tokens are kept."""
    asked = Asked()
    first = asked.ask(0, 4000)
    assert (first.broke, first.expected, first.read, first.written) == (False, 0, 0, 4000)
    second = asked.ask(4000, 1000)
    assert (second.broke, second.expected, second.lost) == (False, 4000, 0)
    return asked


def another_model(asked: Asked) -> None:
    asked.model = "claude-opus-5-5"


def another_system(asked: Asked) -> None:
    asked.system += " It is Monday."


def a_tool_more(asked: Asked) -> None:
    asked.tools.append(tool("server__fetch"))


def a_tool_less(asked: Asked) -> None:
    asked.tools.pop()


def another_description(asked: Asked) -> None:
    asked.tools[0] = tool("grep", "Looks, today at 12:01.")


def another_order(asked: Asked) -> None:
    asked.tools.reverse()


def another_level(asked: Asked) -> None:
    asked.level = "max"


def an_old_message(asked: Asked) -> None:
    asked.history[0] = UserMessage(content="question 0, edited")  # type: ignore[arg-type]


def an_old_answer(asked: Asked) -> None:
    asked.history[1] = AssistantMessage(content=[TextContent(text="rewritten")])


def messages_gone(asked: Asked) -> None:
    del asked.history[1:]


@pytest.mark.parametrize(
    ("change", "cause", "detail"),
    [
        (another_model, "model", "the model changed from claude-sonnet-5-5 to claude-opus-5-5"),
        (another_system, "system", "the system prompt changed"),
        (a_tool_more, "tools", "tools changed: added server__fetch"),
        (a_tool_less, "tools", "tools changed: removed read"),
        (another_description, "tools", "tools changed: different grep"),
        (another_order, "tools", "tools changed: in another order"),
        (another_level, "parameters", "effort changed from high to max"),
        (an_old_message, "history", "message 1 of 5 (yours) is not as it was sent before"),
        (an_old_answer, "history", "message 2 of 5 (the model's) is not as it was sent before"),
    ],
)
def test_an_injected_change_is_named(
    change: Callable[[Asked], None], cause: str, detail: str
) -> None:
    asked = begun()
    change(asked)
    event = asked.ask(1200, 4000)
    assert (event.broke, event.cause, event.detail) == (True, cause, detail)
    assert (event.expected, event.lost) == (5000, 3800)
    assert asked.lens.last_break == event
    assert not asked.ask(5200, 300).broke, "the cache holds again from there on"


def test_several_changes_are_all_named_the_first_of_the_prefix_first() -> None:
    asked = begun()
    another_level(asked)
    another_system(asked)
    a_tool_more(asked)
    event = asked.ask(0, 5000)
    assert event.cause == "tools"
    assert event.detail == (
        "tools changed: added server__fetch; the system prompt changed; "
        "effort changed from high to max"
    )


def test_a_change_that_broke_nothing_is_no_break() -> None:
    """The service may keep several beginnings; what counts is what it read."""
    asked = begun()
    another_level(asked)
    assert not asked.ask(5000, 300).broke


def test_a_conversation_that_was_cut_back_reads_less_of_less() -> None:
    asked = begun()
    messages_gone(asked)
    event = asked.ask(2500, 500, new=0)
    assert not event.broke, "all that there is was read or is new"
    asked = begun()
    messages_gone(asked)
    event = asked.ask(0, 3000, new=0)
    assert event.broke and event.cause == "history"
    assert "message 2 of 2" in event.detail or "cut after message" in event.detail


def test_an_idle_cache_expires() -> None:
    asked = begun()
    asked.clock.now += 600
    event = asked.ask(0, 5100)
    assert (event.broke, event.cause) == (True, "expired")
    assert event.detail == "10 min 10 s had passed, and the service keeps it for 5 min"


def test_a_break_that_nothing_explains_is_said_to_be_one() -> None:
    event = begun().ask(0, 5100)
    assert (event.broke, event.cause) == (True, "unknown")
    assert "did not keep it" in event.detail


def test_thinking_that_is_left_out_breaks_the_history() -> None:
    asked = begun()
    asked.history[1] = AssistantMessage(
        content=[ThinkingContent(thinking="t", signature="s"), TextContent(text="an answer")]
    )
    assert asked.ask(0, 5100).cause == "history"


def test_a_sum_of_several_samplings_is_not_held_against_the_next_request() -> None:
    """A response with server tools reads its context once for each sampling; the sum is more
    than anybody can read at once."""
    asked = begun()
    asked.ask(5000, 100)
    event = asked.lens.answered(4, usage(12_000, 3000), summed=True)
    assert event is not None and not event.broke
    assert not asked.ask(6100, 200).broke


def test_the_samplings_tell_what_was_there_and_what_is_kept() -> None:
    asked = begun()
    first = {"type": "message", "input_tokens": 5, "output_tokens": 5,
             "cache_read_input_tokens": 5000, "cache_creation_input_tokens": 100}  # fmt: skip
    second = {**first, "cache_read_input_tokens": 5100, "cache_creation_input_tokens": 900}
    told = usage(10_100, 1000, iterations=[first, second])
    event = asked.lens.answered(3, told, summed=True)
    assert event is not None and (event.read, event.written, event.broke) == (5000, 1000, False)
    another_system(asked)
    assert asked.ask(0, 7000).expected == 6000


def test_a_server_without_a_cache_never_breaks() -> None:
    asked = Asked()
    for _ in range(3):
        assert not asked.ask(0, 0, new=5000).broke
    assert asked.lens.answered(9, Usage(input=5, output=5)) is None


def test_another_conversation_begins_anew() -> None:
    asked = begun()
    asked.lens.begin()
    asked.history.clear()
    event = asked.ask(0, 4000)
    assert (event.broke, event.expected) == (False, 0)
