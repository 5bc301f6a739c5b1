"""The fixtures of fixtures.py for this folder."""

from tests.e2e.fixtures import begin, folder, open_terminal, serve

__all__ = ["begin", "folder", "open_terminal", "serve"]
