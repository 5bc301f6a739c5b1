"""The table of glyphs for a terminal."""

from dataclasses import fields

import pytest
from rich.cells import cell_len

from agent_tui.tui.glyphs import ASCII, UNICODE, Glyphs, choose


def test_every_glyph_has_an_ascii_twin() -> None:
    for field in fields(Glyphs):
        twin = getattr(ASCII, field.name)
        assert twin and twin.isascii() and twin.isprintable(), field.name


def test_glyphs_of_a_rule_and_a_column_are_one_cell_wide() -> None:
    for table in (UNICODE, ASCII):
        assert {cell_len(glyph) for glyph in (table.rule, table.column, table.cross)} == {1}


def test_states_differ_without_colour() -> None:
    for table in (UNICODE, ASCII):
        states = [table.running, table.done, table.failed, table.stopped, table.paused]
        assert len(set(states)) == len(states)


@pytest.mark.parametrize(
    ("environ", "encoding", "table"),
    [
        ({}, "utf-8", UNICODE),
        ({}, "UTF8", UNICODE),
        ({"NO_COLOR": "1"}, "utf-8", ASCII),
        ({"NO_COLOR": ""}, "utf-8", UNICODE),
        ({"TERM": "dumb"}, "utf-8", ASCII),
        ({}, "iso-8859-1", ASCII),
        ({}, "ascii", ASCII),
        ({}, "no-such-encoding", ASCII),
    ],
)
def test_the_terminal_decides(environ: dict[str, str], encoding: str, table: Glyphs) -> None:
    assert choose(environ=environ, encoding=encoding) is table


def test_a_setting_wins() -> None:
    assert choose(ascii_only=True, environ={}, encoding="utf-8") is ASCII
    assert choose(ascii_only=False, environ={"NO_COLOR": "1"}, encoding="ascii") is UNICODE
