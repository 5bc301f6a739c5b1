"""Settings: one pydantic-settings model; flags > environment > project > user > defaults.

Interface first.
"""

from dataclasses import dataclass, field
from typing import Any

from pydantic_settings import BaseSettings


class SettingsError(Exception):
    """A file or value is wrong. str() is one clear line: file:line:col, what, what to do."""


class Settings(BaseSettings):
    """All settings; config.example.toml is generated from this model (title, description)."""


@dataclass(slots=True)
class Loaded:
    """settings, where each value came from ("flag", "environment AGENT_TUI_MODEL",
    "/path/config.toml:3", "default"), and warnings (unknown keys with the nearest right one)."""

    settings: Settings
    sources: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])


def load_settings(
    *, cwd: str, flags: dict[str, Any] | None = None, config: str | None = None,
    trusted: bool = False, environ: dict[str, str] | None = None,
) -> Loaded:  # fmt: skip
    """Raises SettingsError. flags: only those given on the command line."""
    raise NotImplementedError
