"""How the transcript looks: its component classes, their styles, and the palette of a theme.

Colours come from the theme's variables (tui/themes.py) only. Nothing says by colour alone
what a glyph, a mark or a word does not say too.
"""

from rich.style import Style
from textual.widget import Widget

_PREFIX = "transcript--"

_NAMES = (
    "user", "prompt", "accent", "muted", "rule", "done", "waiting", "failed", "thinking",
    "thinking-head", "tool-name", "tool-summary", "output", "heading-1", "heading-2",
    "heading", "heading-mark", "bullet", "link", "url", "cite", "quote", "quote-bar", "table-head",
    "table-rule", "table-raw", "code-inline", "code-block", "code", "code-keyword",
    "code-string", "code-number", "code-comment", "code-name", "code-builtin", "diff-add",
    "diff-del", "diff-hunk", "cursor", "match", "match-here",
)  # fmt: skip

COMPONENT_CLASSES = frozenset(_PREFIX + name for name in _NAMES)

CSS = """
Transcript {
    height: 1fr;
    padding: 0 1;
    overflow-x: hidden;
    overflow-y: scroll;
    scrollbar-size-vertical: 1;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
    scrollbar-color: $rule;
    scrollbar-color-hover: $muted;
    scrollbar-color-active: $accent;
    background: $background;
    color: $foreground;

    & > .transcript--user { text-style: bold; }
    & > .transcript--prompt { color: $accent; text-style: bold; }
    & > .transcript--accent { color: $accent; }
    & > .transcript--muted { color: $muted; }
    & > .transcript--rule { color: $rule; }
    & > .transcript--done { color: $done; }
    & > .transcript--waiting { color: $waiting; }
    & > .transcript--failed { color: $failed; }
    & > .transcript--thinking { color: $muted; text-style: italic; }
    & > .transcript--thinking-head { color: $muted; }
    & > .transcript--tool-name { text-style: bold; }
    & > .transcript--tool-summary { color: $foreground; }
    & > .transcript--output { color: $muted; }
    & > .transcript--heading-1 { color: $accent; text-style: bold; }
    & > .transcript--heading-2 { color: $accent; text-style: bold; }
    & > .transcript--heading { text-style: bold; }
    & > .transcript--heading-mark { color: $muted; }
    & > .transcript--bullet { color: $accent; }
    & > .transcript--link { text-style: underline; }
    & > .transcript--url { color: $muted; }
    & > .transcript--cite { color: $accent; }
    & > .transcript--quote { color: $muted; }
    & > .transcript--quote-bar { color: $rule; }
    & > .transcript--table-head { text-style: bold; }
    & > .transcript--table-rule { color: $rule; }
    & > .transcript--table-raw { color: $foreground; }
    & > .transcript--code-inline { color: $accent; }
    & > .transcript--code-block { background: $panel; }
    & > .transcript--code { background: $panel; color: $foreground; }
    & > .transcript--code-keyword { background: $panel; color: $accent; }
    & > .transcript--code-string { background: $panel; color: $done; }
    & > .transcript--code-number { background: $panel; color: $waiting; }
    & > .transcript--code-comment { background: $panel; color: $muted; text-style: italic; }
    & > .transcript--code-name { background: $panel; color: $foreground; text-style: bold; }
    & > .transcript--code-builtin { background: $panel; color: $waiting; }
    & > .transcript--diff-add { color: $done; }
    & > .transcript--diff-del { color: $failed; }
    & > .transcript--diff-hunk { color: $muted; }
    & > .transcript--cursor { background: $panel; }
    & > .transcript--match { color: $waiting; text-style: underline; }
    & > .transcript--match-here { color: $waiting; text-style: bold reverse; }
}
"""


def read_styles(widget: Widget) -> dict[str, Style]:
    """The styles that the widget's theme gives now, by the names parts use."""
    return {name: widget.get_component_rich_style(_PREFIX + name, partial=True) for name in _NAMES}
