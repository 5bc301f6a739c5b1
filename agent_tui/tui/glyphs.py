"""The glyphs of the screen and their ASCII twins (DESIGN: every glyph has one).

`choose` picks the table for a terminal; widgets take a Glyphs and never write a glyph
themselves. No glyph carries a meaning that its neighbour text does not also carry.
"""

import codecs
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from agent_tui.terminal_locale import terminal_encoding


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One glyph per meaning; each is one cell wide in UNICODE, up to three in ASCII."""

    prompt: str = "❯"
    running: str = "●"
    done: str = "✓"
    failed: str = "✗"
    stopped: str = "⊘"
    paused: str = "⏸"
    steer: str = "↳"
    follow_up: str = "⧗"
    folded: str = "▸"
    open: str = "▾"
    program: str = "▣"
    branch_start: str = "┌─"
    branch: str = "├─"
    branch_end: str = "└─"
    bar: str = "█"
    bar_left: str = "▕"
    bar_right: str = "▏"
    about: str = "≈"
    at_least: str = "≥"
    bullet: str = "•"
    sub_bullet: str = "◦"
    task_done: str = "☑"
    task_open: str = "☐"
    quote: str = "▎"
    rule: str = "─"
    column: str = "│"
    cross: str = "┼"
    tee_left: str = "┤"
    tee_up: str = "┴"
    cursor: str = "▍"
    ellipsis: str = "…"
    info: str = "·"
    warning: str = "!"
    down: str = "↓"
    arrow: str = "→"


UNICODE = Glyphs()
ASCII = Glyphs(
    prompt=">",
    running="*",
    done="+",
    failed="x",
    stopped="-",
    paused="=",
    steer="->",
    follow_up="~>",
    folded="[+]",
    open="[-]",
    program="#",
    branch_start=",-",
    branch="|-",
    branch_end="`-",
    bar="#",
    bar_left="[",
    bar_right="]",
    about="~",
    at_least=">=",
    bullet="-",
    sub_bullet="-",
    task_done="[x]",
    task_open="[ ]",
    quote=">",
    rule="-",
    column="|",
    cross="+",
    tee_left="+",
    tee_up="+",
    cursor="_",
    ellipsis="...",
    info=".",
    warning="!",
    down="v",
    arrow="->",
)


def choose(
    *,
    ascii_only: bool | None = None,
    environ: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> Glyphs:
    """The table for this terminal. ascii_only: the user's setting, None = decide here.

    ASCII when NO_COLOR is set (kin to screen readers and logs), TERM is dumb, or the locale or
    the output is not UTF-8.
    """
    if ascii_only is not None:
        return ASCII if ascii_only else UNICODE
    given = environ
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return ASCII
    if encoding is None and terminal_encoding(given) != "utf-8":
        return ASCII
    name = encoding or getattr(sys.__stdout__, "encoding", None) or "utf-8"
    try:
        unicode_output = codecs.lookup(name).name == "utf-8"
    except LookupError:
        unicode_output = False
    return UNICODE if unicode_output else ASCII


_WHOLE_EMOJI = frozenset({"ghostty", "WezTerm"})
"""Terminals (TERM_PROGRAM) of which every version around draws sequences whole."""


def draws_whole_emoji(environ: Mapping[str, str] | None = None) -> bool:
    """Whether this terminal draws an emoji sequence (a family, a flag, a skin tone) as one
    picture of two cells, as it is measured here. Under a multiplexer: no, it measures for
    itself."""
    environ = os.environ if environ is None else environ
    inside = environ.get("TMUX") or environ.get("STY") or environ.get("ZELLIJ")
    return not inside and environ.get("TERM_PROGRAM") in _WHOLE_EMOJI
