"""The layers of the settings: flags > environment > project > user > defaults.

They are put together here and not by pydantic-settings' own sources, because every value must
know where it came from: an error or a warning names file and line, environment variable or flag.
"""

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_tui import choices, paths
from agent_tui.settings_model import NEVER_IN_PROJECT, SECRET, Settings, is_table
from agent_tui.text import clean, cut
from agent_tui.toml_file import TomlFile, TomlFileError, read_toml

ENV_PREFIX = "AGENT_TUI_"
CHOSEN = "chosen on the screen"
"""How the source of a remembered choice begins."""

RESERVED_VARIABLES = frozenset({"HOME", "LOOP_CASES", "RECORDINGS", "TEST_REPORT"})

NOT_SHOWN = SECRET | {"betas"}
"""Settings whose wrong values are not quoted. What is no beta may be anything, a key too."""

_TABLES: dict[str, tuple[str, ...]] = {"mcp": ("servers",)}
"""Tables of a file that are no settings, with what may be in them: other rooms read these
(mcp_servers/config_files.py)."""


class SettingsError(Exception):
    """A file or value is wrong. str() is one clear line for each problem: where, what, what
    to do. problems: those lines."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(slots=True)
class Loaded:
    """settings, where each value came from ("flag", "environment AGENT_TUI_MODEL",
    "/path/config.toml:3", "default"), and warnings (unknown keys with the nearest right one).
    user_file, project_file: those that were read; None: there is none that counts."""

    settings: Settings
    sources: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])
    user_file: Path | None = None
    project_file: Path | None = None

    def explicit(self, name: str) -> bool:
        """Whether somebody has set it: a choice that was remembered can be passed over."""
        source = self.sources.get(name, "default")
        return source != "default" and not source.startswith(CHOSEN)


@dataclass(slots=True)
class _Layer:
    """Values of one place by setting; sources: what Loaded.sources says of each;
    files: those that hold them."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])
    files: dict[str, TomlFile] = field(default_factory=dict[str, TomlFile])


def load_settings(
    *, cwd: str, flags: dict[str, Any] | None = None, config: str | None = None,
    trusted: bool = False, environ: Mapping[str, str] | None = None, remembered: bool = False,
) -> Loaded:  # fmt: skip
    """Raises SettingsError. flags: only those given on the command line, by setting.

    config: read instead of the user's config.toml; it must exist. trusted: whether the
    project's file counts. remembered: choices made on the screen count before the defaults. A
    value is taken whole from the highest place that has it.
    """
    user_file = Path(config).expanduser() if config is not None else paths.config_file()
    user, project = _files(user_file, paths.project_config(cwd), config is not None, trusted)
    layers = [
        _Layer(dict(flags or {}), dict.fromkeys(flags or {}, "flag")),
        _environment(os.environ if environ is None else environ),
        project,
        user,
        _remembered() if remembered else _Layer(),
    ]
    loaded = Loaded(Settings(), dict.fromkeys(Settings.model_fields, "default"))
    loaded.user_file = user_file
    loaded.project_file = paths.project_config(cwd) if trusted else None
    values: dict[str, Any] = {}
    files: dict[str, TomlFile] = {}
    for layer in reversed(layers):
        values |= layer.values
        files = {k: file for k, file in files.items() if k not in layer.values} | layer.files
        loaded.sources |= layer.sources
    loaded.warnings = [warning for layer in reversed(layers) for warning in layer.warnings]
    try:
        loaded.settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError(*_problems(error, loaded.sources, files)) from None
    if remembered and not loaded.settings.remember_choices:
        return load_settings(cwd=cwd, flags=flags, config=config, trusted=trusted, environ=environ)
    return loaded


def _files(user: Path, project: Path, must_exist: bool, trusted: bool) -> tuple[_Layer, _Layer]:
    problems: list[str] = []
    layers: list[_Layer] = []
    for path, is_project in ((user, False), (project, True)):
        layer = _Layer()
        try:
            if not is_project:
                layer = _file(path, must_exist=must_exist)
            elif trusted:
                layer = _project_file(path)
            elif path.is_file():
                layer.warnings.append(
                    f"{clean(path)} is not used: this folder is not trusted. "
                    "Start agent-tui in it to be asked, or use --config."
                )
        except TomlFileError as error:
            problems.append(str(error))
        layers.append(layer)
    if problems:
        raise SettingsError(*problems)
    return layers[0], layers[1]


def _file(path: Path, *, must_exist: bool = False) -> _Layer:
    layer = _Layer()
    file = read_toml(path)
    if file is None:
        if must_exist:
            raise TomlFileError(f"{path}: there is no such file; --config names a TOML file.")
        return layer
    for key, value in file.values.items():
        if key in Settings.model_fields:
            layer.values[key] = value
            layer.sources[key] = file.where(key)
            layer.files[key] = file
        elif key in _TABLES:
            layer.warnings += _unknown_in_table(file, key, value)
        else:
            layer.warnings.append(_unknown(file.where(key), "key", file.spelled(key), key))
    return layer


