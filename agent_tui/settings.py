"""Settings: one pydantic-settings model; flags > environment > project > user > defaults.

The layers are put together here and not by pydantic-settings' own sources, because every
value must know where it came from: an error or a warning names file and line, environment
variable or flag.
"""

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from agent_tui import paths
from agent_tui.text import clean, cut
from agent_tui.toml_file import TomlFile, TomlFileError, read_toml

ENV_PREFIX = "AGENT_TUI_"
RESERVED_VARIABLES = frozenset({"HOME", "LOOP_CASES", "RECORDINGS", "TEST_REPORT"})

ThinkingLevel = Literal["off", "low", "medium", "high", "xhigh", "max"]

ToolExposure = Literal["direct", "programmatic", "both", "off"]

ProviderName = Literal[
    "anthropic", "bedrock", "bedrock-mantle", "vertex", "google-cloud", "aws", "foundry"
]

_SECRET = frozenset({"api_key", "auth_token", "headers", "connector"})
_NEVER_IN_PROJECT = frozenset({"api_key", "auth_token"})
_TABLES: dict[str, tuple[str, ...]] = {"mcp": ("servers",)}
"""Tables of a file that are no settings, with what may be in them: other rooms read these
(mcp_servers/config_files.py)."""


class SettingsError(Exception):
    """A file or value is wrong. str() is one clear line for each problem: where, what, what
    to do. problems: those lines."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def _json(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"must be valid JSON: {error}") from None


def _names(value: object) -> object:
    """Environment and flags give "read,grep" or a JSON list."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _json(value)
    return [name.strip() for name in value.split(",") if name.strip()]


def _header_lines(value: object) -> object:
    """The environment gives "Name: value" lines or a JSON object."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return _json(value)
    headers: dict[str, str] = {}
    for line in value.splitlines():
        name, colon, content = line.partition(":")
        if line.strip() and not (colon and name.strip()):
            raise ValueError("must be lines of the form Name: value")
        if colon:
            headers[name.strip()] = content.strip()
    return headers


def _pairs(value: object) -> object:
    """The environment gives "name=value,name=value" or a JSON object."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return _json(value)
    pairs: dict[str, str] = {}
    for part in value.split(","):
        name, equals, content = part.partition("=")
        if part.strip() and not (equals and name.strip()):
            raise ValueError("must be of the form name=value,name=value")
        if equals:
            pairs[name.strip()] = content.strip()
    return pairs


def _table(value: object) -> object:
    """The environment gives a table as a JSON object."""
    return _json(value) if isinstance(value, str) else value


def _https(url: str) -> str:
    if not url.startswith("https://") or len(url) < 10:
        raise ValueError("must begin with https://: the service itself connects to it")
    return url


