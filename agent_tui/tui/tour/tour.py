"""Tour: leads through the steps; shown in a box above the composer, begun by /tour."""

import sys
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer

from agent_tui.conversation.going_on import command_to_start
from agent_tui.conversation.results import CommandResult
from agent_tui.tui.plain import SafeStatic, ThinRule
from agent_tui.tui.tour.progress import Progress
from agent_tui.tui.tour.steps import ELSEWHERE, END, STEPS, Happening, Step

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.tui.app import AgentTuiApp

LOOK_S = 0.2
"""So often the screen is looked at for what no event tells; only while the tour is on."""


class TourBox(SafeStatic):
    """The lines of the step."""


class Tour:
    """One for the app; begin() and leave() any number of times."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._box: TourBox | None = None
        self._progress = Progress()
        self._at = 0
        self._had = 0
        """How often the thing of this step had happened when it began."""
        self._look: Timer | None = None
        self._unsubscribe = lambda: None
        self._leaving = False

    @property
    def on(self) -> bool:
        return self._box is not None

    # --- the command ------------------------------------------------------------------------

    async def command(self, conversation: "Conversation", arguments: str) -> CommandResult:
        """/tour."""
        if arguments not in ("", "demo"):
            return CommandResult(error="The form is: /tour")
        if conversation.endpoint.demo:
            await self.begin(conversation)
            return CommandResult()
        if arguments == "demo":
            if conversation.busy:
                return CommandResult(error="Stop the run first (Esc), then /tour demo.")
            self._app.opener.go_to_demo()
            return CommandResult()
        kept = "This conversation is kept: `/resume` finds it." if conversation.keeps else (
            "This conversation is not kept (--no-session)."
        )  # fmt: skip
        return CommandResult(text=ELSEWHERE.format(kept=kept))

    async def begin(self, conversation: "Conversation") -> None:
        """From the first step, in this conversation."""
        self.leave()
        app = self._app
        self._progress = progress = Progress(keeps=conversation.keeps)
        progress.running = conversation.status not in ("ready",)
        progress.changed = self._changed
        progress.in_session(conversation.session.id)
        self._box = TourBox(id="tour")
        self._rule = ThinRule(app.glyphs, classes="rule")
        await app.query_one("#left").mount(self._rule, self._box, before="#composer-rule")
        self._conversation = conversation
        self._unsubscribe = conversation.subscribe(progress.apply)
        self._look = app.set_interval(LOOK_S, self.look)
        self._at = -1
        self._next()

    def escape(self) -> None:
        """Esc with nothing to stop or to close: once more, and the tour is left. One Esc too many
        at the end of a run must not."""
        if not self.on:
            return
        if self._leaving or self._at >= len(STEPS):
            self.leave()
        else:
            self._leaving = True
            self._app.flash("Esc again leaves the tour.")

    def leave(self) -> bool:
        """False when no tour is on."""
        box, self._box = self._box, None
        if box is None:
            return False
        self._unsubscribe()
        if self._look is not None:
            self._look.stop()
        self._rule.remove()
        box.remove()
        return True

    def skip(self) -> None:
        """To the next step; behind the last one the tour is over."""
        if not self.on:
            self._app.flash("There is no tour: /tour begins it.")
        elif self._at >= len(STEPS):
            self.leave()
        else:
            self._next()

    def saw(self, what: Happening) -> None:
        """Something that only the screen knows."""
        if self.on:
            self._progress.saw(what)

    # --- going on -----------------------------------------------------------------------------

    def look(self) -> None:
        """What the screen shows now."""
        app, progress = self._app, self._progress
        conversation = app.desk.conversation
        if conversation is None:
            return
        if conversation is not self._conversation:
            self.leave()
            return
        progress.in_session(conversation.session.id)
        if app.panel.display != progress.panel_shown:
            progress.panel_shown = app.panel.display
            progress.changed()
        if self._wants("container") and app.panel.display and app.panel.shown == "container":
            progress.saw("container")
        if self._wants("offered") and any(
            row.exposure in ("both", "programmatic") for row in conversation.toolset.rows()
        ):
            progress.saw("offered")

    def _wants(self, what: Happening) -> bool:
        return self._at < len(STEPS) and STEPS[self._at].done == what

    def _changed(self) -> None:
        step = STEPS[self._at] if 0 <= self._at < len(STEPS) else None
        if step is not None and self._progress.times(step.done) > self._had:
            self._next()
        else:
            self._draw()

    def _next(self) -> None:
        self._at += 1
        while self._at < len(STEPS) and self._is_behind(STEPS[self._at]):
            self._at += 1
        if self._at < len(STEPS):
            self._had = self._progress.times(STEPS[self._at].done)
        self._draw()

    def _is_behind(self, step: Step) -> bool:
        if step.needs is not None and not step.needs(self._progress):
            return True
        return step.once and self._progress.times(step.done) > 0

    # --- drawing ------------------------------------------------------------------------------

    def _draw(self) -> None:
        self._leaving = False
        if self._box is None:
            return
        if self._at >= len(STEPS):
            self._box.update(Content.assemble(("Tour  ", "bold $accent"), *self._words(END)))
            return
        step = STEPS[self._at]
        say = step.say
        if step.unless is not None and not step.unless(self._progress):
            say = step.instead
        key = self._app.key_table.first("tour_skip")
        self._box.update(
            Content.assemble(
                (f"Tour {self._at + 1}/{len(STEPS)}  {step.title}", "bold $accent"),
                (f"   {key} skip  Esc leave\n", "$muted"),
                *self._words(say),
            )
        )

    def _words(self, say: str) -> list[tuple[str, str] | str]:
        """What is to be typed in bold; keys by the names they have here."""
        parts: list[tuple[str, str] | str] = []
        for at, part in enumerate(say.split("`")):
            told = self._with_keys(part)
            parts.append((told, "bold") if at % 2 else told)
        return parts

    def _with_keys(self, text: str) -> str:
        out, rest = "", text
        while "{" in rest:
            before, _, behind = rest.partition("{")
            name, _, rest = behind.partition("}")
            known = f"{command_to_start(sys.argv[0])} offline mcp"
            out += before + (known if name == "server" else self._app.key_table.first(name))
        return out + rest
