"""The pytest plugin of .ci/sabotage.py: tells which tests failed, and keeps hypothesis quick.

Examples are the same each time, so that a breakage is noticed always or never, and a failing
one is not made smaller: nobody reads it.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

settings.register_profile(
    "sabotage", derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("sabotage")

_failed: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and report.nodeid not in _failed:
        _failed.append(report.nodeid)


def pytest_sessionfinish() -> None:
    """SABOTAGE_REPORT names a file that gets the ids of the failed tests, in order."""
    Path(os.environ["SABOTAGE_REPORT"]).write_text(json.dumps(_failed), encoding="utf-8")
