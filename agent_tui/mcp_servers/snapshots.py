"""How a server is shown: its target and what the user approves, secrets masked."""

import json
import shlex
import urllib.parse
from collections.abc import Mapping

from agent_tui.mcp_servers.config import ServerConfig
from agent_tui.mcp_servers.config_files import Entry
from agent_tui.mcp_servers.masking import (
    MASK,
    Secrets,
    is_secret_name,
    secret_values,
    shown_env,
)
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
