"""The Files API: what programs left in their container, and what is uploaded for them.

Downloads go to disk as they come, into a new file that only its owner can read; nothing that
is there is ever written over, and no name that a server gives can lead out of the folder.
Source: client.beta.files of the SDK.
"""

import asyncio
import contextlib
import errno
import logging
import mimetypes
import os
import secrets
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from agent_tui.messages_api.client import ApiEndpoint, make_client
from agent_tui.messages_api.errors import ApiError, map_exception
from agent_tui.text import SafeText, file_size, whole_surrogates

log = logging.getLogger(__name__)

BETA: Final = "files-api-2025-04-14"
MAX_BYTES: Final = 500_000_000
"""The service's limit for a file; neither sent nor taken beyond it."""

PREVIEW_BYTES: Final = 64 * 1024
PAGE: Final = 100
MAX_LISTED: Final = 1000
"""Files of a list, however many there are."""

MAX_NAME_BYTES: Final = 200


class FilesError(Exception):
    """Something about a file that the user can mend. str() is one sentence for them."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What the service says of a file. size in bytes; created_at, expires_at: ISO 8601.

    downloadable False: the service gives only files that programs made.
    """

    id: str
    name: str
    media_type: str = ""
    size: int | None = None
    created_at: str = ""
    expires_at: str = ""
    downloadable: bool = True

    @property
    def facts(self) -> dict[str, Any]:
        """name, media_type, size and downloadable, as faces get them."""
        return {
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
            "downloadable": self.downloadable,
        }


