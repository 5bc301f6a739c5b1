"""The files of a folder, without what git ignores. Blocking: for a thread.

In a git work tree git itself says which (nested .gitignore files, .git/info/exclude and the
user's own list of ignored files included); elsewhere the walk of the tools does, which knows
.gitignore as well.
"""

import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from agent_tui.text import count
from agent_tui.tools.globbing import Walk

log = logging.getLogger(__name__)

MOST = 300_000
"""Files that are listed; of larger folders these."""

SECONDS = 20.0
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class FileList:
    """paths: relative, with /; folders end with one. folded: the same without their case.
    note: what is missing, in a few words, or ""."""

    paths: list[str] = field(default_factory=list[str])
    folded: list[str] = field(default_factory=list[str])
    note: str = ""
    seconds: float = 0.0
    """How long it took to list them."""
    changed: bool = True
    """It differs from the list before."""


def list_files(
    folder: str, stop: threading.Event, before: FileList | None = None, most: int = MOST
) -> FileList:
    """All of them, until `most` or SECONDS. before: the list of the last time."""
    began = time.monotonic()
    found: list[str] = []
    note = _take(found, _of_git(folder, stop), most, began, stop)
    if not found and not note:
        note = _take(found, _of_walk(folder, stop), most, began, stop)
    paths = [*_folders_of(found), *found]
    took = time.monotonic() - began
    if before is not None and before.note == note and before.paths == paths:
        return replace(before, seconds=took, changed=False)
    return FileList(paths, [path.casefold() for path in paths], note, took)


def _take(
    into: list[str], source: Iterator[str], most: int, began: float, stop: threading.Event
) -> str:
    """Fill `into`; what is left out, in words."""
    for path in source:
        if len(into) == most:
            return f"only the first {count(most)} files of this folder are listed"
        into.append(path)
        if len(into) % 1024 == 0:
            if stop.is_set():
                return "the listing was stopped"
            if time.monotonic() - began > SECONDS:
                return f"only what was found within {SECONDS:.0f} s is listed"
    return ""


def _folders_of(paths: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    for path in paths:
        at = path.rfind("/", 0, len(path) - 1)
        while at > 0 and (folder := path[: at + 1]) not in seen:
            seen.add(folder)
            yield folder
            at = path.rfind("/", 0, at)


def _of_git(folder: str, stop: threading.Event) -> Iterator[str]:
    git = shutil.which("git")
    if git is None:
        return
    # A repository's own settings may name programs that git would run: none is needed here.
    command = [
        git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", folder,
        "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate",
    ]  # fmt: skip
    environ = os.environ | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environ, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        log.info("git could not list the files: %s", error)
        return
    assert process.stdout is not None
    watch = threading.Timer(SECONDS, process.kill)
    watch.daemon = True
    watch.start()
    try:
        rest = b""
        while not stop.is_set() and (block := process.stdout.read(_BLOCK)):
            *names, rest = (rest + block).split(b"\0")
            for name in names:
                yield os.fsdecode(name)
    finally:
        watch.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


def _of_walk(folder: str, stop: threading.Event) -> Iterator[str]:
    walk = Walk(os.path.realpath(folder), None, time.monotonic() + SECONDS, stop.is_set)
    for found in walk:
        if not found.is_folder:
            yield found.relative


def children(folder: str, shown_as: str, wanted: Callable[[], bool]) -> list[str]:
    """What is in one folder, under the name it was typed by ("~/", "../src/"). Raises OSError."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(names) % 1024 == 0 and not wanted():
                break
            if len(names) == MOST:
                break
            names.append(f"{shown_as}{entry.name}{'/' if _is_folder(entry) else ''}")
    return sorted(names)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
