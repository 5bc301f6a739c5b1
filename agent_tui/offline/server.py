"""The offline server: POST /v1/messages, /v1/messages/count_tokens, GET /v1/models on loopback."""

import hmac
import json
import logging
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from agent_tui.offline.answers import Answer, ReplySource
from agent_tui.offline.background import BackgroundServer
from agent_tui.offline.code_execution import CodeExecution, ContainerOptions
from agent_tui.offline.demo import DemoGuide
from agent_tui.offline.exchange import Exchange
from agent_tui.offline.file_routes import file_routes
from agent_tui.offline.file_store import FileStore
from agent_tui.offline.journal import Journal
from agent_tui.offline.paused_turns import PausedTurns
from agent_tui.offline.rules import API_VERSION, ApiProblem, validate_request
from agent_tui.offline.scenarios import Scenario, ScenarioPlayer
from agent_tui.offline.wire import input_tokens, json_bytes, make_id, request_seed

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 32 * 1024 * 1024
"""The service's limit for a request; beyond it 413 request_too_large."""

NATURAL_SPEED = 300.0
"""Characters per second of a usual model (about 75 tokens)."""

MAX_DEPTH = 200
"""Levels of nesting in a request: more than any schema or history has."""

_LOOPBACK_NAMES = {"127.0.0.1", "localhost", "[::1]"}


class OfflineServerError(Exception):
    """The server cannot start. str() says why and what to do."""


class OfflineServer:
    """A Messages API on 127.0.0.1, in a daemon thread with its own event loop (uvicorn).

    speed: characters per second of the demo's streaming (0: as fast as it can), also of a
    scenario's turns without chunk_delay_ms. scenario: a given list of turns instead of the demo.
    log_path: a file that gets a JSON line when a request has come and one when its answer ended.
    containers: how the containers of programs behave (ContainerOptions: how long they live, how
    long a call may go without its result, the limits of a program).
    api_key: only requests that bear it are answered, others get 401 (default: any key, or none).
    open_journal: False keeps no bodies and serves no /_journal (for the app's own demo: other
    users of the machine can reach the port, and a conversation is not theirs to read).

    `url` is known after start(). start() imports uvicorn: call it in a thread.
    `journal` is what GET /_journal answers: a list of {n, time, method, path, headers, body,
    status, error, rule, events_sent, closed_by_client, at, duration_ms, container}; `container`
    is that of the answer as it was at its end. `containers` is what GET /_containers answers: all
    of them now, each {id, state: created|busy|paused|idle|expired, pending, pending_ids,
    created_at, expires_at, programs, reused}. Files: /v1/files, as the Files API.
    Raises OfflineServerError from start() (the port is taken, the log cannot be written).
    """

    url: str = ""

    def __init__(
        self,
        *,
        port: int = 0,
        speed: float = 0.0,
        scenario: Scenario | None = None,
        log_path: str | None = None,
        open_journal: bool = True,
        containers: ContainerOptions | None = None,
        api_key: str | None = None,
    ) -> None:
        self._port = port
        self._api_key = api_key
        self._open_journal = open_journal
        self._log_path = log_path
        self._speed = speed
        self._source: ReplySource = DemoGuide() if scenario is None else ScenarioPlayer(scenario)
        self._journal: Journal | None = None
        self._server: BackgroundServer | None = None
        self._files = FileStore()
        self._programs = CodeExecution(containers or ContainerOptions(), self._files)

    @property
    def journal(self) -> list[dict[str, Any]]:
        return self._journal.entries() if self._journal else []

    @property
    def containers(self) -> list[dict[str, Any]]:
        return self._programs.containers.as_json()

    def start(self) -> str:
        """Starts serving and returns the base URL ("http://127.0.0.1:PORT")."""
        if self._server is not None:
            raise OfflineServerError("this server has been started before; make a new one")
        listener = _listen(self._port)
        try:
            journal = Journal(self._log_path, **({} if self._open_journal else {"budget": 0}))
        except OSError as error:
            listener.close()
            raise OfflineServerError(
                f"cannot write the log {self._log_path}: {error.strerror}"
            ) from error
        self._journal = journal
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = build_app(
            self._source,
            journal,
            self._speed,
            self._open_journal,
            programs=self._programs,
            files=self._files,
            api_key=self._api_key,
        )
        self._server = BackgroundServer(app, listener)
        if not self._server.start():
            raise OfflineServerError("the offline server did not start; see the log")
        return self.url

    def stop(self) -> None:
        """Drops every connection and ends the thread; answers under way are cut."""
        if self._journal is not None:
            self._journal.stopping = True
        if self._server is not None:
            self._server.stop()
        self._programs.close()
        if self._journal is not None:
            self._journal.close()


