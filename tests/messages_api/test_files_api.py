"""The Files API: pages, downloads that overwrite nothing, names that lead nowhere, errors."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.messages_api import files as files_module
from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.files import FilesApi, FilesError, safe_name

KEY = "sk-ant-secret-123456"
Handler = Callable[[httpx2.Request], Any]


def entry(number: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "file", "id": f"file_{number}", "filename": f"chart {number}.png",
        "mime_type": "image/png", "size_bytes": 7, "created_at": "2026-11-30T10:00:00Z",
        "downloadable": True,
    } | more  # fmt: skip


def api(handler: Handler, **endpoint: Any) -> FilesApi:
    """A FilesApi whose requests this function answers."""

    def make(_: ApiEndpoint) -> Any:
        transport = httpx2.MockTransport(handler)
        return anthropic.AsyncAnthropic(
            api_key=KEY, max_retries=0, http_client=httpx2.AsyncClient(transport=transport)
        )

    return FilesApi(ApiEndpoint(api_key=KEY, **endpoint), make)


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


class Store:
    """Files on a server: metadata by id, content by id, requests seen."""

    def __init__(self, content: Any = b"content", **more: Any) -> None:
        self.entries = [entry(1, **more)]
        self.content = content
        self.seen: list[httpx2.Request] = []
        self.bodies: list[bytes] = []

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        parts = request.url.path.removeprefix("/v1/files").strip("/").split("/")
        if request.method == "POST":
            self.bodies.append(await request.aread())
            return httpx2.Response(200, json=entry(9, filename="up.csv", size_bytes=3))
        if parts == [""]:
            return self._page(request)
        found = next((e for e in self.entries if e["id"] == parts[0]), None)
        if found is None:
            error = {"type": "not_found_error", "message": "File not found"}
            return httpx2.Response(404, json={"type": "error", "error": error})
        if request.method == "DELETE":
            return httpx2.Response(200, json={"id": parts[0], "type": "file_deleted"})
        if parts[1:] == ["content"]:
            return httpx2.Response(200, content=self.content)
        return httpx2.Response(200, json=found)

    def _page(self, request: httpx2.Request) -> httpx2.Response:
        limit = int(request.url.params.get("limit", 20))
        start = int(request.url.params.get("page", "page_0").removeprefix("page_"))
        end = start + limit
        next_page = f"page_{end}" if end < len(self.entries) else None
        return httpx2.Response(200, json={"data": self.entries[start:end], "next_page": next_page})


# --- lists and metadata -------------------------------------------------------------------


async def test_pages_follow_one_another_up_to_the_limit() -> None:
    store = Store()
    store.entries = [entry(n) for n in range(250)]
    listed = await api(store).list()
    assert [f.id for f in listed] == [f"file_{n}" for n in range(250)]
    assert len(store.seen) == 3
    listed = await api(store).list(limit=120)
    assert len(listed) == 120
    assert len(await api(Store()).list(limit=1)) == 1


async def test_metadata() -> None:
    store = Store()
    info = await api(store).metadata("file_1")
    assert (info.name, info.media_type, info.size) == ("chart 1.png", "image/png", 7)
    assert info.created_at.startswith("2026-11-30T10:00:00")
    assert "files-api-2025-04-14" in store.seen[0].headers["anthropic-beta"]


async def test_what_a_foreign_server_leaves_out_is_unknown() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"id": "file_1", "type": "file"})

    info = await api(answer).metadata("file_1")
    assert (info.name, info.size, info.downloadable) == ("file_1", None, True)


async def test_deletion() -> None:
    store = Store()
    await api(store).delete("file_1")
    assert store.seen[-1].method == "DELETE"


# --- preview --------------------------------------------------------------------------------


async def test_a_preview_fetches_no_more_than_it_shows() -> None:
    given_out = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given_out
        while True:
            given_out += 1000
            yield b"x" * 1000

    head = await api(Store(endless())).head("file_1", 2500)
    assert len(head) == 2500
    assert given_out < 100_000


# --- downloads --------------------------------------------------------------------------------


async def test_a_download_goes_into_a_folder_under_its_name(tmp_path: Path) -> None:
    path, size = await api(Store()).download("file_1", tmp_path)
    assert path == tmp_path / "chart 1.png"
    assert (path.read_bytes(), size) == (b"content", 7)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["chart 1.png"]


async def test_a_name_that_is_taken_is_numbered_and_nothing_is_written_over(
    tmp_path: Path,
) -> None:
    (tmp_path / "chart 1.png").write_text("mine")
    (tmp_path / "chart 1 (2).png").symlink_to(tmp_path / "nowhere")
    path, _ = await api(Store()).download("file_1", tmp_path)
    assert path.name == "chart 1 (3).png"
    assert (tmp_path / "chart 1.png").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists(), "a link that leads elsewhere is not followed"


async def test_a_file_that_is_named_may_not_exist(tmp_path: Path) -> None:
    path, _ = await api(Store()).download("file_1", tmp_path / "new.png")
    assert path == tmp_path / "new.png"
    for taken in (tmp_path / "new.png", tmp_path / "link"):
        if taken.name == "link":
            taken.symlink_to(tmp_path / "nowhere")
        with pytest.raises(FilesError, match="exists already: name another"):
            await api(Store()).download("file_1", taken)
    with pytest.raises(FilesError, match="There is no folder"):
        await api(Store()).download("file_1", tmp_path / "missing" / "x.png")
    assert path.read_bytes() == b"content"


async def test_a_file_that_appears_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    target = tmp_path / "new.png"

    async def slow() -> AsyncIterator[bytes]:
        yield b"con"
        target.write_text("mine")
        yield b"tent"

    with pytest.raises(FilesError, match="exists already"):
        await api(Store(slow())).download("file_1", target)
    assert target.read_text() == "mine"
    assert names(tmp_path) == ["new.png"]


async def test_without_links_a_file_still_comes_to_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: Any, **__: Any) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(files_module.os, "link", no_links)
    (tmp_path / "chart 1.png").write_text("mine")
    path, _ = await api(Store()).download("file_1", tmp_path)
    assert (path.name, path.read_bytes()) == ("chart 1 (2).png", b"content")
    assert (tmp_path / "chart 1.png").read_text() == "mine"
    assert names(tmp_path) == ["chart 1 (2).png", "chart 1.png"]


async def test_more_than_the_limit_is_refused_before_and_while_it_comes(tmp_path: Path) -> None:
    with pytest.raises(FilesError, match="more than the 5 B"):
        await api(Store()).download("file_1", tmp_path, limit=5)
    store = Store(b"x" * 100, size_bytes=3)
    with pytest.raises(FilesError, match="larger than the 50 B"):
        await api(store).download("file_1", tmp_path, limit=50)
    assert names(tmp_path) == []


@pytest.mark.parametrize("ending", ["breaks", "cancelled"])
async def test_nothing_is_left_of_a_download_that_does_not_end(tmp_path: Path, ending: str) -> None:
    came = asyncio.Event()

    async def broken() -> AsyncIterator[bytes]:
        yield b"con"
        came.set()
        if ending == "breaks":
            raise httpx2.ReadError("gone")
        await asyncio.Event().wait()

    task = asyncio.create_task(api(Store(broken())).download("file_1", tmp_path))
    if ending == "breaks":
        with pytest.raises(ApiError):
            await task
    else:
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert names(tmp_path) == []


async def test_an_upload_cannot_be_downloaded_again_and_that_is_said(tmp_path: Path) -> None:
    store = Store(downloadable=False)
    with pytest.raises(FilesError, match="only files that programs made"):
        await api(store).download("file_1", tmp_path)
    assert not any(r.url.path.endswith("/content") for r in store.seen)


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("chart.png", "chart.png"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/etc/shadow", "shadow"),
        ("..", "file_1"),
        (".", "file_1"),
        ("", "file_1"),
        ("/", "file_1"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("~", "file_1"),
        ("a\nb\x00c\x1b[31m.txt", "abc[31m.txt"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("a  b .txt", "a b .txt"),
        ("Zürich 北京 😀.csv", "Zürich 北京 😀.csv"),
        ("x" * 300 + ".csv", "x" * 196 + ".csv"),
        ("dots...", "dots"),
    ],
)
def test_a_servers_name_leads_nowhere(name: str, made: str) -> None:
    assert safe_name(name, "file_1") == made


@given(st.text(max_size=300), st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_name_is_one_of_a_file_in_the_folder(name: str, otherwise: str) -> None:
    made = safe_name(name, otherwise)
    assert made and made not in (".", "..") and not made.startswith((".", "-", "~"))
    assert not {"/", "\\", "\0", "\n"} & set(made) and made.isprintable()
    assert len(made.encode()) <= 200
    assert Path("/folder", made).parent == Path("/folder")


async def test_a_name_from_the_server_stays_in_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    path, _ = await api(Store(filename="../../../out.txt")).download("file_1", inner)
    assert path == inner / "out.txt"
    assert names(tmp_path) == ["in"]


# --- uploads ---------------------------------------------------------------------------------


async def test_an_upload_sends_the_file_and_its_name_only(tmp_path: Path) -> None:
    store = Store()
    path = tmp_path / "some folder" / "sales.csv"
    path.parent.mkdir()
    path.write_text("a,b\n")
    info = await api(store).upload(path)
    assert (info.id, info.size) == ("file_9", 3)
    (body,) = store.bodies
    assert b'filename="sales.csv"' in body and b"a,b\n" in body and b"text/csv" in body
    assert b"some folder" not in body


async def test_what_cannot_be_sent_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "big").write_bytes(b"x" * 100)
    monkeypatch.setattr(files_module, "MAX_BYTES", 50)
    for name, why in (
        ("missing", "No such file"),
        ("empty", "nothing to send"),
        ("pipe", "no file that could be sent"),
        (".", "no file that could be sent"),
        ("big", "more than the 50 B"),
    ):
        async with asyncio.timeout(5):
            with pytest.raises(FilesError, match=why):
                await api(store).upload(tmp_path / name)
    assert store.seen == []


# --- errors ----------------------------------------------------------------------------------


async def test_a_file_that_is_gone_is_named() -> None:
    with pytest.raises(FilesError, match=r"no file file_7 \(any more\)"):
        await api(Store()).metadata("file_7")


async def test_a_server_without_the_files_api_is_said() -> None:
    with pytest.raises(FilesError, match="no Files API"):
        await api(lambda _: httpx2.Response(404, json={})).list()
    with pytest.raises(FilesError, match="no Files API"):
        await api(Store(), provider="bedrock").list()


async def test_other_errors_are_sentences_without_the_key() -> None:
    def refuse(_: httpx2.Request) -> httpx2.Response:
        error = {"type": "authentication_error", "message": f"invalid key {KEY}"}
        return httpx2.Response(401, json={"type": "error", "error": error})

    with pytest.raises(ApiError) as caught:
        await api(refuse).list()
    assert caught.value.kind == "authentication" and KEY not in str(caught.value)
