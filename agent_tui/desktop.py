"""Programs of the desktop, a browser or a viewer: started, and never in the terminal."""

import subprocess
from collections.abc import Sequence


def start_apart(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """It has nothing of our terminal to read or write, and outlives us. Raises OSError when it
    cannot be started."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