def _unknown_in_table(file: TomlFile, table: str, value: Any) -> list[str]:
    """A line for each key of `table` that nobody reads: `mcp.servrs: did you mean mcp.servers?`"""
    known = _TABLES[table]
    found: list[str] = []
    for key in value if isinstance(value, dict) else [""]:
        if key in known:
            continue
        name = f"{table}.{key}" if key else table
        line = next((n for at, n in file.lines.items() if f"{at}.".startswith(f"{name}.")), None)
        close = difflib.get_close_matches(key, known, n=1) or known[:1]
        where = f"{file.path}:{line}" if line else str(file.path)
        found.append(f"{clean(where)}: unknown key {clean(name)}: did you mean {table}.{close[0]}?")
    return found


def _remembered() -> _Layer:
    """What does not fit (another version wrote it, somebody edited it) is as if never chosen."""
    layer = _Layer()
    for name, value in choices.read().items():
        try:
            given: dict[str, Any] = {name: value}
            Settings(**given)
        except ValidationError:
            layer.warnings.append(
                f"{clean(paths.choices_file())}: {name} = {clean(cut(repr(value), 80))} does not "
                "fit and is not used; choose again."
            )
        else:
            layer.values[name] = value
            layer.sources[name] = f"{CHOSEN} ({paths.choices_file()})"
    return layer


def parse_setting(name: str, text: str) -> Any:
    """The value that `text` means for this setting, as in an environment variable. Raises
    SettingsError, one clear line."""
    try:
        given: dict[str, Any] = {name: text}
        return getattr(Settings(**given), name)
    except ValidationError as error:
        raise SettingsError(*_problems(error, {name: "/settings"})) from None


def _project_file(path: Path) -> _Layer:
    layer = _file(path)
    for key in NEVER_IN_PROJECT & layer.values.keys():
        del layer.values[key]
        layer.warnings.append(
            f"{clean(layer.sources.pop(key))}: {key} is not read from a project's file. "
            "Remove it there; use /login or your own config.toml."
        )
    return layer


def _environment(environ: Mapping[str, str]) -> _Layer:
    """An empty variable counts as not set, but for keys: an empty key is worth an error."""
    layer = _Layer()
    for variable, value in environ.items():
        if not variable.startswith(ENV_PREFIX):
            continue
        key = variable.removeprefix(ENV_PREFIX).lower()
        if variable.removeprefix(ENV_PREFIX) in RESERVED_VARIABLES:
            continue
        if key not in Settings.model_fields:
            layer.warnings.append(
                _unknown("environment", "variable", variable, key, as_variable=True)
            )
        elif value or key in NEVER_IN_PROJECT:
            layer.values[key] = value
            layer.sources[key] = f"environment {variable}"
    return layer


def _unknown(where: str, what: str, name: str, key: str, *, as_variable: bool = False) -> str:
    close = difflib.get_close_matches(key.lower().replace("-", "_"), Settings.model_fields, n=1)
    nearest = close[0] if close else None
    if nearest and as_variable:
        nearest = ENV_PREFIX + nearest.upper()
    hint = f"did you mean {nearest}?" if nearest else "no setting has a name like it."
    return f"{clean(where)}: unknown {what} {clean(name)}: {hint}"


_WORDS = {
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
}
"""Where pydantic speaks of parsing and of strings."""


def _problems(
    error: ValidationError, sources: Mapping[str, str], files: Mapping[str, TomlFile] | None = None
) -> list[str]:
    """files: of the settings that a file holds."""
    lines: list[str] = []
    for problem in error.errors(include_url=False):
        key = str(problem["loc"][0]) if problem["loc"] else ""
        source = sources.get(key, "flag")
        name = key
        if source == "flag":
            source, name = f"--{key.replace('_', '-')}", ""
        elif source.startswith("environment "):
            source, name = source.removeprefix("environment "), ""
        given = "***" if key in NOT_SHOWN else clean(cut(repr(problem["input"]), 80))
        table = is_table(Settings.model_fields[key]) if key in Settings.model_fields else False
        inner = "".join(f".{part}" for part in problem["loc"][1:] if table and part != "[key]")
        message = _WORDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
        message = message.replace("Input should", "must")
        if inner and (file := (files or {}).get(key)) is not None:
            source = file.where_in(key, inner.removeprefix("."))
        subject = f"{clean((name + inner).lstrip('.'))} = {given}" if name + inner else given
        if problem["loc"][-1:] == ("[key]",):  # the name is wrong, not its value
            subject = clean((name + inner).lstrip("."))
        lines.append(f"{clean(source)}: {subject}: {message[:1].lower() + message[1:]}")
    return list(dict.fromkeys(lines))
