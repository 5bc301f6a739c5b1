from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.text import SafeText
from agent_tui.tui.paste_collapse import MARK, PasteCollapse, fits_in_place, normalize


def test_line_ends_of_terminals_become_newlines():
    assert normalize("a\rb\r\nc\nd\x00") == "a\nb\nc\nd"


def test_a_small_paste_is_inserted_as_it_is():
    assert PasteCollapse().take("two\rlines") == "two\nlines"


def test_a_big_paste_is_a_placeholder_that_holds_all_of_it():
    pastes = PasteCollapse()
    text = "\n".join(f"line {i}" for i in range(10_000))
    name = pastes.take(text.replace("\n", "\r"))
    assert name == f"[pasted{MARK}10,000 lines]"
    assert pastes.expand(f"see {name}!") == f"see {text}!"


def test_one_endless_line_says_how_long_it_is():
    pastes = PasteCollapse()
    name = pastes.take("x" * 400_000)
    assert name == f"[pasted{MARK}400,000 characters]"
    assert pastes.expand(name) == "x" * 400_000


def test_two_pastes_of_one_size_stay_apart():
    pastes = PasteCollapse()
    first, second = pastes.take("a\n" * 50), pastes.take("b\n" * 50)
    assert first != second
    assert pastes.expand(first + second) == "a\n" * 50 + "b\n" * 50


def test_a_text_that_looks_like_a_placeholder_but_is_none_stays():
    assert PasteCollapse().expand("[pasted 3 lines]") == "[pasted 3 lines]"


def test_a_text_typed_like_a_placeholder_is_none_beside_a_real_one():
    pastes = PasteCollapse()
    name = pastes.take("a\n" * 50)
    typed = name.replace(MARK, " ")
    assert pastes.expand(f"{typed} {name}") == f"{typed} " + "a\n" * 50
    assert pastes.spans(typed) == []


def test_the_placeholders_of_another_draft_keep_what_they_stand_for():
    pastes, others = PasteCollapse(), PasteCollapse()
    mine, theirs = pastes.take("a\n" * 50), others.take("b\n" * 50)
    assert mine == theirs
    adopted = pastes.adopt(f"see {theirs}", others.named_in(theirs))
    assert pastes.expand(f"{adopted}, {mine}") == "see " + "b\n" * 50 + ", " + "a\n" * 50


def test_a_paste_within_a_paste_is_folded_as_the_longer_one():
    pastes = PasteCollapse()
    inner = "x\n" * 50
    outer = f"before\n{inner}after\n"
    pastes.take(inner)
    name = pastes.take(outer)
    assert pastes.collapse(f"see {outer}") == f"see {name}"


def test_what_fits_in_place():
    assert fits_in_place("line\n" * 432)
    assert not fits_in_place("line\n" * 10_000)
    assert not fits_in_place("x" * 400_000)
    assert not fits_in_place("a\x1bb\n" * 20), "it would not be shown as it is"


def test_control_characters_of_a_small_paste_are_shown_not_obeyed():
    taken = PasteCollapse().take("x\x1b]2;PWNED\x07y\u202e")
    assert "\x1b" not in taken and "\x07" not in taken and "\u202e" not in taken
    assert "PWNED" in taken


@settings(deadline=None)
@given(st.lists(st.text(alphabet="ab\n\r\x1b", max_size=4000), max_size=5))
def test_nothing_of_a_big_paste_is_lost(texts: list[str]):
    pastes = PasteCollapse()
    shown = [pastes.take(text) for text in texts]
    back = pastes.expand("|".join(shown))
    whole = [normalize(text) for text in texts]
    kept = [
        text if name.startswith("[pasted") else str(SafeText(text))
        for text, name in zip(whole, shown, strict=True)
    ]
    assert back == "|".join(kept)


@settings(deadline=None)
@given(st.text(max_size=3000))
def test_a_text_that_comes_back_is_the_same_after_expansion(text: str):
    pastes = PasteCollapse()
    assert pastes.expand(pastes.collapse(text)) in (text, str(SafeText(text)), normalize(text))
