"""Fixtures of the sandbox's tests; what tests import by name is in sandbox_making."""

from sandbox_making import sandbox, session

__all__ = ["sandbox", "session"]