class FilesApi:
    """The files of one endpoint. The client is made at the first use, in a thread.

    Every method raises FilesError or errors.ApiError, each with a sentence for the user.
    """

    def __init__(
        self, endpoint: ApiEndpoint, make: Callable[[ApiEndpoint], Any] = make_client
    ) -> None:
        self._endpoint = endpoint
        self._make = make
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def list(self, limit: int = MAX_LISTED) -> list[FileInfo]:
        """Newest first, page after page, at most `limit`."""
        found: list[FileInfo] = []
        async with self._files() as files:
            page = await files.list(limit=min(PAGE, limit), betas=[BETA])
            while True:
                items: list[Any] = page.data or []
                found += [_info(item) for item in items]
                if len(found) >= limit or not items or not page.has_next_page():
                    return found[:limit]
                page = await page.get_next_page()

    async def metadata(self, file_id: str) -> FileInfo:
        async with self._files(file_id) as files:
            return _info(await files.retrieve_metadata(file_id, betas=[BETA]))

    async def head(self, file_id: str, size: int = PREVIEW_BYTES) -> bytes:
        """The first `size` bytes; the rest is not fetched."""
        taken = bytearray()
        async with self._files(file_id) as files, self._content(files, file_id) as chunks:
            async for chunk in chunks:
                taken += chunk
                if len(taken) >= size:
                    break
        return bytes(taken[:size])

    async def download(
        self, file_id: str, target: Path, *, limit: int = MAX_BYTES
    ) -> tuple[Path, int]:
        """Write the file to `target`, which must not exist, or, where that is a folder, into it
        under the service's name for it, numbered if that is taken. Gives path and bytes.

        Nothing is left of a download that fails or is cancelled. limit: bytes; more is refused.
        """
        info = await self.metadata(file_id)
        if not info.downloadable:
            raise FilesError(
                f"{SafeText(info.name)} was uploaded: the service gives back only files that "
                "programs made."
            )
        if info.size is not None and info.size > limit:
            raise FilesError(
                f"{SafeText(info.name)} has {file_size(info.size)}, more than the "
                f"{file_size(limit)} that are downloaded."
            )
        into_folder = await asyncio.to_thread(_is_folder, target)
        folder = target if into_folder else target.parent
        temporary, file = await asyncio.to_thread(_begin, folder)
        try:
            with file:
                written = await self._write(file_id, file, limit)
            name = safe_name(info.name, file_id) if into_folder else target.name
            path = await asyncio.to_thread(_place, temporary, folder, name, into_folder)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return path, written

    async def upload(self, path: Path) -> FileInfo:
        """Send a local file; its name goes with it, not its folder."""
        file, size = await asyncio.to_thread(_open, path)
        with file:
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            name = whole_surrogates(path.name)
            async with self._files() as files:
                made = await files.upload(file=(name, file, kind), betas=[BETA])
        info = _info(made)
        return info if info.size is not None else FileInfo(info.id, info.name, kind, size)

    async def delete(self, file_id: str) -> None:
        async with self._files(file_id) as files:
            await files.delete(file_id, betas=[BETA])

    # --- inside ------------------------------------------------------------------------

    async def _write(self, file_id: str, file: IO[bytes], limit: int) -> int:
        written = 0
        async with self._files(file_id) as files, self._content(files, file_id) as chunks:
            async for chunk in chunks:
                written += len(chunk)
                if written > limit:
                    raise FilesError(
                        f"The file is larger than the {file_size(limit)} that are downloaded."
                    )
                await asyncio.to_thread(_append, file, chunk)
        await asyncio.to_thread(file.flush)
        return written

    @contextlib.asynccontextmanager
    async def _files(self, file_id: str = "") -> AsyncGenerator[Any, None]:
        """client.beta.files; what it raises becomes an error with a sentence."""
        if not self._endpoint.has_files:
            raise FilesError("This provider has no Files API.")
        try:
            yield (await self._ready()).beta.files
        except (ApiError, FilesError):
            raise
        except OSError as error:
            raise FilesError(_os_sentence(error)) from error
        except Exception as error:
            mapped = map_exception(error, secrets=self._endpoint.secrets)
            if mapped.status == 404:
                which = f"file {SafeText(file_id)}" if file_id else "Files API"
                raise FilesError(f"The server has no {which} (any more).") from error
            raise mapped from error

    @contextlib.asynccontextmanager
    async def _content(
        self, files: Any, file_id: str
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        streaming = files.with_streaming_response.download(file_id, betas=[BETA])
        async with streaming as response:
            yield response.iter_bytes()

    async def _ready(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client = await asyncio.to_thread(self._make, self._endpoint)
            self._loop = loop
        return self._client


def _info(item: Any) -> FileInfo:
    """A file as the SDK has it; what a foreign server leaves out stays unknown."""
    size = getattr(item, "size_bytes", None)
    created, expires = getattr(item, "created_at", None), getattr(item, "expires_at", None)
    return FileInfo(
        id=str(item.id),
        name=str(getattr(item, "filename", None) or item.id),
        media_type=str(getattr(item, "mime_type", None) or ""),
        size=size if isinstance(size, int) else None,
        created_at=_iso(created),
        expires_at=_iso(expires),
        downloadable=getattr(item, "downloadable", None) is not False,
    )


def _iso(moment: Any) -> str:
    return moment.isoformat() if hasattr(moment, "isoformat") else str(moment or "")


# --- names and local files ----------------------------------------------------------------


def safe_name(name: str, otherwise: str) -> str:
    """A server's name for a file as a name in a folder of ours: its last part, without what a
    terminal or a shell would trip over, not hidden, not too long. otherwise: where nothing is
    left of it."""
    last = whole_surrogates(name).replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(c for c in last if c.isprintable() and SafeText(c) == c)
    kept = " ".join(kept.split()).lstrip(".-~ ").rstrip(". ")
    stem, dot, suffix = kept.rpartition(".")
    if not stem or len(suffix) > 20:
        stem, dot, suffix = kept, "", ""
    room = MAX_NAME_BYTES - len((dot + suffix).encode())
    kept = stem.encode()[:room].decode("utf-8", "ignore") + dot + suffix
    if kept:
        return kept
    plain = "".join(c for c in otherwise if c.isalnum() or c in "_-")
    return plain[:MAX_NAME_BYTES].lstrip("-") or "file"


def _is_folder(path: Path) -> bool:
    """Raises FilesError where nothing can be written."""
    if path.is_dir():
        return True
    if not path.parent.is_dir():
        raise FilesError(f"There is no folder {SafeText(path.parent)}: make it, or name another.")
    if os.path.lexists(path):
        raise FilesError(f"{SafeText(path)} exists already: name another file, or a folder.")
    return False


def _begin(folder: Path) -> tuple[Path, IO[bytes]]:
    """A file of its own for what comes, readable by its owner only."""
    temporary = folder / f".agent-tui-{secrets.token_hex(6)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        return temporary, os.fdopen(os.open(temporary, flags, 0o600), "wb")
    except OSError as error:
        raise FilesError(_os_sentence(error)) from error


def _append(file: IO[bytes], chunk: bytes) -> None:
    try:
        file.write(chunk)
    except OSError as error:
        raise FilesError(_os_sentence(error)) from error


def _place(temporary: Path, folder: Path, name: str, numbered: bool) -> Path:
    """Give the file its name, if nothing has it; numbered: else the next free one."""
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    for number in range(1, 1000):
        path = folder / (name if number == 1 else f"{stem} ({number}){dot}{suffix}")
        try:
            _link(temporary, path)
        except FileExistsError:
            if not numbered:
                raise FilesError(
                    f"{SafeText(path)} exists already: name another file, or a folder."
                ) from None
        except OSError as error:
            raise FilesError(_os_sentence(error)) from error
        else:
            return path
    raise FilesError(f"{SafeText(folder)} holds too many files named {SafeText(name)}.")


def _link(temporary: Path, path: Path) -> None:
    """As os.rename, but never over another file."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        # A file system without links: take the name first, then what belongs there.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        temporary.replace(path)


def _open(path: Path) -> tuple[IO[bytes], int]:
    """A local file to be sent, and its size."""
    try:
        # Not to wait at a pipe that nobody writes to.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise FilesError(_os_sentence(error)) from error
    facts = os.fstat(descriptor)
    problem = ""
    if not stat.S_ISREG(facts.st_mode):
        problem = "is no file that could be sent."
    elif facts.st_size == 0:
        problem = "is empty: there is nothing to send."
    elif facts.st_size > MAX_BYTES:
        size, most = file_size(facts.st_size), file_size(MAX_BYTES)
        problem = f"has {size}, more than the {most} the service takes."
    if problem:
        os.close(descriptor)
        raise FilesError(f"{SafeText(path)} {problem}")
    return os.fdopen(descriptor, "rb"), facts.st_size


def _os_sentence(error: OSError) -> str:
    where = f"{SafeText(error.filename)}: " if isinstance(error.filename, str) else ""
    return f"{where}{error.strerror or error}."
