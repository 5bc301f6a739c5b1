"""The screen in a test (pilot) and the installed command in a terminal, as others drive them."""

from tests.e2e.fixtures import folder, open_terminal, serve
from tests.tui.conftest import drive

__all__ = ["drive", "folder", "open_terminal", "serve"]
