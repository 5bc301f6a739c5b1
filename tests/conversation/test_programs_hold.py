"""Programs as the API runs them, broken off anywhere: what is sent next is always valid by the
rules of the offline server, loses nothing that had finished, and tells the model."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui.agent.events import DoneEvent, StreamEvent
from agent_tui.agent.llm_messages import awaits_results_only, convert_to_llm
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    Container,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation.mending import Mending
from agent_tui.conversation.toolset import BUILTIN, Exposure, Toolset
from agent_tui.messages_api.request import build_request
from agent_tui.offline import validate_request
from agent_tui.sessions.store import Session
from tests.faults.helpers import instant, said, talking

thorough = settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
PICTURE = ImageContent(data="AAAA", media_type="image/png")
INTERRUPTED = "was interrupted before it finished"


@dataclass
class Run:
    """messages: as recorded. finished: programs whose output had come. given: texts of results
    that had come. open: the program that was under way, None if none was."""

    messages: list[AgentMessage] = field(default_factory=list[AgentMessage])
    finished: list[str] = field(default_factory=list[str])
    given: dict[str, str] = field(default_factory=dict[str, str])
    open: str | None = None
    broken: bool = False
    """The last answer was stopped or cut while it streamed."""

    def add(self, message: AgentMessage) -> None:
        message.id = f"m{len(self.messages)}"
        if not isinstance(message, ToolResultMessage | UserMessage | AssistantMessage):
            raise TypeError(message)
        message.timestamp = float(len(self.messages))
        self.messages.append(message)


class _Maker:
    """One conversation, drawn step by step; stops when `atoms` pieces have come."""

    def __init__(self, draw: Any, atoms: int) -> None:
        self.draw = draw
        self.left = atoms
        self.run = Run()
        self.numbers = iter(range(10_000))

    def make(self) -> Run:
        while self.left > 0:
            self.run.add(UserMessage(content=text_content(f"[u{next(self.numbers)}]")))
            self.left -= 1
            self._turn()
        return self.run

    def _turn(self) -> None:
        """One turn of the API: programs and direct calls, until it ends."""
        opening: list[Any] = []
        while self.left > 0:
            content = [*opening, *self._spoken()]
            kind = self.draw(st.sampled_from(["program", "program", "direct", "both", "end"]))
            if kind == "end":
                self._say(content or [self._text()], "end_turn")
                return
            program = f"srvtoolu_{next(self.numbers)}" if kind != "direct" else None
            if kind in ("direct", "both"):
                content += [self._call(None) for _ in range(self._few())]
            if kind == "both":  # nothing of one message runs before all of it has come
                content.append(self._start(program))
                opening = [self._output(program)] if self._say(content, "tool_use") else []
                if not self._answer():
                    return
                continue
            if program is None:
                if not self._say(content, "tool_use") or not self._answer():
                    return
                opening = []
                continue
            content.append(self._start(program))
            opening = self._program(program, content)
            if not opening:
                return

    def _program(self, program: str, content: list[Any]) -> list[Any]:
        """A program from its start to its output, which opens the next message; [] where it was
        broken off."""
        for _ in range(self._few()):
            content += [self._call(program) for _ in range(self._few())]
            reason = self.draw(st.sampled_from(["tool_use", "tool_use", "pause_turn"]))
            if not self._say(content, reason) or not self._answer():
                return []
            content = []
        return [self._output(program)]

    def _few(self) -> int:
        return self.draw(st.integers(1, 3))

    def _text(self) -> TextContent:
        return TextContent(text=f"[t{next(self.numbers)}]")

    def _spoken(self) -> list[Any]:
        number = next(self.numbers)
        thinking = ThinkingContent(thinking=f"[s{number}]", signature="")
        thinking.signature = _sign(thinking.thinking)
        return [b for b in (thinking, self._text()) if self.draw(st.booleans())]

    def _call(self, program: str | None) -> ToolCall:
        caller = {"type": "code_execution_20260120", "tool_id": program} if program else None
        return ToolCall(id=f"toolu_{next(self.numbers)}", name="work", caller=caller)

    def _start(self, program: str | None) -> OpaqueContent:
        raw = {
            "type": "server_tool_use", "id": program, "name": "code_execution",
            "input": {"code": "x"}, "caller": {"type": "direct"},
        }  # fmt: skip
        return OpaqueContent(raw=raw)

    def _output(self, program: str | None) -> OpaqueContent:
        content = {"type": "code_execution_result", "stdout": "out", "stderr": "",
                   "return_code": 0, "content": []}  # fmt: skip
        raw = {"type": "code_execution_tool_result", "tool_use_id": program, "content": content}
        return OpaqueContent(raw=raw)

    def _say(self, content: list[Any], stop: str) -> bool:
        """An answer, block by block; False when it breaks off in it."""
        whole = content[: self.left]
        self.left -= len(content)
        self._note(whole)
        if self.left >= 0:
            self.run.add(AssistantMessage(content=content, stop_reason=stop))
            return True
        half = content[len(whole)].model_copy()
        if isinstance(half, ToolCall | OpaqueContent):
            half.complete = False
        elif isinstance(half, ThinkingContent):
            half.signature = None
        kept = [*whole, half] if self.draw(st.booleans()) else whole
        stop = self.draw(st.sampled_from(["aborted", "error"]))
        self.run.add(AssistantMessage(content=kept, stop_reason=stop))
        self.run.broken = True
        return False

    def _note(self, blocks: list[Any]) -> None:
        for block in blocks:
            if isinstance(block, OpaqueContent):
                if block.raw["type"] == "server_tool_use":
                    self.run.open = block.raw["id"]
                else:
                    self.run.finished.append(block.raw["tool_use_id"])
                    self.run.open = None

    def _answer(self) -> bool:
        """The results of the last answer's calls, one by one; False when a crash comes between."""
        last = self.run.messages[-1]
        assert isinstance(last, AssistantMessage)
        for call in last.tool_calls:
            if self.left <= 0:
                return False
            self.left -= 1
            text = f"[r{next(self.numbers)}]"
            picture = [PICTURE] if self.draw(st.integers(0, 9)) == 0 else []
            self.run.given[call.id] = text
            self.run.add(
                ToolResultMessage(
                    tool_call_id=call.id, tool_name="work", content=[*text_content(text), *picture]
                )
            )
        return self.left > 0


