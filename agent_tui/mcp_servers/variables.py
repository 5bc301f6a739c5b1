"""${VAR}, ${VAR:-default} and ${env:VAR} in a configuration, as other clients write them.

Also VS Code's ${workspaceFolder} and ${userHome}. A default holds when the variable is unset or
empty; `$VAR` without braces is text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.mcp_servers.config import ConfigError, ServerConfig, url_problem
from agent_tui.mcp_servers.masking import Secrets, is_plain_variable, looks_like_key, secret_values

_VARIABLE = re.compile(r"\$\{(?P<kind>[A-Za-z]+:(?!-))?(?P<name>[^}:]*)(?::-(?P<default>[^}]*))?\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True, repr=False)
class Resolved:
    """A configuration with its variables put in: what is started or called. Never shown or
    kept: secrets holds what is to be masked."""

    command: str = ""
    args: list[str] = field(default_factory=list[str])
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    oauth: dict[str, str] = field(default_factory=dict[str, str])
    secrets: Secrets = field(default_factory=Secrets)


def variables_in(config: ServerConfig) -> list[str]:
    """The names of the variables a configuration reads, sorted."""
    texts = [config.command, *config.args, *config.env.values(), config.cwd or "", config.url]
    texts += [*config.headers.values(), *config.oauth.values()]
    return sorted({found["name"] for text in texts for found in _VARIABLE.finditer(text)})


def resolve(config: ServerConfig, environ: Mapping[str, str], folder: str | Path) -> Resolved:
    """Put the variables in. folder: what a relative cwd and ${workspaceFolder} mean.

    Raises ConfigError that names the field and the variable.
    """
    known = {"workspaceFolder": str(folder), "userHome": str(Path.home())} | dict(environ)
    brought: list[str] = []

    def put(field_name: str, text: str) -> str:
        def one(match: re.Match[str]) -> str:
            name = match["name"].strip()
            if match["kind"] not in (None, "env:") or not _NAME.fullmatch(name):
                raise ConfigError(
                    f"{config.name}: {field_name} holds {match[0]}, which is not supported: "
                    "write ${VAR} or ${VAR:-default}."
                )
            value = known.get(name)
            if match["default"] is not None and not value:
                return match["default"]
            if value is None:
                raise ConfigError(
                    f"{config.name}: {field_name} needs the variable {name}, which is not set. "
                    f"Set it before the start, or write ${{{name}:-default}}."
                )
            if not is_plain_variable(name) or looks_like_key(value):
                brought.append(value)
            return value

        value = _VARIABLE.sub(one, text)
        if "\0" in value:
            raise ConfigError(f"{config.name}: {field_name} holds a NUL character; remove it.")
        return value

    resolved = Resolved(
        command=put("command", config.command),
        args=[put(f"args[{n}]", text) for n, text in enumerate(config.args)],
        env={key: put(f"env.{key}", text) for key, text in config.env.items()},
        cwd=put("cwd", config.cwd) if config.cwd else None,
        url=put("url", config.url),
        headers={key: put(f"headers.{key}", text) for key, text in config.headers.items()},
        oauth={key: put(f"oauth.{key}", text) for key, text in config.oauth.items()},
    )
    if resolved.cwd is not None:
        resolved.cwd = str(Path(folder, Path(resolved.cwd).expanduser()))
    if resolved.command.startswith("~"):
        resolved.command = str(Path(resolved.command).expanduser())
    if config.transport != "stdio" and (problem := url_problem(resolved.url)):
        raise ConfigError(f"{config.name}: url, with its variables put in, {problem}.")
    for key, value in resolved.headers.items():
        if "\n" in value or "\r" in value or not value.isprintable():
            raise ConfigError(
                f"{config.name}: headers.{key} holds a line end or another character that no "
                "header can have; write it in one line."
            )
    resolved.secrets.add(brought)
    resolved.secrets.add(
        v for k, v in resolved.oauth.items() if k in ("client_secret", "private_key")
    )
    resolved.secrets.add(
        secret_values(
            args=resolved.args, env=resolved.env, url=resolved.url, headers=resolved.headers
        )
    )
    return resolved
