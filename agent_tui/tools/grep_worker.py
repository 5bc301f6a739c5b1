r"""grep's worker: a process of its own, because a pattern such as `(a+)+$` can keep Python's
`re` busy for ever, and it holds the interpreter's lock meanwhile. A process can be ended.

In: one JSON line {root, file, pattern, glob, max_matches, seconds}. Out: JSON lines
{"path", "line", "text"} and at the end {"files", "binary", "unreadable", "ignored",
"more", "timed_out"}. Standard library and globbing.py only: it starts in some 30 ms.
"""

import contextlib
import json
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any

from agent_tui.tools.globbing import Glob, Walk

_HEAD = 8192
_LINE_BYTES = 1024 * 1024
_MAX_UTF16_BYTES = 20 * 1024 * 1024
_MAX_TEXT = 400
_BEFORE_MATCH = 100


def main() -> None:
    """Read the request, search, print; ends itself when its time is over."""
    request: dict[str, Any] = json.loads(sys.stdin.readline())
    # The default action of SIGALRM ends the process even inside one long match, and also
    # when the program that started it is gone.
    signal.alarm(int(request["seconds"]) + 2)
    with contextlib.suppress(BrokenPipeError):
        search(request)
        sys.stdout.flush()


def search(request: dict[str, Any]) -> None:
    """Print every match of the request, then the summary."""
    pattern = re.compile(request["pattern"])
    deadline = time.monotonic() + request["seconds"]
    glob = Glob(request["glob"]) if request["glob"] else None
    left = request["max_matches"]
    walk = Walk(request["root"], glob, deadline)
    summary = {"files": 0, "binary": 0, "more": False, "timed_out": False}
    for path, full in _files(request, walk):
        try:
            for number, line in _lines(full, summary):
                if time.monotonic() > deadline:
                    summary["timed_out"] = True
                    break
                if (match := pattern.search(line)) is None:
                    continue
                if left == 0:
                    summary["more"] = True
                    break
                left -= 1
                _print({"path": path, "line": number, "text": _excerpt(line, match.start())})
        except OSError:
            walk.unreadable += 1
        if summary["more"] or summary["timed_out"]:
            break
    _print(
        summary
        | {
            "unreadable": walk.unreadable,
            "ignored": walk.ignored,
            "timed_out": summary["timed_out"] or walk.timed_out,
        }
    )


def _files(request: dict[str, Any], walk: Walk) -> Iterator[tuple[str, str]]:
    if request["file"]:
        yield "", request["file"]
        return
    for found in walk:
        if not found.is_folder and found.entry.is_file(follow_symlinks=False):
            yield found.relative, found.entry.path


def _lines(path: str, summary: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file. A line of more than 1 MB comes in pieces."""
    # Not blocking, so that a pipe put in a file's place cannot hold the search up.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        head = file.read(_HEAD)
        size = os.fstat(descriptor).st_size
        utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff")) and size <= _MAX_UTF16_BYTES
        if b"\0" in head and not utf16:
            summary["binary"] += 1
            return
        summary["files"] += 1
        if utf16:
            text = (head + file.read()).decode("utf-16", "replace")
            yield from enumerate(text.replace("\r\n", "\n").split("\n"), 1)
            return
        file.seek(3 if head.startswith(b"\xef\xbb\xbf") else 0)
        number = 1
        while line := file.readline(_LINE_BYTES):
            ended = line.endswith(b"\n")
            yield number, line.rstrip(b"\r\n").decode("utf-8", "replace")
            number += ended


def _excerpt(line: str, at: int) -> str:
    if len(line) <= _MAX_TEXT:
        return line
    start = max(0, at - _BEFORE_MATCH)
    end = start + _MAX_TEXT
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _print(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
