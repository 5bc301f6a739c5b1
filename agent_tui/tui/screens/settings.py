"""The settings page: every setting with its value and where it comes from; Enter changes one."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from agent_tui.tui.lines import fit, one_line
from agent_tui.tui.plain import SafeStatic

if TYPE_CHECKING:
    from agent_tui.conversation.results import CommandResult

UNSET = "unset"
_NAME, _VALUE = 22, 24

NARROW = 70
"""Columns of the screen below which there is no room for where a value comes from."""


class Row(Protocol):
    """conversation.settings_change.SettingRow."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def choices(self) -> tuple[str, ...]: ...
    @property
    def live(self) -> bool: ...
    @property
    def secret(self) -> bool: ...


_KEYS = {
    "up": "move(-1)", "down": "move(1)", "pageup": "move(-10)", "pagedown": "move(10)",
    "enter": "choose",
}  # fmt: skip


class Filter(Input):
    """What is typed to search the list. Its keys act in the order in which they were typed: a
    binding of the screen would run before the letters that came before it (Textual 8.2)."""

    async def _on_key(self, event: events.Key) -> None:
        action = _KEYS.get(event.key)
        if action is None:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        await self.screen.run_action(action)


class SettingsScreen(ModalScreen[str | None]):
    """Typing filters; Enter opens the choices of a setting, or gives back "NAME " for a value that
    has to be typed. rows(): as they are now. change(line): carries out `/settings line`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "back", "Leave", show=False, priority=True),
    ]

    def __init__(
        self,
        rows: Callable[[], Sequence[Row]],
        change: Callable[[str], Awaitable["CommandResult"]],
    ) -> None:
        super().__init__()
        self._rows, self._change = rows, change
        self._of: Row | None = None
        """The setting whose choices are listed; None: the settings are."""
        self._said = ""
        """What a change gave, until the next key."""
        self._listed: tuple[Row | None, str] | None = None
        """What the list was made for: the setting, and what was typed."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal-box", id="settings-box"):
            yield SafeStatic("Settings", classes="modal-title", id="settings-title")
            yield Filter(placeholder="type to search", compact=True, id="settings-filter")
            yield OptionList(id="settings-list", compact=True)
            yield SafeStatic("", classes="modal-text", id="settings-about")
            yield SafeStatic("Enter change   Esc leave", classes="modal-keys", id="settings-keys")

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.query_one(OptionList).can_focus = False
        self._list()

    def _list(self, keep: str = "") -> None:
        """Fill the list; the row named `keep` is highlighted, else the first."""
        options = self.query_one(OptionList)
        self._listed = self._of, self.query_one(Input).value
        found = self._choices() if self._of is not None else self._settings()
        options.clear_options()
        options.add_options([Option(content, id=id) for id, content in found])
        names = [id for id, _ in found]
        options.highlighted = names.index(keep) if keep in names else 0 if names else None
        self._tell_about()

    def _settings(self) -> list[tuple[str, Content]]:
        words = self.query_one(Input).value.lower().split()
        found: list[tuple[str, Content]] = []
        for row in self._rows():
            text = f"{row.name} {row.title} {row.description}".lower()
            if all(word in text for word in words):
                # On a narrow screen bold alone says that a value was set.
                narrow = self.app.size.width < NARROW
                cells = max(6, self.app.size.width - _NAME - 10) if narrow else _VALUE
                value = fit(one_line(row.value), cells)
                content = Content.assemble(
                    f"{fit(row.name, _NAME):<{_NAME}} ",
                    (f"{value:<{cells}}", "" if row.source == "default" else "bold"),
                    ("" if narrow else f" {one_line(row.source)}", "$muted"),
                )
                found.append((row.name, content))
        return found

    def _choices(self) -> list[tuple[str, Content]]:
        assert self._of is not None
        low = self.query_one(Input).value.lower()
        rows: list[tuple[str, Content]] = []
        for choice in self._of.choices:
            if low in choice:
                here = (" now", "$muted") if choice == self._of.value else ""
                rows.append((choice, Content.assemble(choice, here)))
        if low in UNSET:
            rows.append((UNSET, Content.assemble(UNSET, (" take it out of your file", "$muted"))))
        return rows

    @property
    def _highlighted(self) -> str | None:
        options = self.query_one(OptionList)
        at = options.highlighted
        return None if at is None else options.get_option_at_index(at).id

    def _row(self, name: str | None) -> Row | None:
        return next((row for row in self._rows() if row.name == name), None)

    def _tell_about(self) -> None:
        row = self._of or self._row(self._highlighted)
        if self._said:
            self._about(self._said)
        elif row is None:
            self._about("Nothing holds that text.")
        else:
            when = "" if row.live or row.secret else " A change holds from the next start on."
            self._about(f"{row.title}. {row.description}{when}")

    def _about(self, text: str) -> None:
        self.query_one("#settings-about", SafeStatic).update(text)

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._tell_about()

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._listed != (self._of, self.query_one(Input).value):
            self._said = ""
            self._list()

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        self.action_choose()

    def action_move(self, step: int) -> None:
        self._typed()
        self._said = ""
        options = self.query_one(OptionList)
        if options.option_count and options.highlighted is not None:
            last = options.option_count - 1
            options.highlighted = max(0, min(last, options.highlighted + step))

    def action_back(self) -> None:
        if self._of is None:
            self.dismiss(None)
        else:
            self._show_settings(self._of.name)

    def action_choose(self) -> None:
        self._typed()  # what is typed now counts, not what the list was made for
        chosen, self._said = self._highlighted, ""
        if chosen is None:
            return
        if self._of is not None:
            self.run_worker(self._set(self._of.name, chosen), exclusive=True, exit_on_error=False)
            return
        row = self._row(chosen)
        if row is None:
            return
        if row.secret:
            self._about("It is secret and is not changed here: see /login, or config.toml.")
        elif row.choices:
            self._of = row
            self.query_one("#settings-title", SafeStatic).update(row.name)
            self.query_one(Input).value = ""
            self._list(row.value)
        else:
            self.dismiss(f"{row.name} ")

    def _show_settings(self, name: str) -> None:
        self._of = None
        self.query_one("#settings-title", SafeStatic).update("Settings")
        with self.prevent(Input.Changed):
            self.query_one(Input).value = ""
        self._list(name)

    async def _set(self, name: str, value: str) -> None:
        result = await self._change(f"{name} {value}")
        self._said = result.error or plain_text(result.text)
        self._show_settings(name)


def plain_text(markdown: str) -> str:
    """Of our own sentence: without the marks of markdown."""
    return markdown.replace("`", "").replace("\\", "")
