"""What a user has chosen on the screen (model, effort, theme): remembered for later conversations.

A file of its own, not config.toml: what is written there by hand stays as it is and wins.
"""

import json
import logging
from typing import Any

from agent_tui import paths

log = logging.getLogger(__name__)

CHOICES = ("model", "thinking", "theme")


def read() -> dict[str, Any]:
    """By setting; {} where nothing was chosen or the file cannot be read."""
    try:
        found = json.loads(paths.choices_file().read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("the remembered choices could not be read: %s", error)
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: found[name] for name in CHOICES if name in found}  # pyright: ignore[reportUnknownVariableType]


def remember(name: str, value: str) -> None:
    """Raises OSError (PathError) where it cannot be written."""
    assert name in CHOICES
    data = json.dumps(read() | {name: value}, indent=1) + "\n"
    paths.write_private_atomic(paths.choices_file(), data.encode())
