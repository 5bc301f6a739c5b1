"""What test_recordings.py did, for the summary at the end of a run."""

RECORDINGS_RUN: set[str] = set()
"""Paths of the recordings that ran."""

OVERRULES: list[tuple[str, str, str]] = []
"""(recording, field, why the SDK's accumulator is wrong there)."""
