"""The splitter: any chunking gives the same parts, and parts look as their document does."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_tui.tui.transcript.code import CodePart
from agent_tui.tui.transcript.markdown import MarkdownPart, References
from agent_tui.tui.transcript.parts import CHUNK
from agent_tui.tui.transcript.splitter import (
    LINE_CUT,
    LIST_SPLIT,
    NESTED_SPLIT,
    PARAGRAPH_SPLIT,
    TABLE_SPLIT,
    MarkdownSplitter,
)

from .harness import copied, lay, shown, split

LINES = st.sampled_from(
    [
        "", "", "", "text here", "more **bold** text", "- item", "- other", "  - nested", "  cont",
        "* star", "1. one", "2. two", "14. x", "   deep", "    code?", "```", "```py", "~~~",
        "# head", "## two", "---", "===", "> quote", "> - q", "| a | b |", "|---|---|",
        "| 1 | 2 |", "***", "   ```", "  ```", "      more", "+ plus", "-", "1)", "- [ ] t",
        "\ttab", "x|y", "[a]: http://z", "[a] ref", ">", "- ```", "-     five", "10. ten",
        "    - four", "> ```\n> code\n> ```", "> # h", "你好 **世界** `x`",
        "[/x] [/] [data: /m?s=b-]",
        "<b>html</b>", "a  ", "\\", "&amp; &#x1b;", "- > q", "1. - a", "| :-: | --: |",
    ]
)  # fmt: skip
documents = st.lists(LINES, max_size=14).map("\n".join)
chunkings = st.lists(st.integers(1, 12), max_size=60)


@settings(max_examples=250)
@given(documents, chunkings)
@example("| a | b |\n|---|---|\n| 1 | 2 |", [9, 1])
@example("```py\ncode\n```\nafter", [3, 1, 1, 1])
@example("\n\ntext", [1])
def test_any_chunking_gives_the_lines_of_one_piece(text: str, chunks: list[int]) -> None:
    assert shown(text, 40, chunks) == shown(text, 40)


@settings(max_examples=250)
@given(documents)
def test_parts_look_as_the_undivided_document(text: str) -> None:
    part = MarkdownPart(text, References())
    part.close()
    assert [row.rstrip() for row in shown(text, 40)] == [
        line.shown.rstrip() for line in lay([part], 40)
    ]


@settings(max_examples=150)
@given(documents, chunkings)
def test_closed_parts_never_change_while_text_streams(text: str, chunks: list[int]) -> None:
    splitter = MarkdownSplitter()
    at = 0
    closed: list[str] = []
    for size in chunks:
        first = splitter.feed(text[at : at + size])
        at += size
        sources = [part.source() for part in splitter.parts]
        untouched = min(first, len(closed))
        assert sources[:untouched] == closed[:untouched]
        closed = sources


def test_feed_names_the_first_part_that_changed() -> None:
    splitter = MarkdownSplitter()
    assert splitter.feed("one\n\ntwo") == 0
    assert splitter.feed(" more") == 1
    assert splitter.feed("\n\nthree\n\nfour") == 1
    assert [part.source() for part in splitter.parts] == ["one", "two more", "three", "four"]


def bound(part: object) -> int:
    if isinstance(part, CodePart):
        return CHUNK * (LINE_CUT + 1)
    longest = max(PARAGRAPH_SPLIT, LIST_SPLIT, NESTED_SPLIT, TABLE_SPLIT)
    return longest + LINE_CUT + 1


def test_parts_stay_small_however_long_a_block_is() -> None:
    size = 200_000
    for text in (
        "word " * (size // 5),
        "x" * size,
        "a line of a paragraph\n" * (size // 22),
        "- an item\n" * (size // 10),
        "- top\n" + "  - nested item\n" * (size // 16),
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * (size // 10),
        "```\n" + "a line of code\n" * (size // 15),
        "```\n" + "x" * size,
        "> quoted line\n" * (size // 14),
        "    indented code\n" * (size // 18),
    ):
        splitter = split(text)
        assert max(len(part.source()) for part in splitter.parts) <= max(map(bound, splitter.parts))
        assert sum(len(part.source()) for part in splitter.parts) >= 0.7 * len(text)


def test_a_long_line_flows_on_when_copied() -> None:
    text = " ".join(f"word{number}" for number in range(2000))
    assert copied(lay(split(text).parts)) == text


def test_a_long_list_counts_on() -> None:
    text = "\n".join(f"{1 if number > 1 else 7}. item" for number in range(1, 400))
    rows = shown(text)
    assert rows[0] == "7. item"
    assert rows[-1] == f"{7 + 398}. item"


def test_a_long_table_keeps_its_columns_and_has_one_head() -> None:
    body = "".join(f"| {number} | a cell |\n" for number in range(1000))
    rows = shown("| number | cell |\n|---|---|\n" + body)
    assert len(rows) == 1002
    assert sum("number" in row for row in rows) == 1
    assert len({row.index("│") for row in rows if "│" in row}) == 1


def test_nested_lists_cut_in_the_middle_keep_their_indent() -> None:
    text = "- top\n" + "\n".join(f"  - nested {number} " + "x" * 40 for number in range(300))
    rows = shown(text)
    assert all(row.startswith(("  ◦", "  •")) for row in rows[1:])
    assert len(rows) == 301


def test_the_open_table_is_readable_and_then_aligned() -> None:
    splitter = MarkdownSplitter()
    splitter.feed("| a | b |\n")
    assert [line.shown for line in lay(splitter.parts)] == ["| a | b |"]
    splitter.feed("|---|---|\n| long cell | 2 |\n")
    assert "| long cell | 2 |" in [line.shown for line in lay(splitter.parts)]
    splitter.feed("\nafter")
    assert [line.shown for line in lay(splitter.parts)] == [
        "a         │ b",
        "──────────┼──",
        "long cell │ 2",
        "",
        "after",
    ]


def test_a_fence_shows_its_lines_as_they_come() -> None:
    splitter = MarkdownSplitter()
    splitter.feed("before\n```py\nx = 1\ny =")
    assert [line.shown for line in lay(splitter.parts)] == ["before", "  x = 1", "  y ="]
    splitter.feed(" 2\n``")
    assert [line.shown for line in lay(splitter.parts)] == ["before", "  x = 1", "  y = 2"]
    splitter.feed("`\nafter")
    assert [line.shown for line in lay(splitter.parts)][-2:] == ["  y = 2", "after"]


def test_marks_of_open_emphasis_do_not_flash_up() -> None:
    splitter = MarkdownSplitter()
    steps = []
    for piece in ("It is **", "bold", "** and `", "co", "de` done"):
        splitter.feed(piece)
        steps.append(lay(splitter.parts)[0].shown)
    assert steps == [
        "It is", "It is bold", "It is bold and", "It is bold and co", "It is bold and code done",
    ]  # fmt: skip


@given(documents)
def test_only_the_open_part_is_mended(text: str) -> None:
    splitter = split(text)
    assert not any(part.open for part in splitter.parts if isinstance(part, MarkdownPart))
