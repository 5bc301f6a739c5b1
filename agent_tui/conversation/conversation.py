"""Conversation: the one object both faces hold. It wires agent, model, tools and session,
and hands on; it decides little. Everything a face may ask for is a method here.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

from agent_tui.agent.agent import Agent, AgentBusyError, Phase
from agent_tui.agent.events import (
    AgentEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    TurnEndEvent,
)
from agent_tui.agent.growing_history import HistoryConverter
from agent_tui.agent.loop import (
    AgentLoopConfig,
    PrepareNextTurnContext,
    StreamFunction,
    ThinkingLevel,
)
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    CustomMessage,
    ImageContent,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation.approvals import Approvals
from agent_tui.conversation.commands import default_registry
from agent_tui.conversation.commands.registry import Run
from agent_tui.conversation.container_files import ContainerFiles
from agent_tui.conversation.context_measure import ContextMeasure
from agent_tui.conversation.driver import RunDriver
from agent_tui.conversation.endpoint import Endpoint, secret_mask
from agent_tui.conversation.event_hub import EventHub, Subscriber
from agent_tui.conversation.events import (
    ContainerChangedEvent,
    ConversationEvent,
    NoticeEvent,
    RetryEvent,
    SettingChangedEvent,
    Status,
    StatusChangedEvent,
)
from agent_tui.conversation.limits import Limits
from agent_tui.conversation.mcp.link import McpLink
from agent_tui.conversation.mcp.plan import McpPlan
from agent_tui.conversation.mcp.sampling import Sampler
from agent_tui.conversation.mentions.attachments import Attachments
from agent_tui.conversation.mentions.completer import FileCompleter
from agent_tui.conversation.meters import Meters, RequestWatch
from agent_tui.conversation.model_call import ModelCall
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.conversation.model_watch import ModelWatch
from agent_tui.conversation.programs import program_number
from agent_tui.conversation.queue_control import QueueControl, is_command
from agent_tui.conversation.results import CommandInfo, CommandResult, Submitted
from agent_tui.conversation.retry import RetryPolicy
from agent_tui.conversation.session_change import SessionChange
from agent_tui.conversation.session_link import Restored, SessionLink
from agent_tui.conversation.session_settings import SessionSettings
from agent_tui.conversation.settings_change import ConversationSettings
from agent_tui.conversation.state_json import state_json
from agent_tui.conversation.submissions import Submissions
from agent_tui.conversation.system_prompt import build_system_prompt
from agent_tui.conversation.tool_offer import ToolOffer, make_toolset
from agent_tui.conversation.usage import UsageTotals
from agent_tui.conversation.user_commands import UserCommands, user_command
from agent_tui.conversation.validation import validate_arguments
from agent_tui.drafts import Draft
from agent_tui.sessions.store import Session
from agent_tui.settings import Settings

log = logging.getLogger(__name__)

MOST_RESOURCES = 50
"""Offered behind an @, so that they leave room for files."""

Decision = Literal["allow", "allow_always", "deny"]
THINKING_LEVELS = ("off", "low", "medium", "high", "xhigh", "max")

_STATUS: dict[Phase, Status] = {
    "idle": "ready",
    "waiting": "waiting",
    "streaming": "streaming",
    "tools": "tools",
    "stopping": "stopping",
}


class Conversation(QueueControl):
    """See module docstring. One event loop; no method blocks it for long.

    Made by conversation.build.build_conversation. interactive: somebody can answer
    permission requests. allow: tool names that need no answer. readable: folders besides
    cwd that may be read unasked (where long outputs are saved). of_session: the settings that
    another session goes on with; None: those of now. watch: what stream_function shows its
    requests to; None: they are not looked at.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        endpoint: Endpoint,
        stream_function: StreamFunction,
        tools: Sequence[AgentTool],
        cwd: str,
        models: ModelChoice,
        session: Session,
        interactive: bool = True,
        allow: Collection[str] = (),
        readable: Collection[str] = (),
        limits: Limits | None = None,
        retry_policy: RetryPolicy | None = None,
        of_session: SessionSettings | None = None,
        watch: RequestWatch | None = None,
        servers: McpPlan | None = None,
    ) -> None:
        self.settings = settings
        self.endpoint = endpoint
        self.cwd = cwd
        self.models = models
        self.limits = limits or Limits()
        self._hub = EventHub()
        self._emit = self._hub.emit
        self.meters = Meters(models.info, self._emit, watch)
        self.limits.spent = lambda: self.usage.cost_at_least
        self.toolset = make_toolset(settings, tools)
        self.toolset.restore(of_session.tools(session) if of_session else session.tools)
        self._model_watch = ModelWatch(
            models, self.meters, self.limits, self.toolset, self._emit,
            level=lambda: self.agent.state.thinking_level, max_tokens=settings.max_tokens,
        )  # fmt: skip
        self.approvals = Approvals(
            cwd, self._asks, allow=allow, readable=readable, interactive=interactive,
            program_number=lambda tool_id: program_number(self.messages, tool_id),
        )  # fmt: skip
        self._policy = retry_policy or RetryPolicy()
        self._registry = default_registry()
        self._registry.add_source(lambda: self.mcp.prompts.commands())
        self._model_call = ModelCall(stream_function, self._policy, self._emit)
        self._model_call.enter(session)
        self.files = ContainerFiles(endpoint.api, self._model_call.watch)
        self._announced: set[str] = set()
        self._last_status: Status = "ready"
        self._in_command = False
        config = AgentLoopConfig(
            model=models.name,
            stream_function=self._model_call,
            max_tokens=settings.max_tokens,
            thinking_level=settings.thinking,
            tools=list(tools),
            tool_execution=settings.tool_execution,
            validate_arguments=validate_arguments,
            before_tool_call=self.approvals.before_tool_call,
            should_stop_after_turn=self._should_stop,
            converter=HistoryConverter(cut_unstarted=True),
        )
        self.mcp = McpLink(
            cwd,
            servers or McpPlan(interactive=interactive),
            self.toolset,
            self._emit,
            sampler=self._sampler(servers),
            window=lambda: models.info().context_window,
            forget_tools=self.approvals.forget,
        )
        self.approvals.servers = self.mcp
        config.transform_context = self.mcp.before_request
        prompt = build_system_prompt(settings, cwd, self.toolset.tools())
        self.agent = Agent(config, system_prompt=prompt)
        self.agent.queue.steering_mode = settings.steering_mode
        self.agent.queue.follow_up_mode = settings.follow_up_mode
        self._link = SessionLink(session, self.agent, lambda text: self.notice("warning", text))
        self._model_call.link = self._link
        self._link.attach()
        self.files.record = self._link.uploads
        self.files.enter(session.uploads)
        self.meters.begin(self.messages, self.session.answers())
        self._model_watch.look()
        self._measure = ContextMeasure(
            self.agent, self._model_call, self.meters, models, endpoint, settings
        )
        self.agent.subscribe(self._link.on_event)
        self.agent.subscribe(self._on_agent_event)
        self.agent.subscribe_phase(self._on_phase)
        self.agent.queue.subscribe(self._queue_changed)
        self.driver = RunDriver(
            self.agent,
            self._retry,
            self._policy,
            self.limits,
            self._on_idle,
            self._run_queued_command,
        )
        self.tool_offer = ToolOffer(
            self.toolset,
            self.agent,
            lambda: self.driver.running,
            lambda text: self.notice("warning", text),
        )
        self.tool_offer.instruct = self._model_call.instruct
        self.mcp.tool_offer = self.tool_offer
        self.attachments = Attachments(cwd, self.mcp.mentions)
        self.user_commands = UserCommands(
            self.agent, self._emit, cwd, next(iter(readable), None),
            lambda: self.driver.running, self._link.ran,
        )  # fmt: skip
        self.user_commands.enter(session)
        self.file_names = FileCompleter(cwd, lambda: self.attachments.mentioned)
        self._submissions = Submissions(
            self.agent, self.driver, self._link, self.files, self.attachments
        )
        self._change = SessionChange(
            cwd, self.agent, self._link, self._model_call, self.toolset, self.tool_offer,
            self.files, self.meters, models, of_session, secret_mask(endpoint),
            busy=lambda: self.busy, carry=lambda: self._in_command, emit=self._emit,
        )  # fmt: skip
        self.held_settings = ConversationSettings(self)
        self.remember: Callable[[str, str], None] = lambda name, value: None
        """For a face: (setting, value) that the user has chosen by a command."""

    def _sampler(self, servers: McpPlan | None) -> Sampler | None:
        if servers is None or servers.side_stream is None:
            return None

        def count(answer: AssistantMessage) -> None:
            self.meters.count_beside(answer)
            self._link.beside(answer)

        return Sampler(servers.side_stream, lambda: self.model, count, self.limits.why_spent)

    # --- events out --------------------------------------------------------------------

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """fn gets every AgentEvent (awaited, in the loop) and every ConversationEvent (called at
        once; what it returns to be awaited runs on as a task). Returns the unsubscriber."""
        return self._hub.subscribe(fn)

    async def _on_agent_event(self, event: AgentEvent) -> None:
        if not isinstance(event, MessageUpdateEvent):
            self._note(event)
        await self._hub.send(event)
        self._model_call.watch.on_event(event)

    def _note(self, event: AgentEvent) -> None:
        """What this object keeps of the run."""
        self.tool_offer.on_event(event)
        self.meters.on_event(event)
        match event:
            case MessageEndEvent(message=UserMessage() | CustomMessage() as message):
                self._submissions.came(message)
            case MessageEndEvent(message=AssistantMessage() as message):
                self._model_call.saw_answer(message)
            case ToolExecutionStartEvent() | ToolExecutionEndEvent() | TurnEndEvent():
                self._delivery_points_changed()
            case _:
                pass

    def _on_phase(self, phase: Phase) -> None:
        status = _STATUS[phase]
        if status == "ready" and self.driver.running:
            return  # between two runs of the driver; _on_idle tells the end
        self._set_status("stopping" if self.driver.stopping and status != "ready" else status)
        self._delivery_points_changed()

    def _retry(self, event: RetryEvent | NoticeEvent) -> None:
        if isinstance(event, RetryEvent) and event.strikes is not None:
            self._link.strike(event.strikes)
            self._model_call.watch.struck()
        self._emit(event)

    async def _should_stop(self, turn: PrepareNextTurnContext) -> bool:
        goes_on = bool(turn.tool_results or self.agent.queue.items())
        return self.limits.after_turn(goes_on=goes_on)

    def _set_status(self, status: Status) -> None:
        if status != self._last_status:
            self._last_status = status
            self._emit(StatusChangedEvent(status))

    def _on_idle(self) -> None:
        if self.limits.reached:
            self._emit(NoticeEvent("warning", f"Stopped: {self.limits.reached}."))
        self._set_status("ready")
        self.user_commands.settle_soon()

    # --- what the user does -------------------------------------------------------------

    async def submit(self, text: str, *, images: list[ImageContent] | None = None) -> Submitted:
        """Idle: starts a run in the background (returns at once). Running: steers.
        A line that begins with "/" is a command, one that begins with "!" is run. Empty text
        resumes a paused queue."""
        return await self._submit("steer", text, images)

    async def follow_up(self, text: str, *, images: list[ImageContent] | None = None) -> Submitted:
        """Running: queues a follow-up. Idle: as submit."""
        return await self._submit("follow_up", text, images)

    async def _submit(
        self, kind: Literal["steer", "follow_up"], text: str, images: list[ImageContent] | None
    ) -> Submitted:
        if is_command(text) and not images:
            return Submitted("command", command=await self.command(text))
        if (own := user_command(text)) is not None and not images:
            self.user_commands.start(own[0], exclude=own[1])
            return Submitted("command")
        if not text.strip() and not images:
            if self.agent.queue.paused:
                self.queue_resume()
                return Submitted("resumed")
            return Submitted("nothing")
        message = await self.message_of(text, images or ())
        await self.user_commands.settle()
        if self.driver.running:
            message = self.user_commands.go_along(message)
        return self.submit_message(message, kind)

    async def message_of(
        self, text: str, images: Sequence[ImageContent] = (), rest: str = ""
    ) -> UserMessage:
        """What a text says, with the files and resources that it names (`@path`,
        `@server:uri`), read now. rest: more text, in which an @ means nothing (it comes from
        elsewhere). Raises MentionError (a ValueError) for what cannot be had; nothing is lost."""
        return await self._submissions.message_of(text, images, rest)

    def mentions(self, typed: str) -> list[tuple[str, str]]:
        """(what would stand behind an @, a word about it) for what is typed there, as far as it
        is known; file_names.changed is called when there is more."""
        resources = self.mcp.mentions.complete(typed)[:MOST_RESOURCES]
        return [*resources, *self.file_names.complete(typed)]

    async def recorded(self, message: AgentMessage | None = None) -> bool:
        """Until what was asked for is on disk (for a face that says "accepted"): this message
        of the transcript, or what the queue holds. False: it could not be written."""
        return await self._submissions.recorded(message)

    def submit_message(
        self, message: UserMessage | CustomMessage, kind: Literal["steer", "follow_up"] = "steer"
    ) -> Submitted:
        """As submit, for a message that is already made."""
        starts = not self.driver.running
        submitted = self._submissions.give(message, kind)
        if starts:
            self._set_status("waiting")
        return submitted

    def abort(self, *, pause_queue: bool = True) -> None:
        """Esc: stop the run, pause the queue. Status "stopping" is out before this returns."""
        if not self.driver.running:
            return
        if pause_queue:
            self.agent.queue.pause_waiting()
        self.driver.abort()
        self._set_status("stopping")

    def abort_tool(self, tool_call_id: str, reason: str = "") -> bool:
        """Stop one call, also one that is still being written; it gets an error result, with the
        reason, and the run goes on. False: there is no such call."""
        return self.agent.abort_tool(tool_call_id, reason)

    def answer(self, request_id: str, decision: Decision, reason: str = "") -> bool:
        """Answer a permission_request; False if it is no longer open."""
        return self.approvals.answer(request_id, decision, reason)

    def answer_question(
        self, request_id: str, action: str, content: dict[str, Any] | None = None
    ) -> bool:
        """Answer a server_question: accept, decline or cancel; False if it is no longer open.
        Raises ValueError for content that does not fit its form; the question stays open."""
        return self.mcp.questions.answer(request_id, action, content)

    def send_now(self) -> bool:
        """Skip the calls not yet started, so that steering goes out; False when there is no run."""
        sent = self.agent.send_now()
        if sent:
            self._delivery_points_changed()
        return sent

    async def continue_(self) -> None:
        """Run on from the transcript as it stands. Raises ValueError when nothing waits for
        the model, AgentBusyError while running."""
        if self.driver.running:
            raise AgentBusyError  # also between two tries, when the agent itself is idle
        self.agent.check_can_continue()
        self.driver.continue_()

    async def try_again(self) -> None:
        """Ask the model for its last answer again: that one leaves the conversation and stays in
        the session on a dead branch; results of tools before it are not made again. Raises
        ValueError when there is none, AgentBusyError while busy."""
        if self.busy:
            raise AgentBusyError
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage):
            self._retry(RetryEvent(0, 0.0, "asked again", last.id))
            self.agent.drop_last_message()
        await self.continue_()

    # --- commands and settings ------------------------------------------------------------

    async def command(self, line: str) -> CommandResult:
        """Run a slash command line. Never raises for what was typed."""
        return await self._registry.run(self, line)

    def commands(self) -> list[CommandInfo]:
        return self._registry.infos()

    def completions(self, line: str) -> list[tuple[str, str]]:
        """(whole line, a word about it): what a command line may become, by its arguments."""
        return self._registry.completions(self, line)

    def takes_any(self, line: str) -> bool:
        """Other arguments than those of completions() are as good for this command."""
        return self._registry.takes_any(line)

    def set_model(self, model: str) -> None:
        """From the next request on. Raises ValueError for an empty name."""
        if not model.strip():
            raise ValueError("The name of the model is empty.")
        self.models.choose(model)
        self.agent.set_model(model)
        self.session.record_model(model)
        self._emit(SettingChangedEvent("model", model))
        self._model_watch.look()
        self.mcp.model_changed()

    def set_thinking(self, level: str) -> None:
        """From the next request on. Raises ValueError naming the levels."""
        if level not in THINKING_LEVELS:
            raise ValueError(
                f"{level!r} is no thinking level; the levels are {', '.join(THINKING_LEVELS)}."
            )
        chosen: ThinkingLevel = level  # type: ignore[assignment]
        self.agent.set_model(self.model, chosen)
        self.session.record_thinking(level)
        self._emit(SettingChangedEvent("thinking", level))
        self._model_watch.look()

    @property
    def system_prompt(self) -> str:
        """All of it, as the next request holds it."""
        return self._model_call.system_prompt(self.agent.system_prompt)

    async def model_names(self) -> list[str]:
        """Ids the endpoint lists; empty when it cannot say."""
        return await self.models.names()

    async def clear(self) -> None:
        """A new conversation in a session of its own, with the model, thinking level and tools
        of now. Only while not busy."""
        if not self.busy:
            self.user_commands.leave()
        await self._change.begin_new()
        self.user_commands.enter(self.session)

    async def open_session(self, session: Session) -> None:
        """Go on in this session: its messages, queue, container, model, thinking level, tools.
        Raises AgentBusyError while busy."""
        if not self.busy:
            self.user_commands.leave()
        await self._change.open(session)
        self.user_commands.enter(self.session)

    @property
    def keeps(self) -> bool:
        """What is said here is written down (False: --no-session)."""
        return self._change.keeps

    @property
    def session(self) -> Session:
        return self._link.session

    def restored(self) -> Restored:
        """What the session brought back beside its messages and its queue."""
        return self._link.restored()

    def record_draft(self, draft: Draft) -> None:
        """What stands in the composer, at rest: it is there again when the session is. A command
        line is not kept: it may hold a secret."""
        self._link.draft(draft.without(is_command))

    def notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Tell the user something, from the program itself."""
        self._emit(NoticeEvent(level, text))

    def tell(self, event: ConversationEvent) -> None:
        """To whoever subscribed."""
        self._emit(event)

    def add_command(self, name: str, usage: str, help: str, run: Run) -> None:
        """A command of the face's own."""
        self._registry.add(name, usage, help, run)

    def told(self) -> list[ConversationEvent]:
        """What was told last of usage, cache and context, for a face that joins later."""
        return self.meters.told()

    async def measure_context(self) -> None:
        """Tell (ContextChangedEvent) what the next request would hold, counted by the service
        where it can. While a run is on nothing is done: its answers tell it."""
        if self.busy:
            return
        await self._measure()

    # --- state ------------------------------------------------------------------------------

    @property
    def usage(self) -> UsageTotals:
        """Tokens and cost so far, those of the session before it was resumed included."""
        return self.meters.totals

    @property
    def status(self) -> Status:
        return self._last_status

    @property
    def model(self) -> str:
        return self.agent.state.model

    @property
    def thinking(self) -> str:
        return self.agent.state.thinking_level

    @property
    def messages(self) -> list[AgentMessage]:
        """The transcript; read it, do not write it."""
        return self.agent.state.messages

    def new_container(self) -> None:
        """Give the live container up: the next program gets a fresh one. Only while idle."""
        if self.driver.running:
            raise AgentBusyError
        self._model_call.new_container(self.agent.context_messages())

    @property
    def container(self) -> ContainerChangedEvent | None:
        """What was told of the container last; None while there was none."""
        return self._model_call.watch.last

    def state(self) -> dict[str, Any]:
        """DESIGN, RPC `state`, and endpoint {label, demo, source}. Plain JSON values."""
        return state_json(self)

    async def wait_idle(self) -> None:
        """Until no run is on."""
        await self.driver.wait()

    async def close(self) -> None:
        """Stops a run and what belongs to the conversation; bounded."""
        self.abort(pause_queue=False)
        servers = asyncio.create_task(self.mcp.close(), name="end MCP servers")
        try:
            async with asyncio.timeout(3):
                await self.wait_idle()
        except TimeoutError:
            log.warning("the run did not settle within 3 s at the end")
        await servers
        await self.user_commands.close()
        self._model_call.watch.close()
        self.files.close()
        self.file_names.close()
        await self.models.close()
        await self._link.close()
        if self.endpoint.close is not None:
            await asyncio.to_thread(self.endpoint.close)
