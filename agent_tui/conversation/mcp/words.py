"""What a line about MCP servers says: its words, options and server; no server is touched here."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_tui.mcp_servers.config import (
    ConfigError,
    ServerConfig,
    server_from_command,
    server_from_json,
    server_from_url,
)
from agent_tui.mcp_servers.types import Scope
from agent_tui.text import clean, cut

FORMS: dict[str, str] = {
    "add": "add NAME -- COMMAND ARGS...  or  add NAME URL [--header KEY:VALUE] [--sse]",
    "add-json": "add-json NAME JSON",
    "remove": "remove NAME",
    "list": "list",
    "get": "get NAME",
    "enable": "enable NAME",
    "disable": "disable NAME",
    "reconnect": "reconnect NAME",
    "login": "login NAME",
    "logout": "logout NAME",
    "tools": "tools [NAME]",
    "resources": "resources [NAME]",
    "prompts": "prompts [NAME]",
    "log": "log NAME [LINES]",
    "level": "level debug|info|notice|warning|error",
}
HELP: dict[str, str] = {
    "add": "attach a server: a program, or an address",
    "add-json": "attach a server by its entry in mcp.json",
    "remove": "disconnect a server, and take it out of its file",
    "list": "all servers and their state",
    "get": "all about one server",
    "enable": "switch a server on",
    "disable": "switch a server off; it stays configured",
    "reconnect": "connect anew, with the configuration as it is now",
    "login": "log in at a server by OAuth",
    "logout": "forget the login",
    "tools": "the tools of servers",
    "resources": "the resources of servers",
    "prompts": "the prompts of servers",
    "log": "what a server wrote",
    "level": "how much servers log",
}
SCOPES: dict[str, Scope] = {
    "user": "user", "project": "project", "conversation": "conversation", "local": "conversation",
}  # fmt: skip


class WrongForm(ValueError):
    """The line does not fit; form: the right one, "" where str() says all."""

    def __init__(self, form: str, said: str = "") -> None:
        super().__init__(said)
        self.form = form


@dataclass(slots=True)
class Line:
    """A line in its parts. names: what is no option; command: what stands behind `--`, None
    without one; scope None: not said."""

    names: list[str] = field(default_factory=list[str])
    command: list[str] | None = None
    scope: Scope | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    env: dict[str, str] = field(default_factory=dict[str, str])
    transport: str = ""


def split(text: str) -> list[str]:
    """A typed line as a shell would split it; the JSON of add-json stays one word. Raises
    WrongForm for a quote that does not end."""
    head, _, rest = text.strip().partition(" ")
    if head == "add-json":
        at = rest.find("{")
        before, json = (rest[:at], rest[at:]) if at >= 0 else (rest, "")
        return [head, *before.split(), *([json.strip()] if json else [])]
    try:
        return shlex.split(text)
    except ValueError:
        raise WrongForm(FORMS.get(head, ""), "A quote in this line does not end.") from None


def read(action: str, words: Sequence[str]) -> Line:
    """Raises WrongForm for an option that does not belong to the action, or lacks its value."""
    line = Line()
    todo = list(words)
    while todo:
        word = todo.pop(0)
        if word == "--":
            line.command = todo
            break
        if not word.startswith("--") and word not in ("-s", "-e", "-t", "-H"):
            line.names.append(word)
            continue
        name, equals, value = word.partition("=")
        if name in ("--project", "--user"):
            _only_for(action, name, ("add", "add-json", "remove"))
            line.scope = SCOPES[name.removeprefix("--")]
            continue
        if name == "--sse":
            _only_for(action, name, ("add",))
            line.transport = "sse"
            continue
        if name not in ("--header", "--env", "--scope", "--transport", "-s", "-e", "-t", "-H"):
            raise WrongForm(FORMS[action], f"There is no option {clean(name)}.")
        _only_for(action, name, ("add", "add-json") if name in ("--scope", "-s") else ("add",))
        if not equals:
            if not todo:
                raise WrongForm(FORMS[action], f"{name} needs a value.")
            value = todo.pop(0)
        _take(line, action, name, value)
    return line


def _only_for(action: str, option: str, actions: tuple[str, ...]) -> None:
    if action not in actions:
        raise WrongForm(FORMS[action], f"{option} does not belong to {action}.")


def _take(line: Line, action: str, name: str, value: str) -> None:
    match name:
        case "--header" | "-H":
            key, colon, rest = value.partition(":")
            if not colon or not key.strip():
                raise WrongForm(FORMS[action], "A header has the form KEY:VALUE.")
            line.headers[key.strip()] = rest.strip()
        case "--env" | "-e":
            key, equals, rest = value.partition("=")
            if not equals or not key.strip():
                raise WrongForm(FORMS[action], "A variable has the form NAME=VALUE.")
            line.env[key.strip()] = rest
        case "--scope" | "-s":
            if value not in SCOPES:
                raise WrongForm(FORMS[action], "A scope is conversation, project or user.")
            line.scope = SCOPES[value]
        case _:
            if value not in ("stdio", "http", "sse"):
                raise WrongForm(FORMS[action], "A transport is stdio, http or sse.")
            line.transport = value


def server_of(line: Line) -> ServerConfig:
    """Of `add`: the server that is meant. Raises WrongForm, ConfigError."""
    form = FORMS["add"]
    if not line.names:
        raise WrongForm(form)
    name, *rest = line.names
    if line.command is not None:
        if rest:
            raise WrongForm(form, "Give the command behind --, and nothing before it but the name.")
        words = line.command
    else:
        words = rest
    if not words:
        raise WrongForm(form)
    is_address = len(words) == 1 and words[0].lower().startswith(("http://", "https://"))
    if len(words) > 1 and words[0].lower().startswith(("http://", "https://")):
        raise WrongForm(form, "An address is one word.")
    if len(words) == 1 and not is_address and "://" in words[0]:
        said = f"{clean(cut(words[0], 60))} is no address of an MCP server: it begins with http://"
        raise WrongForm(form, f"{said} or https://.")
    if line.transport in ("http", "sse") or (is_address and line.transport != "stdio"):
        if len(words) != 1:
            raise WrongForm(form, "An address is one word.")
        if line.env:
            raise ConfigError("A server at an address has no environment: use --header.")
        return server_from_url(name, words[0], line.headers, sse=line.transport == "sse")
    if line.headers:
        raise ConfigError("A program has no headers: use --env, or give an address.")
    return server_from_command(name, words, line.env)


def server_of_json(line: Line) -> ServerConfig:
    """Of `add-json`. Raises WrongForm, ConfigError."""
    if len(line.names) != 2:
        raise WrongForm(FORMS["add-json"])
    return server_from_json(*line.names)
