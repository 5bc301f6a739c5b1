"""vi's keys, as vi has them: a text with | for the cursor, keys, the text that comes of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.tui.vi import Vi
from agent_tui.tui.vi_text import line_start

ESC, REDO = "\x1b", "\x12"


class Typist:
    """Vi on a text, with a stand-in for the text area: it types in insert mode."""

    def __init__(self, marked: str, *, mode: str = "normal") -> None:
        self.cursor = marked.index("|")
        self.text = marked.replace("|", "", 1)
        self.vi = Vi()
        self.vi.begin(self.text)
        self.actions: list[tuple[str, int]] = []
        self.selected: tuple[int, int] | None = None
        if mode == "normal":
            self.cursor += 1 if self.cursor > line_start(self.text, self.cursor) else 0
            self.press(ESC)

    def press(self, key: str) -> bool:
        """One key; whether vi took it."""
        name, character = {ESC: ("escape", None), REDO: ("ctrl+r", None)}.get(key, (key, key))
        outcome = self.vi.press(name, character, self.text, self.cursor)
        if not outcome.taken:
            if self.vi.mode == "insert" and character:
                self.text = self.text[: self.cursor] + character + self.text[self.cursor :]
                self.cursor += 1
            return False
        if outcome.text is not None:
            assert 0 <= outcome.start <= outcome.end <= len(self.text)
            self.text = self.text[: outcome.start] + outcome.text + self.text[outcome.end :]
        self.cursor = outcome.cursor
        if outcome.action:
            self.actions.append((outcome.action, outcome.count))
        span = outcome.selected
        self.selected = None if span is None else (span.start, span.end)
        return True

    def keys(self, keys: str) -> "Typist":
        for key in keys:
            self.press(key)
        return self

    @property
    def marked(self) -> str:
        return self.text[: self.cursor] + "|" + self.text[self.cursor :]


def after(marked: str, keys: str) -> str:
    return Typist(marked).keys(keys).marked


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("one |two", "h", "one| two"),
        ("|one", "h", "|one"),
        ("on|e", "l", "on|e"),
        ("|one two", "w", "one |two"),
        ("|one two", "2w", "one tw|o"),
        ("|a.b c", "w", "a|.b c"),
        ("|a.b c", "W", "a.b |c"),
        ("|a\n\nb", "w", "a\n|\nb"),
        ("one two |x", "b", "one |two x"),
        ("one a.b|", "B", "one |a.b"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("|a.b c", "E", "a.|b c"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one\ntwo", "$", "on|e\ntwo"),
        ("|one\ntwo\nx", "2$", "one\ntw|o\nx"),
        ("|one\n  two\nx", "G", "one\n  two\n|x"),
        ("one\ntwo\n|x", "gg", "|one\ntwo\nx"),
        ("|one\n  two\nx", "2G", "one\n  |two\nx"),
        ("|a-b-c", "f-", "a|-b-c"),
        ("|a-b-c", "2f-", "a-b|-c"),
        ("|a-b-c", "f-;", "a-b|-c"),
        ("|a-b-c", "f-;,", "a|-b-c"),
        ("|ab-c-d", "t-;", "ab-|c-d"),
        ("a-b-|c", "F-", "a-b|-c"),
        ("a-b-|c", "T-", "a-b-|c"),
        ("|ab\n-", "f-", "|ab\n-"),
        ("|f(a, (b))", "%", "f(a, (b)|)"),
        ("f(a, (b)|)", "%", "f|(a, (b))"),
        ("|a\nb\n\nc", "}", "a\nb\n|\nc"),
        ("a\n\nb\n|c", "{", "a\n|\nb\nc"),
    ],
)  # fmt: skip
def test_motions(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("|one two three", "dw", "|two three"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("one |two", "db", "|two"),
        ("|one two", "de", "| two"),
        ("one |two x", "d$", "one| "),
        ("one |two x", "D", "one| "),
        ("one| two", "d0", "| two"),
        ("one |two", "dfw", "one |o"),
        ("a(b|c)d", "dt)", "a(b|)d"),
        ("x(a|b)", "dF(", "x|b)"),
        ("|f(a)b", "d%", "|b"),
        ("|a\nb\nc", "dd", "|b\nc"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|only", "dd", "|"),
        ("|a\nb\nc\nd", "2dd", "|c\nd"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\nb\n|c", "dk", "|a"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("|\nb", "d$", "|\nb"),
        ("a\n|b\nc", "dw", "a\n|\nc"),
        ("a\nb\n|c\nd", "de", "a\n|b"),
        ("a\n  |b c\n\nd", "d}", "a\n|\nd"),
        ("a b|c\n\nd", "d}", "a |b\n\nd"),
        ("cc dd\n|  ee", "cbx\x1b", "cc |x\n  ee"),
        ("|one", "2dd", "|one"),
        ("|one two", "x", "|ne two"),
        ("|one two", "3x", "| two"),
        ("on|e", "x", "o|n"),
        ("on|e", "X", "o|e"),
        ("|a\nb", "J", "a| b"),
        ("|a\n  b\nc", "3J", "a b| c"),
        ("|aBc", "3~", "Ab|C"),
        ("|abc", "rx", "|xbc"),
        ("|abc", "2rx", "x|xc"),
        ("|abc", "9rx", "|abc"),
    ],
)  # fmt: skip
def test_deleting_and_changing_characters(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("a |word b", "diw", "a | b"),
        ("a |word b", "daw", "a |b"),
        ("a |word", "daw", "|a"),
        ("a |w.d b", "diW", "a | b"),
        ('x "a|b" y', 'di"', 'x "|" y'),
        ('x "a|b" y', 'da"', "x |y"),
        ('|x "ab" y', 'ci"new' + ESC, 'x "ne|w" y'),
        ("f(a, |b)", "di(", "f(|)"),
        ("f(a, (|b))", "2di(", "f(|)"),
        ("f(a, |b)", "da)", "|f"),
        ("[a|b]", "ci]x" + ESC, "[|x]"),
        ("{a|b}", "diB", "{|}"),
        ("<a|b>", "di>", "<|>"),
        ("a 'b|c' d", "di'", "a '|' d"),
        ("a `b|c` d", "di`", "a `|` d"),
        ("|a\nb\n\nc", "dip", "|\nc"),
        ("|a\nb\n\nc", "dap", "|c"),
        ("no |quotes", 'di"', "no |quotes"),
        ("a\n\n|b", "dap", "|a"),
        ("  le|ad", "daw", " | "),
        ("a\n|\nb", "ciwx" + ESC, "a\n|x\nb"),
    ],
)  # fmt: skip
def test_text_objects(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("|one two", "cwnew" + ESC, "ne|w two"),
        ("on|e two", "cwx" + ESC, "on|x two"),
        ("|one two three", "c2wx" + ESC, "|x three"),
        ("one |two", "Cx" + ESC, "one |x"),
        ("|one\ntwo", "ccx" + ESC, "|x\ntwo"),
        ("on|e\ntwo", "Sx" + ESC, "|x\ntwo"),
        ("|one", "sx" + ESC, "|xne"),
        ("o|ne", "ix" + ESC, "o|xne"),
        ("  on|e", "Ix" + ESC, "  |xone"),
        ("o|ne", "ax" + ESC, "on|xe"),
        ("|one", "Ax" + ESC, "one|x"),
        ("|one\ntwo", "ox" + ESC, "one\n|x\ntwo"),
        ("one\n|two", "Ox" + ESC, "one\n|x\ntwo"),
        ("|one", "3ix" + ESC, "xx|xone"),
        ("|", "ihello" + ESC, "hell|o"),
    ],
)  # fmt: skip
def test_typing_in_insert_mode(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("|one two", "dwp", "tone| wo"),
        ("|a\nb", "yyp", "a\n|a\nb"),
        ("a\n|b", "ddP", "|b\na"),
        ("a\n|b", "yyP", "a\n|b\nb"),
        ("|a\nb", "Yp", "a\n|a\nb"),
        ("a\n|b", "ykp", "a\n|a\nb\nb"),
        ("|ab", "x2p", "ba|a"),
        ("|ab", "xP", "|ab"),
        ("|one two", "yw$p", "one twoone| "),
        ("|one two", "yiw$p", "one twoon|e"),
        ("a b|c", "yb", "a |bc"),
        ("|a\nb\nc", "yjGp", "a\nb\nc\n|a\nb"),
    ],
)  # fmt: skip
def test_yank_and_put(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("|one two three", "dw.", "|three"),
        ("|one two three", "dw2.", "|"),
        ("|one two", "cwx" + ESC + "w.", "x |x"),
        ("|one", "Ax" + ESC + "..", "onexx|x"),
        ("|a\nb", "ox" + ESC + ".", "a\nx\n|x\nb"),
        ("|abcd", "x..", "|d"),
        ("|aXbXc", "dfX.", "|c"),
        ("|aabb", "~.", "AA|bb"),
        ("|one two", "vly.", "|one two"),
        ("|abcdef", "vld.", "|ef"),
    ],
)  # fmt: skip
def test_the_dot_makes_the_last_change_again(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("|one two", "ved", "| two"),
        ("one t|wo", "vbd", "one |o"),
        ("|a\nb\nc", "Vd", "|b\nc"),
        ("|a\nb\nc", "VGd", "|"),
        ("|one two", "vecx" + ESC, "|x two"),
        ("a (b|c) d", "vi(d", "a (|) d"),
        ("|one", "vl~", "|ONe"),
        ("|one", "vU", "|One"),
        ("|one", "vlrx", "|xxe"),
        ("|one two", "yiwwviwp", "one on|e"),
        ("|a\nb\nc", "VGJ", "a b| c"),
        ("o|ne", "vlohd", "|"),
    ],
)  # fmt: skip
def test_visual_mode(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


def test_what_is_selected_is_told() -> None:
    typist = Typist("one |two three")
    assert typist.keys("ve").selected == (4, 7)
    assert typist.vi.shown == "VISUAL"
    assert typist.keys("V").selected == (0, 13) and typist.vi.shown == "VISUAL LINE"
    assert typist.keys(ESC).selected is None and typist.vi.mode == "normal"


def test_undo_takes_back_all_that_was_typed_in_one_go() -> None:
    typist = Typist("|one two").keys("cwsome words" + ESC)
    assert typist.text == "some words two"
    assert typist.keys("u").text == "one two"
    assert typist.keys(REDO).text == "some words two"
    assert typist.keys("uw").keys("x").text == "one wo"
    assert typist.keys(REDO).text == "one wo", "a new change ends what could be made again"


def test_what_was_typed_before_the_first_escape_is_undone_too() -> None:
    typist = Typist("|", mode="insert").keys("hello" + ESC)
    assert typist.marked == "hell|o"
    assert typist.keys("u").text == ""


def test_escape_is_taken_from_insert_mode_and_left_in_normal_mode() -> None:
    typist = Typist("|", mode="insert").keys("hi")
    assert typist.press(ESC) and typist.vi.mode == "normal"
    assert not typist.press(ESC), "it closes a list, or stops, as ever"
    typist.press("d")
    assert typist.vi.shown == "NORMAL d"
    assert typist.press(ESC), "it takes back what was begun"
    assert not typist.press(ESC)


def test_other_keys_mean_what_they_always_do() -> None:
    typist = Typist("|one")
    for name in ("enter", "tab", "ctrl+g", "f1", "pageup"):
        assert not typist.vi.press(name, None, typist.text, typist.cursor).taken
    assert typist.vi.press("q", "q", "one", 0).taken, "a letter types nothing"


def test_lines_up_and_down_are_the_composers() -> None:
    """It knows how lines are wrapped, and where the history begins."""
    assert Typist("|a\nb").keys("j3k").actions == [("down", 1), ("up", 3)]
    assert Typist("|a").keys("/").actions == [("history_search", 1)]


def test_a_text_that_came_from_elsewhere_can_be_undone() -> None:
    typist = Typist("|mine")
    typist.text, typist.cursor = "from the history", 0
    assert typist.keys("x").text == "rom the history"
    assert typist.keys("uu").text == "mine"


# --- whatever is typed ----------------------------------------------------------------------

texts = st.text(alphabet="ab.( )\"'\n\U000f0000你", max_size=30)
keys = st.lists(
    st.sampled_from([*"hl0^$wWbBeEGgfFtT;,xXrsSiIaAoOdcyYDCJpPu.~vVjk123%{}\"'()[ /z", ESC, REDO]),
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(texts, st.integers(0, 30), keys)
def test_nothing_raises_and_the_cursor_is_always_legal(
    text: str, at: int, pressed: list[str]
) -> None:
    at = min(at, len(text))
    typist = Typist(f"{text[:at]}|{text[at:]}")
    for key in pressed:
        typist.press(key)
        cursor, now = typist.cursor, typist.text
        assert 0 <= cursor <= len(now)
        if typist.vi.mode != "insert":
            behind = cursor == len(now) or now[cursor] == "\n"
            assert not behind or cursor == line_start(now, cursor), (key, typist.marked)
        if typist.selected is not None:
            assert 0 <= typist.selected[0] <= typist.selected[1] <= len(now)


@settings(max_examples=200, deadline=None)
@given(texts, keys.filter(lambda pressed: "u" not in pressed and REDO not in pressed))
def test_undo_restores_and_redo_makes_it_again(text: str, pressed: list[str]) -> None:
    typist = Typist(f"|{text}").keys("".join(pressed)).keys(ESC + ESC)
    reached = typist.text
    for _ in range(100):
        typist.press("u")
    assert typist.text == text
    for _ in range(100):
        typist.press(REDO)
    assert typist.text == reached