def _listen(port: int) -> socket.socket:
    # The protocol is named: else asyncio leaves its connections without TCP_NODELAY, and each
    # answer that is sent in two parts waits 40 ms for the client's acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise OfflineServerError(
            f"cannot listen on 127.0.0.1:{port} ({reason}): choose another port (0: any free one)"
        ) from error
    return listener


def build_app(
    source: ReplySource,
    journal: Journal,
    speed: float,
    open_journal: bool = True,
    *,
    programs: CodeExecution,
    files: FileStore,
    api_key: str | None = None,
) -> Any:
    """The ASGI app. Requests that name another host than loopback are refused (DNS rebinding)."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    paused = PausedTurns()

    def respond(
        value: Any,
        status: int = 200,
        *,
        request_id: str = "",
        headers: dict[str, str] | None = None,
    ) -> Response:
        return Response(
            json_bytes(value),
            status,
            media_type="application/json",
            headers={"request-id": request_id or make_id("req_", value)} | (headers or {}),
        )

    def problem_response(problem: ApiProblem) -> Response:
        request_id = make_id("req_", problem.message, journal.count)
        return respond(problem.as_json(request_id), problem.status, request_id=request_id)

    async def messages(request: Request) -> Any:
        parsed, size = await _read_json(request)
        entry = journal.begin(
            method=request.method,
            path=str(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
            headers=request.headers.items(),
            body=None if isinstance(parsed, ApiProblem) else parsed,
            size=size,
        )
        body: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
        try:
            if isinstance(parsed, ApiProblem):
                answer = Answer(problem=parsed)
            else:
                answer = await _answer(source, programs, paused, parsed, request.headers)
                paused.gave(answer.reply.content, answer.reply.stop_reason)
        except Exception:
            log.exception("the offline server failed on a request")
            message = "Internal server error (a fault of the offline server; see its log)"
            answer = Answer(problem=ApiProblem(message, "api_error", 500))
        seed = request_seed(body)
        return Exchange(
            answer,
            journal=journal,
            entry=entry,
            request_id=make_id("req_", seed, entry.n),
            message_id=make_id("msg_", seed, entry.n),
            model=str(body.get("model")),
            stream=body.get("stream") is True,
            speed=speed,
        )

    async def count_tokens(request: Request) -> Response:
        parsed, _ = await _read_json(request)
        if isinstance(parsed, ApiProblem):
            return problem_response(parsed)
        problem = _check(source, paused, parsed, request.headers, counting=True)
        if problem is not None:
            return problem_response(problem)
        return respond({"input_tokens": input_tokens(parsed)})

    async def models(request: Request) -> Response:
        return respond(_model_page(source.models, request.query_params))

    async def model(request: Request) -> Response:
        wanted = request.path_params["model_id"]
        for info in source.models:
            if info["id"] == wanted:
                return respond(info)
        return problem_response(_no_such_model(source, wanted))

    async def read_journal(request: Request) -> Response:
        # ASCII JSON: what a client sent may hold lone surrogates.
        return Response(json.dumps(journal.entries()), media_type="application/json")

    async def read_containers(request: Request) -> Response:
        return respond(programs.containers.as_json())

    async def about(request: Request) -> Response:
        return respond({"server": "agent-tui offline", "about": "scripted replies, no model"})

    async def http_error(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 405:
            message = f"Method {request.method} is not allowed for {request.url.path}"
            return problem_response(ApiProblem(message, "invalid_request_error", 405))
        if status == 404:
            return problem_response(ApiProblem(request.url.path, "not_found_error", 404))
        return problem_response(ApiProblem("Internal server error", "api_error", 500))

    app = Starlette(
        routes=[
            Route("/", about, methods=["GET"]),
            Route("/v1/messages", messages, methods=["POST"]),
            Route("/v1/messages/count_tokens", count_tokens, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
            Route("/v1/models/{model_id:path}", model, methods=["GET"]),
            *file_routes(files, respond, problem_response),
            *([Route("/_journal", read_journal, methods=["GET"])] if open_journal else []),
            *([Route("/_containers", read_containers, methods=["GET"])] if open_journal else []),
        ],
        exception_handlers={HTTPException: http_error, Exception: http_error},
    )

    async def loopback_only(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            host = headers.get(b"host", b"").decode("latin-1")
            if _host_name(host) not in _LOOPBACK_NAMES:
                message = f"this server answers only on loopback, not as {host or 'no host'}"
                await problem_response(ApiProblem(message, "permission_error", 403))(
                    scope, receive, send
                )
                return
            if api_key is not None and not _bears(headers, api_key):
                problem = ApiProblem("invalid x-api-key", "authentication_error", 401)
                await problem_response(problem)(scope, receive, send)
                return
        await app(scope, receive, send)

    return loopback_only


def _bears(headers: dict[bytes, bytes], api_key: str) -> bool:
    """Whether a request has the key, in either of the two headers that may carry it."""
    given = headers.get(b"x-api-key") or headers.get(b"authorization", b"").removeprefix(b"Bearer ")
    return hmac.compare_digest(given, api_key.encode())


def _host_name(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


async def _read_json(request: Any) -> tuple[Any, int]:
    """The parsed body, or the problem with it; and how many bytes were read."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            return ApiProblem("Request exceeds the maximum size", "request_too_large", 413), size
        chunks.append(chunk)
    try:
        value = json.loads(b"".join(chunks))
    except (ValueError, RecursionError) as error:
        return ApiProblem(f"The request body is not valid JSON: {error}", rule="json"), size
    if _is_deeper(value, MAX_DEPTH):
        return ApiProblem("The request body is nested too deeply", rule="json"), size
    return value, size


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            item
            for holder in level
            if isinstance(holder, dict | list)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not level:
            return False
    return True


