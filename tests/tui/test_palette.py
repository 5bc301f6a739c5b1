"""The palette (Ctrl+P): slash commands in it, and the order of the themes."""

from agent_tui.tui.themes import THEMES
from tests.tui.conftest import Drive


async def test_a_command_without_arguments_runs(drive: Drive) -> None:
    async with drive() as d:
        await d.press("ctrl+p")
        await d.type("/quit")
        await d.shows("/quit")
        await d.press("enter")
        await d.until(lambda: d.conv.called("submit") == [("/quit",)])


async def test_a_command_that_takes_words_goes_into_the_composer(drive: Drive) -> None:
    async with drive() as d:
        await d.type("my draft")
        await d.press("ctrl+p")
        await d.type("/model")
        await d.shows("show or choose the model")
        await d.press("enter")
        await d.until(lambda: d.draft == "/model ", "it waits for its words")
        assert d.conv.called("submit") == [], "nothing was sent"
        assert d.app.composer.has_focus
        await d.shows("Your draft is put away")
        await d.press("ctrl+c", "ctrl+s")
        assert d.draft == "my draft", "it is not lost"


async def test_the_apps_own_commands_come_first(drive: Drive) -> None:
    async with drive() as d:
        titles = [command.title for command in d.app.get_system_commands(d.app.screen)]
        at = next(n for n, title in enumerate(titles) if title.startswith("/"))
        assert titles[:at] == ["Help", "Side panel", "Theme", "Quit"]
        assert titles[at:] == [f"/{name}" for name, _, _ in d.app.composer.commands()]
        await d.press("ctrl+p")
        await d.shows("/model")
        lines = [line.strip(" │") for line in d.screen.splitlines()]
        assert lines.index("Help") < next(n for n, x in enumerate(lines) if x.startswith("/model"))


async def test_our_themes_come_first_and_the_one_in_force_is_marked(drive: Drive) -> None:
    async with drive() as d:
        d.app.action_change_theme()
        await d.shows("Search for a theme")
        await d.shows("high-contrast")
        rows = [line.strip(" │") for line in d.screen.splitlines()]
        first = rows.index("dark  in force")
        assert rows[first : first + 4] == ["dark  in force", *(t.name for t in THEMES[1:])]
        others = [row for row in rows[first + 4 :] if row in d.app.available_themes]
        assert others == sorted(others) and others
        await d.type("light")
        await d.until(lambda: "dark  in force" not in d.screen)
        await d.press("enter")
        await d.until(lambda: d.app.theme == "light")
        d.app.action_change_theme()
        await d.shows("light  in force")
        assert "dark  in force" not in d.screen
