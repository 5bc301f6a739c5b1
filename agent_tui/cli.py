"""The front door: parses, builds, runs. No logic of its own; imports of substance happen
inside the commands, so that --version and --help stay fast.
"""

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from agent_tui import __version__, cli_mcp

if TYPE_CHECKING:
    from agent_tui.front_options import Options

_COMMANDS_HELP = (
    "Without a command: agent-tui [OPTIONS] [TEXT] opens a conversation; -p TEXT answers on "
    "stdout; -c and -r go on in a session; --demo, --base-url, --model and --allow are among the "
    "options that `agent-tui chat --help` lists."
)


class _DefaultToChat(TyperGroup):
    """`agent-tui TEXT` and `agent-tui --option ...` mean `agent-tui chat ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {"--help", "--version", "--install-completion", "--show-completion"}
        if not args or (args[0] not in self.commands and args[0] not in own):
            args = ["chat", *args]
        return super().parse_args(ctx, _with_resume_value(args))


def _with_resume_value(args: list[str]) -> list[str]:
    """`-r` without an id means "let me pick"; the parser wants a value for it."""
    out: list[str] = []
    for here, arg in enumerate(args):
        if arg == "--":
            return [*out, *args[here:]]
        out.append(arg)
        if arg in ("-r", "--resume") and (here + 1 == len(args) or args[here + 1][:1] == "-"):
            out.append(_PICK)
    return out


_PICK = "?"

app = typer.Typer(
    cls=_DefaultToChat,
    add_completion=True,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    epilog=_COMMANDS_HELP,
    help="A terminal agent on Anthropic's Messages API that can be seen and steered.",
)
offline_app = typer.Typer(help="The offline server: scripted replies, no model.")
app.add_typer(offline_app, name="offline")
app.add_typer(cli_mcp.app, name="mcp")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"agent-tui {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _fail(message: str, code: int = 2) -> NoReturn:
    from agent_tui.text import SafeText  # it quotes what was typed

    print(f"agent-tui: {SafeText(message)}", file=sys.stderr)  # noqa: T201
    raise SystemExit(code)


ModelOption = Annotated[str | None, typer.Option("--model", help="The model to use.")]
BaseUrlOption = Annotated[
    str | None, typer.Option("--base-url", help="The address of a Messages API.")
]
DemoOption = Annotated[
    bool, typer.Option("--demo", help="Use the built-in demo: scripted replies, no model.")
]
AllowOption = Annotated[
    str | None,
    typer.Option("--allow", metavar="TOOL[,TOOL...]", help="Tools that run without being asked."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="A configuration file to use instead of config.toml."),
]
MaxTurnsOption = Annotated[
    int | None, typer.Option("--max-turns", min=1, help="Stop a run after so many model calls.")
]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="Stop when so many dollars are spent.")
]
MaxSecondsOption = Annotated[
    float | None, typer.Option("--max-seconds", min=0, help="Stop a run after so many seconds.")
]
ThinkingOption = Annotated[
    str | None, typer.Option("--thinking", help="off, low, medium, high, xhigh or max.")
]
SystemOption = Annotated[
    str | None,
    typer.Option("--system-prompt", help="Use this system prompt instead of the own one."),
]
ContinueOption = Annotated[
    bool, typer.Option("-c", "--continue", help="Go on in the newest session of this folder.")
]
ResumeOption = Annotated[
    str | None,
    typer.Option("-r", "--resume", metavar="[ID]", help="Go on in a session; no ID: pick one."),
]
NoSessionOption = Annotated[
    bool, typer.Option("--no-session", help="Keep nothing of this conversation on disk.")
]
PlainOption = Annotated[
    bool,
    typer.Option("--plain", help="Plain lines for screen readers: nothing is drawn again."),
]
AppendSystemOption = Annotated[
    str | None, typer.Option("--append-system-prompt", help="Add this to the system prompt.")
]


@app.command(help="Open a conversation (the default command).")
def chat(
    text: Annotated[
        str | None, typer.Argument(help="Sent as the first message.", show_default=False)
    ] = None,
    print_text: Annotated[
        str | None,
        typer.Option("-p", "--print", metavar="TEXT", help="Answer TEXT on stdout and end."),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", help="With -p: text, json or stream-json.")
    ] = "text",
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    demo: DemoOption = False,
    continue_: ContinueOption = False,
    resume: ResumeOption = None,
    no_session: NoSessionOption = False,
    allow: AllowOption = None,
    config: ConfigOption = None,
    thinking: ThinkingOption = None,
    system_prompt: SystemOption = None,
    append_system_prompt: AppendSystemOption = None,
    max_turns: MaxTurnsOption = None,
    max_cost: MaxCostOption = None,
    max_seconds: MaxSecondsOption = None,
    plain: PlainOption = False,
) -> None:
    options = _options(locals())
    if plain:
        options.flags["screen_reader"] = True
    if text in ("rpc", "offline", "mcp"):
        _fail(f"options of `{text}` come after it: agent-tui {text} [OPTIONS]")
    if output not in ("text", "json", "stream-json"):
        _fail(f"--output {output!r} is not one of text, json, stream-json")
    if print_text is None:
        from agent_tui import front

        raise SystemExit(front.interactive(options, text or ""))
    if text is not None:
        _fail("give the text either after -p or as an argument, not both")
    from agent_tui import front_headless

    raise SystemExit(front_headless.print_once(options, print_text, output))  # type: ignore[arg-type]


@app.command(help="The whole agent over JSON lines on stdin and stdout.")
def rpc(
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    demo: DemoOption = False,
    continue_: ContinueOption = False,
    resume: ResumeOption = None,
    no_session: NoSessionOption = False,
    allow: AllowOption = None,
    config: ConfigOption = None,
    thinking: ThinkingOption = None,
    system_prompt: SystemOption = None,
    append_system_prompt: AppendSystemOption = None,
    max_turns: MaxTurnsOption = None,
    max_cost: MaxCostOption = None,
    max_seconds: MaxSecondsOption = None,
) -> None:
    options = _options(locals())
    from agent_tui import front_headless

    raise SystemExit(front_headless.rpc(options))


_SETTINGS = (
    "model", "base_url", "thinking", "system_prompt", "append_system_prompt", "max_turns",
    "max_cost", "max_seconds",
)  # fmt: skip


def _options(given: dict[str, Any]) -> "Options":
    """The common options of all faces, from a command's parameters."""
    from agent_tui.conversation.session_wish import SessionWish
    from agent_tui.front_options import Options

    return Options(
        flags={name: given[name] for name in _SETTINGS if given[name] is not None},
        demo=given["demo"],
        allow=[name.strip() for name in (given["allow"] or "").split(",") if name.strip()],
        config=str(given["config"]) if given["config"] else None,
        wish=SessionWish(
            keep=not given["no_session"],
            continue_newest=given["continue_"],
            resume=given["resume"] is not None,
            resume_id="" if given["resume"] in (None, _PICK) else given["resume"],
        ),
    )


