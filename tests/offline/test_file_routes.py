"""The Files API of the offline server, and files on their way into and out of containers."""

import json
import urllib.request
from typing import Any

import pytest
from offline_helpers import Serve
from program_client import Client, Refused, call_api

from agent_tui.offline import OfflineServer
from agent_tui.offline.file_store import MAX_FILE_BYTES, FileStore

DONE = {"text": "That was it."}


def upload(server: OfflineServer, name: str, data: bytes, kind: str = "text/csv") -> Any:
    """POST /v1/files as the SDK does it: multipart, with the beta header."""
    edge = b"x-edge-x"
    disposition = f'form-data; name="file"; filename="{name}"'
    body = b"\r\n".join(
        [
            b"--" + edge,
            b"content-disposition: " + disposition.encode(),
            b"content-type: " + kind.encode(),
            b"",
            data,
            b"--" + edge + b"--",
            b"",
        ]
    )
    headers = {
        "content-type": f"multipart/form-data; boundary={edge.decode()}",
        "anthropic-version": "2026-10-21",
        "anthropic-beta": "files-api-2025-04-14",
    }
    sent = urllib.request.Request(server.url + "/v1/files", body, headers)
    try:
        with urllib.request.urlopen(sent, timeout=20) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        said = json.loads(error.read())["error"]
        raise Refused(error.code, said["type"], said["message"]) from None


def get(server: OfflineServer, path: str) -> Any:
    return json.loads(call_api(server, path))


def test_what_a_program_writes_can_be_downloaded(serve: Serve) -> None:
    code = "open('sums.csv', 'w').write('a,b\\n1,2\\n')\nopen('raw.bin', 'wb').write(b'\\x00\\xff')"
    client = Client(serve({"program": code}, DONE))
    client.run()
    outputs = client.outcome["content"]
    assert [set(output) for output in outputs] == [{"type", "file_id"}] * 2
    assert {output["type"] for output in outputs} == {"code_execution_output"}
    table, raw = (get(client.server, f"/v1/files/{o['file_id']}") for o in outputs)
    assert (table["filename"], table["mime_type"], table["size_bytes"]) == (
        "sums.csv", "text/csv", 8,
    )  # fmt: skip
    assert table["type"] == "file" and table["downloadable"] is True
    assert call_api(client.server, f"/v1/files/{table['id']}/content") == b"a,b\n1,2\n"
    assert call_api(client.server, f"/v1/files/{raw['id']}/content") == b"\x00\xff"


def test_an_uploaded_file_is_read_by_a_program(serve: Serve) -> None:
    code = "import os\nprint(open('data.csv').read().strip(), os.listdir(os.environ['INPUT_DIR']))"
    client = Client(serve({"program": code}, DONE))
    stored = upload(client.server, "data.csv", "größe\n7\n".encode())
    client.run(
        [
            {"type": "container_upload", "file_id": stored["id"]},
            {"type": "text", "text": "add it up"},
        ]
    )
    assert client.outcome["stdout"] == "größe\n7 ['data.csv']\n"
    assert client.outcome["content"] == [], "what was put there is no output"


def test_an_upload_makes_a_container_before_any_program_runs(serve: Serve) -> None:
    client = Client(serve({"text": "I see it."}))
    stored = upload(client.server, "a.txt", b"x")
    client.say([{"type": "container_upload", "file_id": stored["id"]}])
    assert client.state()["state"] == "created" and client.state()["programs"] == 0


def test_an_upload_that_is_not_there(serve: Serve) -> None:
    client = Client(serve(DONE))
    with pytest.raises(Refused) as error:
        client.say([{"type": "container_upload", "file_id": "file_none"}])
    assert (error.value.status, error.value.message) == (404, "File not found: file_none")