def _sign(thinking: str) -> str:
    from agent_tui.offline.signing import sign_thinking

    return sign_thinking(thinking)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    return _Maker(draw, draw(st.integers(1, 40))).make()


TAILS = st.sampled_from(["nothing", "prompt", "prompt and answer"])


def with_tail(run: Run, tail: str) -> list[AgentMessage]:
    messages = list(run.messages)
    if tail != "nothing":
        messages.append(UserMessage(content=text_content("[the prompt]")))
    if tail == "prompt and answer":
        messages.append(AssistantMessage(content=[TextContent(text="[answered]")]))
        messages.append(UserMessage(content=text_content("[the next]")))
    return messages


def request(messages: list[Any], tools: list[AgentTool], container: str | None) -> dict[str, Any]:
    """The request's body; it breaks no rule."""
    options = StreamOptions(container_id=container)
    body = build_request("claude-sonnet-5-5", LLMContext("", messages, tools), options)
    problems = validate_request({**body, "stream": True})
    assert not problems, [p.message for p in problems]
    return body


def tools(exposure: Exposure) -> list[AgentTool]:
    made = Toolset()
    made.offer(BUILTIN, [instant()])
    made.set_exposure("work", exposure)
    return made.tools()


FOR_PROGRAMS = tools("both")


@thorough
@given(runs(), TAILS)
def test_wherever_it_breaks_off_the_next_request_is_valid(run: Run, tail: str) -> None:
    sent = convert_to_llm(with_tail(run, tail))
    request(sent, FOR_PROGRAMS, "container_1")
    lost = convert_to_llm(with_tail(run, tail), program_lost=True)
    request(lost, tools("direct"), None)


@thorough
@given(runs(), TAILS)
def test_a_program_that_had_ended_is_sent_whole(run: Run, tail: str) -> None:
    body = request(convert_to_llm(with_tail(run, tail)), FOR_PROGRAMS, "container_1")
    blocks = [b for m in body["messages"] if m["role"] == "assistant" for b in m["content"]]
    started = [b["id"] for b in blocks if b["type"] == "server_tool_use"]
    ended = [b["tool_use_id"] for b in blocks if b["type"] == "code_execution_tool_result"]
    assert ended == run.finished
    waits = [run.open] if run.open and tail == "nothing" and not run.broken else []
    assert started == run.finished + waits


