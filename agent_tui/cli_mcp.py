"""`agent-tui mcp ...`: MCP servers from the command line; the words go on to front_mcp.py."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=False,
    invoke_without_command=True,
    help="MCP servers: attach, list, see to them. Without a command: list.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
SomeName = Annotated[str | None, typer.Argument(metavar="[NAME]", show_default=False)]
User = Annotated[bool, typer.Option("--user", help="Keep it in your own mcp.json (the default).")]
Project = Annotated[bool, typer.Option("--project", help="Keep it in .mcp.json of this folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="A configuration file to use instead of config.toml."),
]


def _run(ctx: typer.Context, *words: str, as_json: bool = False) -> None:
    from agent_tui import front_mcp

    config: Path | None = (ctx.obj or {}).get("config")
    raise SystemExit(front_mcp.run(list(words), str(config) if config else None, as_json=as_json))


Scope = Annotated[
    str | None, typer.Option("--scope", "-s", help="user or project, as other clients have it.")
]


def _scope(user: bool, project: bool, scope: str | None) -> list[str]:
    if scope not in (None, "user", "project"):
        raise typer.BadParameter("a server is kept for the user or the project: --scope user")
    if (user or scope == "user") and (project or scope == "project"):
        raise typer.BadParameter("give --user or --project, not both")
    return ["--project"] if project or scope == "project" else ["--user"]


@app.callback()
def _root(ctx: typer.Context, config: Config = None) -> None:
    ctx.obj = {"config": config}
    if ctx.invoked_subcommand is None:
        _run(ctx, "list")


@app.command(help="Attach a server: a program behind --, or an address.")
def add(
    ctx: typer.Context,
    name: Name,
    target: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND ARGS... | URL", show_default=False),
    ],
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="KEY:VALUE, for an address.")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", help="NAME=VALUE, for a program.")
    ] = None,
    sse: Annotated[bool, typer.Option("--sse", help="The address speaks the older SSE.")] = False,
    transport: Annotated[
        str | None,
        typer.Option("--transport", "-t", help="stdio, http or sse, as other clients have it."),
    ] = None,
    user: User = False,
    project: Project = False,
    scope: Scope = None,
) -> None:
    words = ["add", name, *_scope(user, project, scope), *(["--sse"] if sse else [])]
    words += ["--transport", transport] if transport is not None else []
    words += [word for value in header or [] for word in ("--header", value)]
    words += [word for value in env or [] for word in ("--env", value)]
    is_address = len(target) == 1 and target[0].lower().startswith(("http://", "https://"))
    is_remote = is_address or sse or transport in ("http", "sse")
    _run(ctx, *words, *([] if is_remote else ["--"]), *target)


@app.command("add-json", help="Attach a server by its entry as it stands in mcp.json.")
def add_json(
    ctx: typer.Context,
    name: Name,
    json: Annotated[str, typer.Argument(metavar="JSON", show_default=False)],
    user: User = False,
    project: Project = False,
    scope: Scope = None,
) -> None:
    _run(ctx, "add-json", *_scope(user, project, scope), name, json)


@app.command(help="Take a server out of its file.")
def remove(ctx: typer.Context, name: Name) -> None:
    _run(ctx, "remove", name)


@app.command("list", help="All servers and their state (connects to them).")
def list_(ctx: typer.Context, as_json: AsJson = False) -> None:
    _run(ctx, "list", as_json=as_json)


@app.command(help="All about one server (connects to it).")
def get(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    _run(ctx, "get", name, as_json=as_json)


@app.command(help="Switch a server on; one of the project is approved by it.")
def enable(ctx: typer.Context, name: Name) -> None:
    _run(ctx, "enable", name)


@app.command(help="Switch a server off; it stays configured.")
def disable(ctx: typer.Context, name: Name) -> None:
    _run(ctx, "disable", name)


@app.command(help="Log in at a server by OAuth, in the browser or with a pasted code.")
def login(ctx: typer.Context, name: Name) -> None:
    _run(ctx, "login", name)


@app.command(help="Forget the login at a server.")
def logout(ctx: typer.Context, name: Name) -> None:
    _run(ctx, "logout", name)


@app.command(help="The tools of servers (connects to them).")
def tools(ctx: typer.Context, name: SomeName = None, as_json: AsJson = False) -> None:
    _run(ctx, "tools", *([name] if name else []), as_json=as_json)


@app.command(help="The resources of servers (connects to them).")
def resources(ctx: typer.Context, name: SomeName = None, as_json: AsJson = False) -> None:
    _run(ctx, "resources", *([name] if name else []), as_json=as_json)


@app.command(help="The prompts of servers (connects to them).")
def prompts(ctx: typer.Context, name: SomeName = None, as_json: AsJson = False) -> None:
    _run(ctx, "prompts", *([name] if name else []), as_json=as_json)


@app.command(help="What a server wrote when it ran last.")
def log(
    ctx: typer.Context,
    name: Name,
    lines: Annotated[int, typer.Option("--lines", min=1, help="So many of the last lines.")] = 50,
) -> None:
    _run(ctx, "log", name, str(lines))
