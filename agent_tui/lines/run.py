"""run_lines: the terminal, the signals and the exit code around a LinesFace."""

import asyncio
import logging
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

from agent_tui.lines.face import LinesFace, Open
from agent_tui.lines.terminal import Discipline, Out
from agent_tui.terminal_locale import terminal_encoding

log = logging.getLogger(__name__)

PATIENCE_S = 5.0
"""So long an ordered end may take; then the process ends by force, its terminal put back."""

MOST_TYPED = 256
"""Bytes; more at once is a paste."""

PIECES_WITHIN_S = 0.05
"""The pieces of a paste follow each other within this."""

_BY_SIGNAL = {"SIGTERM": 143, "SIGHUP": 129}


def run_lines(*, settings: Any, open_: Open, first_prompt: str = "") -> int:
    """Exit codes: 0 the user left, 1 an unexpected error (the log is named), 129 and 143 by
    signal."""
    discipline = Discipline(sys.stdin.fileno())
    discipline.enter()
    out = Out(sys.stdout.fileno(), terminal_encoding())
    try:
        return asyncio.run(_run(settings, open_, first_prompt, discipline, out))
    except Exception:
        log.exception("the plain lines ended by an unexpected error")
        out.write("agent-tui ended by an unexpected error. The conversation so far is kept.\n")
        return 1
    finally:
        out.flush()
        discipline.leave()


async def _run(
    settings: Any, open_: Open, first_prompt: str, discipline: Discipline, out: Out
) -> int:
    encoding = terminal_encoding()
    face = LinesFace(out, open_, settings=settings, first_prompt=first_prompt, encoding=encoding)
    loop = asyncio.get_running_loop()

    def end(code: int) -> None:
        _watch(code, discipline)
        face.leave(code)

    for name, code in _BY_SIGNAL.items():
        with suppress(AttributeError, NotImplementedError):
            loop.add_signal_handler(getattr(signal, name), end, code)
    with suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, face.interrupt)

        def back() -> None:
            discipline.enter()
            face.editor.say("Back.")

        def stop() -> None:
            # The shell gets the terminal as it was.
            discipline.leave()
            os.kill(os.getpid(), signal.SIGSTOP)

        loop.add_signal_handler(signal.SIGTSTP, stop)
        loop.add_signal_handler(signal.SIGCONT, back)

    def hung_up() -> None:
        face.leave(129)

    _read(loop, face, hung_up)
    return await face.run()


def _read(loop: asyncio.AbstractEventLoop, face: LinesFace, ended: Any) -> None:
    """What is typed, in a thread: a descriptor of any kind can be read so."""
    fd = sys.stdin.fileno()

    def read() -> None:
        with suppress(RuntimeError):  # the event loop ended first
            while True:
                data = read_typed(fd)
                if not data:
                    loop.call_soon_threadsafe(ended)
                    return
                loop.call_soon_threadsafe(face.editor.feed, data)

    threading.Thread(target=read, name="read keys", daemon=True).start()


def read_typed(fd: int) -> bytes:
    """What was typed or pasted, b"" at the end. Blocking. A paste comes in pieces, as a terminal's
    buffer is small: they are one, wherever they are parted."""
    data = bytearray()
    with suppress(OSError):
        data += (piece := os.read(fd, 65_536))
        while len(piece) > MOST_TYPED and select.select([fd], [], [], PIECES_WITHIN_S)[0]:
            data += (more := os.read(fd, 65_536))
            piece = piece if more else b""
    return bytes(data)


def _watch(code: int, discipline: Discipline) -> None:
    def force() -> None:
        log.error("leaving did not settle within %s s: exit forced", PATIENCE_S)
        discipline.leave()
        os._exit(code)

    timer = threading.Timer(PATIENCE_S, force)
    timer.daemon = True
    timer.start()
