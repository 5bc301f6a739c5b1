"""FileCompleter: what an @ may become, while it is typed. Files are listed and compared in
threads; complete() gives at once what is known, and `changed` says that there is more to know.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_tui.conversation.mentions import syntax
from agent_tui.conversation.mentions.file_list import FileList, children, list_files
from agent_tui.conversation.mentions.ranking import NotWanted, Query, best, is_hidden
from agent_tui.tools.workspace import in_thread

log = logging.getLogger(__name__)

STALE_S = 3.0
"""A list so old (seconds) is made anew when somebody types an @; one that took long to make may
be ten times older than it took."""

LONGEST = 500
"""Characters; nothing is offered for a longer text."""

READING = "reading the folder"

Offer = tuple[str, str]
"""What would stand behind the @, and a word about it."""


class FileCompleter:
    """Of one working folder. recent: what was named before, as it stands behind an @, the
    latest first. On one event loop, which it never holds up."""

    def __init__(self, cwd: str, recent: Callable[[], Sequence[str]] = tuple) -> None:
        self._cwd = cwd
        self._recent = recent
        self.changed: Callable[[], None] = lambda: None
        self._list: FileList | None = None
        self._listed_at = float("-inf")
        self._listing: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looking_for = ""
        self._typed = ""
        self._found: list[str] = []
        self._complete_for: tuple[str, int] | None = None
        self._version = 0
        """Of the list: grows when files came or went."""
        self._failure = ""

    def complete(self, typed: str) -> list[Offer]:
        """What is known now for what stands behind the @ (a quote may be open)."""
        path = syntax.named_so_far(typed)
        if len(path) > LONGEST or "\0" in path:
            return []
        self._refresh(path)
        if self._complete_for != (path, self._version):
            self._look_for(path)
        if path != self._typed:
            # Of what was found for the text before, what still fits; the rest follows.
            fits = Query.of(path).fits
            found = [one for one in self._found if fits(one.casefold())]
        else:
            found = self._found
        offers = [(syntax.written(one), "folder" if one.endswith("/") else "") for one in found]
        if self._list is None and self._listing is not None and not _is_elsewhere(path):
            return [*offers, (typed, READING)]
        if self._failure and not offers:
            return [(typed, self._failure)]
        note = self._list.note if self._list is not None and not _is_elsewhere(path) else ""
        return [*offers, (typed, note)] if note else offers

    @property
    def busy(self) -> bool:
        """More may become known; `changed` is called then."""
        return self._listing is not None or (self._looking is not None and not self._looking.done())

    def close(self) -> None:
        """Nothing is looked for any more."""
        for task in (self._listing, self._looking):
            if task is not None:
                task.cancel()

    # --- the list ------------------------------------------------------------------------

    def _refresh(self, path: str) -> None:
        if self._listing is not None or _is_elsewhere(path):
            return
        now = asyncio.get_running_loop().time()
        taken = self._list.seconds if self._list is not None else 0.0
        if now - self._listed_at > max(STALE_S, 10 * taken):
            self._listing = asyncio.create_task(self._list_anew(), name="list files")

    async def _list_anew(self) -> None:
        self._failure = ""
        try:
            before = self._list
            listed = await in_thread(lambda stop: list_files(self._cwd, stop, before))
            self._version += listed.changed
            self._list = listed
        except OSError as error:
            log.info("the working folder could not be listed", exc_info=True)
            self._failure = f"the folder cannot be read: {error.strerror or error}"
            self._list = FileList()
        finally:
            self._listing = None
            self._listed_at = asyncio.get_running_loop().time()
        self._looking_for = ""
        self.changed()

    # --- the search ----------------------------------------------------------------------

    def _look_for(self, path: str) -> None:
        looking = self._looking is not None and not self._looking.done()
        if looking and self._looking_for == path:
            return
        if looking and self._looking is not None:
            self._looking.cancel()
        self._looking_for = path
        self._looking = asyncio.create_task(self._look(path), name="complete @")

    async def _look(self, path: str) -> None:
        if self._list is None and not _is_elsewhere(path):
            return  # the list is under way, and asks again when it is there
        listed, version = self._list or FileList(), self._version
        recent = list(self._recent())
        try:
            self._found = await in_thread(lambda stop: self._search(path, listed, recent, stop))
            self._failure = ""
        except NotWanted:
            return
        except OSError as error:
            self._found = []
            self._failure = f"cannot be read: {error.strerror or error}"
        self._typed, self._complete_for = path, (path, version)
        self.changed()

    def _search(
        self, path: str, listed: FileList, recent: Sequence[str], stop: threading.Event
    ) -> list[str]:
        """In a thread."""

        def wanted() -> bool:
            return not stop.is_set()

        named = {syntax.named_so_far(one): age for age, one in enumerate(recent)}
        if _is_elsewhere(path):
            return self._search_elsewhere(path, named, wanted)
        path = path.removeprefix("./") if path != "./" else ""
        if not path or path.endswith("/"):
            return self._browse(path, listed, named, wanted)
        found = best(listed.paths, listed.folded, Query.of(path), named, wanted)
        return [one for one in found if _exists(self._cwd, one)]

    def _browse(
        self, folder: str, listed: FileList, named: dict[str, int], wanted: Callable[[], bool]
    ) -> list[str]:
        """What is right in a folder; in the working folder what was named before comes first."""
        within = len(folder)
        inside = [
            one
            for one in listed.paths
            if one.startswith(folder) and one != folder and "/" not in one[within:-1]
        ]
        if not inside and folder:
            inside = children(str(Path(self._cwd, folder)), folder, wanted)
        shown = [one for one in inside if not is_hidden(one[within:])]
        first = [] if folder else [one for one in named if _exists(self._cwd, one)][:5]
        rest = sorted((one for one in shown if one not in first), key=_folders_first)
        return [*first, *rest][:200]

    def _search_elsewhere(
        self, path: str, named: dict[str, int], wanted: Callable[[], bool]
    ) -> list[str]:
        """`~/`, `../` and absolute paths: one folder at a time."""
        if path in ("~", ".."):
            return [f"{path}/"]
        shown_as, _, name = path.rpartition("/")
        shown_as += "/"
        folder = Path(self._cwd, os.path.expanduser(shown_as))  # noqa: PTH111
        names = children(str(folder), shown_as, wanted)
        own = [one[len(shown_as) :] for one in names]
        if not name:
            return [shown_as + one for one in own if not is_hidden(one)][:200]
        query = Query.of(name)
        return [shown_as + one for one in best(own, [n.casefold() for n in own], query, {}, wanted)]


def _is_elsewhere(path: str) -> bool:
    return path.startswith(("/", "~/", "../")) or path in ("~", "..")


def _exists(cwd: str, path: str) -> bool:
    """git also lists what has been deleted."""
    return os.path.lexists(Path(cwd, os.path.expanduser(path)))  # noqa: PTH111


def _folders_first(path: str) -> tuple[bool, str]:
    return (not path.endswith("/"), path.casefold())