@thorough
@given(runs(), st.sampled_from(["prompt", "prompt and answer"]))
def test_the_model_is_told_of_a_program_that_was_interrupted(run: Run, tail: str) -> None:
    body = request(convert_to_llm(with_tail(run, tail)), FOR_PROGRAMS, "container_1")
    texts = [text for m in body["messages"] if m["role"] == "user" for text in said(m)]
    notes = [text for text in texts if INTERRUPTED in text]
    assert len(notes) == (run.open is not None)
    whole = str(body["messages"])
    for text in run.given.values():
        assert whole.count(text) == 1, "what a call gave is there, once"
    made = {
        call.id
        for m in run.messages
        if isinstance(m, AssistantMessage)
        for call in m.tool_calls
        if call.programmatic and (call.caller or {}).get("tool_id") == run.open
    }
    for call_id, text in run.given.items():
        if call_id in made:
            assert text in notes[0], "what had finished is named with the program"
    if notes:
        assert texts.index(notes[0]) < texts.index("[the prompt]")


@thorough
@given(runs())
def test_what_a_waiting_program_is_answered_with_is_results_only(run: Run) -> None:
    """Continued as it stands: every call of it has its result, and no text is among them."""
    if not awaits_results_only(run.messages) or run.open is None:
        return
    sent = convert_to_llm(run.messages)
    body = request(sent, FOR_PROGRAMS, "container_1")
    last = body["messages"][-1]
    answered = next(m for m in reversed(run.messages) if isinstance(m, AssistantMessage))
    assert [b["type"] for b in last["content"]] == ["tool_result"] * len(answered.tool_calls)


class Captured:
    """A service that takes every request and keeps it."""

    def __init__(self) -> None:
        self.sent: list[tuple[LLMContext, StreamOptions]] = []

    async def __call__(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        self.sent.append((context, options))
        yield DoneEvent(AssistantMessage())


@thorough
@given(runs(), TAILS, st.sampled_from(["both", "direct"]), st.sampled_from(["live", "none", "old"]))
def test_with_other_tools_or_without_its_container_it_is_valid_too(
    run: Run, tail: str, exposure: Exposure, container: str
) -> None:
    """What stands around the request: the container that is known, the tools of today."""
    expiry = "2020-01-01T00:00:00Z" if container == "old" else "2099-01-01T00:00:00Z"
    known = None if container == "none" else Container(id="container_1", expires_at=expiry)
    service = Captured()
    mending = Mending(
        notify=lambda text: None,
        keep=lambda mend: None,
        container=lambda: known,
        container_lost=lambda: None,
        clock=lambda: 1_796_000_000.0,
    )
    offered = tools(exposure)
    context = LLMContext("", convert_to_llm(with_tail(run, tail)), offered)

    async def send() -> None:
        options = StreamOptions(container_id=known.id if known else None)
        async for _ in mending.wrap(service)("m", context, options):
            pass

    asyncio.run(send())
    ((sent, options),) = service.sent
    body = request(sent.messages, offered, options.container_id)
    assert ("container" in body) == (container == "live")
    texts = [text for m in body["messages"] if m["role"] == "user" for text in said(m)]
    if container == "old":
        assert "gone" in texts[-1]


async def test_a_conversation_that_holds_a_call_of_a_program_that_is_nowhere_is_accepted(
    tmp_path: Path,
) -> None:
    """Another server had taken it; this one would refuse each request that holds it."""
    session = Session.in_memory(str(tmp_path))
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_nowhere"}
    for message in (
        UserMessage(content=text_content("first")),
        AssistantMessage(
            content=[TextContent(text="I ask."), ToolCall(id="p", name="work", caller=caller)],
            stop_reason="tool_use",
        ),
        ToolResultMessage(tool_call_id="p", tool_name="work", content=text_content("42 rows")),
        AssistantMessage(content=[TextContent(text="So 42.")]),
    ):
        session.append_message(message)
    async with talking({"text": "ok"}, cwd=tmp_path, session=session) as talk:
        await talk.conversation.submit("second")
        await talk.conversation.wait_idle()
        talk.assert_accepted()
        assert len(talk.bodies) == 1
        assert "42 rows" in str(talk.bodies[0]["messages"]), "what it had given is told"
