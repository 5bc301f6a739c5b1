"""ModelCall: the stream function of a conversation, with all that stands around a request:
the live container, tools in a stable order, mending of what was refused, retries.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Literal

from agent_tui.agent.events import StreamEvent
from agent_tui.agent.loop import LLMContext, StreamFunction, StreamOptions
from agent_tui.agent.messages import AgentMessage, AssistantMessage, Container
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation.container_watch import ContainerWatch
from agent_tui.conversation.events import ContainerChangedEvent, NoticeEvent, RetryEvent
from agent_tui.conversation.mending import Mend, Mending
from agent_tui.conversation.programs import says_gone
from agent_tui.conversation.retry import RetryPolicy, with_retries
from agent_tui.conversation.session_link import SessionLink
from agent_tui.messages_api.tool_schemas import usable_tools
from agent_tui.sessions.store import Session

Emit = Callable[[NoticeEvent | RetryEvent | ContainerChangedEvent], None]


class ModelCall:
    """link is set by the conversation once there is one (the agent needs this first)."""

    def __init__(self, stream_function: StreamFunction, policy: RetryPolicy, emit: Emit) -> None:
        self._emit = emit
        self.watch = ContainerWatch(emit)
        self._unusable: set[str] = set()
        self.instructions = ""
        """What MCP servers say of themselves; it follows the system prompt."""
        self.link: SessionLink | None = None
        self.container: Container | None = None
        """The live container: held here, never read from history (DESIGN)."""
        self.mending = Mending(
            notify=lambda text: self._say("warning", text),
            keep=self._keep,
            container=lambda: self.container,
            container_lost=self._container_lost,
        )
        self._stream = self.mending.wrap(with_retries(stream_function, policy, self._retrying))

    def __call__(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        # In one order, whatever order servers name them in: the cache holds on (A29).
        tools = self._offered(sorted(context.tools, key=lambda tool: tool.name))
        container_id = self.container.id if self.container else None
        prompt = self.system_prompt(context.system_prompt)
        return self._stream(
            model,
            replace(context, system_prompt=prompt, tools=tools),
            replace(options, container_id=container_id),
        )

    def instruct(self, text: str) -> None:
        """From the next request on."""
        self.instructions = text

    def system_prompt(self, own: str) -> str:
        """All of it, as a request holds it."""
        if not self.instructions:
            return own
        return "\n\n".join(part for part in (own.rstrip("\n"), self.instructions) if part)

    def preview(self, context: LLMContext) -> LLMContext:
        """The context as a request that is not sent now would hold it."""
        tools, _ = usable_tools(sorted(context.tools, key=lambda tool: tool.name))
        messages = self.mending.apply(context.messages)
        prompt = self.system_prompt(context.system_prompt)
        return replace(context, system_prompt=prompt, tools=tools, messages=messages)

    def enter(self, session: Session) -> None:
        """Go on with what this session knows: its container, what its requests leave out."""
        self.container = session.container
        self.watch.enter(session.container, session.messages())
        self.mending.load(session.mends)

    def saw_answer(self, message: AssistantMessage) -> None:
        """The container that an answer names goes with every request from here on (A23), until
        a program says that it is gone."""
        before = self.container.id if self.container is not None else None
        if message.container is not None:
            self.container = message.container
            if self.link is not None:
                self.link.container(message.container)
        if says_gone(message) and self.container is not None and self.container.id == before:
            self._container_lost()
            self._say(
                "warning",
                "The code execution container has expired, with its files; the next program gets "
                "a new one.",
            )

    def new_container(self, messages: Sequence[AgentMessage]) -> None:
        """The user wants a new one: the next request goes out without the id of this one."""
        if self.container is None:
            return
        self.container = None
        if self.link is not None:
            self.link.container(None)
        self.mending.new_container(messages)
        self.watch.forgotten()

    def _offered(self, tools: list[AgentTool]) -> list[AgentTool]:
        """Those a request can name; the user is told of each other one, once (A32)."""
        usable, left_out = usable_tools(tools)
        for name in left_out.keys() - self._unusable:
            self._say("warning", f"The tool {name} cannot be offered: {left_out[name]}.")
        self._unusable |= left_out.keys()
        return usable

    def _container_lost(self) -> None:
        self.container = None
        if self.link is not None:
            self.link.container(None)
        self.watch.lost()

    def _keep(self, mend: Mend) -> None:
        if self.link is not None:
            self.link.mended(mend.what, list(mend.ids), mend.text)

    def _retrying(self, attempt: int, wait_s: float, why: str) -> None:
        self._emit(RetryEvent(attempt, wait_s, why))

    def _say(self, level: Literal["info", "warning", "error"], text: str) -> None:
        self._emit(NoticeEvent(level, text))
