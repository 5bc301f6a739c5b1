"""What is told to the terminal around the screen: title, notifications, progress.

Each by its setting, and only what the terminal is not known to garble: a text console draws
what it does not know, and a terminal that takes OSC 9 for a message shows OSC 9;4 as one.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from agent_tui.text import SafeText, cut

if TYPE_CHECKING:
    from agent_tui.conversation.event_hub import AnyEvent

NAME: Final = "agent-tui"
_NO_OSC = frozenset({"", "dumb", "unknown", "linux", "cons25", "vt52", "vt100", "vt102", "vt220"})
"""TERM of terminals that know no OSC sequences; some draw them."""

_SHOWS_OSC9 = frozenset({"iTerm.app", "ghostty", "WezTerm", "WarpTerminal"})
_SHOWS_OSC9_TERM = frozenset({"xterm-kitty", "xterm-ghostty", "foot", "foot-extra"})
_LONGEST = 120


class Terminal:
    """What this terminal can, by its environment."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self.term = environ.get("TERM", "")
        self.osc = self.term not in _NO_OSC
        self.tmux, self.screen = bool(environ.get("TMUX")), bool(environ.get("STY"))
        inside = self.tmux or self.screen or bool(environ.get("ZELLIJ"))
        program = environ.get("TERM_PROGRAM", "")
        self.shows_osc9 = not inside and (program in _SHOWS_OSC9 or self.term in _SHOWS_OSC9_TERM)
        self.shows_progress = (
            self.osc
            and not inside
            and (
                bool(environ.get("WT_SESSION"))
                or environ.get("ConEmuANSI") == "ON"
                or program == "ghostty"
                or (program == "iTerm.app" and _version(environ) >= (3, 6, 6))
            )
        )

    def passed_on(self, sequence: str) -> str:
        """The sequence so that a multiplexer hands it to the terminal outside."""
        if self.tmux:
            return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
        return f"\x1bP{sequence}\x1b\\" if self.screen else sequence


def _version(environ: Mapping[str, str]) -> tuple[int, ...]:
    parts = environ.get("TERM_PROGRAM_VERSION", "").split(".")
    return tuple(int(part) for part in parts if part.isdigit())


class TerminalSignals:
    """write: to the terminal. settings(): those of now. focused(): the terminal is in front, as
    far as it tells. apply() takes every event but deltas."""

    def __init__(
        self,
        write: Callable[[str], None],
        settings: Callable[[], Any],
        focused: Callable[[], bool],
        *,
        environ: Mapping[str, str] | None = None,
        mark: str = "●",
    ) -> None:
        self._write, self._settings, self._focused = write, settings, focused
        self._terminal = Terminal(environ)
        self._mark = mark
        self._folder = ""
        self._working = False
        self._asks: set[str] = set()
        self._reason = ""
        self._title: str | None = None
        self._progress = ""

    def folder(self, name: str) -> None:
        """The last part of the working folder, for the title."""
        self._folder = one_line(name)
        self.refresh()

    def apply(self, event: "AnyEvent") -> None:
        match event.type:
            case "status":
                self._status(event.status)
            case "agent_end":
                self._reason = event.reason
            case "permission_request" | "server_question":
                self._asks.add(event.request_id)
                self._tell("a question waits for you")
                self.refresh()
            case "permission_resolved" | "server_question_resolved":
                self._asks.discard(event.request_id)
                self.refresh()
            case _:
                pass

    def _status(self, status: str) -> None:
        was, self._working = self._working, status != "ready"
        if was and not self._working:
            self._asks.clear()
            if "stopped by the user" not in self._reason:
                failed = self._reason.startswith("the request failed")
                self._tell("the request failed" if failed else "the answer is there")
        self.refresh()

    # --- what is written -------------------------------------------------------------------

    def refresh(self) -> None:
        """Title and progress as they are to be now; writes only what differs."""
        settings = self._settings()
        title = self._words() if getattr(settings, "terminal_title", True) else None
        if title != self._title and self._terminal.osc:
            if self._title is None:
                self._write("\x1b[22;2t")  # the title of now comes back at the end
            self._write("\x1b[23;2t" if title is None else f"\x1b]2;{title}\x07")
            self._title = title
        progress = self._state() if self._shows_progress(settings) else ""
        if progress != self._progress:
            self._write(f"\x1b]9;4;{progress or '0'}\x07")
            self._progress = progress

    @property
    def undo(self) -> str:
        """What takes back everything that was written."""
        title = "\x1b[23;2t" if self._title is not None else ""
        return ("\x1b]9;4;0\x07" if self._progress else "") + title

    def end(self) -> None:
        self._write(self.undo)
        self._title, self._progress = None, ""

    def _words(self) -> str:
        name = f"{self._folder} - {NAME}" if self._folder else NAME
        if self._asks:
            return f"? {name}"
        return f"{self._mark} {name}" if self._working else name

    def _state(self) -> str:
        """3: under way, nobody knows how far; 4: it waits."""
        if self._asks:
            return "4;100"
        return "3" if self._working else ""

    def _shows_progress(self, settings: Any) -> bool:
        wanted = getattr(settings, "progress", "auto")
        return (
            self._terminal.shows_progress
            if wanted == "auto"
            else (wanted == "on" and self._terminal.osc)
        )

    def _tell(self, words: str) -> None:
        """A notification, where nobody looks."""
        if self._focused():
            return
        wanted = getattr(self._settings(), "notify", "auto")
        if wanted == "auto":
            wanted = "osc9" if self._terminal.shows_osc9 else "bell"
        if wanted == "osc9" and self._terminal.osc:
            folder = f" in {self._folder}" if self._folder else ""
            self._write(self._terminal.passed_on(f"\x1b]9;{NAME}{folder}: {words}\x07"))
        elif wanted != "off":
            self._write("\x07")


def one_line(text: str) -> str:
    """Foreign text fit for a title: no control characters, not long."""
    return cut(" ".join(SafeText(text).split()), _LONGEST)
