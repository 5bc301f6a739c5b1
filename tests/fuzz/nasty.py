"""Texts that have done harm somewhere, and a strategy that makes more of them."""

import os
import unicodedata

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

TIMES = int(os.environ.get("AGENT_TUI_FUZZ") or 1)
"""How many times longer than in the ordinary suite (`make fuzz` sets it)."""


def profile(examples: int) -> settings:
    """The same examples in each run of the suite; `make fuzz`: others each time, and more."""
    return settings(
        max_examples=examples * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


SEQUENCES = [
    "\x1b[2J\x1b[H",  # CSI: clears the screen
    "\x1b[31;1m",
    "\x1b[6n",  # asks where the cursor is: the answer would be typed
    "\x1b[?1049l",
    "\x1b[8;1;1t",
    "\x1b]0;PWNED\x07",  # OSC
    "\x1b]2;PWNED\x1b\\",
    "\x1b]52;c;UFdO\x07",
    "\x1b]8;;http://evil/\x1b\\ok\x1b]8;;\x1b\\",
    "\x1b]8;;file:///etc/passwd\x07x",
    "\x1b]9;4;1;50\x07",
    "\x1b]1337;File=inline=1:AAAA\x07",
    "\x1bP$q m\x1b\\",  # DCS
    "\x1bPtmux;\x1b\x1b]52;c;UFdO\x07\x1b\\",
    "\x1b_Gf=24;AAAA\x1b\\",  # APC: kitty's images
    "\x1b^private\x1b\\",
    "\x1bc",  # full reset
    "\x1b(0lqqk",
    "\x1b#8",
    "\x1b",
    "\x1b\x1b[",
    "\x9b2J",  # C1, 8 bit
    "\x9d0;PWNED\x9c",
    "\x90q\x9c",
    "\x84\x85\x8d\x8e",
    "\x00\x07\x08\x0b\x0c\x0e\x0f\x11\x13\x18\x1a\x7f",
    "\r10%\r20%\rdone",
    "a\r\nb\rc\n\r",
]
MARKUP = [
    "[/x]", "[/]", "[", "]", "[bold red]b[/bold red]", "[@click=app.bell]c[/]", "[link=http://x]y",
    "see /tmp/[/bad]", "[data: /m?s=b-]", "\\[/x]", "[$primary]x", "{{}} %s %d {0}", ":warning:",
    "# h\n\n- a\n  - b\n\n```py\nx\n```", "| a | b |\n|---|:-:|\n| 1 |", "~~~\nopen", "$$x$$",
    "[x](javascript:alert(1))", "[x](http://a\x1b]0;p\x07)", "<http://a\u202e/>", "![i](data:x)",
    "[x](<http://a/ b\x9b2J>)", "<b onclick=x>&lt;&#27;[2J&#x9b;</b>", "<!-- \x1b[2J -->",
    "***`*_~~", "> > > > > q", "1. " * 30, "```\x1b]0;p\x07\ncode\x1b[2J\n```", "&#x1b;]0;p&#7;",
    "[^1]: \x1b[2J", "\\\x1b[2J", "---\ntitle: x\n---", "\t\tindented\x9b",
]  # fmt: skip
UNICODE = [
    "\u202eoverride\u202c", "\u2066isolate", "\u061c\u200e\u200f", "\u200b\u200c\u200d\u2060\ufeff",
    "\u00ad\u034f\u115f\u3164\uffa0", "\u2028\u2029", "\ufff9\ufffa\ufffb\ufffc",
    "\ud800", "\udfff\ud83d", "x\ud83d\ude00y", "\ufffe\uffff\U0001ffff\U0010ffff",
    "\U000e0001\U000e0068\U000e0069\U000e007f", "e" + "\u0301" * 200, "\u0301alone",
    "👨\u200d👩\u200d👧\u200d👦" * 5, "🇫🇷🇩", "👍🏽" * 9, "❤\ufe0f\ufe0f\ufe0e", "1\ufe0f\u20e3",
    "漢字かな한글", "ﷺ", "שלום مرحبا", "क्ष्म्य", "𝕫𝓪𝓵𝓰𝓸", "\U000f0000\ue000",
    "\u0600\u06dd", "\u0e33\u0eb3", "\U0001d173", "\u3000\u00a0\u2003wide",
    "\u0085\u001c\u001d\u001e\u001f",
]  # fmt: skip
LONG = ["x" * 3_000, "漢" * 700, "a b " * 500, "\n" * 60, "- " * 100, "[" * 300, "`" * 99]

SAMPLES = [*SEQUENCES, *MARKUP, *UNICODE]

_pieces = st.one_of(
    st.sampled_from(SAMPLES),
    st.sampled_from(SEQUENCES),
    st.text(st.characters(), max_size=12),  # lone surrogates too
    st.text(st.sampled_from("\x1b\x9b\x9d[];?08mJHKhl\x07\\P_^ \n\t\r"), max_size=16),
    st.binary(max_size=16).map(lambda raw: raw.decode("latin-1")),
    st.binary(max_size=16).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.sampled_from(["word ", "one two", "\n", "\n\n", " ", "/", ".py", "http://a/"]),
    st.sampled_from(LONG),
)


def texts(longest: int = 6) -> st.SearchStrategy[str]:
    """A few pieces behind each other."""
    return st.lists(_pieces, min_size=1, max_size=longest).map("".join)


ALL = "".join(f"{sample} " for sample in SAMPLES)
"""All of them in one text."""

_CUTS = (1, 2, 3, 7, 40)


def cut(text: str) -> list[str]:
    """In pieces of changing lengths, so that whatever it holds is cut somewhere."""
    pieces: list[str] = []
    at = number = 0
    while at < len(text):
        size = _CUTS[number % len(_CUTS)]
        pieces.append(text[at : at + size])
        at += size
        number += 1
    return pieces


# --- what must not be there -----------------------------------------------------------------

_BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def acts(character: str) -> bool:
    """Whether a terminal may act on it, or a reader is misled by it: from the Unicode
    categories, not from the code under test. Line feeds are the caller's affair."""
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or character in _BIDI
        or 0xE0000 <= ord(character) < 0xE0080
    )


def acting(text: str) -> list[str]:
    """What of a text acts, by name; empty: it is safe."""
    return sorted({f"U+{ord(c):04X}" for c in text if acts(c)})
