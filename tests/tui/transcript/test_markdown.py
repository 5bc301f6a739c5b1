"""Markdown on the screen: every construct, narrow and wide, and nothing that is no text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.text import SafeText
from agent_tui.tui.transcript.lines import Look, Palette
from agent_tui.tui.transcript.markdown import MarkdownPart, References

from .harness import copied, lay, shown, split

DOCUMENT = """# Title

A paragraph with `code`, **bold**, *em*, ~~gone~~ and [a link](http://example.org/page).

- one
- two
  - nested
    1. deeper
    2. and more

- [ ] open
- [x] done

> a quote
> goes on

| name | 说明 | 👍 |
|:-----|:---:|---:|
| a    | 你好 | 1  |
| b    | long text in a cell | 22 |

```python
def f(x):
\treturn x
```

---
end
"""


@pytest.mark.parametrize("width", [20, 27, 40, 80, 200])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    for row in shown(DOCUMENT, width):
        assert cell_len(row) <= width


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            ["- ", "> ", "1. ", "  ", "word ", "你好 ", "👍🏽", "`c`", "**b** ", "\n", "\n\n",
             "| a ", "|\n|--|\n", "# ", "```\n", "x" * 30]
        ),
        max_size=30,
    ).map("".join),
    st.integers(8, 50),
)  # fmt: skip
def test_any_text_fits_any_width(text: str, width: int) -> None:
    for row in shown(text, width):
        assert cell_len(row) <= width, row


def test_constructs_at_80_columns() -> None:
    assert shown(DOCUMENT) == [
        "# Title",
        "",
        "A paragraph with code, bold, em, gone and a link (http://example.org/page).",
        "",
        "• one",
        "• two",
        "  ◦ nested",
        "    1. deeper",
        "    2. and more",
        "",
        "☐ open",
        "☑ done",
        "",
        "▎ a quote goes on",
        "",
        "name │        说明         │ 👍",
        "─────┼─────────────────────┼───",
        "a    │        你好         │  1",
        "b    │ long text in a cell │ 22",
        "",
        "  def f(x):",
        "      return x",
        "",
        "─" * 80,
        "end",
    ]


def test_a_narrow_table_wraps_its_cells() -> None:
    rows = shown("| name | what |\n|---|---|\n| a | some words in a cell |\n| b | x |", 20)
    assert [row.rstrip() for row in rows] == [
        "name │ what",
        "─────┼──────────────",
        "a    │ some words in",
        "     │ a cell",
        "─────┼──────────────",
        "b    │ x",
    ]


NUMBERS = """\
| answer of the model | cache read | cost |
|---|--:|--:|
| some words in a cell | 1,152,634 | $0.0421 |
| x | 12 | ≥ $123.45 |"""


def test_a_narrow_table_breaks_words_but_no_number() -> None:
    for width in range(28, 60):
        rows = [row.rstrip() for row in shown(NUMBERS, width)]
        assert any("│" in row for row in rows)
        text = "\n".join(rows)
        assert all(number in text for number in ("1,152,634", "$0.0421", "$123.45")), text


def test_numbers_that_do_not_fit_beside_each_other_stand_below_each_other_whole() -> None:
    rows = shown(NUMBERS, 20)
    text = "\n".join(rows)
    assert "│" not in text
    assert all(number in text for number in ("1,152,634", "$0.0421", "$123.45")), text


def test_a_table_in_parts_keeps_its_numbers_whole_in_each() -> None:
    body = "".join(f"| {'word ' * 12}{n} | {n}{n:0>9,} |\n" for n in range(200, 600))
    rows = shown("| what | number |\n|---|--:|\n" + body, 40)
    text = "\n".join(rows)
    assert all(f"{n}{n:0>9,}" in text for n in range(200, 600))
    assert len({row.index("│") for row in rows if "│" in row}) == 1


def test_a_table_too_wide_for_columns_becomes_keys_and_values() -> None:
    head = "|" + "|".join(f" column{n} " for n in range(12)) + "|"
    rule = "|" + "---|" * 12
    row = "|" + "|".join(f" value{n} " for n in range(12)) + "|"
    rows = shown("\n".join([head, rule, row, row]), 40)
    assert rows[:3] == ["column0: value0", "column1: value1", "column2: value2"]
    assert rows[12] == ""
    assert len(rows) == 25


def test_brackets_and_tags_are_text() -> None:
    text = "see /tmp/[/bad] and [/] [bold]x[/bold] <b>y</b> [data: /m?s=b-]"
    assert shown(text) == [text]


def test_a_link_shows_its_target_once() -> None:
    assert shown("<http://example.org> and [x](http://example.org)") == [
        "http://example.org and x (http://example.org)"
    ]


def test_a_definition_serves_the_text_before_and_behind_it() -> None:
    references = References()
    part = MarkdownPart("see [the page][p]", references)
    part.close()
    look = Look(width=80)
    assert [line.shown for line in part.lay_out(look)] == ["see [the page][p]"]
    references.learn("[p]: http://example.org")
    assert part.stale
    assert [line.shown for line in part.lay_out(look)] == ["see the page (http://example.org)"]
    assert not part.stale


def test_definitions_leave_no_row() -> None:
    assert shown("[p]: http://example.org\n\ntext [p]") == ["text p (http://example.org)"]


def test_blank_rows_are_those_of_the_source() -> None:
    assert shown("# a\nb\n- c\n- d\n\ne") == ["# a", "b", "• c", "• d", "", "e"]
    assert shown("- a\n\n- b") == ["• a", "", "• b"]


def test_ordered_lists_count_from_their_first_number() -> None:
    assert shown("3. a\n3. b\n3. c") == ["3. a", "4. b", "5. c"]


def test_deep_nesting_keeps_room_for_words() -> None:
    text = "\n".join("  " * depth + f"- level{depth}" for depth in range(12))
    rows = shown(text, 20)
    assert len(rows) == 12
    assert all(f"level{depth}" in row for depth, row in enumerate(rows))


def test_nesting_beyond_all_measure_loses_no_word() -> None:
    assert "word" in "".join(shown("> " * 300 + "word", 40)).replace(" ", "")
    assert "word" in "".join(shown("- " * 300 + "word", 40)).replace(" ", "")


def test_emphasis_becomes_style() -> None:
    part = split("**b** *e* ~~s~~ `c`").parts[0]
    segments = part.lay_out(Look(width=40, palette=Palette()))[0].segments
    styles = {segment.text: segment.style for segment in segments}
    assert styles["b"] is not None and styles["b"].bold
    assert styles["e"] is not None and styles["e"].italic
    assert styles["s"] is not None and styles["s"].strike


def test_copying_gives_text_like_the_source() -> None:
    text = "# Title\n\n- one\n- two\n  - three\n- [x] done\n\n1. first\n\n> quote\n\n| a | b |"
    rows = copied(lay(split(text).parts, 40)).split("\n")
    assert rows == text.split("\n")


def test_copying_code_gives_the_code_alone() -> None:
    code = "def f(x):\n\treturn x + " + "1 + " * 40 + "0\n\nend"
    assert copied(lay(split(f"```python\n{code}\n```").parts, 30)) == code


def test_copying_joins_soft_wrapped_rows() -> None:
    text = "a paragraph of many words that needs several rows at this width"
    assert len(shown(text, 20)) > 2
    assert copied(lay(split(text).parts, 20)) == text


def test_hard_breaks_stay_rows() -> None:
    assert shown("one\\\ntwo  \nthree\nfour") == ["one", "two", "three four"]


FOREIGN = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(list("\x1b\x9b\x07\x00\r\n\t[]31m;#*`|-> \u202e\u200b\x85\u2028")),
    ),
    max_size=80,
)


@settings(max_examples=200)
@given(FOREIGN)
def test_no_control_character_reaches_a_row(text: str) -> None:
    for row in shown(SafeText(text), 30):
        assert not [c for c in row if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0], row


def test_entities_cannot_bring_control_characters_in() -> None:
    for row in shown("&#27;]52;c;x&#7; &#x9b;31m &#8238; a&#10;b ![&#27;](&#27;) [&#27;](&#27;)"):
        assert not [c for c in row if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]


def test_only_rows_that_wrap_are_parted_by_rules() -> None:
    """So that what streams in below moves nothing above."""
    head = "| name | what |\n|---|---|\n"
    long = "| d | " + "many words " * 8 + "|\n"
    text = head + "".join(f"| {name} | short |\n" for name in "abc")
    before = shown(text, 40)
    after = shown(text + long + "| e | short |\n| f | short |\n", 40)
    rules = [n for n, row in enumerate(after) if set(row) <= set("─┼ ")]
    rows = {row.split()[0]: n for n, row in enumerate(after) if row[:1].isalpha()}
    assert rules == [1, rows["d"] - 1, rows["e"] - 1]
    assert [r.split() for r in after[2:5]] == [r.split() for r in before[2:5]]


RTL = "שלום עולם, זה סל הקניות שלנו."
ARABIC = "مرحبا بالعالم، هذه سلة التسوق."


@pytest.mark.parametrize("words", [RTL, ARABIC], ids=["hebrew", "arabic"])
@pytest.mark.parametrize("width", [14, 24, 80])
def test_right_to_left_text_goes_out_in_logical_order(words: str, width: int) -> None:
    """The terminal turns it round, not we: a row holds what was written, in that order."""
    rows = shown(f"{words} (a) {words}", width)
    assert " ".join(row.strip() for row in rows) == f"{words} (a) {words}"
    assert all(cell_len(row) <= width for row in rows)
    assert copied(lay(split(words).parts, width)) == words


def test_no_border_depends_on_the_direction_of_a_text() -> None:
    """Each row of a table has its column lines in the same cells, whatever stands in them."""
    table = f"| name | text | n |\n|---|---|---|\n| a | {RTL} | 1 |\n| {ARABIC} | b | 2 |\n"
    rows = shown(table, 100)
    places = [[cell_len(row[:at]) for at, c in enumerate(row) if c in "│┼"] for row in rows]
    assert len(places[0]) == 2
    assert all(found == places[0] for found in places), places
    assert any(RTL in row for row in rows) and any(ARABIC in row for row in rows)
