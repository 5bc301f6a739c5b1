"""The Files API of the offline server: upload, list, look at, download, delete."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from agent_tui.offline.file_store import MAX_FILE_BYTES, FileStore, StoredFile
from agent_tui.offline.rules import ApiProblem


def file_routes(
    files: FileStore, respond: Callable[..., Any], refuse: Callable[[ApiProblem], Any]
) -> list[Any]:
    """Starlette routes below /v1/files. The beta header of the Files API is not asked for."""
    from starlette.datastructures import UploadFile
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    def found(request: Request) -> StoredFile | Response:
        file_id = request.path_params["file_id"]
        stored = files.get(file_id)
        if stored is None:
            return refuse(ApiProblem(f"File not found: {file_id}", "not_found_error", 404))
        return stored

    async def upload(request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > MAX_FILE_BYTES + 10_000:
            # A client that is still sending would not hear the answer, so it is read to its end.
            async for _ in request.stream():
                pass
            return refuse(_too_large())
        try:
            form = await request.form(max_files=1, max_part_size=MAX_FILE_BYTES)
        except HTTPException as error:
            return refuse(ApiProblem(f"file: {error.detail}"))
        try:
            part = form.get("file")
            if not isinstance(part, UploadFile):
                return refuse(ApiProblem("file: Field required"))
            data = await part.read(MAX_FILE_BYTES + 1)
        finally:
            await form.close()
        if len(data) > MAX_FILE_BYTES:
            return refuse(_too_large())
        # A quote in a name comes as %22 (the HTML standard's multipart/form-data).
        name = (part.filename or "").replace("\\", "/").rsplit("/", 1)[-1].replace("%22", '"')
        if not name or any(ord(c) < 32 for c in name) or len(name) > 255:
            return refuse(ApiProblem("file: a filename of 1 to 255 characters is required"))
        return respond(files.add(name, data, mime_type=part.content_type or "").as_json())

    async def listing(request: Request) -> Response:
        return respond(_page([file.as_json() for file in files.newest_first()], request))

    async def metadata(request: Request) -> Response:
        stored = found(request)
        return respond(stored.as_json()) if isinstance(stored, StoredFile) else stored

    async def content(request: Request) -> Response:
        stored = found(request)
        if not isinstance(stored, StoredFile):
            return stored
        if not stored.made_by_program:
            message = f"File `{stored.id}` is not downloadable: it was uploaded"
            return refuse(ApiProblem(message))
        name = quote(stored.filename)
        return Response(
            stored.data,
            media_type=stored.mime_type,
            headers={"content-disposition": f"attachment; filename*=UTF-8''{name}"},
        )

    async def delete(request: Request) -> Response:
        stored = found(request)
        if not isinstance(stored, StoredFile):
            return stored
        files.delete(stored.id)
        return respond({"id": stored.id, "type": "file_deleted"})

    return [
        Route("/v1/files", upload, methods=["POST"]),
        Route("/v1/files", listing, methods=["GET"]),
        Route("/v1/files/{file_id}", metadata, methods=["GET"]),
        Route("/v1/files/{file_id}", delete, methods=["DELETE"]),
        Route("/v1/files/{file_id}/content", content, methods=["GET"]),
    ]


def _too_large() -> ApiProblem:
    return ApiProblem("File exceeds the maximum size", "request_too_large", 413)


def _page(listed: list[dict[str, Any]], request: Any) -> dict[str, Any]:
    """A page of files with the service's cursors: page, or as it was before (after_id,
    before_id); limit."""
    query = request.query_params
    ids = [info["id"] for info in listed]
    start, end = 0, len(listed)
    after = (query.get("page") or "").removeprefix("page_") or query.get("after_id")
    if after in ids:
        start = ids.index(after) + 1
    if query.get("before_id") in ids:
        end = ids.index(query["before_id"])
    limit = query.get("limit") or "20"
    page = listed[start:end]
    shown = page[: max(1, int(limit))] if limit.isdigit() else page
    return {
        "data": shown,
        "has_more": len(shown) < len(page),
        "next_page": f"page_{shown[-1]['id']}" if len(shown) < len(page) else None,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }
