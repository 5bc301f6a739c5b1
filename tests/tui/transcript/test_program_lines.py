"""The line of a program that made a call: certain, or not said."""

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.tui.transcript.program_lines import CODE_LIMIT, ProgramLines

SCREEN = """\
rows = await asyncio.gather(
    query_db(sql=SALES, year=2025),
    query_db(sql=SALES, year=2026))
for r in regions(rows):
    await geocode(r)
print(summary(rows))
"""


def test_a_tool_called_at_one_place_is_always_called_there() -> None:
    lines = ProgramLines("a = read(path='x')\nfor r in a:\n    await geocode(r)\nprint(a)\n")
    assert lines.line("read", {"path": "x"}) == 1
    assert lines.line("geocode", {"place": "Berlin"}) == 3
    assert lines.line("geocode", {}) == 3


def test_two_places_are_told_apart_by_what_is_written_there() -> None:
    lines = ProgramLines(SCREEN)
    assert lines.line("query_db", {"sql": "select", "year": 2025}) == 2
    assert lines.line("query_db", {"sql": "select", "year": 2026}) == 3
    assert lines.line("query_db", {"sql": "select", "year": 2027}) is None
    assert lines.line("geocode", {"place": "Rome"}) == 5


def test_a_tool_whose_name_is_no_name_in_python() -> None:
    assert ProgramLines("x = 1\nawait my_server__look_up(a=1)\n").line(
        "my-server__look-up", {"a": 1}
    ) == 2  # fmt: skip


@pytest.mark.parametrize(
    ("code", "arguments", "line"),
    [
        # Nothing is written out that tells them apart.
        ("q(x)\nq(y)\n", {"a": 1}, None),
        ("q(a=x)\nq(a=y)\n", {"a": 1}, None),
        # Both would do.
        ("q(a=1)\nq(a=1)\n", {"a": 1}, None),
        ("q(a=1)\nq(a=x)\n", {"a": 1}, None),
        # Only the other would do.
        ("q(a=1)\nq(a=x)\n", {"a": 2}, 2),
        ("q(a=1)\nq(b=x)\n", {"b": 2}, 2),
        ("q(1)\nq(2)\n", {"a": 2}, 2),
        ("q('north', 1)\nq('south', 1)\n", {"a": "south", "n": 1}, 2),
        ("q(1, x)\nq(2)\n", {"a": 2}, 2),
        # All arguments in one dict, as the service's own examples have it.
        ('await q({"player": "one"})\nawait q({"player": "two"})\n', {"player": "two"}, 2),
        ('q({"p": "one"})\nq({"p": name})\n', {"p": "one"}, None),
        ('q({"p": "one"})\nq({**more})\n', {"p": "two"}, 2),
        # Lists and numbers are compared as JSON has them.
        ("q(a=[1, (2, 3)])\nq(a=[])\n", {"a": [1, [2, 3]]}, 1),
        ("q(a=True)\nq(a=1)\n", {"a": 1}, 2),
        ("q(a=-5)\nq(a=5)\n", {"a": -5}, 1),
        ("q(a=None)\nq(a='')\n", {"a": None}, 1),
        # More may be given than is seen.
        ("q(a=1, **more)\nq(a=1)\n", {"a": 1, "b": 2}, None),
        ("q(*all)\nq(b=1)\n", {"a": 1}, 1),
        # Two calls on one line are that line.
        ("x = q(a) + q(b)\n", {"a": 1}, 1),
        ("x = [q(a=1), q(a=2)]\ny = q(a=3)\n", {"a": 2}, 1),
        # A call over several lines begins where its name stands.
        ("x = (\n  q(\n    a=1,\n  )\n)\n", {"a": 1}, 2),
    ],
)
def test_places(code: str, arguments: dict[str, Any], line: int | None) -> None:
    assert ProgramLines(code).line("q", arguments) == line


@pytest.mark.parametrize(
    "code",
    [
        "found = map(q, names)\n",
        "ask = q\nask(1)\nq(2)\n",
        "def q(x): ...\nq(1)\n",
        "def f(q): q(1)\n",
        "lambda q: q(1)\n",
        "from tools import q\nq(1)\n",
        "import q\nq(1)\n",
        "import tools as q\nq(1)\n",
        "q = cached(q)\nq(1)\n",
        "for q in tools: q(1)\n",
        "with tool() as q: q(1)\n",
        "try: ...\nexcept E as q: q(1)\n",
        "match x:\n  case [*q]: q(1)\n",
        "match x:\n  case {**q}: q(1)\n",
        "match x:\n  case [a] as q: q(1)\n",
        "[q(x) for q in tools]\n",
        "class q: ...\nq(1)\n",
        "print(1)\n",
        "tools.q(1)\n",
    ],
)
def test_a_name_that_is_used_otherwise_marks_nothing(code: str) -> None:
    assert ProgramLines(code).line("q", {"a": 1}) is None


@pytest.mark.parametrize(
    "code",
    ["", "q(", "q(1)\n  q(2)", "q(1)\x00", "(" * 5000, "x = 1\n" * CODE_LIMIT + "q(1)"],
)
def test_code_that_cannot_be_read_marks_nothing(code: str) -> None:
    assert ProgramLines(code).line("q", {}) is None


def test_a_warning_about_the_code_is_not_drawn_on_the_screen() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert ProgramLines('q("\\d" is 1)\n').line("q", {}) == 1
    assert seen == []


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 3),
)
@settings(max_examples=150, deadline=None)
def test_a_line_is_named_only_if_no_other_can_have_made_the_call(
    places: list[tuple[int, bool]], value: int
) -> None:
    code = "".join(f"q(a={number if written else 'x'})\n" for number, written in places)
    able = {
        at
        for at, (number, written) in enumerate(places, 1)
        if not written or number == value or len(places) == 1
    }
    found = ProgramLines(code).line("q", {"a": value})
    assert found == (able.pop() if len(able) == 1 else None)