class ConnectorServer(BaseModel):
    """An MCP server that the service connects to (the request's mcp_servers)."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, AfterValidator(_https)]
    authorization_token: SecretStr | None = None


def _keep(value: object) -> object:
    """on and off, however written, beside the times."""
    word = value.strip().lower() if isinstance(value, str) else value
    if word in (True, "on", "true", "yes"):
        return "5m"
    return "off" if word in (False, "off", "false", "no") else word


_ServerName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
_Number = BeforeValidator(_no_bool)
_Seconds = Annotated[float, _Number, Field(gt=0, allow_inf_nan=False)]


class Settings(BaseSettings):
    """All settings; config.example.toml is generated from this model (title, description).

    Settings(...) itself reads nothing but its arguments; load_settings reads the layers.
    """

    model_config = SettingsConfigDict(extra="forbid")

    model: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        default="claude-sonnet-5-5",
        min_length=1,
        title="Model",
        description="The model that answers. On an endpoint that lacks it, the endpoint's first.",
    )
    base_url: str | None = Field(
        default=None,
        min_length=1,
        title="Base URL",
        description="The address of a Messages API; unset: the service itself.",
        examples=["http://127.0.0.1:11434"],
    )
    api_key: SecretStr | None = Field(
        default=None,
        title="API key",
        description="Better kept by /login or in ANTHROPIC_API_KEY. Never read from a project.",
        examples=["sk-ant-..."],
    )
    auth_token: SecretStr | None = Field(
        default=None,
        title="Bearer token",
        description="Sent as Authorization: Bearer instead of a key. Never read from a project.",
        examples=["token"],
    )
    headers: Annotated[dict[str, str], BeforeValidator(_header_lines)] = Field(
        default_factory=dict[str, str],
        repr=False,
        title="Headers",
        description="Extra headers of each request.",
        examples=[{"X-Team": "blue"}],
    )
    provider: ProviderName = Field(
        default="anthropic",
        title="Provider",
        description="Who serves the model. docs/providers.md tells what each needs; its "
        "credentials are those of its own tools and environment variables.",
    )
    aws_region: str | None = Field(
        default=None,
        min_length=1,
        title="AWS region",
        description="For bedrock, bedrock-mantle and aws; unset: AWS_REGION.",
        examples=["eu-central-1"],
    )
    aws_profile: str | None = Field(
        default=None,
        min_length=1,
        title="AWS profile",
        description="The profile of ~/.aws whose credentials are used; unset: AWS's own choice.",
        examples=["work"],
    )
    aws_workspace: str | None = Field(
        default=None,
        min_length=1,
        title="AWS workspace",
        description="The Anthropic workspace for aws; unset: ANTHROPIC_AWS_WORKSPACE_ID.",
        examples=["wrkspc_01abc"],
    )
    google_project: str | None = Field(
        default=None,
        min_length=1,
        title="Google project",
        description="For vertex and google-cloud; unset: ANTHROPIC_VERTEX_PROJECT_ID, "
        "ANTHROPIC_GOOGLE_CLOUD_PROJECT.",
        examples=["my-project"],
    )
    google_region: str | None = Field(
        default=None,
        min_length=1,
        title="Google region",
        description="The region for vertex, the location for google-cloud; unset: "
        "CLOUD_ML_REGION, ANTHROPIC_GOOGLE_CLOUD_LOCATION.",
        examples=["global"],
    )
    google_workspace: str | None = Field(
        default=None,
        min_length=1,
        title="Google workspace",
        description="The Anthropic workspace for google-cloud; unset: "
        "ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID.",
        examples=["wrkspc_01abc"],
    )
    foundry_resource: str | None = Field(
        default=None,
        min_length=1,
        title="Foundry resource",
        description="The name of the resource for foundry; unset: ANTHROPIC_FOUNDRY_RESOURCE.",
        examples=["my-resource"],
    )
    max_tokens: Annotated[int, _Number] = Field(
        default=32_000,
        ge=1,
        title="Longest answer",
        description="Tokens of one answer, thinking included; capped by what the model can.",
    )
    thinking: ThinkingLevel = Field(
        default="medium",
        title="Thinking",
        description="How much the model thinks before it answers.",
    )
    cache: Annotated[Literal["5m", "1h", "off"], BeforeValidator(_keep)] = Field(
        default="5m",
        title="Prompt cache",
        description="How long the service keeps the prompt, so that the next request costs less: "
        "an hour costs more to write; off: nothing is kept.",
    )
    eager_input_streaming: bool | None = Field(
        default=None,
        title="Arguments as they are made",
        description="Tool arguments arrive while the model makes them, not a whole value at a "
        "time; they may then be invalid. Unset: on at Anthropic's own service, off elsewhere.",
        examples=[True],
    )
    betas: Annotated[list[str], BeforeValidator(_names)] = Field(
        default_factory=list[str],
        title="Beta features",
        description="Names for the anthropic-beta header of each request.",
        examples=[["context-1m-2025-08-07"]],
    )
    system_prompt: str | None = Field(
        default=None,
        title="System prompt",
        description="Replaces the built-in system prompt.",
        examples=["You are a careful reviewer."],
    )
    append_system_prompt: str | None = Field(
        default=None,
        title="Addition to the system prompt",
        description="Follows the system prompt.",
        examples=["Answer in British English."],
    )
    tool_execution: Literal["parallel", "sequential"] = Field(
        default="parallel",
        title="Tool execution",
        description="Whether the tool calls of one answer run together or one by one.",
    )
    steering_mode: Literal["one-at-a-time", "all"] = Field(
        default="one-at-a-time",
        title="Steering",
        description="How many steering messages go out with one request.",
    )
    follow_up_mode: Literal["one-at-a-time", "all"] = Field(
        default="one-at-a-time",
        title="Follow-ups",
        description="How many follow-ups go out when a turn has ended.",
    )
    allow: Annotated[list[str], BeforeValidator(_names)] = Field(
        default_factory=list[str],
        title="Allowed tools",
        description="Tools that run without being asked; server__tool or server__* for MCP.",
        examples=[["grep", "glob"]],
    )
    programmatic: Literal["off", "both", "programmatic"] = Field(
        default="off",
        title="Programmatic tool calling",
        description="Whether programs of the model may call the tools: off, both it and its "
        "programs, or its programs only. /tools changes it for one tool or for all.",
    )
    tools: Annotated[dict[str, ToolExposure], BeforeValidator(_pairs)] = Field(
        default_factory=dict[str, ToolExposure],
        title="Tools",
        description="Who may call a tool: direct, programmatic, both or off. web_search, "
        "web_fetch, code_execution and memory are off until named here; server__* is all of an "
        "MCP server.",
        examples=[{"web_search": "direct", "read": "both"}],
    )
    connector: Annotated[dict[_ServerName, ConnectorServer], BeforeValidator(_table)] = Field(
        default_factory=dict[str, ConnectorServer],
        title="Connector",
        description="MCP servers that the service itself connects to, by name; not together with "
        "programmatic tool calling.",
        examples=[{"docs": {"url": "https://example.com/mcp", "authorization_token": "token"}}],
    )
    shell_timeout_s: _Seconds = Field(
        default=120.0,
        title="Shell timeout",
        description="Seconds after which a shell command is ended, unless the call says other.",
    )
    idle_timeout_s: _Seconds = Field(
        default=120.0,
        title="Idle timeout",
        description="Longest silence of the API, in seconds, before the request is tried again.",
    )
    max_turns: Annotated[int, _Number] | None = Field(
        default=None,
        ge=1,
        title="Limit of turns",
        description="A run stops after so many model calls; unset: no limit.",
        examples=[50],
    )
    max_cost: Annotated[float, _Number] | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        title="Limit of cost",
        description="A run stops when it has cost so many dollars; unset: no limit.",
        examples=[2.5],
    )
    max_seconds: Annotated[float, _Number] | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        title="Limit of time",
        description="A run stops after so many seconds; unset: no limit.",
        examples=[600],
    )
    theme: str = Field(
        default="auto",
        min_length=1,
        title="Theme",
        description="Colours of the screen: auto, dark, light, high-contrast, ansi, "
        "or a theme of Textual.",
    )
    show_panel: bool = Field(
        default=True,
        title="Side panel",
        description="Whether the side panel is open at the start.",
    )
    show_thinking: Literal["folded", "open", "hidden"] = Field(
        default="folded",
        title="Thinking on screen",
        description="How thinking is shown in the transcript.",
    )
    demo_speed: Annotated[float, _Number] = Field(
        default=400.0,
        gt=0,
        allow_inf_nan=False,
        title="Speed of the demo",
        description="Characters per second of the demo's scripted replies.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


@dataclass(slots=True)
class Loaded:
    """settings, where each value came from ("flag", "environment AGENT_TUI_MODEL",
    "/path/config.toml:3", "default"), and warnings (unknown keys with the nearest right one)."""

    settings: Settings
    sources: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Layer:
    """Values of one place by setting; sources: what Loaded.sources says of each."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])


