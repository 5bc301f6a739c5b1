"""Faults D18 and D19: contrast, NO_COLOR."""

from types import SimpleNamespace

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from agent_tui.theme_names import OWN_THEMES, TEXTUAL_THEMES
from agent_tui.tui.themes import DARK, HIGH_CONTRAST, LIGHT, THEMES, no_color, pick_theme
from tests.tui.conftest import Drive


@pytest.mark.parametrize("theme", [DARK, LIGHT, HIGH_CONTRAST], ids=lambda t: t.name)
@pytest.mark.parametrize("name", ["foreground", "accent", "muted", "done", "waiting", "failed"])
def test_every_text_colour_can_be_read_on_its_ground(theme, name):
    colour = theme.variables.get(name) or getattr(theme, name)
    for ground in (theme.background, theme.panel):
        ratio = Color.parse(colour).get_contrast_text(1)  # touch: it parses
        assert ratio is not None
        assert contrast(colour, ground) >= 4.5


def contrast(first: str, second: str) -> float:
    """WCAG 2: (lighter + 0.05) / (darker + 0.05) of the relative luminances."""

    def luminance(colour: str) -> float:
        def channel(value: int) -> float:
            part = value / 255
            return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

        red, green, blue = Color.parse(colour).rgb
        return 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue)

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("wanted", "environ", "picked"),
    [
        ("auto", {}, "dark"),
        ("auto", {"COLORFGBG": "0;15"}, "light"),
        ("auto", {"COLORFGBG": "15;0"}, "dark"),
        ("light", {"COLORFGBG": "15;0"}, "light"),
        ("high-contrast", {}, "high-contrast"),
        ("light", {"NO_COLOR": "1"}, "ansi"),
        ("light", {"NO_COLOR": ""}, "light"),
        ("light", {"TERM": "dumb"}, "ansi"),
        ("nord", {}, "nord"),
        ("no such theme", {}, "dark"),
    ],
)
def test_which_theme(wanted: str, environ: dict[str, str], picked: str):
    assert pick_theme(wanted, environ) == picked


def test_the_settings_know_the_themes_there_are():
    assert sorted(TEXTUAL_THEMES) == sorted(BUILTIN_THEMES)
    assert tuple(theme.name for theme in THEMES) == OWN_THEMES


def test_an_empty_no_color_does_not_count():
    assert no_color({"NO_COLOR": "1"}) and not no_color({"NO_COLOR": ""}) and not no_color({})


@pytest.mark.parametrize("name", [*(theme.name for theme in THEMES), "nord", "textual-light"])
async def test_every_theme_draws_every_part(drive: Drive, name: str):
    async with drive(settings=SimpleNamespace(theme=name)) as d:
        d.conv.set_status("tools")
        d.conv.queue_item("steer", "a message")
        d.conv.ask({"command": "ls"})
        await d.shows("wants to run")
        await d.press("f1")
        await d.shows("While you type")


async def test_no_color_leaves_no_colour_and_all_can_be_read(drive: Drive, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with drive() as d:
        d.conv.set_status("tools")
        d.conv.queue_item("steer", "a message")
        await d.shows("a message")
        filters = d.app.get_line_filters()
        for strip in d.app.screen._compositor.render_strips():
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, Color.parse("black"))
            for segment in strip:
                style = segment.style
                assert style is None or (
                    (style.color is None or style.color.is_default)
                    and (style.bgcolor is None or style.bgcolor.is_default)
                ), segment
        assert "->" in d.screen and "●" not in d.screen
