"""The Context panel: what fills the window, what the cache did, what it has cost."""

import pytest

from agent_tui.conversation.events import (
    CacheEvent,
    ContextChangedEvent,
    SettingChangedEvent,
    UsageChangedEvent,
)
from agent_tui.money import money
from agent_tui.tui.panels.side_panel import Tabs
from tests.tui.conftest import Drive, Driven
from tests.tui.test_panels import panel

SOURCES = {
    "system": 1204, "tools": 3880, "prompts": 412, "answers": 2950, "thinking": 1100,
    "calls": 840, "results": 24_014, "images": 1500, "answer": 220,
}  # fmt: skip
CONTEXT = ContextChangedEvent(SOURCES, 36_120, True, 200_000)
USAGE = UsageChangedEvent(
    12_000, 8200, 180_000, 30_000, 0.421, 36_120, 200_000, 0.421, 3100, {"web_search": 3}, 61.4
)
WHY = "tools changed: added fetch, removed grep; effort changed from low to max"
BREAK = CacheEvent(7, 21_700, 12_400, 220, 34_100, True, 12_400, "tools", WHY)
HELD = CacheEvent(9, 34_100, 1_800, 220, 34_000)


async def look(d: Driven, title: str = "Context") -> None:
    """Choose its tab."""
    tabs = d.app.query_one(Tabs)
    d.app.panel.choose(tabs.titles.index(title))
    await d.settle()


def rows(d: Driven) -> list[str]:
    return [row.strip() for row in panel(d)[2:] if row.strip()]


async def test_all_of_it_at_44_columns(drive: Drive) -> None:
    async with drive(size=(120, 40)) as d:
        for event in (USAGE, BREAK, HELD, CONTEXT):
            d.conv.emit(event)
        await look(d)
        await d.shows("tokens a second")
        found = rows(d)
    assert found[0] == "36,120 of 200,000 tokens              18 %"
    assert found[1].startswith("▕███████ ") and found[1].endswith("▏")
    bars = {row.split("  ")[0]: row for row in found[2:11]}
    assert bars["tool results"].split() == ["tool", "results", "24,014", "█" * 15]
    assert bars["system prompt"].split() == ["system", "prompt", "1,204", "█"]
    assert bars["last answer"].split()[:3] == ["last", "answer", "220"]
    assert found[11:26] == [
        "≈ shares estimated, total counted",
        "cache, last request",
        "read             34,100  94 %",
        "written           1,800",
        "not cached          220",
        "! broke at answer 7: 12,400 tokens not read",
        "tools changed: added fetch, removed",
        "grep; effort changed from low to max",
        "session",
        "in              222,000  81 % from cache",
        "out               8,200",
        "thinking        3,100",
        "web search            3",
        "cost             $0.421",
        "speed                61  tokens a second",
    ]


async def test_what_is_not_known_is_not_made_up(drive: Drive) -> None:
    async with drive() as d:
        await look(d)
        await d.shows("nothing was sent yet")
        d.conv.emit(ContextChangedEvent({"system": 200, "tools": 1000}, 1200, False, None))
        d.conv.emit(UsageChangedEvent(10, 2, 0, 0, None))
        await d.shows("≈ 1,200 of ? tokens")
        found = rows(d)
    assert "≈ estimated, not counted" in found
    assert "cost                 $?" in found
    assert not any("%" in row for row in found), "no share of a window nobody knows"


async def test_a_full_window_stands_out(drive: Drive) -> None:
    async with drive() as d:
        await look(d)
        styles: list[str] = []
        for total in (50_000, 170_000, 196_000):
            d.conv.emit(ContextChangedEvent({"results": total}, total, True, 200_000))
            await d.shows(f"{total:,} of")
            text = d.app.query_one("ContextText").render()
            styles.append(
                str(next(s.style for s in text.spans if "%" in text.plain[s.start : s.end]))
            )
    assert styles == ["$accent", "$waiting", "$failed"]


async def test_it_asks_for_a_count_only_while_it_is_looked_at(drive: Drive) -> None:
    async with drive() as d:
        d.conv.emit(SettingChangedEvent("model", "claude-opus-5-5"))
        await d.settle()
        assert d.conv.called("measure_context") == []
        await look(d)
        await d.until(lambda: len(d.conv.called("measure_context")) == 1)
        d.conv.emit(CONTEXT)
        d.conv.emit(USAGE)
        await d.settle()
        assert len(d.conv.called("measure_context")) == 1, "what was told holds"
        d.conv.emit(SettingChangedEvent("model", "claude-haiku-5-5"))
        await d.until(lambda: len(d.conv.called("measure_context")) == 2)
        d.conv.emit(CONTEXT)
        await look(d, "Tools")
        d.conv.emit(SettingChangedEvent("model", "claude-opus-5-5"))
        await d.settle()
        assert len(d.conv.called("measure_context")) == 2


async def test_foreign_words_are_shown_as_text(drive: Drive) -> None:
    evil = "tools changed: added [bold]x[/]\x1b]0;PWNED\x07‮"
    async with drive() as d:
        d.conv.emit(CacheEvent(1, 0, 0, 0, 5000, True, 5000, "tools", evil))
        d.conv.emit(UsageChangedEvent(1, 1, 0, 0, 0.1, server_tools={"[red]\x1b[31m": 1}))
        await look(d)
        await d.shows("[bold]x[/]")
        assert "\x1b" not in d.screen and "‮" not in d.screen


@pytest.mark.parametrize(
    ("cost", "at_least", "shown"),
    [
        (0.0, 0.0, "$0.000"), (0.0421, 0.0421, "$0.042"), (1234.5, 1234.5, "$1,234.50"),
        (None, 0.0, "$?"), (None, 0.0001, "$?"), (None, 0.0421, "≥ $0.042"),
    ],
)  # fmt: skip
def test_money(cost: float | None, at_least: float, shown: str) -> None:
    assert money(cost, at_least) == shown
    assert money(cost, at_least, ">=") == shown.replace("≥", ">=")
