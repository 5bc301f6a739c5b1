"""The settings of a conversation, for /settings: what each is, where from, and changing one.

A change is written to the user's file. It holds at once where it can: the conversation's own
settings here, the screen's by the setting_changed event; the others from the next start on.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from agent_tui import paths
from agent_tui.conversation.events import SettingChangedEvent
from agent_tui.settings import Loaded, Settings, SettingsError, parse_setting
from agent_tui.settings_model import SECRET
from agent_tui.settings_write import write_setting
from agent_tui.theme_names import THEME_NAMES
from agent_tui.toml_file import TomlFileError

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

HIDDEN = "set, not shown"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as it is. value: as text; source: where it comes from, in words; choices: what
    it may be, where that is a short list; live: a change holds at once."""

    name: str
    value: str
    source: str
    title: str
    description: str
    choices: tuple[str, ...]
    live: bool
    secret: bool


_MOST_USED = (
    "theme", "model", "thinking", "show_panel", "show_thinking", "notify", "vi_keys",
    "screen_reader", "reduced_motion", "terminal_title", "progress", "keys", "allow", "tools",
    "programmatic", "max_turns", "max_cost", "max_seconds", "steering_mode", "follow_up_mode",
)  # fmt: skip
_SELDOM = (
    "base_url", "api_key", "auth_token", "headers", "provider", "aws_region", "aws_profile",
    "aws_workspace", "google_project", "google_region", "google_workspace", "foundry_resource",
)  # fmt: skip
"""Where one asks, set once: they stand last."""

BY_USE = (
    *_MOST_USED,
    *(n for n in Settings.model_fields if n not in (*_MOST_USED, *_SELDOM)),
    *_SELDOM,
)
"""The settings, what one changes most first."""


class SettingError(ValueError):
    """The setting cannot be changed so; str() is one line that says what to do."""


_LIVE: dict[str, Callable[["Conversation", Any], None]] = {
    "model": lambda c, v: c.set_model(v),
    "thinking": lambda c, v: c.set_thinking(v),
    "max_turns": lambda c, v: setattr(c.limits, "max_turns", v),
    "max_cost": lambda c, v: setattr(c.limits, "max_cost", v),
    "max_seconds": lambda c, v: setattr(c.limits, "max_seconds", v),
    "steering_mode": lambda c, v: setattr(c.agent.queue, "steering_mode", v),
    "follow_up_mode": lambda c, v: setattr(c.agent.queue, "follow_up_mode", v),
}


class ConversationSettings:
    """loaded: the settings that the conversation was made with. of_face: those that the face
    changes at once when told (setting_changed)."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self.loaded = Loaded(conversation.settings)
        self.of_face: Collection[str] = ()

    def rows(self) -> list[SettingRow]:
        return [self.row(name) for name in BY_USE]

    def row(self, name: str) -> SettingRow:
        """Raises KeyError."""
        info = Settings.model_fields[name]
        return SettingRow(
            name,
            self._shown(name),
            self.loaded.sources.get(name, "default"),
            info.title or name,
            info.description or "",
            _choices(name),
            name in _LIVE or name in self.of_face,
            name in SECRET,
        )

    def _shown(self, name: str) -> str:
        value = getattr(self.loaded.settings, name)
        if name in SECRET:
            return HIDDEN if value else "not set"
        if name in ("model", "thinking"):
            return str(getattr(self._conversation, name))
        return shown(value)

    async def change(self, name: str, text: str | None) -> str:
        """Set it to what `text` means, or take it out of the file (None). Gives a sentence of
        what holds now. Raises SettingError."""
        if name in SECRET:
            where = "/login keeps a key" if name == "api_key" else "write it into your config.toml"
            raise SettingError(f"{name} is secret and is not typed here: {where}.")
        path = self.loaded.user_file or paths.config_file()
        try:
            value = None if text is None else parse_setting(name, text)
            plain = None if value is None else _plain(value)
            await asyncio.to_thread(write_setting, path, name, plain)
        except (SettingsError, TomlFileError, OSError) as error:
            raise SettingError(str(error)) from None
        source = self.loaded.sources.get(name, "default")
        said = paths.with_tilde(f"{'Taken out of' if text is None else 'Written to'} {path}")
        if self._stronger(source, path):
            return f"{said}; but {paths.with_tilde(source)} says other and wins."
        if text is None:
            value = Settings.model_fields[name].get_default(call_default_factory=True)
        self.loaded.settings = self.loaded.settings.model_copy(update={name: value})
        self.loaded.sources[name] = "default" if text is None else str(path)
        if name not in _LIVE and name not in self.of_face:
            return f"{said}; it holds from the next start on."
        if name in _LIVE:
            _LIVE[name](self._conversation, value)
        if name not in ("model", "thinking"):  # those two tell it themselves
            self._conversation.tell(SettingChangedEvent(name, shown(value)))
        return f"{said}; it holds now."

    def _stronger(self, source: str, path: Any) -> bool:
        """Flags, the environment and a project's file stand above the user's file."""
        project = self.loaded.project_file
        in_project = project is not None and source.startswith(f"{project}:")
        return source == "flag" or source.startswith("environment ") or in_project


def _choices(name: str) -> tuple[str, ...]:
    kind = Settings.model_fields[name].annotation
    if name == "theme":
        return THEME_NAMES
    if kind is bool or bool in get_args(kind):
        return ("true", "false")
    return tuple(choice for choice in get_args(kind) if isinstance(choice, str))


def shown(value: Any) -> str:
    """A value as one types it."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value) or "none"  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none"  # pyright: ignore
    return str(value)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value  # pyright: ignore
