r"""SafeText: the only way a foreign string reaches a screen; and helpers for foreign text.

What a terminal acts on, or what a reader cannot see, becomes a visible symbol:

- C0 controls and DEL become their control pictures (ESC is `␛`, NUL `␀`, DEL `␡`);
- C1 controls, bidirectional marks, overrides and isolates, and characters without a glyph
  (zero-width space, word joiner, BOM, soft hyphen, fillers, ...) become `‹U+202E›`;
- a run of tag characters, which can smuggle a hidden sentence, becomes `‹tags hello›`;
- a lone surrogate, which no encoder accepts, becomes U+FFFD.

Newline and tab stay, CR LF becomes LF. What scripts need stays as it is: joiners behind a
letter of a joining script, joiners inside an emoji sequence, one variation selector behind
a character. Knows neither rich nor Textual: styles are plain dicts.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypedDict

# --- what stays and what does not -----------------------------------------------------

_PICTOGRAPHS = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff"
    "\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
_JOINING_SCRIPTS = (
    "\u0620-\u065f\u066e-\u06dc\u06df-\u07ff\u0840-\u08ff"  # Arabic, Syriac, NKo, Mandaic
    "\u0900-\u0dff"  # the scripts of India and Sri Lanka
    "\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa"  # Myanmar, Khmer, Mongolian
    "\ufb50-\ufdff\ufe70-\ufefc"  # Arabic presentation forms
)
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_C0 = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f"  # CR is apart: it may belong to CR LF
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_TAGS = "\U000e0000-\U000e007f"

_CONTROL_IN_ASCII = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SUSPECT = re.compile(
    rf"[{_C0}\r\x80-\x9f{_UNSEEN}{_TAGS}\u180b-\u180f\u200c\u200d{_SELECTORS}\ud800-\udfff]"
)
_UNSAFE = re.compile(
    rf"""
      \r\n?
    | [{_C0}\x80-\x9f{_UNSEEN}]
    | [{_TAGS}]+
    | [\u200c\u200d](?<![{_JOINING_SCRIPTS}].)
      (?!(?<=[{_PICTOGRAPHS}]\u200d)[{_PICTOGRAPHS}])
      (?!(?<=[{_PICTOGRAPHS}]\ufe0f\u200d)[{_PICTOGRAPHS}])
    | [\u180b-\u180f](?<![\u1820-\u18aa].)
    | (?<=[{_SELECTORS}])[{_SELECTORS}]
    """,
    re.VERBOSE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _symbol(match: re.Match[str]) -> str:
    found = match[0]
    code = ord(found[0])
    if found == "\r\n":
        return "\n"
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xE0000 <= code <= 0xE007F:
        hidden = (chr(ord(c) - 0xE0000) for c in found)
        return f"‹tags {''.join(c if ' ' <= c <= '~' else '·' for c in hidden)}›"
    return f"‹U+{code:04X}›"


def whole_surrogates(text: str) -> str:
    """Pairs of surrogates become their character, lone halves U+FFFD: what any encoder takes."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def sendable(text: str) -> str:
    r"""Text of a message with only what the API refuses replaced: lone surrogates by U+FFFD,
    NUL by `\x00` text (faults A34, A35). Clean text is returned itself."""
    text = whole_surrogates(text)
    return text.replace("\x00", "\\x00") if "\x00" in text else text


def _visible(text: str) -> str:
    if (_CONTROL_IN_ASCII if text.isascii() else _SUSPECT).search(text) is None:
        return text
    return _UNSAFE.sub(_symbol, whole_surrogates(text))


class SafeText(str):
    """A string that is safe on a terminal: no control, C1, bidi override or invisible
    character is left raw; each is shown as a visible symbol. Newline and tab stay.

    SafeText(x) sanitises x; slices and joins give plain str. Clean text costs one search,
    and SafeText(safe) gives `safe` itself. Safe is not markup-free: brackets stay, so a
    widget must still be told markup=False.
    """

    __slots__ = ()

    def __new__(cls, text: object = "") -> "SafeText":
        if type(text) is cls:
            return text
        return super().__new__(cls, _visible(str(text)))


