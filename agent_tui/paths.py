"""Where things are on disk. Everything is made 0700/0600."""

from pathlib import Path


def home() -> Path:
    """AGENT_TUI_HOME or platformdirs' user data folder; made 0700 when missing."""
    raise NotImplementedError
