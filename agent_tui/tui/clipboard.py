"""The clipboard: by a helper program where there is one, else through the terminal (OSC 52),
with an honest word about what became of it.

A helper says whether it took the text; a terminal does not, and many take only so much.
"""

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from agent_tui.text import counted, sendable

_log = logging.getLogger(__name__)

OSC52_SAFE = 74_994
"""Bytes of text that fit into the 100,000 of a sequence that common terminals take (osc52.sh of
the Chromium OS project names this bound; tmux and screen have bounds of their own)."""

HELPER_S = 3.0
"""Seconds a helper has; one that hangs (a display that is gone) must not hang the screen."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A program that takes the text on its standard input. place: what it fills."""

    command: tuple[str, ...]
    place: str = "the clipboard"

    @property
    def name(self) -> str:
        return self.command[0]


def helpers(
    environment: Mapping[str, str],
    platform: str,
    which: Callable[[str], str | None],
) -> list[Helper]:
    """The helpers that may work here, best first. In tmux its own buffer comes last: `-w` hands
    it on to the terminal outside."""
    found: list[Helper] = []
    if platform == "darwin":
        found.append(Helper(("pbcopy",)))
    if environment.get("WAYLAND_DISPLAY"):
        found.append(Helper(("wl-copy",)))
    if environment.get("DISPLAY"):
        found += [
            Helper(("xclip", "-selection", "clipboard")),
            Helper(("xsel", "--clipboard", "--input")),
        ]
    if environment.get("TERMUX_VERSION"):
        found.append(Helper(("termux-clipboard-set",)))
    if environment.get("TMUX"):
        found.append(Helper(("tmux", "load-buffer", "-w", "-"), "tmux's buffer"))
    return [helper for helper in found if which(helper.name)]


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of a copy. helper: the program that took it; None: none did. terminal: it was
    sent to the terminal as well, or alone. failed: helpers that did not take it, and why."""

    characters: int
    bytes: int
    helper: Helper | None = None
    terminal: bool = False
    failed: tuple[str, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Nobody has confirmed it."""
        return self.helper is None

    def sentence(self, what: str = "") -> str:
        """`Copied the last answer (1,234 characters) with wl-copy`."""
        size = counted(self.characters, "character")
        named = f"{what} ({size})" if what else size
        why = f" {'; '.join(self.failed)}." if self.failed else ""
        if self.helper is not None:
            place = "" if self.helper.place == "the clipboard" else f" into {self.helper.place}"
            by = "" if PurePath(self.helper.name).name in place else f" with {self.helper.name}"
            return f"Copied {named}{place}{by}.{why}"
        if self.bytes > OSC52_SAFE:
            return (
                f"Sent {named} to the terminal (OSC 52), but many terminals take at most "
                f"{OSC52_SAFE:,} bytes and this is {self.bytes:,}: look before you rely on it.{why}"
            )
        return f"Sent {named} to the terminal (OSC 52), which does not say whether it took it.{why}"

    def short(self, what: str, room: int) -> str:
        """sentence(), or the longest shorter one that fits into so many cells."""
        size = counted(self.characters, "character")
        if self.helper is not None:
            forms = (f"Copied {what} with {self.helper.name}.", f"Copied {size}.", "Copied.")
        else:
            forms = (
                f"Sent {what} ({size}) to the terminal (OSC 52), unconfirmed.",
                f"Sent {what} to the terminal, unconfirmed.",
                f"Sent {size}, unconfirmed.", "Sent, unconfirmed.",
            )  # fmt: skip
        whole = self.sentence(what)
        return next((form for form in (whole, *forms) if len(form) <= room), forms[-1])


async def copy(
    text: str,
    *,
    to_terminal: Callable[[str], object],
    candidates: list[Helper] | None = None,
) -> Copied:
    """Put the text on the clipboard. to_terminal: writes OSC 52. Never raises for a helper that
    fails; what it said is in the answer."""
    text = sendable(text)
    data = text.encode()
    if candidates is None:
        candidates = helpers(os.environ, sys.platform, shutil.which)
    failed: list[str] = []
    for helper in candidates:
        error = await _hand(helper, data)
        if error is None:
            # Over SSH the helper fills the clipboard of the machine there: the terminal gets it
            # too, where that is sure not to be cut.
            small = len(data) <= OSC52_SAFE
            if small:
                to_terminal(text)
            return Copied(len(text), len(data), helper, small, tuple(failed))
        _log.info("%s did not take a copy: %s", helper.name, error)
        failed.append(f"{helper.name} did not take it: {error}")
    to_terminal(text)
    return Copied(len(text), len(data), None, True, tuple(failed))


async def _hand(helper: Helper, data: bytes) -> str | None:
    """Give the text to a helper; what went wrong, None if it took it."""
    try:
        # Some helpers stay behind to serve the clipboard: they must hold no pipe of ours.
        process = await asyncio.create_subprocess_exec(
            *helper.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return error.strerror or type(error).__name__
    try:
        async with asyncio.timeout(HELPER_S):
            await process.communicate(data)
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"no answer within {HELPER_S:g} s"
    except OSError as error:
        await process.wait()
        return error.strerror or type(error).__name__
    return None if process.returncode == 0 else f"exit {process.returncode}"
