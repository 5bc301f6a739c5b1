"""Reads JSON that arrives in pieces, and says after each piece what became readable.

For the screen only: the arguments a tool gets are parsed once, whole, at the block's end.
A piece costs its own length, whatever came before (nothing is ever read twice).
"""

import re
from typing import Final

from agent_tui.text import whole_surrogates

Addition = tuple[str, str]
"""(path, text): "edits.0.old" grew by text. Scalars other than strings come once, whole."""

MAX_PATH_DEPTH: Final = 32
"""Below this depth nothing is shown: a path that grew with depth would cost its square."""
MAX_KEY: Final = 120
"""Longer keys are shortened in paths, for the same reason."""

_VALUE, _FIRST_ITEM, _FIRST_KEY, _KEY, _COLON, _AFTER, _STRING, _KEY_STRING, _SCALAR, _DONE, \
    _BROKEN = range(11)  # fmt: skip

_NEXT_KEY = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"([^"\\]*)"[ \t\n\r]*:[ \t\n\r]*')
_WHOLE_STRING = re.compile(r'"([^"\\]*)"')
_RUN = re.compile(r'[^"\\]*')
_SCALAR_RUN = re.compile(r"[^\s,\]}:\"\[{]*")
_SCALAR_OK = re.compile(
    r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity)\Z"
)
_HEX4 = re.compile(r"[0-9a-fA-F]{4}\Z")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class _Frame:
    """An open object or array. prefix: its path with the dot, None where too deep to show."""

    __slots__ = ("index", "is_array", "prefix")

    def __init__(self, is_array: bool, prefix: str | None) -> None:
        self.is_array = is_array
        self.prefix = prefix
        self.index = 0


