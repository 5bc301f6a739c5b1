"""What was sent in a folder, kept for later starts: a private file, a line each, bounded.

Two programs in one folder append to the same file; each line is written at once.
"""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent_tui import paths
from agent_tui.paths import folder_slug
from agent_tui.tui.input_history import InputHistory

log = logging.getLogger(__name__)

LONGEST = 20_000
"""Characters; a longer message is not kept."""
MOST_BYTES = 8_000_000
"""Read of a file: its end."""


class KeptHistory:
    """Fills `past` from the file and adds to the file what is added to it from then on.

    One thread does the work in order; flush() waits for it. Nothing here raises: what cannot be
    read or written is logged, and the history is that of this start alone.
    """

    def __init__(self, past: InputHistory) -> None:
        self._past = past
        self._file: Path | None = None
        self._size = 0
        self._torn = False
        """The last line has no end: a program was killed while it wrote."""
        self._worker: ThreadPoolExecutor | None = None

    def open(self, cwd: str, size: int) -> list[str]:
        """What is kept for this folder, oldest first, at most `size`; add() writes there from
        now on. size 0: nothing is read or written. Not for the event loop."""
        if size <= 0:
            self.close()
            return []
        try:
            self._file = paths.history_dir() / f"{folder_slug(cwd)}.jsonl"
            self._size = size
            return self._read()
        except OSError as error:
            log.warning("the history of what was sent cannot be used: %s", error)
            self._file = None
            return []

    def take(self, entries: list[str]) -> None:
        """On the event loop: put what open() gave before what was sent since the start."""
        self._past.put_before(entries)
        self._past.added = self._add

    def _add(self, text: str) -> None:
        if self._file is None or len(text) > LONGEST:
            return
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="history")
        self._worker.submit(self._append, self._file, text)

    def close(self) -> None:
        """Nothing is written any more; what was asked for is."""
        self._file = None
        if self._worker is not None:
            self._worker.shutdown(wait=True)
            self._worker = None

    # --- the file ------------------------------------------------------------------------

    def _append(self, file: Path, text: str) -> None:
        try:
            with paths.private_open(file, "ab") as out:
                if self._torn:
                    out.write(b"\n")
                    self._torn = False
                out.write(json.dumps(text).encode("ascii") + b"\n")
        except OSError as error:
            log.warning("what was sent could not be kept: %s", error)

    def _read(self) -> list[str]:
        assert self._file is not None
        try:
            with self._file.open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - MOST_BYTES))
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return []
        self._torn = lines[-1] != b""
        entries = [text for line in lines if (text := _text(line)) is not None]
        if len(lines) > 2 * self._size + 1:
            kept = b"".join(
                json.dumps(text).encode("ascii") + b"\n" for text in entries[-self._size :]
            )
            paths.write_private_atomic(self._file, kept)
        return entries[-self._size :]


def _text(line: bytes) -> str | None:
    """None for a line that was cut or is no text."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, str) and found.strip() else None
