"""Opens an address in the user's browser, and never in the terminal.

The standard library's webbrowser may start a browser of text, or one that writes to our screen;
here only what has a window is started, with nothing of ours to write to.
"""

import logging
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

from agent_tui.desktop import start_apart

log = logging.getLogger(__name__)

_IN_TERMINALS = frozenset({"www-browser", "lynx", "links", "links2", "elinks", "w3m", "browsh"})
WAIT_S = 5.0
"""So long a command may take to say that it failed; one that runs on is the browser itself."""


def commands(url: str, environ: Mapping[str, str], platform: str) -> list[list[str]]:
    """The command lines to try, in order: $BROWSER, then the system's own."""
    found: list[list[str]] = []
    for wanted in environ.get("BROWSER", "").split(os.pathsep):
        try:
            words = shlex.split(wanted)
        except ValueError:
            continue
        if words and os.path.basename(words[0]) not in _IN_TERMINALS:  # noqa: PTH119
            with_url = [word.replace("%s", url) for word in words]
            found.append(with_url if with_url != words else [*words, url])
    if platform == "darwin":
        found.append(["open", url])
    elif environ.get("WSL_DISTRO_NAME"):
        found.append(["wslview", url])
    elif environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        found += [["xdg-open", url], ["gio", "open", url]]
    return found


def open_in_browser(url: str) -> bool:
    """False if there is no browser with a window, or none took it. Blocking: in a thread."""
    for command in commands(url, os.environ, sys.platform):
        if shutil.which(command[0]) is None:
            continue
        try:
            process = start_apart(command)
            if process.wait(WAIT_S) == 0:
                return True
        except subprocess.TimeoutExpired:
            return True
        except OSError as error:
            log.info("%s cannot be started: %s", command[0], error)
    return False
