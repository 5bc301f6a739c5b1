"""The offline server: POST /v1/messages, /v1/messages/count_tokens, GET /v1/models on loopback."""

from agent_tui.offline.scenarios import Scenario


class OfflineServer:
    """Runs the ASGI app in a daemon thread with its own event loop (uvicorn).

    speed: characters per second of the demo's streaming (0: as fast as it can).
    scenario: a given list of turns instead of the demo. journal: a list of every request
    body received with the answer's status, for tests (GET /_journal as JSON).
    `url` is known after start(). start() imports uvicorn: call it in a thread.
    """

    url: str

    def __init__(
        self,
        *,
        port: int = 0,
        speed: float = 0.0,
        scenario: "Scenario | None" = None,
        log_path: str | None = None,
    ) -> None:
        raise NotImplementedError

    def start(self) -> str: ...  # pyright: ignore
    def stop(self) -> None: ...