@offline_app.command(
    "serve", help="Serve a scripted Messages API on 127.0.0.1, for any SDK client."
)
def offline_serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 0,
    speed: Annotated[
        float, typer.Option("--speed", min=0, help="Characters a second; 0: at once.")
    ] = 400.0,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", help="Play the turns of this JSON file.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", help="Write a line for each request to this file.")
    ] = None,
    container_seconds: Annotated[
        float,
        typer.Option("--container-seconds", min=0.01, help="A container unused so long expires."),
    ] = 270.0,
    result_seconds: Annotated[
        float,
        typer.Option(
            "--result-seconds", min=0.01, help="A program's call unanswered so long times out."
        ),
    ] = 240.0,
    program_seconds: Annotated[
        float, typer.Option("--program-seconds", min=0.01, help="A program computes so long.")
    ] = 30.0,
    output_chars: Annotated[
        int, typer.Option("--output-chars", min=1, help="A program's output is cut there.")
    ] = 1_000_000,
    expired_answer: Annotated[
        str,
        typer.Option(
            "--expired-answer",
            help="To an expired container: error (400), untyped (500), or result (of the program).",
        ),
    ] = "error",
) -> None:
    from agent_tui.offline.containers import container_options
    from agent_tui.offline.scenarios import ScenarioError
    from agent_tui.offline.server import OfflineServerError, serve

    try:
        containers = container_options(
            idle_seconds=container_seconds,
            result_seconds=result_seconds,
            program_seconds=program_seconds,
            output_chars=output_chars,
            expired_answer=expired_answer,
        )
        serve(
            port,
            speed,
            str(scenario) if scenario else None,
            str(log) if log else None,
            containers,
        )
    except (OfflineServerError, ScenarioError, OSError, ValueError) as error:
        _fail(str(error))


@offline_app.command("mcp", help="A small MCP server over stdio: the one that /tour attaches.")
def offline_mcp() -> None:
    from agent_tui.offline.tour_server import serve_stdio

    serve_stdio()


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        # In a locale without Unicode a character that it lacks is a "?" and no crash (fault D27).
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="agent-tui")
