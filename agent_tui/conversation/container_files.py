"""ContainerFiles: the files of a conversation's container: their names, what is uploaded."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent_tui.agent.messages import ContainerUpload, UserMessage
from agent_tui.conversation.container_watch import ContainerWatch
from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.files import FileInfo, FilesApi, FilesError

log = logging.getLogger(__name__)

NAMES_ASKED = 50
"""Files whose names are asked for at once, at most; the others are shown by their ids."""

NAMES_S = 3.0
"""Seconds that a command waits for names; what is not told by then is shown without."""


class ContainerFiles:
    """One for a conversation. api: the Files API of its endpoint. The names of files that
    programs make are asked for by themselves, in the background."""

    def __init__(self, endpoint: ApiEndpoint, watch: ContainerWatch) -> None:
        self.api = FilesApi(endpoint)
        self._has_files = endpoint.has_files
        self._watch = watch
        self._attached: list[ContainerUpload] = []
        self.record: Callable[[list[ContainerUpload]], object] = lambda uploads: None
        """Gets what waits, to be kept over a restart. What goes out with a message is kept by
        that message's own record."""
        self._tasks: set[asyncio.Task[None]] = set()
        watch.tell_files_to(self._found)

    # --- what goes out with the next message ---------------------------------------------

    @property
    def attached(self) -> list[ContainerUpload]:
        return list(self._attached)

    async def upload(self, path: Path) -> FileInfo:
        """Send a local file; it goes into the container with the user's next message.

        Raises FilesError, ApiError.
        """
        info = await self.api.upload(path)
        self._watch.know_file(info.id, info.facts)
        self._attached.append(ContainerUpload(file_id=info.id, name=info.name, size=info.size))
        self.record(self.attached)
        self._tell()
        return info

    def attach_to(self, message: UserMessage) -> UserMessage:
        """The message with what waits for it."""
        if not self._attached:
            return message
        uploads = [*message.uploads, *self._attached]
        self.enter([])
        return message.model_copy(update={"uploads": uploads})

    def enter(self, waiting: list[ContainerUpload]) -> None:
        """These wait now, those of a session that is gone on with; the others stay in theirs."""
        if waiting != self._attached:
            self._attached = list(waiting)
            self._tell()

    def give_back(self, message: object) -> None:
        """A message that is not sent after all: what it held waits for the next."""
        if isinstance(message, UserMessage) and message.uploads:
            self._attached = [*message.uploads, *self._attached]
            self.record(self.attached)
            self._tell()

    def _tell(self) -> None:
        self._watch.attached(
            [
                {"file_id": upload.file_id, "name": upload.name, "size": upload.size}
                for upload in self._attached
            ]
        )

    # --- names ---------------------------------------------------------------------------

    def _found(self, file_ids: list[str]) -> None:
        if not self._has_files:
            return
        try:
            task = asyncio.get_running_loop().create_task(self._ask(file_ids[:NAMES_ASKED]))
        except RuntimeError:
            return  # no loop: a conversation that is being made for a test
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def ask_names(self, file_ids: list[str]) -> list[FileInfo]:
        """What the service says of these, as far as it has said so within NAMES_S."""
        found: list[FileInfo] = []
        if self._has_files:
            with suppress(TimeoutError):
                async with asyncio.timeout(NAMES_S):
                    await self._ask(file_ids, found)
        return found

    async def _ask(self, file_ids: list[str], found: list[FileInfo] | None = None) -> None:
        for file_id in file_ids:
            try:
                info = await self.api.metadata(file_id)
            except (FilesError, ApiError) as error:
                log.info("nothing is known of the file %s: %s", file_id, error)
                if not isinstance(error, FilesError):
                    return  # the next would fail as well
            else:
                self._watch.know_file(file_id, info.facts)
                if found is not None:
                    found.append(info)

    def known(self) -> list[dict[str, Any]]:
        """The files that programs of this container made, with what is known of them."""
        last = self._watch.last
        return list(last.files) if last is not None else []

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
