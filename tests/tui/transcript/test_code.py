"""Highlighting: colours change, text and heights never do."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.tui.transcript.code import Code, CodePart, lexers
from agent_tui.tui.transcript.lines import Look

from .harness import lay, split

PYTHON = '''def f(x):
    """Doc
    goes on"""
    return x  # done
'''


def texts(runs: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in runs]


def test_closed_code_is_coloured_as_a_whole() -> None:
    code = Code("python", PYTHON.rstrip("\n").split("\n"), closed=True)
    runs = code.highlighted()
    assert runs is not None
    assert texts(runs) == code.lines
    assert ("def", "code-keyword") in runs[0]
    assert all(style == "code-string" for text, style in runs[2] if text.strip())
    assert ("# done", "code-comment") in runs[3]


def test_an_open_fence_colours_line_after_line() -> None:
    assert lexers.load("python") is not None
    code = Code("python")
    seen: list[list[tuple[str, str]]] = []
    for line in PYTHON.rstrip("\n").split("\n"):
        code.add(line)
        seen = code.runs(0, len(code.lines))
        assert texts(seen) == code.lines
    # The state of a string that spans lines is carried from one line to the next.
    assert {style for text, style in seen[2] if text.strip()} == {"code-string"}
    assert ("return", "code-keyword") in seen[3]


def test_a_flood_of_lines_colours_only_the_end() -> None:
    assert lexers.load("python") is not None
    code = Code("python")
    for number in range(1000):
        code.add(f"x{number} = 'a'")
    runs = code.runs(0, 1000)
    assert texts(runs) == code.lines
    assert ("x0 = 'a'", "code") in runs[0]
    assert len(runs[999]) > 1


def test_unknown_languages_stay_plain() -> None:
    code = Code("no-such-language", ["a", "b"], closed=True)
    assert code.highlighted() is None
    assert code.runs(0, 2) == [[("a", "code")], [("b", "code")]]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["python", "json", "bash", "html", "markdown", "ruby", "c", "diff", "yaml"]),
    st.lists(
        st.sampled_from(
            ["", "def f(x):", '  """doc', "/* c", "*/ x", "<<EOF", "EOF", "- a: {b", "'", "\t`",
             "```", "<a href=", "{\"k\": [1,", "+ added", "- gone", "\\", "#{x}", "你好"]
        ),
        max_size=12,
    ),
)  # fmt: skip
def test_no_lexer_changes_the_text(language: str, lines: list[str]) -> None:
    lexers.load(language)
    live = Code(language)
    for line in lines:
        live.add(line)
        assert texts(live.runs(0, len(live.lines))) == live.lines
    closed = Code(language, list(lines), closed=True)
    runs = closed.highlighted()
    assert runs is None or texts(runs) == lines


def test_colours_change_no_row() -> None:
    parts = split(f"```python\n{PYTHON}```").parts
    before = [line.shown for line in lay(parts, 12)]
    part = parts[0]
    assert isinstance(part, CodePart)
    part.code.colours = part.code.highlighted()
    assert part.code.colours is not None
    assert [line.shown for line in part.lay_out(Look(width=12))] == before
