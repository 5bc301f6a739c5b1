"""Clouds on loopback: each takes the SDK's form of a request, checks how it is signed, and
answers it with what the offline server says, framed as that cloud frames it.

The offline server behind them holds every request against the API's rules.
"""

import base64
import http.client
import json
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from agent_tui.offline import OfflineServer, Scenario

Json = dict[str, Any]

FRAMES = "application/vnd.amazon.eventstream"
EVENTS = "text/event-stream"


@dataclass(slots=True)
class Seen:
    """One request as it came, and what it was answered with. api: the request the offline
    server got in its place. kind: the content type of the answer."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    api: Json | None = None
    status: int = 0
    kind: str = ""

    @property
    def json(self) -> Json:
        return json.loads(self.body)


@dataclass(slots=True)
class Refusal:
    """Answered in place of what the model says: an HTTP answer, or frames after some events."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Clouds:
    """url: of all the clouds, told apart by path. seen: the model's requests, oldest first.
    tokens: requests for tokens of Google or Microsoft. refuse: the next answers, if any.
    tails: what Bedrock's next answers end with, in place of their last two frames."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])
    tokens: list[Seen] = field(default_factory=list[Seen])
    refuse: list[Refusal] = field(default_factory=list[Refusal])
    tails: list[bytes] = field(default_factory=list[bytes])


@contextmanager
def clouds(*turns: Json) -> Iterator[Clouds]:
    """Clouds whose model plays these turns (offline/scenarios.py)."""
    server = OfflineServer(scenario=Scenario(turns=list(turns)))
    server.start()
    here = Clouds()

    class Handler(_Handler):
        state = here
        behind = urlsplit(server.url).netloc

    front = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    front.daemon_threads = True
    here.url = f"http://127.0.0.1:{front.server_address[1]}"
    thread = Thread(target=front.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield here
    finally:
        front.shutdown()
        front.server_close()
        thread.join(5)
        server.stop()


# --- what each cloud's request means to the API ----------------------------------------------

_INVOKE = re.compile(r"/model/([^/]+)/invoke-with-response-stream\Z")
_RAW_PREDICT = re.compile(
    r"/v1/projects/([^/]+)/locations/([^/]+)/publishers/anthropic/models/([^/]+)"
    r":streamRawPredict\Z"
)
_DIRECT = re.compile(
    r"(?:/anthropic|/v1/projects/[^/]+/locations/[^/]+/workspaces/[^/]+/invoke)?"
    r"/v1/messages\Z"
)


def api_request(path: str, body: Json) -> tuple[Json, str] | None:
    """(the body as the API takes it, how the answer is framed); None for no such path."""
    if found := _INVOKE.search(path):
        assert "model" not in body and "stream" not in body, sorted(body)
        return _whole(found[1], body), FRAMES
    if found := _RAW_PREDICT.search(path):
        assert "model" not in body and body["stream"] is True, sorted(body)
        return _whole(found[3], body), EVENTS
    if _DIRECT.match(path):
        assert "anthropic_version" not in body, sorted(body)
        return body, EVENTS
    return None


def _whole(model: str, body: Json) -> Json:
    kept = {k: v for k, v in body.items() if k not in ("anthropic_version", "anthropic_beta")}
    assert body["anthropic_version"], "the version stands in the body where no header is read"
    return {"model": unquote(model), **kept, "stream": True}


# --- the AWS event stream ---------------------------------------------------------------------


def frame(payload: bytes, **headers: str) -> bytes:
    """One frame; the names of its headers are given without the colon, _ for -."""
    written = b""
    for name, value in headers.items():
        key, text = f":{name.replace('_', '-')}".encode(), value.encode()
        written += bytes([len(key)]) + key + b"\x07" + struct.pack("!H", len(text)) + text
    prelude = struct.pack("!II", 16 + len(written) + len(payload), len(written))
    prelude += struct.pack("!I", zlib.crc32(prelude))
    message = prelude + written + payload
    return message + struct.pack("!I", zlib.crc32(message))


def event_frame(event: Json) -> bytes:
    """An event of the API as Bedrock sends it."""
    try:
        text = json.dumps(event, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair can only be written as an escape
        text = json.dumps(event).encode()
    inner = base64.b64encode(text).decode()
    payload = json.dumps({"bytes": inner, "p": "abcdefgh"}).encode()
    return frame(payload, event_type="chunk", content_type="application/json", message_type="event")


def exception_frame(name: str, message: str) -> bytes:
    """What ends a stream that broke on Bedrock's side."""
    payload = json.dumps({"message": message}).encode()
    return frame(
        payload, exception_type=name, content_type="application/json", message_type="exception"
    )


