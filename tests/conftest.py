"""What holds for every test: its own home, no keys of the developer, no network; and a report
of what ran, for .ci/features.py and .ci/counts.py."""

import ipaddress
import json
import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_KEPT = ("AGENT_TUI_LOOP_CASES", "AGENT_TUI_RECORDINGS", "AGENT_TUI_TEST_REPORT")


class NetworkForbidden(Exception):
    """A test wanted to leave this machine."""


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty AGENT_TUI_HOME; no ANTHROPIC_* and no other AGENT_TUI_* in the environment."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "AGENT_TUI_")) and name not in _KEPT:
            monkeypatch.delenv(name)
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("AGENT_TUI_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections and look-ups that leave loopback raise NetworkForbidden."""

    def guarded(name: str, address_at: int) -> None:
        real = getattr(socket.socket, name)

        def call(self: socket.socket, *args: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                _check(args[address_at][0])
            return real(self, *args)

        monkeypatch.setattr(socket.socket, name, call)

    guarded("connect", 0)
    guarded("connect_ex", 0)
    guarded("sendto", -1)
    real_getaddrinfo = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None:
            _check(host)
        return real_getaddrinfo(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def _check(host: str | bytes) -> None:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in ("", "localhost"):
        return
    try:
        local = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        raise NetworkForbidden(f"a test looked up {name!r}") from None
    if not (local.is_loopback or local.is_unspecified):
        raise NetworkForbidden(f"a test connected to {name}")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """set_up_logging takes over the whole process; a test gives it back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    last_resort, raise_exceptions = logging.lastResort, logging.raiseExceptions
    yield
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)
            handler.close()
    for handler in handlers:
        if handler not in root.handlers:
            root.addHandler(handler)
    root.setLevel(level)
    logging.lastResort, logging.raiseExceptions = last_resort, raise_exceptions
    logging.captureWarnings(False)


# --- the report -----------------------------------------------------------------------
# Tests run in several processes (pytest-xdist): what they have to say travels with their
# reports (record_property) or at the end (workeroutput), to the one that started them.

_outcomes: dict[str, str] = {}
_WORSE = ("passed", "skipped", "xfailed", "xpassed", "failed", "error")
_recordings: set[str] = set()
_overruled: set[tuple[str, str, str]] = set()
_loop_cases: set[str] = set()
_DESELECTED = "agent_tui_deselected"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, value in report.user_properties:
        match name, value:
            case "recording", str():
                _recordings.add(value)
            case "overruled", (str(recording), str(field), str(why)):
                _overruled.add((recording, field, why))
            case "loop case", _:
                _loop_cases.add(report.nodeid)
            case _:
                pass
    outcome: str = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "xpassed" if outcome == "passed" else "xfailed"
    elif outcome == "failed" and report.when != "call":
        outcome = "error"
    before = _outcomes.get(report.nodeid, "passed")
    _outcomes[report.nodeid] = max(before, outcome, key=_WORSE.index)


def pytest_deselected(items: list[pytest.Item]) -> None:
    _outcomes.update({item.nodeid: "deselected" for item in items})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for test in getattr(node, "workeroutput", {}).get(_DESELECTED, ()):
        _outcomes[test] = "deselected"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """AGENT_TUI_TEST_REPORT names a file that gets {"outcomes": {node id: outcome}}."""
    if hasattr(session.config, "workeroutput"):  # one of several processes
        gone = [test for test, outcome in _outcomes.items() if outcome == "deselected"]
        session.config.workeroutput[_DESELECTED] = gone
        return
    report = os.environ.get("AGENT_TUI_TEST_REPORT")
    if report:
        Path(report).write_text(json.dumps({"outcomes": _outcomes}, indent=1), encoding="utf-8")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _recordings:
        terminalreporter.section("recordings")
        folders = Counter(Path(path).parent.name for path in _recordings)
        counts = ", ".join(f"{n} of {folder}/" for folder, n in sorted(folders.items()))
        terminalreporter.write_line(
            f"recordings: {len(_recordings)} ran ({counts}), overrules: {len(_overruled)}"
        )
        for name, field, why in sorted(_overruled):
            terminalreporter.write_line(f"  overruled {name}: {field}: {why}")
    if _loop_cases:
        terminalreporter.write_line(f"loop cases: {len(_loop_cases)} ran")
