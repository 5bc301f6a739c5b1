"""The conformance suite as npm has it, one scenario at a time.

It starts a server for the scenario, runs the client as a program and judges what the server saw.
Scenarios run one after the other: side by side they run into their own time-outs.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.e2e.peers import from_npm

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
PACKAGE = "@modelcontextprotocol/conformance"
SUITE = "0.2.0-alpha.12"
NODE = "22"
"""SUITE needs it; npm has it as a package."""
OLDER_SUITE = "0.1.13"
"""The newest that runs on the node there is, where npm has no other."""
REVISIONS = ("2025-11-25", "2026-07-28")
"""Of the protocol: the last with a handshake, and the one without."""
SCENARIO_S = 60
Who = Literal["manager", "sdk"]


@dataclass(frozen=True, slots=True)
class Suite:
    """Where it is installed. version: its own; node: of the program that runs it."""

    folder: Path
    version: str
    node: str

    def environment(self) -> dict[str, str]:
        """With the suite, its node and this Python found first."""
        first = [self.folder / "node_modules" / ".bin", Path(sys.executable).parent]
        path = os.pathsep.join([*map(str, first), os.environ.get("PATH", os.defpath)])
        return {"PATH": path, "HOME": tempfile.gettempdir(), "LANG": "C.UTF-8"}

    def said(self, *words: str) -> str:
        """What a command of it prints. Raises CalledProcessError."""
        return subprocess.run(
            words, env=self.environment(), capture_output=True, text=True, check=True, timeout=60
        ).stdout


@dataclass(frozen=True, slots=True)
class Scenario:
    """revision: of the protocol it runs at, "" for the suite's own choice."""

    name: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.name} at {self.revision}" if self.revision else self.name


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one client fared. checks: how many by status; failures: what failed, a line each;
    said: the end of what the client printed on stderr. A scenario may find nothing to judge."""

    passed: bool
    checks: Counter[str]
    failures: tuple[str, ...]
    said: str

    @property
    def met(self) -> int:
        return self.checks["SUCCESS"]

    @property
    def judged(self) -> int:
        return self.met + self.checks["FAILURE"] + self.checks["WARNING"]


def install(config: Any, *, older: bool = True) -> Suite:
    """From npm, once, into pytest's cache. Skips or fails as peers do. older: take OLDER_SUITE
    where SUITE does not run."""
    # The package of node fetches its program in an install script.
    wanted = (f"{PACKAGE}@{SUITE}", f"node@{NODE}", "--ignore-scripts=false")
    try:
        return _suite(from_npm(config, f"conformance-{SUITE}-node{NODE}", *wanted), SUITE)
    except (pytest.skip.Exception, pytest.fail.Exception, OSError, subprocess.SubprocessError):
        if not older:
            raise
        folder = from_npm(config, f"conformance-{OLDER_SUITE}", f"{PACKAGE}@{OLDER_SUITE}")
        return _suite(folder, OLDER_SUITE)


def _suite(folder: Path, version: str) -> Suite:
    """Raises OSError, SubprocessError: what is installed does not run."""
    suite = Suite(folder, version, "")
    assert suite.said("conformance", "--version").strip() == version
    return Suite(folder, version, suite.said("node", "--version").strip())


def scenarios(suite: Suite, only: str = "*") -> list[Scenario]:
    """All it has for clients, each at every revision of REVISIONS that it is for."""
    listed = suite.said("conformance", "list", "--client")
    found: list[Scenario] = []
    for name, told in re.findall(r"^\s+- (\S+)(?: \[(.*)\])?$", listed, re.MULTILINE):
        known = [word for word in told.split(",") if word and word != "extension"]
        fitting = [revision for revision in REVISIONS if revision in known] or known[-1:] or [""]
        found += [Scenario(name, revision) for revision in fitting]
    return [s for s in found if fnmatchcase(s.name, only)]


def run(suite: Suite, scenario: Scenario, who: Who) -> Outcome:
    """One scenario with one client."""
    command = f"python -m {__package__}.client {who}"
    argv = ["conformance", "client", "--command", command, "--scenario", scenario.name]
    argv += ["--spec-version", scenario.revision] if scenario.revision else []
    argv += ["--timeout", str(SCENARIO_S * 1000), "-o"]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [*argv, folder],
            cwd=folder,
            env=suite.environment() | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            said, _ = process.communicate(timeout=SCENARIO_S + 30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
        results = list(Path(folder).rglob("checks.json"))
        checks: list[dict[str, Any]] = json.loads(results[0].read_text()) if results else []
        errors = results[0].with_name("stderr.txt") if results else None
        if errors is not None and errors.exists():
            said = errors.read_text(errors="replace")
    failures = [
        f"{check['id']}: {check.get('errorMessage') or check.get('description', '')}"
        for check in checks
        if check["status"] in ("FAILURE", "WARNING")
    ]
    if not checks:
        failures.append("it made no checks")
    return Outcome(
        passed=process.returncode == 0 and bool(checks),
        checks=Counter(check["status"] for check in checks),
        failures=tuple(failures),
        said=said[-2000:],
    )


def known_failures() -> dict[str, str]:
    """Scenarios the bare SDK fails, by name, with the reason."""
    table = tomllib.loads((HERE / "known_sdk_failures.toml").read_text())
    return {name: entry["reason"] for name, entry in table.items()}
