"""Which encoding the user's terminal has been told to use; Python's own choice is another."""

import codecs
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

_SAYS_NOTHING = ("C", "POSIX")


def terminal_encoding(environ: Mapping[str, str] | None = None) -> str:
    """What the terminal is said to read, by the locale's variables in their order.

    Python itself takes UTF-8 where the locale is C, or one that is not installed; what the
    variable names is what the user's terminal has been told.
    """
    if environ is None:
        environ = dict(os.environ)
        if environ.get("LC_CTYPE") in _SET_BY_PYTHON and not _given("LC_CTYPE"):
            del environ["LC_CTYPE"]
    named = next((v for n in ("LC_ALL", "LC_CTYPE", "LANG") if (v := environ.get(n))), "")
    if named in _SAYS_NOTHING:
        return "ascii"
    codeset = named.partition(".")[2].partition("@")[0]
    if codeset:
        with contextlib.suppress(LookupError):
            return codecs.lookup(codeset).name
    return "utf-8"


_SET_BY_PYTHON = ("C.UTF-8", "C.utf8", "UTF-8")
"""What it makes of LC_CTYPE where the locale is C or not installed (PEP 538)."""


def _given(variable: str) -> bool:
    """Whether the program was started with it; true where that cannot be known."""
    try:
        started_with = Path("/proc/self/environ").read_bytes()
    except OSError:
        return True
    return any(part.startswith(f"{variable}=".encode()) for part in started_with.split(b"\0"))
