"""The zoo over HTTP, in threads of the test's own process: streamable HTTP with sessions, the
older SSE, and the refusals of HTTP. Standard library only, as its inmates."""

import contextlib
import json
import queue
import socket
import threading
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from tests.mcp_servers.zoo import ANIMALS, Animal, Json, encoded

Refuse = Callable[["Visit"], bool]


class Visit(BaseHTTPRequestHandler):
    """One request. zoo is set by HttpZoo."""

    zoo: "HttpZoo"
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.zoo.connections.append(self.connection)

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    # --- requests ---------------------------------------------------------------------------

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.zoo.requests.append(("POST", self.path, dict(self.headers), body))
        if self.zoo.answer_first(self, body):
            return
        path = urlsplit(self.path).path
        message = json.loads(body)
        if path == "/messages":
            self.zoo.take_sse(message)
            self.reply(202)
        elif self.path_is_mcp():
            self.mcp(message)

    def do_GET(self) -> None:
        self.zoo.requests.append(("GET", self.path, dict(self.headers), b""))
        if self.zoo.answer_first(self, b""):
            return
        if urlsplit(self.path).path == "/sse":
            self.sse()
        elif self.path_is_mcp():
            if self.headers.get("mcp-session-id") not in self.zoo.sessions:
                self.reply(405)
            else:
                self.stream(self.zoo.sessions[self.headers["mcp-session-id"]].outbox)

    def do_DELETE(self) -> None:
        self.zoo.requests.append(("DELETE", self.path, dict(self.headers), b""))
        self.reply(200)

    def path_is_mcp(self) -> bool:
        if urlsplit(self.path).path == "/mcp":
            return True
        self.reply(404, "<h1>Not here</h1>", "text/html")
        return False

    # --- answers ----------------------------------------------------------------------------

    def reply(
        self, status: int, body: str | bytes = "", kind: str = "text/plain", **headers: str
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def mcp(self, message: Json) -> None:
        modern = self.zoo.kind == "Modern"
        session = None if modern else self.headers.get("mcp-session-id")
        headers: dict[str, str] = {}
        if modern:
            animal = self.zoo.shared
        elif message.get("method") == "initialize":
            session = uuid.uuid4().hex
            animal = self.zoo.sessions.setdefault(session, Session(self.zoo.new())).animal
            headers["mcp_session_id"] = session
        elif session in self.zoo.sessions:
            animal = self.zoo.sessions[session].animal
        else:
            known = message.get("method") != "server/discover"
            self.reply(404 if known and session else 400, "no such session")
            return
        if "id" not in message or "method" not in message:
            animal.receive(message, lambda _: None)
            self.reply(202)
            return
        box: queue.Queue[Json | None] = queue.Queue()
        work = threading.Thread(target=self.work, args=(animal, message, box), daemon=True)
        work.start()
        streams = message["method"] == "tools/call" and not self.zoo.answers_in_json
        if streams or message["method"] == "subscriptions/listen":
            self.stream(box, until=message["id"])
            return
        answer = box.get()
        self.reply(200, encoded(answer), "application/json", **headers)

    @staticmethod
    def work(animal: Animal, message: Json, box: "queue.Queue[Json | None]") -> None:
        animal.receive(message, box.put)

    def stream(self, box: "queue.Queue[Json | None]", until: Any = None) -> None:
        """Events until the answer to `until` has gone out, or the zoo closes."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while not self.zoo.closed:
                try:
                    message = box.get(timeout=0.05)
                except queue.Empty:
                    if self.gone():
                        return
                    continue
                if message is None:
                    return
                self.wfile.write(b"event: message\ndata: " + encoded(message) + b"\n\n")
                self.wfile.flush()
                if isinstance(message, bytes):
                    return
                if until is not None and message.get("id") == until and "method" not in message:
                    return
        except OSError:
            return

    def gone(self) -> bool:
        """Whether the client has closed its side."""
        try:
            self.connection.setblocking(False)
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.connection.setblocking(True)

    def sse(self) -> None:
        """The older transport: one stream for all answers, an address for all requests."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        self.zoo.sse_box = queue.Queue()
        self.wfile.write(b"event: endpoint\ndata: /messages\n\n")
        self.wfile.flush()
        try:
            while not self.zoo.closed and (message := self.zoo.sse_box.get()) is not None:
                self.wfile.write(b"event: message\ndata: " + encoded(message) + b"\n\n")
                self.wfile.flush()
        except OSError:
            return


class Session:
    def __init__(self, animal: Animal) -> None:
        self.animal = animal
        self.outbox: queue.Queue[Json | None] = queue.Queue()


class HttpZoo:
    """A server on a port of its own. refuse(visit) may answer a request in place of the animal;
    it returns whether it did. answers_in_json: calls too are answered without a stream."""

    answers_in_json = False

    def __init__(self, kind: str = "Plain", refuse: Refuse | None = None, port: int = 0) -> None:
        self.kind = kind
        self.refuse = refuse
        self.new = ANIMALS[kind]
        self.shared = self.new()
        self.sessions: dict[str, Session] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections: list[socket.socket] = []
        self.sse_box: queue.Queue[Json | None] = queue.Queue()
        self.closed = False
        handler = type("Bound", (Visit,), {"zoo": self})
        ThreadingHTTPServer.allow_reuse_address = True
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.port: int = self.server.server_address[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.base}/mcp"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer_first(self, visit: Visit, body: bytes) -> bool:
        visit.body = body  # type: ignore[attr-defined]
        return self.refuse is not None and self.refuse(visit)

    def take_sse(self, message: Json) -> None:
        box = self.sse_box
        threading.Thread(target=self.shared.receive, args=(message, box.put), daemon=True).start()

    def tell(self, message: Json) -> None:
        """A notification to every session's own stream."""
        for session in self.sessions.values():
            session.outbox.put(message)

    def forget(self) -> None:
        """No session is known any more."""
        self.sessions.clear()

    def methods(self) -> list[str]:
        """The methods of the messages that came."""
        bodies = [json.loads(body) for verb, _, _, body in self.requests if verb == "POST" and body]
        return [body.get("method", "") for body in bodies]

    def close(self) -> None:
        """Closed for good, with its connections."""
        self.closed = True
        self.sse_box.put(None)
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
