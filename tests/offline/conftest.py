"""Fixtures of the offline server's tests; what tests import by name is in offline_helpers."""

from offline_helpers import sdk, serve

__all__ = ["sdk", "serve"]
