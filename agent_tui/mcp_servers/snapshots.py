"""How a server is shown: its target and what the user approves, secrets masked."""

import json
import shlex
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from agent_tui.mcp_servers import state_file
from agent_tui.mcp_servers.config import ServerConfig
from agent_tui.mcp_servers.config_files import Entry, hidden_text
from agent_tui.mcp_servers.masking import (
    MASK,
    Secrets,
    is_secret_name,
    secret_values,
    shown_env,
)
from agent_tui.mcp_servers.offers import Server
from agent_tui.mcp_servers.types import ServerSnapshot, ServerState, ToolInfo
from agent_tui.mcp_servers.variables import variables_in
from agent_tui.text import clean


def target_text(config: ServerConfig, secrets: Secrets | None = None) -> str:
    """The command line or the URL as written, without secrets (variables are not put in)."""
    own = _own_secrets(config)
    if config.transport == "stdio":
        text = shlex.join([config.command, *config.args])
    else:
        text = _without_query_secrets(config.url)
    text = own.mask(text)
    return clean(secrets.mask(text) if secrets else text)


def _without_query_secrets(url: str) -> str:
    base, mark, query = url.partition("?")
    if not mark:
        return url
    parts = [
        f"{name}={MASK}" if is_secret_name(urllib.parse.unquote(name)) else part
        for part in query.split("&")
        for name in [part.partition("=")[0]]
    ]
    return f"{base}?{'&'.join(parts)}"


def config_lines(config: ServerConfig) -> list[str]:
    """A configuration as `/mcp get` shows it, a line for each thing that is said, no secret."""
    stdio = config.transport == "stdio"
    lines = [f"{'command' if stdio else 'url'}: {target_text(config)}", f"type: {config.transport}"]
    if config.cwd:
        lines.append(f"cwd: {clean(config.cwd)}")
    for name, values in (("env", config.env), ("headers", config.headers), ("oauth", config.oauth)):
        if values:
            lines.append(f"{name}: {clean(shown_env(values))}")
    said = config.to_raw()
    for name in (
        "connect_timeout_s", "list_timeout_s", "call_timeout_s", "enabled_tools",
        "disabled_tools", "approval", "exposure",
    ):  # fmt: skip
        if name in said:
            lines.append(f"{name}: {clean(json.dumps(said[name], ensure_ascii=False))}")
    if names := variables_in(config):
        lines.append(f"variables: {clean(', '.join(names))}")
    return lines


def _shown(values: Mapping[str, str], config: ServerConfig) -> str:
    """`A=1 TOKEN=***`: what is no secret is told, since it decides what the program does."""
    secrets = _own_secrets(config)
    shown = (
        f"{name}={MASK if is_secret_name(name) and '${' not in value else secrets.mask(value)}"
        for name, value in values.items()
    )
    return clean(" ".join(shown))


def _own_secrets(config: ServerConfig) -> Secrets:
    """Those that stand in the configuration itself."""
    return Secrets(
        secret_values(args=config.args, env=config.env, url=config.url, headers=config.headers)
    )


def snapshot_of(
    server: Server, state: ServerState, tools: list[ToolInfo], *, cwd: Path, log_lines: int
) -> ServerSnapshot:
    """All that is known of a server; state and tools are the manager's."""
    entry, connection, catalog, hidden = (
        server.entry,
        server.connection,
        server.catalog,
        server.hidden,
    )
    config = entry.config
    mask = server.log.secrets.mask
    latency = connection.latency_s if connection else None
    asked = entry if state == "awaiting_approval" else None
    if hidden is not None and state_file.approval(cwd, hidden.name, hidden.raw) is None:
        asked = hidden
    return ServerSnapshot(
        name=server.name,
        scope=entry.scope,
        source=entry.source,
        transport=config.transport if config else "stdio",
        target=target_text(config, server.log.secrets) if config else "",
        state=state,
        error=connection.error if connection else (entry.problem or None),
        retry_in_s=connection.retry_in_s if connection else None,
        connected_s=connection.connected_s if connection else None,
        latency_ms=None if latency is None else latency * 1000,
        protocol=catalog.protocol,
        server_title=mask(catalog.title),
        instructions=mask(catalog.instructions),
        tools=tools,
        left_out={tool.name: tool.problem for tool in catalog.tools if tool.problem},
        resources=len(catalog.resources),
        prompts=len(catalog.prompts),
        running_calls=connection.running_calls if connection else 0,
        warnings=list(server.warnings),
        log_path=server.log.path,
        log_tail=server.log.tail(log_lines),
        approval_text=approval_text(asked) if asked is not None else "",
        approval_source=asked.source if asked is not None else "",
        hidden=f"{clean(hidden.source)} has one too: {hidden_text(hidden, cwd)}" if hidden else "",
    )


def approval_text(entry: Entry) -> str:
    """What a project's server would do, line by line: what the user approves."""
    config = entry.config
    if config is None:
        return clean(entry.problem)
    lines = [
        f"{'Runs' if config.transport == 'stdio' else 'Calls'}: {target_text(config)}",
    ]
    if config.cwd:
        lines.append(f"In the folder: {clean(config.cwd)}")
    if config.env:
        lines.append(f"With the environment: {_shown(config.env, config)}")
    if config.headers:
        lines.append(f"With the headers: {_shown(config.headers, config)}")
    if names := variables_in(config):
        lines.append(f"Is given your variables: {clean(', '.join(names))}")
    unasked = [name for name, approval in config.approval.items() if approval == "allow"]
    if unasked:
        lines.append(f"Its tools run without being asked for: {clean(', '.join(unasked))}")
    return "\n".join(lines)