def load_settings(
    *, cwd: str, flags: dict[str, Any] | None = None, config: str | None = None,
    trusted: bool = False, environ: Mapping[str, str] | None = None,
) -> Loaded:  # fmt: skip
    """Raises SettingsError. flags: only those given on the command line, by setting.

    config: read instead of the user's config.toml; it must exist. trusted: whether the
    project's file counts. A value is taken whole from the highest place that has it.
    """
    user_file = Path(config).expanduser() if config is not None else paths.config_file()
    user, project = _files(user_file, paths.project_config(cwd), config is not None, trusted)
    layers = [
        _Layer(dict(flags or {}), dict.fromkeys(flags or {}, "flag")),
        _environment(os.environ if environ is None else environ),
        project,
        user,
    ]
    loaded = Loaded(Settings(), dict.fromkeys(Settings.model_fields, "default"))
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        values |= layer.values
        loaded.sources |= layer.sources
    loaded.warnings = [warning for layer in reversed(layers) for warning in layer.warnings]
    try:
        loaded.settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError(*_problems(error, loaded.sources)) from None
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


def _project_file(path: Path) -> _Layer:
    layer = _file(path)
    for key in _NEVER_IN_PROJECT & layer.values.keys():
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
        elif value or key in _NEVER_IN_PROJECT:
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


