"""A pure function of a message, worked out once for each message.

A message is final once it is in a transcript, and each request goes through all of them
again: without this the cost of a request in a long run would be mostly what was found out
for the requests before it.
"""

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

M = TypeVar("M")
T = TypeVar("T")


class Memo(Generic[M, T]):
    """Call it with a message; kept as long as the message lives, by identity.

    What it gives is shared by all callers: they must not change it. Safe in any thread.
    """

    def __init__(self, make: Callable[[M], T]) -> None:
        self._make = make
        self._made: dict[int, tuple[weakref.ref[Any], T]] = {}

    def __call__(self, message: M) -> T:
        key = id(message)
        found = self._made.get(key)
        if found is not None and found[0]() is message:
            return found[1]
        value = self._make(message)
        self._made[key] = (weakref.ref(message, lambda _: self._made.pop(key, None)), value)
        return value
