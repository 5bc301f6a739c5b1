"""A first look at the settings: as much as the first paint needs, read without the model.

Building the settings' model takes longer than painting the screen. So where every value that
is given is plainly right, the screen is painted on this look and the settings are loaded after
it, in full and by their own rules. Where something is not plain, first_look gives None: then
everything is loaded before a screen opens, and what is wrong is said without one.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_tui import choices, paths
from agent_tui.theme_names import THEME_NAMES

ENV_PREFIX = "AGENT_TUI_"
_NOT_SETTINGS = frozenset({"HOME", "LOOP_CASES", "RECORDINGS", "TEST_REPORT"})
_CREDENTIALS = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"})
_NEVER_IN_PROJECT = frozenset({"api_key", "auth_token"})
_TABLES = frozenset({"mcp"})
"""Tables of a file that belong to other rooms."""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The settings that the first paint shows, under their names."""

    theme: str = "auto"
    show_panel: bool = True
    show_thinking: str = "folded"
    screen_reader: bool = False


_Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _address(value: Any) -> bool:
    """An address that nothing can be said against, and not every one that is right."""
    plain = r"https?://[a-zA-Z0-9][a-zA-Z0-9.-]*(?::([1-9][0-9]{0,4}))?(/[a-zA-Z0-9._-]+)*/?"
    found = re.fullmatch(plain, value) if isinstance(value, str) else None
    return found is not None and int(found[1] or 1) <= 65535


def _credential(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[a-zA-Z0-9_.-]+", value) is not None


def _names(value: Any) -> bool:
    if isinstance(value, str):
        return not value.lstrip().startswith("[")
    return isinstance(value, list) and all(isinstance(name, str) for name in value)  # pyright: ignore[reportUnknownVariableType]


def _betas(value: Any) -> bool:
    given = value.split(",") if isinstance(value, str) else value
    return _names(value) and all(re.fullmatch("[a-zA-Z0-9-]+", name) for name in given)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _amount(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0


def _one_of(*words: str) -> _Check:
    return lambda value: value in words if isinstance(value, str) else False


PLAIN: dict[str, _Check] = {
    "model": _text,
    "base_url": _address,
    "api_key": _credential,
    "auth_token": _credential,
    "thinking": _one_of("off", "low", "medium", "high", "xhigh", "max"),
    "max_tokens": _count,
    "max_turns": _count,
    "max_cost": _amount,
    "max_seconds": _amount,
    "shell_timeout_s": _amount,
    "idle_timeout_s": _amount,
    "system_prompt": _text,
    "append_system_prompt": _text,
    "tool_execution": _one_of("parallel", "sequential"),
    "steering_mode": _one_of("one-at-a-time", "all"),
    "follow_up_mode": _one_of("one-at-a-time", "all"),
    "programmatic": _one_of("off", "both", "programmatic"),
    "allow": _names,
    "betas": _betas,
    "theme": _one_of(*THEME_NAMES),
    "show_panel": _flag,
    "show_thinking": _one_of("folded", "open", "hidden"),
    "screen_reader": _flag,
}
"""For some settings: whether a value is right beyond doubt. What is not here is not plain."""


def first_look(
    *,
    cwd: str | Path,
    flags: Mapping[str, Any],
    config: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> FirstLook | None:
    """The look, or None where the settings must be loaded first. Arguments as load_settings'.

    A look promises that load_settings and configured_endpoint find nothing wrong with the
    values, and that what it holds is what they will say (tests/test_first_look.py).
    """
    environ = os.environ if environ is None else environ
    if config is not None or not _plain_credentials(environ):
        return None
    try:
        layers = [
            choices.read(),
            _file(paths.config_file()),
            _project(cwd),
            _environment(environ),
            dict(flags),
        ]
    except (OSError, ValueError):
        return None
    values: dict[str, Any] = {}
    for layer in layers:
        values |= layer
    if not all(name in PLAIN and PLAIN[name](value) for name, value in values.items()):
        return None
    return FirstLook(**{name: values[name] for name in FirstLook.__slots__ if name in values})


def _file(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    import tomllib

    values = tomllib.loads(data.decode("utf-8"))
    return {name: value for name, value in values.items() if name not in _TABLES}


def _project(cwd: str | Path) -> dict[str, Any]:
    path = paths.project_config(cwd)
    if not path.is_file():
        return {}
    from agent_tui import trust

    if not trust.is_trusted(cwd):
        return {}
    return {n: value for n, value in _file(path).items() if n not in _NEVER_IN_PROJECT}


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Every value is text here, so that only settings that are text can be plain."""
    found = {
        name.removeprefix(ENV_PREFIX): value
        for name, value in environ.items()
        if name.startswith(ENV_PREFIX)
    }
    return {
        name.lower(): value
        for name, value in found.items()
        if name not in _NOT_SETTINGS and (value or name.lower() in _NEVER_IN_PROJECT)
    }


def _plain_credentials(environ: Mapping[str, str]) -> bool:
    """Profiles, workload identity and gateways have rules of their own."""
    for name, value in environ.items():
        if not name.startswith("ANTHROPIC_"):
            continue
        if name == "ANTHROPIC_BASE_URL":
            plain = not value or _address(value)
        else:
            plain = name in _CREDENTIALS and _credential(value)
        if not plain:
            return False
    return True
