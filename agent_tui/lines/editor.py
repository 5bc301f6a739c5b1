r"""The line that is typed: appended to, taken back from its end, sent by Enter.

Only its end can be edited, so nothing is ever drawn again: Backspace, Ctrl+W (a word), Ctrl+U
(all), Up and Down (an earlier message, on a line of its own). A line that ends in a backslash
goes on in the next. Lines that come all at once are a paste: one message.
"""

import codecs
from collections.abc import Callable
from typing import Protocol

from agent_tui.conversation.queue_control import is_command
from agent_tui.lines.terminal import width, without_sequences
from agent_tui.text import SafeText, count

PROMPT = "> "

SEQUENCE_WITHIN_S = 0.2
"""The pieces of one key come within this; an Esc that nothing has followed by then was a key."""


class Writes(Protocol):
    def write(self, text: str) -> None: ...


class LineEditor:
    """feed() takes what the terminal sent; say() puts lines between what is typed.

    sent(line, begun_at): Enter; begun_at: clock of its first key. interrupted(): Ctrl+C that
    came as a character; left(): Ctrl+D on an empty line.
    """

    def __init__(
        self,
        out: Writes,
        *,
        sent: Callable[[str, float], None],
        left: Callable[[], None],
        clock: Callable[[], float],
        encoding: str = "utf-8",
    ) -> None:
        self._out, self._sent, self._left, self._clock = out, sent, left, clock
        # A locale that is plain C says nothing of what the keys send.
        typed = "utf-8" if encoding == "ascii" else encoding
        self._decode = codecs.getincrementaldecoder(typed)("replace").decode
        self._held, self._held_at = "", 0.0
        self.text = ""
        self._lines: list[str] = []
        """Those before the open one of a message of several."""
        self._begun_at = 0.0
        self._shown = False
        """The line is begun: the prompt stands in front of it."""
        self.secret = False
        self.history: list[str] = []
        self._back = 0
        """Steps back in the history; 0: the line of now."""
        self._now = ""

    @property
    def draft(self) -> str:
        """All that is typed and not sent."""
        return "" if self.secret else "\n".join([*self._lines, self.text]).rstrip("\n")

    @property
    def is_empty(self) -> bool:
        return not (self._lines or self.text)

    # --- what is said -------------------------------------------------------------------------

    def say(self, *lines: str) -> None:
        """Lines of ours, safe already. What stands on the open line is said again below them."""
        if not lines:
            return
        begin = "\n" if self._shown else ""
        self._out.write(begin + "".join(f"{line}\n" for line in lines))
        if self._shown and self.text:
            self._show()
        else:
            self._shown = False

    def _show(self) -> None:
        shown = "" if self.secret else SafeText(self.text)
        self._out.write(PROMPT + shown)
        self._shown = True

    # --- what is typed ------------------------------------------------------------------------

    def load(self, text: str) -> None:
        """A draft of earlier."""
        *self._lines, self.text = text.split("\n")
        self._begun_at = self._clock()
        if text:
            self._show()

    def clear(self) -> None:
        """Drop what is typed."""
        if self._shown:
            self._out.write("\n")
        self.text, self._lines, self._shown, self._back = "", [], False, 0

    def feed(self, data: bytes) -> None:
        now = self._clock()
        if now - self._held_at > SEQUENCE_WITHIN_S:
            self._held = ""
        parts, self._held = without_sequences(self._held + self._decode(data))
        self._held_at = now
        while not self.secret and sum(part in "\r\n" for part in parts) > 1:
            # Commands that were typed ahead are lines of their own, not a text.
            end = next(at for at, part in enumerate(parts) if part in "\r\n")
            if self._lines or not is_command(self.text + "".join(parts[:end])):
                return self._paste(parts)
            for part in parts[: end + 1]:
                self._take(part)
            del parts[: end + 1]
        for part in parts:
            self._take(part)

    def _paste(self, parts: list[str]) -> None:
        """Several lines at once: Enter is a part of the text, the last one sends."""
        text = "".join(p for p in parts if len(p) == 1 and (p in "\r\n\t" or p >= " "))
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        whole = text.endswith("\n")
        lines = (self.text + text).removesuffix("\n").split("\n")
        self._begin()
        self._out.write(SafeText(lines[0][len(self.text) :]) + "\n")
        self._out.write("".join(f"{PROMPT}{SafeText(line)}\n" for line in lines[1:]))
        self._shown = False
        self._lines += lines[:-1]
        self.text = lines[-1]
        if whole:
            self._out.write(f"Pasted: {count(len(lines))} lines, as one message.\n")
            self._send()
        else:
            self._show()

    def _take(self, part: str) -> None:
        match part:
            case "\r" | "\n":
                self._enter()
            case "\x7f" | "\x08":
                self._take_back(1)
            case "\x15":
                self._take_back(len(self.text))
            case "\x17":
                self._take_back(len(self.text) - len(_without_word(self.text)))
            case "\x04":
                if self.is_empty:
                    self._left()
            case "\x12" | "\x0c":
                if self._shown:
                    self._out.write("\n")
                    self._show()
            case "\x1b[A" | "\x1bOA":
                self._recall(1)
            case "\x1b[B" | "\x1bOB":
                self._recall(-1)
            case "\t":
                self._type(" ")
            case _ if len(part) == 1 and part >= " ":
                self._type(part)
            case _:
                pass

    def _begin(self) -> None:
        if self.is_empty:
            self._begun_at = self._clock()
        if not self._shown:
            self._show()

    def _type(self, char: str) -> None:
        self._begin()
        self.text += char
        if not self.secret:
            self._out.write(SafeText(char))

    def _take_back(self, n: int) -> None:
        if n <= 0 or not self.text:
            return
        gone, self.text = self.text[-n:], self.text[:-n]
        if not self.secret:
            cells = width(SafeText(gone))
            self._out.write("\b" * cells + " " * cells + "\b" * cells)

    def _recall(self, step: int) -> None:
        if self.secret or not 0 <= self._back + step <= len(self.history):
            return
        if self._back == 0:
            self._now = self.text
        self._back += step
        text = self.history[-self._back] if self._back else self._now
        if self._shown:
            self._out.write("\n")
        if self.is_empty:
            self._begun_at = self._clock()
        *self._lines, self.text = text.split("\n")
        self._out.write("".join(f"{PROMPT}{SafeText(line)}\n" for line in self._lines))
        self._show()

    def _enter(self) -> None:
        if self.is_empty and not self._shown:
            self._out.write("\n")
            self._sent("", self._clock())
            return
        self._out.write("\n")
        self._shown = False
        if self.text.endswith("\\") and not self.secret:
            self._lines.append(self.text[:-1].rstrip())
            self.text = ""
            self._show()
            return
        self._send()

    def _send(self) -> None:
        text, begun = "\n".join([*self._lines, self.text]), self._begun_at
        self.text, self._lines, self._back = "", [], 0
        if text.strip() and not self.secret and self.history[-1:] != [text]:
            self.history.append(text)
        self._sent(text, begun)


def _without_word(text: str) -> str:
    stripped = text.rstrip()
    return stripped[: stripped.rfind(" ") + 1]