def test_an_upload_that_was_deleted_later_does_not_end_the_conversation(serve: Serve) -> None:
    client = Client(serve(DONE, {"text": "On we go."}))
    stored = upload(client.server, "a.txt", b"x")
    client.say([{"type": "container_upload", "file_id": stored["id"]}])
    call_api(client.server, f"/v1/files/{stored['id']}", method="DELETE")
    assert client.say("and?")["content"][0]["text"] == "On we go."


def test_an_upload_follows_into_the_next_container(serve: Serve) -> None:
    turns = [DONE, {"program": "print(open('a.txt').read())"}, DONE]
    client = Client(serve(*turns))
    stored = upload(client.server, "a.txt", b"still here")
    client.say([{"type": "container_upload", "file_id": stored["id"]}])
    client.container = None
    client.run("read it")
    assert client.outcome["stdout"] == "still here\n"


def test_listing_pages_newest_first(serve: Serve) -> None:
    server = serve(DONE)
    ids = [upload(server, f"{n}.txt", b"x")["id"] for n in range(5)]
    page = get(server, "/v1/files?limit=2")
    assert [f["id"] for f in page["data"]] == [ids[4], ids[3]] and page["has_more"] is True
    rest = get(server, f"/v1/files?after_id={page['last_id']}")
    assert [f["id"] for f in rest["data"]] == ids[2::-1] and rest["has_more"] is False
    back = get(server, f"/v1/files?before_id={rest['first_id']}")
    assert [f["id"] for f in back["data"]] == [ids[4], ids[3]]


def test_deleting(serve: Serve) -> None:
    server = serve(DONE)
    stored = upload(server, "a.txt", b"x")
    gone = json.loads(call_api(server, f"/v1/files/{stored['id']}", method="DELETE"))
    assert gone == {"id": stored["id"], "type": "file_deleted"}
    for path in (f"/v1/files/{stored['id']}", f"/v1/files/{stored['id']}/content"):
        with pytest.raises(Refused) as error:
            call_api(server, path)
        assert (error.value.status, error.value.type) == (404, "not_found_error")
    assert get(server, "/v1/files")["data"] == []


def test_only_what_programs_made_may_be_downloaded(serve: Serve) -> None:
    server = serve(DONE)
    stored = upload(server, "a.txt", b"x")
    assert stored["downloadable"] is False
    with pytest.raises(Refused, match="not downloadable"):
        call_api(server, f"/v1/files/{stored['id']}/content")


@pytest.mark.parametrize("name", ["", "a\x01b", "x" * 256])
def test_a_name_that_is_none_is_refused(serve: Serve, name: str) -> None:
    with pytest.raises(Refused) as error:
        upload(serve(DONE), name, b"x")
    assert error.value.status == 400


def test_a_name_with_folders_keeps_its_end(serve: Serve) -> None:
    assert upload(serve(DONE), "..\\..\\etc/passwd", b"x")["filename"] == "passwd"


def test_a_quote_in_a_name_comes_escaped_and_is_a_quote(serve: Serve) -> None:
    """As the HTML standard has multipart/form-data, and the SDK sends it."""
    assert upload(serve(DONE), "a %22b%22.csv", b"x")["filename"] == 'a "b".csv'


def test_too_large_a_file_is_refused(serve: Serve) -> None:
    with pytest.raises(Refused) as error:
        upload(serve(DONE), "a", b"x" * (MAX_FILE_BYTES + 20_000))
    assert (error.value.status, error.value.type) == (413, "request_too_large")


def test_a_body_that_is_no_form_is_refused(serve: Serve) -> None:
    with pytest.raises(Refused) as error:
        call_api(serve(DONE), "/v1/files", {"file": "x"})
    assert error.value.status == 400 and error.value.message.startswith("file")


def test_the_oldest_files_go_when_the_budget_is_used_up() -> None:
    store = FileStore(budget=10)
    ids = [store.add(str(n), b"x" * 4).id for n in range(4)]
    assert [f.id for f in store.newest_first()] == ids[:1:-1]
    assert store.get(ids[0]) is None