def _problems(error: ValidationError, sources: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for problem in error.errors(include_url=False):
        key = str(problem["loc"][0]) if problem["loc"] else ""
        source = sources.get(key, "flag")
        name = key
        if source == "flag":
            source, name = f"--{key.replace('_', '-')}", ""
        elif source.startswith("environment "):
            source, name = source.removeprefix("environment "), ""
        given = "***" if key in _SECRET else clean(cut(repr(problem["input"]), 80))
        table = _is_table(Settings.model_fields[key]) if key in Settings.model_fields else False
        inner = "".join(f".{part}" for part in problem["loc"][1:] if table and part != "[key]")
        message = problem["msg"].removeprefix("Value error, ").replace("Input should", "must")
        subject = f"{clean((name + inner).lstrip('.'))} = {given}" if name + inner else given
        lines.append(f"{clean(source)}: {subject}: {message[:1].lower() + message[1:]}")
    return list(dict.fromkeys(lines))


# --- config.example.toml --------------------------------------------------------------


def settings_toml_example() -> str:
    """The text of config.example.toml: each setting with its title, description, choices and
    default; those without a default by an example. All are commented out."""
    parts = [
        "# Settings of agent-tui. Copy to config.toml in AGENT_TUI_HOME (if that is not set:\n"
        "# ~/.local/share/agent-tui, on macOS ~/Library/Application Support/agent-tui), or to\n"
        "# .agent-tui/config.toml in a project, and remove the # before what you change.\n"
        "# Flags win over environment variables (AGENT_TUI_MODEL for model), those over the\n"
        "# project's file, that over yours. Generated by `make config`.\n"
    ]
    # A table ends only where the next begins, so tables come last.
    fields = sorted(Settings.model_fields.items(), key=lambda item: _is_table(item[1]))
    for name, info in fields:
        parts.append(_example(name, info))
    return "\n".join(parts)


def _example(name: str, info: FieldInfo) -> str:
    choices = [choice for choice in get_args(info.annotation) if isinstance(choice, str)]
    lines = [f"# {info.title}. {info.description}"]
    if choices:
        lines.append(f"# One of: {', '.join(choices)}.")
    default = info.get_default(call_default_factory=True, validated_data={})
    value = info.examples[0] if info.examples else default
    if isinstance(value, dict):
        inner = {key: item for key, item in value.items() if isinstance(item, dict)}
        for table, items in ({name: value} if not inner else {
            f"{name}.{key}": item for key, item in inner.items()
        }).items():  # fmt: skip
            lines.append(f"# [{table}]")
            lines += [f"# {key} = {json.dumps(item)}" for key, item in items.items()]
    else:
        lines.append(f"# {name} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def _is_table(info: FieldInfo) -> bool:
    return get_origin(info.annotation) is dict
