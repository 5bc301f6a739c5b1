"""Four looks: dark, light, high-contrast and ansi (the terminal's own 16 colours).

One accent; grey for what is secondary; red, amber and green only for failed, waiting, done.
Own variables on top of Textual's: $muted, $rule, $done, $waiting, $failed.
"""

import os
from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

DEFAULTS = {
    "muted": "#8a8f98",
    "rule": "#3a3f47",
    "done": "#7fb685",
    "waiting": "#d8a657",
    "failed": "#e06c75",
}
"""For Textual's own themes, chosen from the palette, which do not know our variables."""

DARK = Theme(
    name="dark", dark=True,
    primary="#7aa2c9", secondary="#7aa2c9", accent="#7aa2c9",
    foreground="#d7dae0", background="#14161a", surface="#14161a", panel="#1d2026",
    success="#7fb685", warning="#d8a657", error="#e06c75",
    variables={**DEFAULTS, "border": "#3a3f47", "scrollbar": "#3a3f47",
               "scrollbar-background": "#14161a", "footer-background": "#14161a"},
)  # fmt: skip

LIGHT = Theme(
    name="light", dark=False,
    primary="#235a97", secondary="#235a97", accent="#235a97",
    foreground="#1f2328", background="#fbfbfa", surface="#fbfbfa", panel="#eeeeec",
    success="#1d6b33", warning="#7d5200", error="#b3202c",
    variables={"muted": "#5c636b", "rule": "#c9ccd1", "done": "#1d6b33",
               "waiting": "#7d5200", "failed": "#b3202c", "border": "#c9ccd1",
               "scrollbar": "#c9ccd1", "scrollbar-background": "#fbfbfa"},
)  # fmt: skip

HIGH_CONTRAST = Theme(
    name="high-contrast", dark=True,
    primary="#66ccff", secondary="#66ccff", accent="#66ccff",
    foreground="#ffffff", background="#000000", surface="#000000", panel="#1a1a1a",
    success="#5fff87", warning="#ffd75f", error="#ff8787",
    variables={"muted": "#c6c6c6", "rule": "#808080", "done": "#5fff87",
               "waiting": "#ffd75f", "failed": "#ff8787", "border": "#808080",
               "scrollbar": "#808080", "scrollbar-background": "#000000"},
)  # fmt: skip

ANSI = Theme(
    name="ansi", dark=True, ansi=True,
    primary="ansi_blue", secondary="ansi_blue", accent="ansi_blue",
    foreground="ansi_default", background="ansi_default", surface="ansi_default",
    panel="ansi_default", boost="ansi_default",
    success="ansi_green", warning="ansi_yellow", error="ansi_red",
    # Textual's own style sheets ask for more variables of an ansi theme than it documents.
    variables={**BUILTIN_THEMES["ansi-dark"].variables,
               "muted": "ansi_bright_black", "rule": "ansi_bright_black", "done": "ansi_green",
               "waiting": "ansi_yellow", "failed": "ansi_red", "border": "ansi_bright_black",
               "scrollbar": "ansi_bright_black", "scrollbar-background": "ansi_default"},
)  # fmt: skip

THEMES = (DARK, LIGHT, HIGH_CONTRAST, ANSI)


def no_color(environ: Mapping[str, str] | None = None) -> bool:
    """True when NO_COLOR is set and not empty (no-color.org)."""
    return bool((os.environ if environ is None else environ).get("NO_COLOR"))


def pick_theme(wanted: str, environ: Mapping[str, str] | None = None) -> str:
    """The theme to start with. NO_COLOR and a dumb terminal win; "auto" reads COLORFGBG,
    which some terminals set to "foreground;background", and is dark where that is silent."""
    environ = os.environ if environ is None else environ
    if no_color(environ) or environ.get("TERM") == "dumb":
        return "ansi"
    if wanted in BUILTIN_THEMES or any(theme.name == wanted for theme in THEMES):
        return wanted
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"
