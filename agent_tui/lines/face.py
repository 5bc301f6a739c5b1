"""LinesFace: one conversation in plain lines. It says what happens and carries what is typed."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agent_tui import heap
from agent_tui.agent.messages import UserMessage
from agent_tui.conversation.closing import close_in_time
from agent_tui.conversation.going_on import how_to_go_on
from agent_tui.drafts import Draft
from agent_tui.lines.commands import HELP, LineCommands, to_copy
from agent_tui.lines.editor import LineEditor
from agent_tui.lines.prose import plain
from agent_tui.lines.questions import Approval, Choice, Consent, FormQuestion, OptionLike, Questions
from agent_tui.lines.teller import Teller, past
from agent_tui.text import SafeText, clean

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.conversation.event_hub import AnyEvent
    from agent_tui.conversation.results import CommandResult

log = logging.getLogger(__name__)

Open = Callable[["LinesFace"], Coroutine[Any, Any, "Conversation"]]
"""Makes a conversation; the face is the one who is asked (opening.Asker)."""

DRAFT_AFTER_S = 1.0
QUIT_WITHIN_S = 1.0
WELCOME = (
    "agent-tui, plain lines. Type a message and Enter; /help lists what else there is; "
    "Ctrl+D ends it."
)
DEMO = "This is the demo: scripted replies, no model. /login enters a key. Try: list the files."


class LinesFace:
    """open_: makes the conversation. Run it with run(); leave() ends it.

    bell: whether the end of a run, and a question, ring the terminal's bell.
    """

    def __init__(
        self,
        out: Any,
        open_: Open,
        *,
        settings: Any,
        first_prompt: str = "",
        encoding: str = "utf-8",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out, self._open, self._clock = out, open_, clock
        self._settings = settings
        self._first = first_prompt
        self.editor = LineEditor(
            out, sent=self._sent, left=lambda: self.leave(0), clock=clock, encoding=encoding
        )
        self.teller = Teller(lambda: self._setting("show_thinking", "folded"), clock)
        self.questions = Questions(self.say, clock)
        self._commands = LineCommands(self.teller, self._again, self._follow_up, self.say)
        self.conversation: Conversation | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._secret: asyncio.Future[str | None] | None = None
        self._held: list[tuple[str, bool]] = []
        self._goes_on = ""
        """The session that the next conversation goes on with (after /login); "": its own."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._in_order = asyncio.Lock()
        self._left: asyncio.Future[int] | None = None
        self._interrupted_at = -QUIT_WITHIN_S

    # --- saying -------------------------------------------------------------------------------

    def say(self, lines: Sequence[str]) -> None:
        """Safe lines."""
        if lines:
            self.teller.interrupted()
        self.editor.say(*lines)

    def _setting(self, name: str, default: Any) -> Any:
        held = self.conversation.held_settings.loaded.settings if self.conversation else None
        return getattr(held or self._settings, name, default)

    def _ring(self) -> None:
        if self._setting("notify", "auto") == "bell":
            self._out.write("\x07")

    # --- the life -----------------------------------------------------------------------------

    async def run(self) -> int:
        """Until the user leaves or leave() is called; the exit code. The conversation is closed."""
        self._left = asyncio.get_running_loop().create_future()
        self.say([WELCOME])
        self._spawn(self._begin())
        keeper = asyncio.create_task(self._keep_draft(), name="keep the draft")
        try:
            return await self._left
        finally:
            keeper.cancel()
            await self._close()

    def leave(self, code: int) -> None:
        if self._left is not None and not self._left.done():
            self._left.set_result(code)

    async def _begin(self) -> "Conversation | None":
        """The conversation; None, and said why, when there is none."""
        try:
            conversation = await self._open(self)
        except Exception as error:
            log.exception("no conversation could be opened")
            self.say([f"Error: {clean(str(error) or type(error).__name__)}. Enter tries again."])
            return None
        finally:
            heap.settle()
        resumed = None
        if goes_on := self._goes_on:
            resumed = await conversation.command(f"/resume {goes_on}")
            self._goes_on = ""
        self._show(conversation)
        if resumed is not None and resumed.error:
            # What was typed was meant for that session, not for a new one.
            self._result(resumed)
            kept, self._held = self._held, []
            for text, follow_up in kept:
                self.editor.history.append(f"> {text}" if follow_up else text)
            self.say(["Not sent; Up brings it back."] if kept else [])
        if self._first.strip():
            self._held.insert(0, (self._first, False))
            self._first = ""
        held, self._held = self._held, []
        for text, follow_up in held:
            await self._send(text, follow_up=follow_up)
        return conversation

    def _show(self, conversation: "Conversation") -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        self.conversation = conversation
        self._commands.add(conversation)
        conversation.held_settings.of_face = frozenset({"show_thinking", "notify"})
        restored = conversation.restored()
        out: list[str] = [f"Model: {clean(conversation.model)}"]
        if conversation.endpoint.demo:
            out.append(DEMO)
        if restored.greeting:
            out.append(f"Note: {clean(restored.greeting)}")
        out += past(conversation.messages)
        out += self.teller.enter(conversation.queue(), paused=conversation.agent.queue.paused)
        self.say([*out, "Ready."])
        self.editor.history = [
            m.typed for m in conversation.messages if isinstance(m, UserMessage) and m.typed
        ]
        self._unsubscribe = conversation.subscribe(self._receive)
        if restored.draft and self.editor.is_empty:
            self.say(["Draft: what you had typed and not sent is on the line again."])
            self.editor.load(restored.draft.whole)

    async def _keep_draft(self) -> None:
        before = ""
        while True:
            await asyncio.sleep(DRAFT_AFTER_S)
            if self.conversation is not None and self.editor.draft != before:
                before = self.editor.draft
                self.conversation.record_draft(Draft(before))

    async def _close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        conversation = self.conversation
        if conversation is None:
            return
        conversation.record_draft(Draft(self.editor.draft))
        words = how_to_go_on(conversation, "at least")
        if self._unsubscribe is not None:
            self._unsubscribe()
        await close_in_time(conversation)
        self.editor.clear()
        self.say([clean(words)] if words else [])

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the face failed", exc_info=error)
            self.say([f"Error: {clean(str(error) or type(error).__name__)}; the log says more."])

    # --- events -------------------------------------------------------------------------------

    def _receive(self, event: "AnyEvent") -> None:
        conversation = self.conversation
        if conversation is None:
            return
        lines = self.teller.apply(event)
        self.editor.say(*lines)
        match event.type:
            case "permission_request":
                self.questions.ask(Approval(event, conversation))
                self._ring()
            case "server_question":
                kind = FormQuestion if event.kind in ("form", "login") else None
                self.questions.ask(
                    kind(event, conversation)
                    if kind is not None
                    else Consent(event, conversation, self._browse)
                )
                self._ring()
            case "permission_resolved" | "server_question_resolved":
                self.questions.take_back(event.request_id)
            case "command_ran":
                from agent_tui.conversation.results import CommandResult

                self._result(CommandResult(event.text, event.error, event.action, event.data))
            case "status" if event.status == "ready":
                self._ring()
            case _:
                pass

    def _browse(self, url: str) -> None:
        async def open_it() -> None:
            from agent_tui.conversation.mcp.browser import open_in_browser

            if not await asyncio.to_thread(open_in_browser, url):
                self.say([f"Note: there is no browser here to open it: {clean(url)}"])

        self._spawn(open_it())

    # --- what is typed ------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Ctrl+C: stop the run; idle: drop the line; twice on an empty one: leave."""
        conversation = self.conversation
        if self._secret is not None:
            return self._secret_is(None)
        if conversation is not None:
            stopped = conversation.user_commands.stop()
            if conversation.status not in ("ready", "stopping"):
                conversation.abort()
                return
            if stopped:
                return
        if not self.editor.is_empty:
            text = self.editor.draft
            self.editor.clear()
            if text:
                self.editor.history.append(text)
            self.say(["Dropped; Up brings it back."])
            return
        now = self._clock()
        if now - self._interrupted_at < QUIT_WITHIN_S:
            return self.leave(0)
        self._interrupted_at = now
        self.say(["Ctrl+C again ends agent-tui."])

    def _sent(self, text: str, begun_at: float) -> None:
        if self._secret is not None:
            return self._secret_is(text)
        if self.questions.take(text, begun_at):
            return
        if self.conversation is None:
            if not self._tasks:  # it could not be opened
                self._spawn(self._begin())
            if text.strip():
                if self.questions.current is None:
                    self.say(["Kept: it goes out when the model is there."])
                    self._held.append(_kind(text))
                else:
                    self.editor.load(text)
                    self.questions.tell()
            return
        body, follow_up = _kind(text)
        self._spawn(self._send(body, follow_up=follow_up))

    async def _follow_up(self, text: str) -> None:
        await self._send(text, follow_up=True)

    async def _send(self, text: str, *, follow_up: bool) -> None:
        conversation = self.conversation
        if conversation is None:
            return
        try:
            if text.lstrip().startswith("/"):
                submitted = await conversation.submit(text.strip())
            else:
                async with self._in_order:
                    if (conversation := self.conversation) is None:  # /login came in between
                        self._held.append((text, follow_up))
                        return
                    go = conversation.follow_up if follow_up else conversation.submit
                    submitted = await go(text)
        except Exception as error:
            log.exception("a text could not be sent")
            self.say([f"Error: that could not be sent: {clean(str(error))}. Up brings it back."])
            return
        if submitted.kind == "steer":
            self.say(self.questions.still_waits())
        running = conversation.status != "ready"
        if submitted.kind == "nothing" and not running and conversation.queue():
            conversation.queue_resume()
        if submitted.command is not None:
            self._result(submitted.command, text)
            if submitted.command.error and self.editor.is_empty and not self.editor.secret:
                self.editor.load(text.strip())

    def _again(self) -> bool:
        if self.questions.current is None:
            return False
        self.questions.tell()
        return True

    def _result(self, result: "CommandResult", line: str = "") -> None:
        """What a command gave back."""
        conversation = self.conversation
        assert conversation is not None
        if result.error:
            self.say([f"Error: {told}" for told in plain(result.error)])
        match result.action:
            case "quit":
                self.leave(0)
            case "clear":
                self.teller.enter((), paused=False)
                self.say(["New conversation."])
            case "login":
                self._spawn(self._log_in())
            case "reload":
                self._show(conversation)
                for notice in conversation.restored().notices:
                    self.say([f"Warning: {clean(notice)}"])
            case "copy":
                data = result.data or {}
                text = to_copy(
                    conversation.messages, data.get("what", "last"), data.get("number", 1)
                )
                shown = SafeText(text).split("\n") if text else []
                head = "Text, for the terminal's own copying:"
                self.say([head, *shown, "End of the text."] if text else ["There is none."])
            case "resume_picker":
                self._spawn(self._pick((result.data or {}).get("sessions", [])))
                return
            case "help" if line.strip() == "/help":
                self.say([*HELP.split("\n"), *self._told_commands(conversation)])
                return
            case _:
                pass
        self.say(plain(result.text))

    @staticmethod
    def _told_commands(conversation: "Conversation") -> list[str]:
        return [f"{clean(c.usage)}: {clean(c.help)}" for c in conversation.commands()]

    async def _pick(self, sessions: Sequence[Any]) -> None:
        options = [_Option("", "stay in this one")]
        options += [
            _Option(s["id"], f"{s['age']}: {s['first_prompt']} ({s['prompts']})")
            for s in sessions[:20]
        ]
        key = await self.choose("Go on in which session?", "", options)
        if key:
            await self._send(f"/resume {key}", follow_up=False)

    async def _log_in(self) -> None:
        from agent_tui.conversation import opening

        if not await opening.log_in(self):
            return
        async with self._in_order:  # what is on its way to the conversation gets there first
            before = self.conversation
            if before is None or before.status != "ready":
                self.say(["The key is stored; it is used from the next start on."])
                return
            self._goes_on = before.session.id if before.messages and before.keeps else ""
            self.conversation = None
        await before.close()
        await self._begin()
        self.say(["The key is stored, and used from now on."])

    # --- opening.Asker ------------------------------------------------------------------------

    async def choose(
        self,
        title: str,
        text: str,
        options: Sequence[OptionLike],
        *,
        leave: str | None = None,
        wanted: bool = False,
    ) -> str:
        question = Choice(title, text, options)
        self.questions.ask(question)
        try:
            return await question.chosen
        finally:
            self.questions.drop(question)

    async def ask_secret(self, title: str, text: str) -> str | None:
        """Typed unseen; an empty line leaves it."""
        self.say([f"{clean(title)}: {clean(text)} Type it, it is not shown; Enter alone leaves."])
        self._secret = asyncio.get_running_loop().create_future()
        self.editor.clear()
        self.editor.secret = True
        try:
            return await self._secret
        finally:
            self._secret, self.editor.secret = None, False

    def _secret_is(self, text: str | None) -> None:
        if self._secret is not None and not self._secret.done():
            self._secret.set_result(text or None)
        # At once: the next line may be here already, and is none.
        self._secret, self.editor.secret = None, False

    def notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        word = {"info": "Note", "warning": "Warning", "error": "Error"}[level]
        self.say([f"{word}: {line}" for line in plain(text)])


class _Option:
    def __init__(self, key: str, label: str) -> None:
        self.key, self.label = key, label


def _kind(text: str) -> tuple[str, bool]:
    """What is meant by a line: (text, whether as a follow-up)."""
    if text.startswith(">"):
        return text[1:].lstrip(" "), True
    return text, False