def frames_of(stream: bytes) -> list[bytes]:
    """The frames of a stream of the API's own form."""
    found: list[bytes] = []
    for block in stream.decode().split("\n\n"):
        data = [line[6:] for line in block.splitlines() if line.startswith("data: ")]
        if data:
            found.append(event_frame(json.loads("".join(data))))
    return found


# --- AWS signatures ----------------------------------------------------------------------------


def check_signature(seen: Seen, url: str, secret: str, *, service: str, region: str) -> str:
    """The access key that signed this request. Raises AssertionError for a wrong signature."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    given = seen.headers["authorization"]
    match = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
        r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})",
        given,
    )
    assert match, given.partition(" ")[0]
    access_key, _, signed_region, signed_service, names, signature = match.groups()
    assert (signed_region, signed_service) == (region, service)
    headers = {name: seen.headers[name] for name in names.split(";")}
    assert {"host", "x-amz-date"} <= headers.keys()
    request = AWSRequest(seen.method, url + seen.path, headers=headers, data=seen.body)
    request.context["timestamp"] = seen.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(access_key, secret), service, region)
    wanted = signer.signature(
        signer.string_to_sign(request, signer.canonical_request(request)), request
    )
    assert signature == wanted
    return access_key


# --- the server --------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    state: Clouds
    behind: str
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        seen = self._read()
        if self.path == "/token":
            self.state.tokens.append(seen)
            claims = parse_qs(seen.body.decode())["assertion"][0]
            self._answer(200, json.dumps({
                "access_token": f"token-for-{len(claims) > 100}", "expires_in": 3600,
                "token_type": "Bearer",
            }).encode())  # fmt: skip
            return
        self.state.seen.append(seen)
        if self.state.refuse:
            refusal = self.state.refuse.pop(0)
            seen.status = refusal.status
            self._answer(refusal.status, refusal.body, **refusal.headers)
            return
        found = api_request(self.path, seen.json)
        if found is None:
            seen.status = 404
            self._answer(404, b'{"message": "no such path"}')
            return
        seen.api, framing = found
        status, kind, body = self._ask(seen)
        seen.status = status
        if status != 200:
            self._answer(status, body)
            return
        assert kind.startswith(EVENTS)
        seen.kind = framing
        if framing == FRAMES:
            frames = frames_of(body)
            if self.state.tails:
                frames = [*frames[:-2], self.state.tails.pop(0)]
            body = b"".join(frames)
        self._stream(body, framing)

    def do_GET(self) -> None:
        seen = self._read()
        self.state.tokens.append(seen)
        if self.path.startswith("/identity"):
            self._answer(200, json.dumps({
                "access_token": "token-of-entra", "expires_on": "4102444800",
                "resource": "https://ai.azure.com", "token_type": "Bearer",
            }).encode())  # fmt: skip
        else:
            self._answer(404, b"{}")

    def _read(self) -> Seen:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {k.lower(): v for k, v in self.headers.items()}
        return Seen(self.command, self.path, headers, body)

    def _ask(self, seen: Seen) -> tuple[int, str, bytes]:
        """What the offline server says to this request of the API."""
        connection = http.client.HTTPConnection(self.behind, timeout=20)
        try:
            connection.request(
                "POST", "/v1/messages", json.dumps(seen.api),
                {"anthropic-version": "2026-10-21", "content-type": "application/json"},
            )  # fmt: skip
            response = connection.getresponse()
            return response.status, response.headers.get("content-type", ""), response.read()
        finally:
            connection.close()

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        # No end of an event or a frame is the end of a chunk.
        for at in range(0, len(body), 333):
            piece = body[at : at + 333]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        pass
