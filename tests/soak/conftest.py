"""One process that the program's runs are forked from, for all tests here."""

from collections.abc import Iterator

import pytest

from .program import Launcher


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    started = Launcher()
    yield started
    started.close()
