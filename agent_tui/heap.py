"""How the program's memory is kept: what is let go of goes back to the system.

Two policies of the C library cost a long conversation a quarter of its memory: an arena for
each thread, and a bound for blocks of their own (mmap) that rises with the largest block ever
freed. Answers and requests of a megabyte then leave holes between small objects that stay.
"""

import contextlib
import ctypes
import gc

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""Parameters of mallopt(3), by the numbers of glibc's malloc.h."""

OWN_BLOCK = 128 * 1024
"""Bytes from which a block is mapped on its own: the C library's own first value, kept."""


def keep_tight() -> None:
    """One arena, and a bound that stays. Does nothing where the C library is not glibc."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        if hasattr(libc, "gnu_get_libc_version"):
            libc.mallopt(_M_ARENA_MAX, 1)
            libc.mallopt(_M_MMAP_THRESHOLD, OWN_BLOCK)


def settle() -> None:
    """Modules and widgets are there to stay: the collector need not walk through them, which
    was the longest gap of the event loop while text streamed. Switches it on, if it was off."""
    gc.freeze()
    gc.enable()
