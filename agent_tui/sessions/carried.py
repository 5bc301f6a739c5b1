"""Queued messages that went along into another session (a `/clear` or `/resume` that had waited
in the queue, with something behind it).

They are recorded in the new session first and withdrawn from the old one after that. When the
program was killed in between, both files hold them: the new one has them then.
"""

import json
import logging
import mmap
from collections.abc import Collection, Iterator
from pathlib import Path

log = logging.getLogger(__name__)

SLACK_S = 120.0
"""The other file was written at about the same time as the last line of this one, or later."""


def carried_from(path: Path, session_id: str, item_ids: Collection[str], suffix: str) -> set[str]:
    """Which of these items of the session in `path` another session says it took over.

    Looks into the files of all folders that were changed since. Blocking; what cannot be read
    says nothing.
    """
    found: set[str] = set()
    wanted = set(item_ids)
    if not wanted:
        return found
    marker = f'"session_id":"{session_id}"'.encode()
    try:
        since = path.stat().st_mtime - SLACK_S
        others = [
            other
            for other in path.parent.parent.glob(f"*/*{suffix}")
            if other != path and other.stat().st_mtime >= since
        ]
    except OSError as error:
        log.info("other sessions could not be looked at: %s", error)
        return found
    for other in others:
        try:
            found |= wanted.intersection(_taken_over(other, marker))
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            log.info("%s could not be looked at: %s", other, error)
    return found


def _taken_over(path: Path, marker: bytes) -> Iterator[str]:
    """Ids of the items added behind the record that names the other session."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(b'{"type":"carried"')
        while at >= 0:
            end = data.find(b"\n", at)
            if marker in data[at : end if end >= 0 else len(data)]:
                break
            at = data.find(b'{"type":"carried"', at + 1)
        if at < 0:
            return
        data.seek(at)
        while line := data.readline():
            if line.startswith(b'{"type":"queue"') and b'"op":"add"' in line:
                try:
                    yield str(json.loads(line).get("item_id"))
                except ValueError:
                    continue  # a torn line holds nothing