def _no_such_model(source: ReplySource, wanted: object) -> ApiProblem:
    served = ", ".join(info["id"] for info in source.models)
    message = f"model: {wanted} (this is the offline server; it serves {served})"
    return ApiProblem(message, "not_found_error", 404)


def _check(
    source: ReplySource, paused: PausedTurns, body: Any, headers: Any, *, counting: bool = False
) -> ApiProblem | None:
    if source.check_rules:
        version = headers.get("anthropic-version")
        if not version:
            return ApiProblem("anthropic-version: header is required", rule="version_header")
        problems = validate_request(
            body,
            version=version,
            knows_signature=source.knows_signature,
            is_paused=paused.has,
            counting=counting,
        )
        if problems:
            return problems[0]
    elif not isinstance(body, dict):
        return ApiProblem("Input should be an object")
    if not source.any_model and body.get("model") not in {m["id"] for m in source.models}:
        return _no_such_model(source, body.get("model"))
    return None


async def _answer(
    source: ReplySource, programs: CodeExecution, paused: PausedTurns, body: Any, headers: Any
) -> Answer:
    problem = _check(source, paused, body, headers)
    if problem is not None:
        return Answer(problem=problem)
    return await programs.answer(source, body)


def _model_page(infos: list[dict[str, Any]], query: Any) -> dict[str, Any]:
    """A page of /v1/models, with the service's cursors (limit, after_id, before_id)."""
    ids = [info["id"] for info in infos]
    start, end = 0, len(infos)
    if query.get("after_id") in ids:
        start = ids.index(query["after_id"]) + 1
    if query.get("before_id") in ids:
        end = ids.index(query["before_id"])
    limit = query.get("limit") or "20"
    page = infos[start:end]
    shown = page[: max(1, int(limit))] if limit.isdigit() else page
    return {
        "data": shown,
        "has_more": len(shown) < len(page),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }


def serve(
    port: int = 0,
    speed: float = NATURAL_SPEED,
    scenario_path: str | None = None,
    log_path: str | None = None,
    containers: ContainerOptions | None = None,
) -> None:
    """Runs the server in the foreground until SIGINT or SIGTERM, then stops it cleanly.

    Prints one line, "listening on http://127.0.0.1:PORT", when it is ready. For the main thread
    of a process: it takes over both signals.
    Raises OfflineServerError or ScenarioError: str() is one line for the user.
    """
    import signal

    scenario = Scenario.from_file(Path(scenario_path)) if scenario_path else None
    server = OfflineServer(
        port=port, speed=speed, scenario=scenario, log_path=log_path, containers=containers
    )
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    url = server.start()
    sys.stdout.write(f"listening on {url}\n")
    sys.stdout.flush()
    try:
        done.wait()
    finally:
        server.stop()


__all__ = ["API_VERSION", "OfflineServer", "OfflineServerError", "build_app", "serve"]
