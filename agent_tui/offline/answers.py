"""What a source of replies hands the server: a reply or a problem, and how to deliver it."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_tui.offline.rules import ApiProblem
from agent_tui.offline.wire import Reply


@dataclass(slots=True)
class Delivery:
    """How an answer goes out. Times in seconds.

    headers_delay: before the status line. first_event_delay: after it. chunk_delay: before each
    delta; None: by the server's speed. chunk_size: characters of a delta; None: short words.
    cut_after: the connection is closed after so many events; cut_cleanly: the body ends as if
    whole. hang: it goes silent there until the client leaves. sse_error: an error event after
    the content, in place of message_delta and message_stop. raw_sse: sent instead of a reply.
    """

    headers_delay: float = 0.0
    first_event_delay: float = 0.0
    chunk_delay: float | None = None
    chunk_size: int | None = None
    cut_after: int | None = None
    cut_cleanly: bool = False
    hang: Literal["before_headers", "mid_stream"] | None = None
    sse_error: dict[str, Any] | None = None
    raw_sse: str | None = None


@dataclass(slots=True)
class Answer:
    """reply is empty when a problem or delivery.raw_sse is the answer.

    stages: what follows in the same message once the reply's content is out (a program has to
    run first); the last one's values close the message. container: the state of the container
    that this answer used, for the journal.
    """

    reply: Reply = field(default_factory=lambda: Reply([]))
    problem: ApiProblem | None = None
    delivery: Delivery = field(default_factory=Delivery)
    stages: "AsyncIterator[Answer] | None" = None
    container: Callable[[], dict[str, Any] | None] | None = None


class ReplySource(Protocol):
    """Where replies come from: the demo or a scenario. It is asked on the server's own loop."""

    models: list[dict[str, Any]]
    """What /v1/models lists."""

    any_model: bool
    """True: a request may name a model that is not in `models`."""

    any_container: bool
    """True: a request may name a container that this server never made (a scenario's own)."""

    check_rules: bool
    """False: requests are not held against the rules."""

    async def answer(self, body: dict[str, Any]) -> Answer:
        """The answer to a request that has passed the rules."""
        ...

    def knows_signature(self, thinking: str, signature: str) -> bool:
        """Whether a thinking block's signature is one that this source has given."""
        ...
