r"""Output of unknown size and content, made fit for a model: decoded, cleaned, bounded, and
saved whole where it was too much.

- bytes → text: UTF-8, incrementally; what is not UTF-8 becomes U+FFFD, never a surrogate.
- progress bars: of the frames that carriage returns put over each other, the last one stays.
- escape sequences for cursor, erasing and character sets are dropped; colours (SGR) are kept
  until the end, for faces; all other controls become text such as `\x00`.
- size: the first 12,000 and the last 18,000 characters; the whole goes to a 0600 file.
"""

import codecs
import contextlib
import logging
import re
import secrets
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from agent_tui.paths import private_folder, private_open
from agent_tui.text import cut, wire_text
from agent_tui.tools.workspace import whole

log = logging.getLogger(__name__)

HEAD_CHARS = 12_000
TAIL_CHARS = 18_000
MAX_SAVED_CHARS = 64_000_000
_MAX_LINE_HELD = 16_384
_AROUND = 64  # kept on both sides of a cut, to see where a character ends

_DROPPED = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,4}[@-ln-~]"  # CSI, all but SGR
    r"|\x1b\]8;[^\x07\x1b]{0,2048}(?:\x07|\x1b\\)"  # OSC 8: a link's text says all
    r"|\x1b[ -/]{1,2}[0-~]|\x1b[78=>]"
)
_SGR = re.compile(r"\x1b\[[0-9;:]{0,64}m")
_UNFINISHED = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,4}|\](?:8(?:;[^\x07\x1b]{0,2048}\x1b?)?)?|[ -/]{1,2})?\Z"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SGR_OR_CONTROL = re.compile(rf"{_SGR.pattern}|{_CONTROLS.pattern}")


def plain(text: str) -> str:
    """`text` of a StreamCleaner as the model gets it: without its colours."""
    return wire_text(_SGR.sub("", text)) if "\x1b" in text else text


def _visible(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) > 1 else wire_text(found[0])


class StreamCleaner:
    """Bytes in, as they come; text out, whole lines where possible.

    The line that has no end yet is held back (at most 16,384 characters) because its next
    frame may replace it; `pending` shows it.
    """

    __slots__ = ("_decoder", "_held", "pending")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # the beginning of an escape sequence
        self.pending = ""

    def feed(self, data: bytes) -> str:
        """The lines that are finished with `data`."""
        return self._take(self._held + self._decoder.decode(data), final=False)

    def flush(self) -> str:
        """What is left; the cleaner is as new afterwards."""
        return self._take(self._held + self._decoder.decode(b"", True), final=True)

    def _take(self, text: str, *, final: bool) -> str:
        self._held = ""
        if "\x1b" in text:
            unfinished = None if final else _UNFINISHED.search(text, max(0, len(text) - 2100))
            if unfinished:
                self._held = unfinished[0]
                text = text[: unfinished.start()]
            text = _DROPPED.sub("", text)
        if _CONTROLS.search(text):
            text = _SGR_OR_CONTROL.sub(_visible, text)
        text = self.pending + text
        self.pending = ""
        if "\r" in text:
            text = "\n".join(_last_frame(line, ended=True) for line in _but_last(text)) + (
                _last_frame(text[text.rfind("\n") + 1 :], ended=final)
            )
        if final:
            return text
        done = text.rfind("\n") + 1
        if len(text) - done > _MAX_LINE_HELD:
            done = len(text) - text.endswith("\r")
        self.pending = text[done:]
        return text[:done]


def _but_last(text: str) -> list[str]:
    lines = text.split("\n")
    # The empty string makes the join end with a newline when there was a whole line.
    return [*lines[:-1], ""] if len(lines) > 1 else [""]


def _last_frame(line: str, *, ended: bool) -> str:
    """What the last carriage return left on the line; one at its very end has yet to be
    followed by something when the line has not ended."""
    frame = line.rstrip("\r")
    returned = "\r" if frame != line and not ended else ""
    return frame[frame.rfind("\r") + 1 :] + returned


@dataclass(frozen=True, slots=True)
class CappedText:
    """Text that fits; `styled` is the same with its colours, when it had any. path: the file
    with the whole, if it was too much. omitted: characters left out of the middle."""

    text: str
    styled: str | None = None
    path: str | None = None
    omitted: int = 0
    total: int = 0


