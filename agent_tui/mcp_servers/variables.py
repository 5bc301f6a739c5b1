"""${VAR}, ${VAR:-default} and ${env:VAR} in a configuration, as other clients write them.

Also VS Code's ${workspaceFolder} and ${userHome}. A default holds when the variable is unset or
empty; `$VAR` without braces is text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.mcp_servers.config import (
    ConfigError,
    ServerConfig,
    unfit,
    unfit_header,
    url_problem,
)
from agent_tui.mcp_servers.masking import Secrets, is_plain_variable, looks_like_key, secret_values

_VARIABLE = re.compile(
    r"(?P<kind>[A-Za-z]+:(?!-))?(?P<name>[^:]*)(?::-(?P<default>.*))?", re.DOTALL
)
"""What stands in the braces. A default may hold variables of its own."""
_MOST_NESTED = 20
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
    found: set[str] = set()

    def one(inner: str) -> str:
        if (said := _VARIABLE.fullmatch(inner)) is not None:
            found.add(said["name"])
            if (default := said["default"] or "").count("${") <= _MOST_NESTED:
                _each(default, one)
        return ""

    for text in texts:
        _each(text, one)
    return sorted(found)


def _each(text: str, one: Callable[[str], str]) -> str:
    """The text with one(what stands in the braces) for each variable. One that is not closed
    is text."""
    pieces: list[str] = []
    at = 0
    while (start := text.find("${", at)) >= 0 and (end := _closing(text, start)) >= 0:
        pieces += [text[at:start], one(text[start + 2 : end])]
        at = end + 1
    return "".join([*pieces, text[at:]])


def _closing(text: str, start: int) -> int:
    """Where the braces that begin at start end; -1 if nowhere."""
    depth = 0
    for brace in _BRACES.finditer(text, start):
        depth += 1 if brace[0] == "${" else -1
        if depth == 0:
            return brace.start()
    return -1


_BRACES = re.compile(r"\$\{|\}")


def resolve(config: ServerConfig, environ: Mapping[str, str], folder: str | Path) -> Resolved:
    """Put the variables in. folder: what a relative cwd and ${workspaceFolder} mean.

    Raises ConfigError that names the field and the variable.
    """
    known = {"workspaceFolder": str(folder), "userHome": str(Path.home())} | dict(environ)
    brought: list[str] = []

    def put(field_name: str, text: str) -> str:
        def one(inner: str) -> str:
            match = _VARIABLE.fullmatch(inner)
            name = match["name"].strip() if match else ""
            if match is None or match["kind"] not in (None, "env:") or not _NAME.fullmatch(name):
                raise ConfigError(
                    f"{config.name}: {field_name} holds ${{{inner}}}, which is not supported: "
                    "write ${VAR} or ${VAR:-default}."
                )
            value = known.get(name)
            if match["default"] is not None and not value:
                if match["default"].count("${") > _MOST_NESTED:
                    raise ConfigError(
                        f"{config.name}: {field_name} holds a default with more than "
                        f"{_MOST_NESTED} variables; write fewer."
                    )
                return _each(match["default"], one)
            if value is None:
                raise ConfigError(
                    f"{config.name}: {field_name} needs the variable {name}, which is not set. "
                    f"Set it before the start, or write ${{{name}:-default}}."
                )
            if not is_plain_variable(name) or looks_like_key(value):
                brought.append(value)
            return value

        value = _each(text, one)
        # A path that is not UTF-8 is nothing special for a program, but for an address.
        problem = unfit(_without_path_bytes(value) if config.transport == "stdio" else value)
        if problem:
            raise ConfigError(f"{config.name}: {field_name} {problem}.")
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
        if problem := unfit_header(value):
            raise ConfigError(f"{config.name}: headers.{key} {problem}.")
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


def _without_path_bytes(value: str) -> str:
    """Without what stands for single bytes of a path (PEP 383)."""
    return re.sub(r"[\udc80-\udcff]", "", value)
