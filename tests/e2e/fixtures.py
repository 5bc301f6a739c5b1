"""A server, terminals and runs for the end-to-end tests; everything started here is ended here."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.servers import OfflineProcess
from tests.e2e.terminal import Terminal, run_command

Open = Callable[..., Terminal]
Serve = Callable[..., OfflineProcess]
Run = "Future[CompletedProcess[bytes]]"
Begin = Callable[..., Run]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """folder("name"): a new folder of this module."""
    return lambda name: tmp_path_factory.mktemp(name)


@pytest.fixture(scope="module")
def open_terminal(folder: Callable[[str], Path]) -> Iterator[Open]:
    """open_terminal(*argv, **more): agent-tui in a pty, in a home of its own; killed at the end
    of the module. Start what a module needs early: they start beside each other."""
    opened: list[Terminal] = []

    def open_(*argv: str, home: Path | None = None, **more: Any) -> Terminal:
        terminal = Terminal(*argv, home=home or folder("terminal"), **more)
        opened.append(terminal)
        return terminal

    yield open_
    for terminal in opened:
        terminal.close()


@pytest.fixture(scope="module")
def serve(folder: Callable[[str], Path]) -> Iterator[Serve]:
    """serve(turns, **more): an offline server as a process, stopped at the end of the module."""
    running: list[OfflineProcess] = []

    def start(turns: list[dict[str, Any]] | None = None, **more: Any) -> OfflineProcess:
        running.append(OfflineProcess(folder("server"), turns, **more))
        return running[-1]

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def begin(folder: Callable[[str], Path]) -> Iterator[Begin]:
    """begin(*argv, **more): a run without a screen, in a home of its own, beside others;
    .result() waits for it. home=(folder): a home made before."""
    with ThreadPoolExecutor(3) as pool:

        def start(*argv: str, home: Path | None = None, **more: Any) -> Run:
            return pool.submit(run_command, *argv, home=home or folder("run"), **more)

        yield start
