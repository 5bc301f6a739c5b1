"""Opener: gets the conversation from the starter and puts it on the screen."""

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agent_tui import heap
from agent_tui.agent.messages import UserMessage
from agent_tui.tui.asking import ScreenAsker
from agent_tui.tui.past_tools import show_past
from agent_tui.tui.presenter import Presenter
from agent_tui.tui.starter import CannotStartError

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.tui.app import AgentTuiApp

log = logging.getLogger(__name__)

DEMO = "demo: scripted replies, no model"
WELCOME = """\
This is the demo: there is no key and no model, the replies are scripted. Everything else is
real: streaming, tools, steering, approvals.

- `/login` enter a key
- `/tour` two minutes, see it all
- `/help` or F1: every key and command

Try: `list the files` · `run ls` · `count the lines of code` · `write a long answer`
"""


@runtime_checkable
class DemoStarter(Protocol):
    """One that can be told to give a conversation in the demo next."""

    def demo_next(self) -> None: ...


Starter = Callable[[ScreenAsker], Awaitable["Conversation"]]


@dataclass(frozen=True, slots=True)
class Choosable:
    """One option of a choice of our own."""

    key: str
    label: str


class Opener:
    """banner: shown before an empty conversation; "" shows the demo's welcome in the demo."""

    def __init__(self, app: "AgentTuiApp", starter: Starter, banner: str) -> None:
        self._app, self._starter, self._banner = app, starter, banner
        self._unsubscribe: Callable[[], None] | None = None
        self._under_way = False
        self._goes_on = ""
        """The session that the next conversation goes on with (after /login); "": its own."""

    def open(self) -> None:
        """Ask the starter for a conversation, in the background; once at a time."""
        if not self._under_way:
            self._under_way = True
            self._app.run_worker(self._open(), name="opening", exit_on_error=False)

    async def _open(self) -> None:
        self._app.view.read_folder()
        try:
            conversation = await self._starter(self._app.asker)
        except CannotStartError as error:
            self._app.leaving.last_words = str(error)
            self._app.leaving.begin(error.code)
        except Exception as error:
            log.exception("no conversation could be opened")
            self._app.notice("error", f"{error or type(error).__name__}")
            self._app.flash("Enter tries again")
            self._app.desk.give_back_held()
        else:
            await self._attach(conversation)
        finally:
            heap.settle()
            self._under_way = False

    @property
    def _attached(self) -> "Conversation | None":
        return self._app.desk.conversation

    async def _attach(self, conversation: "Conversation") -> None:
        """Show this conversation; what was typed meanwhile goes to it, in the session that it is
        to go on with."""
        resumed = None
        if goes_on := self._goes_on:
            resumed = await conversation.command(f"/resume {goes_on}")
            self._goes_on = ""
        self._show(conversation)
        await self._app.face.bring_history(conversation)
        if resumed is not None and resumed.error:
            # What was typed was meant for that session, not for a new one.
            self._app.show_result(resumed, "/resume")
            self._app.desk.give_back_held()
        elif resumed is not None:
            self._app.notice("info", "The key is stored; this conversation goes on with it.")
        await self._app.desk.attach(conversation)
        self._draw()

    def _show(self, conversation: "Conversation") -> None:
        """All at once, so that no event comes in between that would be shown twice or not."""
        app = self._app
        if self._unsubscribe is not None:
            self._unsubscribe()
        app.presenter = Presenter(app.clock)
        state = conversation.state()
        status = app.presenter.status
        status.status, status.model = conversation.status, conversation.model
        status.thinking = conversation.thinking
        app.presenter.container = conversation.container
        for event in conversation.told():
            app.presenter.apply(event)
        demo = bool((state.get("endpoint") or {}).get("demo"))
        app.view.demo(DEMO if demo else "")
        messages, restored = conversation.messages, conversation.restored()
        show_past(app.presenter.tools, messages, restored.durations)
        if messages:
            app.transcript.load(messages, restored.deliveries)
        elif self._banner or demo:
            app.transcript.add_markdown(self._banner or WELCOME.replace("·", app.glyphs.info))
        for message in messages:
            if isinstance(message, UserMessage):
                app.composer.past.add(message.typed, earlier=True)
        app.composer.commands = lambda: [(c.name, c.usage, c.help) for c in conversation.commands()]
        app.composer.completions = conversation.completions
        app.composer.takes_any = conversation.takes_any
        app.composer.mentions = conversation.mentions
        conversation.file_names.changed = app.composer.mentions_changed
        app.mcp_panel.show(conversation.mcp, lambda: app.presenter.tools.running)
        app.face.attach(conversation, demo=demo)
        self._unsubscribe = conversation.subscribe(app.router.receive)
        app.desk.paused = any(entry.state == "paused" for entry in conversation.queue())
        if restored.greeting:
            app.notice("info", restored.greeting)
        if restored.draft:
            app.composer.bring_back(restored.draft)

    def _draw(self) -> None:
        app = self._app
        app.view.read_folder()
        app.view.panels()
        app.view.status()
        app.view.hints()

    def reload(self) -> None:
        """The conversation has become another session: show that one."""
        app = self._app
        conversation = app.desk.conversation
        if conversation is not None:
            app.transcript.clear()
            self._show(conversation)
            for notice in conversation.restored().notices:  # told already, and cleared away
                app.notice("warning", notice)
            app.show_queue()
            self._draw()
            app.drafts.record()  # what is typed and put away by now belongs to this session

    def pick_session(self, sessions: Sequence[Mapping[str, Any]]) -> None:
        """/resume: choose one of `sessions` ({id, first_prompt, messages, age})."""
        self._app.run_worker(self._pick_session(sessions), group="pick", exit_on_error=False)

    async def _pick_session(self, sessions: Sequence[Mapping[str, Any]]) -> None:
        options = [
            Choosable(s["id"], f"{s['age']}  {s['first_prompt']}  ({s['prompts']})")
            for s in sessions
        ]
        stay = Choosable("", "stay in this one")
        key = await self._app.asker.choose(
            "Go on in which session?", "", [stay, *options], leave=stay.key, wanted=True
        )
        if key:
            await self._app.desk.send(f"/resume {key}")

    def go_to_demo(self) -> None:
        """/tour demo: leave this conversation for one in the demo, and begin the tour there."""
        self._app.run_worker(self._go_to_demo(), group="login", exclusive=True, exit_on_error=False)

    async def _go_to_demo(self) -> None:
        app, starter = self._app, self._starter
        before = app.desk.conversation
        if before is None or app.desk.running or not isinstance(starter, DemoStarter):
            app.notice("warning", "The demo is begun by: agent-tui --demo, then /tour.")
            return
        starter.demo_next()
        app.desk.conversation = None
        app.transcript.clear()
        await before.close()
        await self._open()
        if app.desk.conversation is not None:
            await app.tour.begin(app.desk.conversation)

    def log_in(self) -> None:
        """/login: ask for a key, unseen; then go on with it, in the same session if there is one
        on disk, else in a new one."""
        self._app.run_worker(self._log_in, group="login", exclusive=True, exit_on_error=False)

    async def _log_in(self) -> None:
        app = self._app
        opening = await asyncio.to_thread(importlib.import_module, "agent_tui.conversation.opening")
        if not await opening.log_in(app.asker):
            return
        if (before := await app.desk.let_go()) is None:
            app.notice("info", "The key is stored; it is used from the next start on.")
            return
        self._goes_on = before.session.id if before.messages and before.keeps else ""
        lost, goes_on = bool(before.messages) and not self._goes_on, bool(self._goes_on)
        self._under_way = True
        app.transcript.clear()
        await before.close()
        await self._open()
        if goes_on:
            return
        app.notice(
            "info",
            "The key is stored. This is a new conversation, with that key"
            + ("; the one before was not kept (--no-session)." if lost else "."),
        )
