"""The settings: one pydantic-settings model. config.example.toml is generated from it, and
/settings shows it."""

from typing import Annotated, Literal, get_origin

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, StringConstraints
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from agent_tui.settings_values import (
    ConnectorServer,
    HeaderName,
    HeaderValue,
    Keys,
    Number,
    ProviderName,
    Seconds,
    ServerName,
    ThinkingLevel,
    ToolExposure,
    beta_names,
    header_lines,
    keep,
    names,
    pairs,
    table,
    theme_name,
)

SECRET = frozenset({"api_key", "auth_token", "headers", "connector"})
"""Settings whose value is never shown."""

NEVER_IN_PROJECT = frozenset({"api_key", "auth_token"})


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
    headers: Annotated[dict[HeaderName, HeaderValue], BeforeValidator(header_lines)] = Field(
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
    max_tokens: Annotated[int, Number] = Field(
        default=32_000,
        ge=1,
        title="Longest answer",
        description="Tokens of one answer, thinking included; capped by what the model can.",
    )
    thinking: ThinkingLevel = Field(
        default="medium",
        title="Thinking",
        description="How much the model thinks before it answers; /effort changes it, too.",
    )
    cache: Annotated[Literal["5m", "1h", "off"], BeforeValidator(keep)] = Field(
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
    betas: Annotated[list[str], BeforeValidator(names), AfterValidator(beta_names)] = Field(
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
    allow: Annotated[list[str], BeforeValidator(names)] = Field(
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
    tools: Annotated[dict[str, ToolExposure], BeforeValidator(pairs)] = Field(
        default_factory=dict[str, ToolExposure],
        title="Tools",
        description="Who may call a tool: direct, programmatic, both or off. web_search, "
        "web_fetch, code_execution and memory are off until named here; server__* is all of an "
        "MCP server.",
        examples=[{"web_search": "direct", "read": "both"}],
    )
    connector: Annotated[dict[ServerName, ConnectorServer], BeforeValidator(table)] = Field(
        default_factory=dict[str, ConnectorServer],
        title="Connector",
        description="MCP servers that the service itself connects to, by name; not together with "
        "programmatic tool calling.",
        examples=[{"docs": {"url": "https://example.com/mcp", "authorization_token": "token"}}],
    )
    shell_timeout_s: Seconds = Field(
        default=120.0,
        title="Shell timeout",
        description="Seconds after which a shell command is ended, unless the call says other.",
    )
    idle_timeout_s: Seconds = Field(
        default=120.0,
        title="Idle timeout",
        description="Longest silence of the API, in seconds, before the request is tried again.",
    )
    mcp_wait_s: Annotated[float, Number] = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=False,
        title="Wait for MCP servers",
        description="Seconds for which -p and rpc wait with their first request for servers that "
        "still connect; the screen never waits.",
    )
    mcp_defer_share: Annotated[float, Number] = Field(
        default=0.1,
        ge=0,
        le=1,
        allow_inf_nan=False,
        title="Deferred MCP tools",
        description="Share of the context window from which on the tools of MCP servers are not "
        "loaded but found by search, where the endpoint has that; 1: never, 0: always.",
    )
    max_turns: Annotated[int, Number] | None = Field(
        default=None,
        ge=1,
        title="Limit of turns",
        description="A run stops after so many model calls; unset: no limit.",
        examples=[50],
    )
    max_cost: Annotated[float, Number] | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        title="Limit of cost",
        description="A run stops when it has cost so many dollars; unset: no limit.",
        examples=[2.5],
    )
    max_seconds: Annotated[float, Number] | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        title="Limit of time",
        description="A run stops after so many seconds; unset: no limit.",
        examples=[600],
    )
    theme: Annotated[str, AfterValidator(theme_name)] = Field(
        default="auto",
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
    reduced_motion: bool = Field(
        default=False,
        title="Reduced motion",
        description="Nothing glides or blinks, and what streams comes in fewer, larger steps.",
    )
    screen_reader: bool = Field(
        default=False,
        title="Screen reader",
        description="Plain lines instead of a screen: everything that happens is appended as a "
        "line of words, nothing is drawn again. Also --plain, and where TERM is dumb.",
    )
    notify: Literal["auto", "bell", "osc9", "off"] = Field(
        default="auto",
        title="Notifications",
        description="How it tells that a run has ended or a question waits while the terminal is "
        "not in front: the bell, a message of the terminal (osc9), or what it is known to show "
        "(auto).",
    )
    terminal_title: bool = Field(
        default=True,
        title="Title of the terminal",
        description="Whether the window's title says the folder and what goes on.",
    )
    progress: Literal["auto", "on", "off"] = Field(
        default="auto",
        title="Progress in the terminal",
        description="Whether a run shows in the tab or task bar (OSC 9;4); auto: where the "
        "terminal is known to have that.",
    )
    remember_choices: bool = Field(
        default=True,
        title="Choices remembered",
        description="Whether model, effort and theme chosen on the screen hold for later "
        "conversations where no file, variable or flag says other.",
    )
    history_size: Annotated[int, Number] = Field(
        default=1000,
        ge=0,
        le=100_000,
        title="Input history",
        description="How many messages of each folder are kept for Up and Ctrl+R in later "
        "starts; 0: none.",
    )
    vi_keys: bool = Field(
        default=False,
        title="vi keys",
        description="vi's keys where you type: Esc goes to normal mode, i back to typing; Enter "
        "sends in both.",
    )
    keys: Annotated[dict[str, Keys], BeforeValidator(table)] = Field(
        default_factory=dict[str, str],
        title="Keys",
        description="Other keys, by the names that /keys lists; several stand apart by commas.",
        examples=[{"editor": "ctrl+e", "newline": "ctrl+j,shift+enter"}],
    )
    demo_speed: Annotated[float, Number] = Field(
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


def is_table(info: FieldInfo) -> bool:
    """Whether a file spells it as a table."""
    return get_origin(info.annotation) is dict
