"""What a plain command line means is what the parser says."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui import cli, front, front_headless
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.entry import main, read_plain
from agent_tui.front_options import Options

TOKENS = [
    "--model", "m", "--model=m", "--mod=m", "--base-url", "http://127.0.0.1:1", "--thinking=high",
    "--system-prompt", "be brief", "--append-system-prompt=x", "--allow", "read, grep", "--allow=",
    "--demo", "--no-session", "-c", "--continue", "-cc", "--max-turns", "3", "--max-turns=0",
    "--max-turns=x", "--max-cost=1", "-r", "abc", "-p", "--", "-", "", "rpc", "chat", "mcp",
    "fix the bug", "- a list", "--model --demo", "--help", "--version", "/help me", "what? yes",
]  # fmt: skip


class _Opened(Exception):
    pass


@pytest.fixture(scope="module", autouse=True)
def opened() -> Any:
    """The screen, and anything else that a command line could begin, only tells."""
    with pytest.MonkeyPatch.context() as patch:

        def tell(*what: Any) -> int:
            raise _Opened(*what)

        patch.setattr(front, "interactive", tell)
        patch.setattr(front_headless, "print_once", tell)
        patch.setattr(front_headless, "rpc", tell)
        yield patch


def parsed(arguments: list[str]) -> tuple[Any, ...] | None:
    """What cli.py makes of it; None where it opens no screen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["agent-tui", *arguments])
        try:
            cli.main()
        except _Opened as what:
            return what.args if len(what.args) == 2 else None
        except SystemExit:
            return None
    return None


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=5))
def test_what_is_plain_is_what_the_parser_says(arguments: list[str]) -> None:
    plain = read_plain(arguments)
    if plain is not None:
        assert plain == parsed(arguments)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ([], (Options(), "")),
        (["--demo"], (Options(demo=True), "")),
        (["-c"], (Options(wish=SessionWish(continue_newest=True)), "")),
        (["--no-session", "fix the bug"], (Options(wish=SessionWish(keep=False)), "fix the bug")),
        (["--base-url", "http://h", "--model=m"],
         (Options(flags={"base_url": "http://h", "model": "m"}), "")),
        (["--max-turns", "3", "--allow", "read, grep"],
         (Options(flags={"max_turns": 3}, allow=["read", "grep"]), "")),
    ],
)  # fmt: skip
def test_the_usual_ones_are_plain(arguments: list[str], meant: Any) -> None:
    assert read_plain(arguments) == meant == parsed(arguments)


@pytest.mark.parametrize(
    "arguments",
    [["rpc"], ["mcp", "list"], ["hello"], ["-p", "x"], ["--version"], ["-r"], ["--mod", "m"],
     ["--model"], ["--model", "a", "--model", "b"], ["--nonsense"], ["--config", "x"],
     ["--max-turns", "no"], ["two", "texts"]],
)  # fmt: skip
def test_the_others_go_to_the_parser(arguments: list[str]) -> None:
    assert read_plain(arguments) is None


def test_the_script_opens_the_screen_or_asks_the_parser(opened: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    opened.setattr(cli, "main", lambda: asked.append(sys.argv[1:]))
    opened.setattr(sys, "argv", ["agent-tui", "--demo", "say something"])
    with pytest.raises(_Opened) as what:
        main()
    assert what.value.args == (Options(demo=True), "say something") and asked == []
    opened.setattr(sys, "argv", ["agent-tui", "rpc"])
    main()
    assert asked == [["rpc"]]


def test_the_first_paint_waits_for_nothing_heavy() -> None:
    """The frame of the screen needs Textual; the loop, the settings and the transcript come
    after it (docs/performance.md)."""
    code = (
        "import sys, agent_tui.entry, agent_tui.front\n"
        "import agent_tui.tui.run, agent_tui.tui.starter, agent_tui.tui.app\n"
        "agent_tui.entry.read_plain(['--demo', 'say something'])\n"
        "agent_tui.front.first_look(cwd='.', flags={'model': 'm'}, environ={})\n"
        "heavy = ['pydantic', 'typer', 'anthropic', 'mcp', 'jsonschema']\n"
        "heavy += ['markdown_it', 'pygments']\n"
        "heavy += ['agent_tui.' + n for n in ('agent', 'settings', 'sessions', 'tui.transcript')]\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "[]"
