"""The offline server as a process of its own, and what it saw; servers of other people."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self

from tests.e2e.terminal import wait_until


@dataclass(slots=True)
class Seen:
    """One request the server saw, and how its answer ended (ended False: still under way)."""

    n: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    ended: bool = False
    status: int | None = None
    closed_by_client: bool = False
    at: str | None = None
    rule: str | None = None
    error: Any = None

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def texts(self) -> list[str]:
        """Every text the user said in it, oldest first; tool results do not count."""
        return [t for m in self.messages if m["role"] == "user" for t in texts_of(m)]

    @property
    def tool_results(self) -> list[dict[str, Any]]:
        """Those of its last message."""
        content = self.messages[-1]["content"]
        return [] if isinstance(content, str) else _typed(content, "tool_result")


def texts_of(message: dict[str, Any]) -> list[str]:
    """The text blocks of a message as the wire has it."""
    content = message["content"]
    return [content] if isinstance(content, str) else [b["text"] for b in _typed(content, "text")]


def result_text(block: dict[str, Any]) -> str:
    """The text of a tool_result block."""
    content = block.get("content") or ""
    return content if isinstance(content, str) else "".join(b.get("text", "") for b in content)


def _typed(content: list[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    return [block for block in content if block["type"] == type_]


class OfflineProcess:
    """`python -m agent_tui.offline` with a scenario (none: the demo) and a log, ready to answer.

    A turn with `match` answers only a request whose last user text holds it: so one server
    can serve many tests at once.
    """

    def __init__(
        self,
        folder: Path,
        turns: list[dict[str, Any]] | None = None,
        *,
        port: int = 0,
        speed: float = 0,
        **top: Any,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "server.jsonl"
        argv = [sys.executable, "-m", "agent_tui.offline", "--port", str(port)]
        argv += ["--log", str(self.log), "--speed", str(speed)]
        if turns is not None or top:
            scenario = folder / "scenario.json"
            scenario.write_text(json.dumps({"turns": turns or []} | top), encoding="utf-8")
            argv += ["--scenario", str(scenario)]
        self.process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_bare(folder)
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        if not first.startswith("listening on "):
            raise AssertionError(f"no server: {first}{self.process.communicate()[1]}")
        self.url = first.split()[-1]

    def requests(self, said: str = "") -> list[Seen]:
        """What came to /v1/messages so far, oldest first; said: only those in which the user
        said this."""
        seen: dict[int, Seen] = {}
        for line in self.log.read_text(encoding="utf-8").splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # it is being written
            record = json.loads(line)
            if record["event"] == "start":
                seen[record["n"]] = Seen(
                    record["n"], record["path"], record["headers"], record["body"] or {}
                )
            else:
                entry = seen[record["n"]]
                entry.ended = True
                for name in ("status", "closed_by_client", "at", "rule", "error"):
                    setattr(entry, name, record[name])
        messages = [s for s in seen.values() if s.path.startswith("/v1/messages")]
        return [s for s in messages if not said or any(said in t for t in s.texts)]

    def wait_requests(self, count: int, said: str = "", *, ended: bool = True) -> list[Seen]:
        """Until so many have come (and, if wanted, been answered); gives them all."""

        def enough() -> list[Seen] | None:
            found = self.requests(said)
            done = [s for s in found if s.ended] if ended else found
            return found if len(done) >= count else None

        return wait_until(enough, what=f"{count} requests at the server")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _bare(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "AGENT_TUI_HOME": str(folder / "server-home"),
        "LANG": "C.UTF-8",
    }


def free_port() -> int:
    """A port where nobody listens (now)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


# --- a server of a few lines, for what the offline server hides -----------------------------


@dataclass(slots=True)
class Catcher:
    """Answers each request by `answer(path, headers, body)` → (status, body, headers); keeps
    the headers as they came (the offline server's log hides the secret ones)."""

    url: str
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    bodies: list[bytes] = field(default_factory=list[bytes])


Answer = Callable[[str, dict[str, str], bytes], tuple[int, bytes, dict[str, str]]]


@contextmanager
def catcher(answer: Answer) -> Iterator[Catcher]:
    """A Catcher on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {k.lower(): v for k, v in self.headers.items()}
            found.headers.append(headers)
            found.bodies.append(body)
            status, out, more = answer(self.path, headers, body)
            self.send_response(status)
            for name, value in ({"content-type": "application/json"} | more).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Catcher(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