class SafeReader:
    """SafeText in pieces: what is cut between two pieces (CR LF, a surrogate pair, an emoji
    sequence) is read as if it had come whole. The cost of feed() is that of its piece."""

    __slots__ = ("_before", "_held")

    def __init__(self) -> None:
        self._before = ""
        self._held = ""

    def feed(self, text: str) -> SafeText:
        """What can be shown of `text` now; at most a few characters are held back."""
        text = self._held + text
        held = _UNFINISHED.search(text, max(0, len(text) - 64))
        self._held = held[0] if held else ""
        return self._show(text[: held.start()] if held else text)

    def flush(self) -> SafeText:
        """What was held back; the reader is as new afterwards."""
        shown = self._show(self._held)
        self._held = self._before = ""
        return shown

    def _show(self, text: str) -> SafeText:
        text = whole_surrogates(text)
        if not text:
            return SafeText()
        # The symbol for a joiner depends on the characters before it, so those go along.
        joined = self._before + text
        shown = _safe("".join(_replaced(joined, start=len(self._before))))
        self._before = joined[-2:]
        return shown


_UNFINISHED = re.compile(rf"(?:\r|[\ud800-\udbff]|[{_TAGS}]{{1,64}}|\u200d)\Z")


def _safe(already_visible: str) -> SafeText:
    return str.__new__(SafeText, already_visible)


def _replaced(text: str, *, start: int) -> Iterator[str]:
    end = start
    for match in _UNSAFE.finditer(text, start):
        yield text[end : match.start()]
        yield _symbol(match)
        end = match.end()
    yield text[end:]


def clean(text: object) -> SafeText:
    """For places of one line: SafeText with line ends shown as ⏎ and tabs as a space."""
    return _safe(SafeText(text).replace("\n", "⏎").replace("\t", " "))


# --- the wire -------------------------------------------------------------------------

_NOT_ON_WIRE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def wire_text(text: str) -> str:
    r"""Text that the API and any UTF-8 file accept: lone surrogates become U+FFFD, NUL and
    other C0 controls except newline, tab and CR become `\x00` text. All else is unchanged."""
    text = whole_surrogates(text)
    if _NOT_ON_WIRE.search(text) is None:
        return text
    return _NOT_ON_WIRE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


_NOT_IN_JSON = re.compile(rf"[\x7f-\x9f{_UNSEEN}{_TAGS}]")


