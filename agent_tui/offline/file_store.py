"""The files of the Files API: uploaded by clients, or written by programs. In memory."""

import mimetypes
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agent_tui.offline.wire import make_id

MAX_FILE_BYTES = 32 * 1024 * 1024
"""The largest file that is taken."""


@dataclass(slots=True, frozen=True)
class StoredFile:
    """made_by_program: only such files may be downloaded, as with the service."""

    id: str
    filename: str
    mime_type: str
    data: bytes = field(repr=False)
    created_at: float
    made_by_program: bool

    def as_json(self) -> dict[str, Any]:
        created = datetime.fromtimestamp(self.created_at, UTC).isoformat(timespec="microseconds")
        return {
            "type": "file",
            "id": self.id,
            "size_bytes": len(self.data),
            "created_at": created.replace("+00:00", "Z"),
            "filename": self.filename,
            "mime_type": self.mime_type,
            "downloadable": self.made_by_program,
        }


class FileStore:
    """Files by id, the newest last. Beyond the budget (bytes in all) the oldest are dropped."""

    def __init__(self, budget: int = 256_000_000) -> None:
        self._files: dict[str, StoredFile] = {}
        self._budget = budget
        self._used = 0

    def add(
        self, filename: str, data: bytes, *, mime_type: str = "", made_by_program: bool = False
    ) -> StoredFile:
        kind = mime_type or mimetypes.guess_type(filename)[0] or "application/octet-stream"
        stored = StoredFile(
            id=make_id("file_", uuid.uuid4().hex),
            filename=filename,
            mime_type=kind,
            data=data,
            created_at=time.time(),
            made_by_program=made_by_program,
        )
        self._files[stored.id] = stored
        self._used += len(data)
        while self._used > self._budget and len(self._files) > 1:
            self.delete(next(iter(self._files)))
        return stored

    def get(self, file_id: str) -> StoredFile | None:
        return self._files.get(file_id)

    def delete(self, file_id: str) -> bool:
        stored = self._files.pop(file_id, None)
        if stored is not None:
            self._used -= len(stored.data)
        return stored is not None

    def newest_first(self) -> list[StoredFile]:
        return list(reversed(self._files.values()))
