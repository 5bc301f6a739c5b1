"""What endpoints have said of their models, kept on disk with its age.

So that the limits and thinking modes of a model are right at the first request of the next
start, before the endpoint was asked again. One small file for each endpoint; what a server
said is public, and no credential is near it.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui import paths
from agent_tui.messages_api.models import ModelInfo, info_from_api

log = logging.getLogger(__name__)

FRESH_S = 6 * 3600.0
"""An endpoint that answered so recently is not asked again."""
MAX_BYTES = 4_000_000
MAX_MODELS = 2000


@dataclass(slots=True)
class KnownModels:
    """models: by id, in the endpoint's order. age_s: since it was asked; None: never."""

    models: dict[str, ModelInfo] = field(default_factory=dict[str, ModelInfo])
    age_s: float | None = None

    @property
    def fresh(self) -> bool:
        return self.age_s is not None and 0 <= self.age_s < FRESH_S


def load(endpoint: str, clock: Callable[[], float] = time.time) -> KnownModels:
    """What is kept of the endpoint at this URL. Never raises: what cannot be read is not known."""
    try:
        with _file(endpoint).open("rb") as file:
            data: Any = json.loads(file.read(MAX_BYTES))
        entries = [info_from_api(entry) for entry in data["models"] if isinstance(entry, dict)]
        age = clock() - float(data["time"])
    except FileNotFoundError:
        return KnownModels()
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.info("the list of models kept for %s cannot be read: %s", endpoint, error)
        return KnownModels()
    return KnownModels({m.id: m for m in entries if m is not None}, age)


def store(endpoint: str, models: list[ModelInfo], clock: Callable[[], float] = time.time) -> None:
    """Keep what the endpoint says now. Raises OSError."""
    kept = [dict(m.raw) or {"id": m.id} for m in models[:MAX_MODELS]]
    data = {"endpoint": endpoint, "time": clock(), "models": kept}
    encoded = json.dumps(data).encode("ascii")
    if len(encoded) > MAX_BYTES:
        log.info("the list of models of %s is too long to be kept", endpoint)
        return
    paths.write_private_atomic(_file(endpoint), encoded)


def _file(endpoint: str) -> Path:
    name = hashlib.sha256(endpoint.encode("utf-8", "replace")).hexdigest()[:16]
    return paths.model_lists_dir() / f"{name}.json"