class OutputBuffer:
    """Keeps the head and the tail of what is fed, and saves the whole once that is too much.

    Bounded memory whatever is fed. A disk that cannot take the whole costs only the file.
    """

    def __init__(self, output_dir: str | None, name: str) -> None:
        self._output_dir = output_dir
        self._name = name
        self._all: list[str] | None = []  # None: past the limit, head and tail count
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._file: IO[str] | None = None
        self._saved = 0
        self._unsaved: str | None = None
        self.path: str | None = None
        self.total = 0

    def feed(self, text: str) -> None:
        """Add text (of a StreamCleaner: SGR may be in it)."""
        if not text:
            return
        self.total += len(text)
        if self._all is not None:
            self._all.append(text)
            if self.total > HEAD_CHARS + TAIL_CHARS:
                self.save()
                whole = "".join(self._all)
                self._all = None
                self._head = whole[: HEAD_CHARS + _AROUND]
                self._keep_tail(whole[HEAD_CHARS:])
            elif self._file:
                self._write(text)
        else:
            self._write(text)
            self._keep_tail(text)

    def save(self) -> str | None:
        """Open the file for the whole now (idempotent); its path, or None if it cannot be."""
        if self.path or self._unsaved or self._all is None:
            return self.path
        try:
            self._file, self.path = _create(self._output_dir, self._name)
        except OSError as error:
            log.warning("an output could not be saved", exc_info=True)
            self._unsaved = error.strerror or str(error)
            return None
        self._write("".join(self._all))
        return self.path

    def close(self) -> None:
        """Close the file; later feeds are kept in memory only."""
        if self._file:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def result(self) -> CappedText:
        """What has come so far, cut to size, with a line about the cut and the file in it."""
        if self._all is not None:
            raw = "".join(self._all)
            self._all = [raw]
            return _capped(raw, self._saved_to, 0, self.total)
        tail = "".join(self._tail)
        head, tail = _head(self._head), _tail(tail)
        omitted = self.total - len(head) - len(tail)
        raw = f"{head}\n[… {omitted:,} characters left out. {self._whole()} …]\n{tail}"
        return _capped(raw, self._saved_to, omitted, self.total)

    @property
    def _saved_to(self) -> str | None:
        return None if self._unsaved else self.path

    def _whole(self) -> str:
        if self._unsaved:
            return f"The whole could not be saved: {self._unsaved}"
        part = f"first {MAX_SAVED_CHARS:,} characters are" if self._full else "whole is"
        return f"The {part} in {self.path}: use read with offset and limit, or grep, on it"

    @property
    def _full(self) -> bool:
        return self._saved >= MAX_SAVED_CHARS

    def _write(self, text: str) -> None:
        if self._file is None or self._full:
            return
        text = plain(text)[: MAX_SAVED_CHARS - self._saved]
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            log.warning("an output could not be saved", exc_info=True)
            self._unsaved = error.strerror or str(error)
            self.close()
        self._saved += len(text)

    def _keep_tail(self, text: str) -> None:
        self._tail.append(text[-TAIL_CHARS - _AROUND :])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) >= TAIL_CHARS + _AROUND:
            self._tail_size -= len(self._tail.popleft())


def _capped(raw: str, path: str | None, omitted: int, total: int) -> CappedText:
    text = plain(raw)
    styled = raw if _SGR.search(raw) else None
    return CappedText(text, styled, path, omitted, total)


def _head(text: str) -> str:
    """At most HEAD_CHARS, ending with a whole line if one ends in the last quarter."""
    at = text.rfind("\n", HEAD_CHARS * 3 // 4, HEAD_CHARS)
    return text[:at] if at >= 0 else cut(text, HEAD_CHARS)


def _tail(text: str) -> str:
    """At most TAIL_CHARS, beginning with a whole line if one begins in the first quarter,
    else with a whole character as people count them."""
    start = max(0, len(text) - TAIL_CHARS)
    at = text.find("\n", start, start + TAIL_CHARS // 4)
    if at >= 0:
        return text[at + 1 :]
    around = text[max(0, start - _AROUND) : start + _AROUND]
    first = min(start, _AROUND)
    ends = (end for end in range(first, len(around)) if len(cut(around, end)) == end)
    return text[start + next(ends, first) - first :]


def _create(output_dir: str | None, name: str) -> tuple[IO[str], str]:
    if output_dir is None:
        folder = Path(tempfile.mkdtemp(prefix="agent-tui-"))
    else:
        folder = private_folder(Path(output_dir))
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{safe}-{secrets.token_hex(3)}.txt"
    return private_open(path, "x"), str(path)


def cap_text(text: str, output_dir: str | None, name: str) -> CappedText:
    """Any text (a result of an MCP server, ...) cut as a command's output is: at most some
    30,000 characters, the whole in a 0600 file of `output_dir` whose path the text tells.

    Blocks on the disk when the text is too long: call it in a thread.
    """
    cleaner = StreamCleaner()
    buffer = OutputBuffer(output_dir, name)
    buffer.feed(cleaner.feed(whole(text).encode()))
    buffer.feed(cleaner.flush())
    buffer.close()
    return buffer.result()
