"""Title, notifications, progress: by setting, and nothing that a terminal garbles."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.agent.events import AgentEndEvent
from agent_tui.conversation.events import (
    PermissionRequestEvent,
    PermissionResolvedEvent,
    StatusChangedEvent,
)
from agent_tui.tui.terminal_signals import TerminalSignals

XTERM = {"TERM": "xterm-256color"}
GHOSTTY = {"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}
OFF = {"terminal_title": False, "progress": "off", "notify": "off"}


class Told:
    def __init__(self, environ: dict[str, str], focused: bool = False, **settings: Any) -> None:
        self.settings = SimpleNamespace(**(OFF | settings))
        self.written: list[str] = []
        self.focused = focused
        self.signals = TerminalSignals(
            self.written.append, lambda: self.settings, lambda: self.focused, environ=environ
        )
        self.signals.folder("shop")

    def run(self, reason: str = "the answer is complete") -> list[str]:
        for event in (
            StatusChangedEvent("waiting"),
            StatusChangedEvent("streaming"),
            AgentEndEvent([], reason),
            StatusChangedEvent("ready"),
        ):
            self.signals.apply(event)
        return self.written

    def ask(self) -> None:
        self.signals.apply(StatusChangedEvent("tools"))
        self.signals.apply(PermissionRequestEvent("r", "c", "shell", {}))


def test_the_title_says_folder_and_state_and_comes_back() -> None:
    told = Told(XTERM, terminal_title=True)
    told.run()
    told.ask()
    told.signals.apply(PermissionResolvedEvent("r", "c", "allow"))
    told.signals.end()
    assert told.written == [
        "\x1b[22;2t",
        "\x1b]2;shop - agent-tui\x07",
        "\x1b]2;● shop - agent-tui\x07",
        "\x1b]2;shop - agent-tui\x07",
        "\x1b]2;● shop - agent-tui\x07",
        "\x1b]2;? shop - agent-tui\x07",
        "\x1b]2;● shop - agent-tui\x07",
        "\x1b[23;2t",
    ]


def test_no_title_without_its_setting_and_a_change_holds_at_once() -> None:
    told = Told(XTERM)
    assert told.run() == []
    told.settings.terminal_title = True
    told.signals.refresh()
    told.settings.terminal_title = False
    told.signals.refresh()
    assert told.written[-1] == "\x1b[23;2t"


@pytest.mark.parametrize(
    ("notify", "environ", "written"),
    [
        ("off", GHOSTTY, []),
        ("bell", GHOSTTY, ["\x07"]),
        ("osc9", XTERM, ["\x1b]9;agent-tui in shop: the answer is there\x07"]),
        ("auto", GHOSTTY, ["\x1b]9;agent-tui in shop: the answer is there\x07"]),
        ("auto", XTERM, ["\x07"]),
        ("auto", GHOSTTY | {"TMUX": "x"}, ["\x07"]),
        ("osc9", {"TERM": "linux"}, ["\x07"]),
        (
            "osc9",
            XTERM | {"TMUX": "x"},
            ["\x1bPtmux;\x1b\x1b]9;agent-tui in shop: the answer is there\x07\x1b\\"],
        ),
        (
            "osc9",
            XTERM | {"STY": "x"},
            ["\x1bP\x1b]9;agent-tui in shop: the answer is there\x07\x1b\\"],
        ),
    ],
)
def test_a_notification_when_it_is_done(
    notify: str, environ: dict[str, str], written: list[str]
) -> None:
    assert Told(environ, notify=notify).run() == written
    assert Told(environ, focused=True, notify=notify).run() == [], "somebody looks"


def test_a_question_is_told_and_what_the_user_stopped_is_not() -> None:
    told = Told(XTERM, notify="osc9")
    told.ask()
    assert told.written == ["\x1b]9;agent-tui in shop: a question waits for you\x07"]
    assert Told(XTERM, notify="bell").run("stopped by the user") == []
    (failed,) = Told(XTERM, notify="osc9").run("the request failed: secret words")
    assert failed == "\x1b]9;agent-tui in shop: the request failed\x07"


@pytest.mark.parametrize(
    ("progress", "environ", "shows"),
    [
        ("auto", GHOSTTY, True),
        ("auto", {"TERM": "xterm-256color", "WT_SESSION": "x"}, True),
        ("auto", XTERM, False),
        ("auto", {"TERM": "xterm-kitty"}, False),
        ("auto", GHOSTTY | {"TMUX": "x"}, False),
        ("auto", XTERM | {"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.5.1"}, False),
        ("auto", XTERM | {"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.6.10"}, True),
        ("on", XTERM, True),
        ("on", {"TERM": "linux"}, False),
        ("off", GHOSTTY, False),
    ],
)
def test_progress_only_where_it_is_known_to_be_one(
    progress: str, environ: dict[str, str], shows: bool
) -> None:
    told = Told(environ, progress=progress)
    assert told.run() == (["\x1b]9;4;3\x07", "\x1b]9;4;0\x07"] if shows else [])
    told.ask()
    if shows:
        assert told.written[-2:] == ["\x1b]9;4;3\x07", "\x1b]9;4;4;100\x07"]
        told.signals.end()
        assert told.written[-1] == "\x1b]9;4;0\x07"


@pytest.mark.parametrize("term", ["linux", "dumb", "", "vt100"])
def test_a_console_gets_nothing_but_the_bell(term: str) -> None:
    told = Told({"TERM": term}, terminal_title=True, progress="on", notify="osc9")
    told.run()
    told.ask()
    told.signals.end()
    assert "".join(told.written) == "\x07\x07"


def test_a_folder_of_any_name_writes_no_sequence() -> None:
    told = Told(XTERM, terminal_title=True, notify="osc9")
    told.signals.folder("x\x1b]2;PWNED\x07\x9d\nb" + "y" * 5000)
    told.run()
    for sequence in told.written[2:]:
        assert sequence.count("\x1b") == sequence.count("\x07") == 1 and "\x9d" not in sequence
        assert len(sequence) < 300