def terminal_safe_json(text: str) -> str:
    r"""JSON text of the same value: what a terminal acts on (C1 controls, DEL) and what a reader
    cannot see (bidirectional marks, tags, ...) as `\u202e`. C0 controls JSON escapes itself."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _NOT_IN_JSON.sub(lambda match: _UTF16.sub(_escape, match[0]), text)


_UTF16 = re.compile(".", re.DOTALL)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# --- cutting, masking, counting -------------------------------------------------------

_CLUSTER_LIMIT = 32  # no cluster of real text is longer; a pile of marks must still be cut
_EXTENDS = re.compile(rf"[\u200c\u200d\U0001f3fb-\U0001f3ff{_TAGS}\udc00-\udfff]")


def cut(text: str, n: int) -> str:
    """The first `n` code points or a few less, so that no surrogate pair, accent or emoji
    sequence is cut apart. Adds no ellipsis."""
    if n <= 0:
        return ""
    if len(text) <= n:
        return text
    end = n
    while end > 0 and n - end < _CLUSTER_LIMIT and _glued(text, end):
        end -= 1
    return text[: end if end > 0 and not _glued(text, end) else n]


def _glued(text: str, at: int) -> bool:
    """Whether text[at] belongs to the character before it."""
    return (
        unicodedata.category(text[at])[0] == "M"
        or _EXTENDS.match(text, at) is not None
        or text[at - 1] == "\u200d"
        or (text[at] == "\n" and text[at - 1] == "\r")
    )


_MASK = "***"
_SHORTEST_SECRET = 4
_SECRET_SHAPES = re.compile(
    r"""(?xi)
      \b sk-ant-[\w-]{4,}
    | (?P<header> \b (?: authorization | x-api-key | api[-_]?key | auth[-_]?token )
        (?: ["']? \s* [:=] | ["'] \s* , ) \s* (?: b(?=["']) )? ["']?
        (?: (?: bearer | basic ) \s+ )?+ ) [^\s"',;)}\]*]++
    | (?P<scheme> \b bearer \s+ ) (?= \S*\d ) [\w.~+/=-]{8,}
    | (?P<url> :// ) [^\s/:@]+ : [^\s/@]+ (?= @ )
    """
)


def mask_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with every given secret, and everything that has the shape of a key, of an
    authorization header or of a password in a URL, replaced by `***`.

    A given value shorter than 4 characters is not masked: it would blank out ordinary text.
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _MASK)
    return _SECRET_SHAPES.sub(
        lambda match: (match["header"] or match["scheme"] or match["url"] or "") + _MASK, text
    )


def duration(seconds: float) -> str:
    """`0.1 s`, `59.9 s`, `2 min 3 s`, `1 h 2 min`. Negative counts as 0."""
    seconds = max(seconds, 0.0)
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def until(seconds: float, words: Callable[[float], str]) -> str:
    """How long something still holds: `words` up to two days, then in days; `more than a year`."""
    days = int(seconds // 86_400)
    if days < 2:
        return words(seconds)
    return f"{days} days" if days <= 365 else "more than a year"


def count(n: int) -> str:
    """`48,200`."""
    return f"{n:,}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 call`, `3 calls`, `48,200 tokens`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def file_size(size: int) -> str:
    """`820 B`, `18 kB`, `1.4 MB`, `2.0 GB`: units of 1000."""
    if size < 1000:
        return f"{max(0, size)} B"
    if size < 999_500:
        return f"{size / 1000:.0f} kB"
    if size < 999_950_000:
        return f"{size / 1e6:.1f} MB"
    return f"{size / 1e9:.1f} GB"


# --- colours of tool output -----------------------------------------------------------


class AnsiStyle(TypedDict, total=False):
    """What SGR sequences have set; colours are `color(0)` to `color(255)` or `#rrggbb`."""

    color: str
    bgcolor: str
    bold: bool
    dim: bool
    italic: bool
    underline: bool
    reverse: bool
    strike: bool


Span = tuple[str, AnsiStyle]

# Cursor movement, erasing, charset choice and OSC 8 links are dropped: their text says all.
# Anything else that starts with ESC is no part of the output's text and is shown (`␛]52;...`).
_SEQUENCE = re.compile(
    r"""
      \x1b\[ (?P<params>[0-?]{0,64}) (?P<between>[ -/]{0,4}) (?P<final>[@-~])
    | \x1b\]8; [^\x07\x1b]{0,2048} (?: \x07 | \x1b\\ )
    | \x1b [ -/]{1,2} [0-~]
    | \x1b [78=>]
    """,
    re.VERBOSE,
)
_UNFINISHED_SEQUENCE = re.compile(
    r"\x1b (?: \[ [0-?]{0,64} [ -/]{0,4} | \] (?: 8 (?: ; [^\x07\x1b]{0,2048} \x1b? )? )? "
    r"| [ -/]{1,2} )? \Z",
    re.VERBOSE,
)

_FLAGS: dict[int, str] = {
    1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike", 21: "underline",
}  # fmt: skip
_FLAGS_OFF: dict[int, tuple[str, ...]] = {
    22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",),
    39: ("color",), 49: ("bgcolor",),
}  # fmt: skip


class AnsiReader:
    """Turns tool output into spans of safe text and style, in pieces as they come.

    Never raises, whatever the bytes were. SGR colour (16, 256, true colour), bold, dim,
    italic, underline, reverse and strike become styles; "conceal" does not, as it would
    hide text. A style lasts over pieces; a sequence cut between two pieces is put together.
    """

    __slots__ = ("_held", "_style", "_text")

    def __init__(self) -> None:
        self._style: dict[str, str | bool] = {}
        self._held = ""
        self._text = SafeReader()

    def feed(self, text: str) -> list[Span]:
        """The spans of `text`; an unfinished sequence at its end is held back."""
        text = self._held + text
        held = _UNFINISHED_SEQUENCE.search(text)
        self._held = held[0] if held else ""
        return self._read(text[: held.start()] if held else text)

    def flush(self) -> list[Span]:
        """What was held back, shown as text; the reader is as new afterwards."""
        spans = self._read(self._held)
        self._add(spans, self._text.flush())
        self._held = ""
        self._style = {}
        return spans

    def _read(self, text: str) -> list[Span]:
        spans: list[Span] = []
        end = 0
        for match in _SEQUENCE.finditer(text):
            self._add(spans, self._text.feed(text[end : match.start()]))
            end = match.end()
            if match["final"] == "m" and not match["between"]:
                # What the text reader holds back was written in the old style.
                self._add(spans, self._text.flush())
                self._select(match["params"])
        self._add(spans, self._text.feed(text[end:]))
        return spans

    def _add(self, spans: list[Span], text: SafeText) -> None:
        if not text:
            return
        style = AnsiStyle(**self._style)  # pyright: ignore[reportArgumentType]
        if spans and spans[-1][1] == style:
            spans[-1] = (_safe(spans[-1][0] + text), style)
        else:
            spans.append((text, style))

    def _select(self, params: str) -> None:
        """Apply one SGR sequence: ECMA-48 8.3.117, colours after ITU-T T.416 and xterm."""
        if params[:1] in ("<", "=", ">", "?"):
            return
        parts = params.split(";")
        at = 0
        while at < len(parts):
            fields = parts[at].split(":")
            code = _number(fields[0])
            at += 1
            if code in (38, 48):
                if len(fields) == 1:
                    fields = _colour_fields(parts, at)
                    at += len(fields)
                    colour = _colour(fields)
                else:
                    colour = _colour(fields[1:], subfields=True)
                if colour:
                    self._style["color" if code == 38 else "bgcolor"] = colour
            elif code == 58:
                at += len(_colour_fields(parts, at)) if len(fields) == 1 else 0
            elif code == 4 and len(fields) > 1 and _number(fields[1]) == 0:
                self._style.pop("underline", None)
            else:
                self._set(code)

    def _set(self, code: int) -> None:
        if code == 0:
            self._style = {}
        elif code in _FLAGS:
            self._style[_FLAGS[code]] = True
        elif code in _FLAGS_OFF:
            for name in _FLAGS_OFF[code]:
                self._style.pop(name, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self._style["color"] = f"color({code - 30 if code < 90 else code - 82})"
        elif 40 <= code <= 47 or 100 <= code <= 107:
            self._style["bgcolor"] = f"color({code - 40 if code < 100 else code - 92})"


def _number(field: str) -> int:
    """An SGR parameter; empty means 0, anything malformed a value that selects nothing."""
    if not field:
        return 0
    return int(field) if len(field) <= 4 and field.isascii() and field.isdigit() else -1


def _colour_fields(parts: list[str], at: int) -> list[str]:
    kind = _number(parts[at]) if at < len(parts) else -1
    return parts[at : at + {5: 2, 2: 4}.get(kind, 1)]


def _colour(fields: list[str], *, subfields: bool = False) -> str | None:
    """`5;n` or `2;r;g;b`; with colons `2` may have a colour space before red."""
    if not fields:
        return None
    values = [_number(field) for field in fields[1:]]
    match _number(fields[0]):
        case 5 if values and 0 <= values[0] <= 255:
            return f"color({values[0]})"
        case 2:
            rgb = values[1:4] if subfields and len(values) >= 4 else values[:3]
            if len(rgb) == 3 and all(0 <= value <= 255 for value in rgb):
                return "#{:02x}{:02x}{:02x}".format(*rgb)
    return None


def ansi_spans(text: str) -> list[Span]:
    """The whole of a tool's output as spans of safe text and style, lines as a terminal would
    show them: what follows a lone CR overwrites the line (progress bars)."""
    text = _IDLE_RETURNS.sub("", text)
    reader = AnsiReader()
    spans: list[Span] = []
    done = 0
    while (at := text.find("\r", done)) >= 0:
        start = max(done, text.rfind("\n", done, at) + 1)
        spans += reader.feed(text[done:start])
        done = text.find("\n", at)
        done = len(text) if done < 0 else done
        spans += _overwrite(reader, text[start:done])
    return _merged([*spans, *reader.feed(text[done:]), *reader.flush()])


def without_ansi(text: str) -> SafeText:
    """The text of ansi_spans alone: what a person would read on a terminal."""
    return _safe("".join(span for span, _ in ansi_spans(text)))


_IDLE_RETURNS = re.compile(r"(?<!\r)\r++(?=\n|\Z)")
_ERASES_LINE = re.compile(r"\x1b\[[02]?K")


def _overwrite(reader: AnsiReader, line: str) -> list[Span]:
    cells: list[Span] = []
    for writing in line.split("\r"):
        written = [(char, style) for span, style in reader.feed(writing) for char in span]
        if _ERASES_LINE.search(writing):
            cells = []
        cells[: len(written)] = written
    return cells


def _merged(spans: list[Span]) -> list[Span]:
    """Neighbours of one style as one span."""
    merged: list[Span] = []
    for style, group in groupby(spans, key=lambda span: span[1]):
        merged.append((_safe("".join(text for text, _ in group)), style))
    return merged