class PartialJson:
    """feed(text) → additions. After invalid JSON it stays silent (`broken`), and never raises.

    The additions of a value joined, in order, are that value's text: a string's content, a
    number as sent, true, false, null. An empty string comes as one empty addition.
    """

    __slots__ = ("_escape", "_frames", "_high", "_key", "_path", "_scalar", "_shown", "_state")

    def __init__(self) -> None:
        self._state = _VALUE
        self._frames: list[_Frame] = []
        self._path: str | None = ""
        self._key: list[str] = []
        self._scalar: list[str] = []
        self._escape = ""
        self._high = ""
        self._shown = False

    @property
    def broken(self) -> bool:
        return self._state == _BROKEN

    @property
    def complete(self) -> bool:
        """True after a whole value (for a bare number or literal only after close())."""
        return self._state == _DONE

    def feed(self, text: str) -> list[Addition]:
        out: list[Addition] = []
        position, end = 0, len(text)
        while position < end:
            state = self._state
            if state == _AFTER:
                # the common case in one step: what follows a value, up to the next one
                frame = self._frames[-1]
                if not frame.is_array and (whole := _NEXT_KEY.match(text, position)):
                    self._set_path(frame, whole[1])
                    self._state = _VALUE
                    position = whole.end()
                    continue
            elif state == _VALUE:
                if whole := _WHOLE_STRING.match(text, position):
                    if self._path is not None:
                        out.append((self._path, whole[1]))
                    self._state = _AFTER if self._frames else _DONE
                    position = whole.end()
                    continue
            elif state in (_STRING, _KEY_STRING):
                position = self._string(text, position, out)
                continue
            elif state == _SCALAR:
                stop = _SCALAR_RUN.match(text, position).end()  # type: ignore[union-attr]
                self._scalar.append(text[position:stop])
                position = stop
                if stop < end:
                    self._end_scalar(out)
                continue
            elif state == _BROKEN:
                break
            char = text[position]
            if char in " \t\n\r":
                position += 1
            else:
                position = self._structure(char, position)
        return out

    def close(self) -> list[Addition]:
        """What only the end of the text completes: a bare number or literal at the top."""
        out: list[Addition] = []
        if self._state == _SCALAR and not self._frames:
            self._end_scalar(out)
        return out

    def _structure(self, char: str, position: int) -> int:
        """One character outside strings and scalars; gives the position to go on from."""
        state = self._state
        if state == _AFTER:
            frame = self._frames[-1]
            if char == ",":
                if frame.is_array:
                    frame.index += 1
                    self._item(frame)
                else:
                    self._state = _KEY
            elif char == ("]" if frame.is_array else "}"):
                self._close_frame()
            else:
                self._state = _BROKEN
            return position + 1
        if state in (_FIRST_KEY, _KEY):
            if char == '"':
                self._key.clear()
                self._state = _KEY_STRING
            elif char == "}" and state == _FIRST_KEY:
                self._close_frame()
            else:
                self._state = _BROKEN
            return position + 1
        if state == _COLON:
            self._state = _VALUE if char == ":" else _BROKEN
            return position + 1
        if state == _DONE:
            self._state = _BROKEN
            return position
        if char == "]" and state == _FIRST_ITEM:
            self._close_frame()
            return position + 1
        if char == '"':
            self._shown = False
            self._state = _STRING
            return position + 1
        if char == "{" or char == "[":
            self._open_frame(char == "[")
            return position + 1
        self._scalar.clear()
        self._state = _SCALAR if char not in ",]}:" else _BROKEN
        return position

    def _open_frame(self, is_array: bool) -> None:
        path = self._path
        prefix = None
        if path is not None and len(self._frames) < MAX_PATH_DEPTH:
            prefix = f"{path}." if self._frames else ""
        frame = _Frame(is_array, prefix)
        self._frames.append(frame)
        if is_array:
            self._item(frame)
            self._state = _FIRST_ITEM
        else:
            self._state = _FIRST_KEY

    def _item(self, frame: _Frame) -> None:
        self._path = None if frame.prefix is None else f"{frame.prefix}{frame.index}"
        self._state = _VALUE

    def _close_frame(self) -> None:
        self._frames.pop()
        self._state = _AFTER if self._frames else _DONE

    def _end_value(self) -> None:
        self._state = _AFTER if self._frames else _DONE

    def _end_scalar(self, out: list[Addition]) -> None:
        text = "".join(self._scalar)
        if not _SCALAR_OK.match(text):
            self._state = _BROKEN
            return
        if self._path is not None:
            out.append((self._path, text))
        self._end_value()

    def _string(self, text: str, position: int, out: list[Addition]) -> int:
        """Read on in a string or a key; one addition at most for what this piece holds of it."""
        pieces: list[str] = []
        end = len(text)
        closed = False
        in_key = self._state == _KEY_STRING
        while position < end:
            if self._escape:
                position = self._escaped(text, position, pieces)
                if self._state == _BROKEN:
                    break
                continue
            stop = _RUN.match(text, position).end()  # type: ignore[union-attr]
            if stop > position:
                if self._high:
                    self._lone(pieces)
                pieces.append(text[position:stop])
                position = stop
            if position < end:
                if text[position] == '"':
                    closed = True
                    position += 1
                    break
                self._escape = "\\"
                position += 1
        if closed and self._high:
            self._lone(pieces)
        if in_key:
            self._key.extend(pieces)
            if closed:
                self._end_key()
            return position
        if pieces or (closed and not self._shown):
            self._shown = True
            if self._path is not None:
                out.append((self._path, "".join(pieces)))
        if closed:
            self._end_value()
        return position

    def _escaped(self, text: str, position: int, pieces: list[str]) -> int:
        """Read on in an escape, which may be split over pieces."""
        if self._escape == "\\" and text[position] != "u":
            char = _ESCAPES.get(text[position])
            self._escape = ""
            if char is None:
                self._state = _BROKEN
                return position
            if self._high:
                self._lone(pieces)
            pieces.append(char)
            return position + 1
        take = text[position : position + 6 - len(self._escape)]
        self._escape += take
        if len(self._escape) == 6:
            digits = self._escape[2:]
            self._escape = ""
            if not _HEX4.match(digits):
                self._state = _BROKEN
                return position
            self._unit(chr(int(digits, 16)), pieces)
        return position + len(take)

    def _unit(self, unit: str, pieces: list[str]) -> None:
        if self._high and "\udc00" <= unit <= "\udfff":
            pieces.append(whole_surrogates(self._high + unit))
            self._high = ""
            return
        if self._high:
            self._lone(pieces)
        if "\ud800" <= unit <= "\udbff":
            self._high = unit
        else:
            pieces.append(whole_surrogates(unit))

    def _lone(self, pieces: list[str]) -> None:
        pieces.append("\ufffd")
        self._high = ""

    def _end_key(self) -> None:
        key = "".join(self._key)
        self._key.clear()
        self._set_path(self._frames[-1], key)
        self._state = _COLON

    def _set_path(self, frame: _Frame, key: str) -> None:
        if len(key) > MAX_KEY:
            key = key[: MAX_KEY - 1] + "…"
        self._path = None if frame.prefix is None else f"{frame.prefix}{key}"
