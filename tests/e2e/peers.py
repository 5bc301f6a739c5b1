"""Servers that others wrote, installed from their registries into pytest's cache, once.

Without npm, or without a registry, tests that need them are skipped, saying so; in CI (CI=true)
they fail instead: there the registry is part of what is tested.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NoReturn, Self

import pytest

from tests.e2e.servers import free_port
from tests.e2e.terminal import SLOW

AIMOCK = "1.43.0"
LLMOCK = "0.2.2"


def aimock(config: pytest.Config) -> Path:
    """The folder of npm's @copilotkit/aimock."""
    folder = from_npm(config, f"aimock-{AIMOCK}", f"@copilotkit/aimock@{AIMOCK}")
    return folder / "node_modules" / "@copilotkit" / "aimock"


def llmock(config: pytest.Config) -> Path:
    """The folder to put on PYTHONPATH for PyPI's llmock."""
    return from_pypi(config, f"llmock-{LLMOCK}", f"llmock=={LLMOCK}")


def from_npm(config: pytest.Config, name: str, *packages: str) -> Path:
    """The folder with node_modules in it, installed once under this name."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        _without("npm and node are not here")
    options = ("--no-audit", "--no-fund", "--ignore-scripts")
    return _cached(
        config, name, lambda to: [npm, "install", "--prefix", str(to), *options, *packages]
    )


def from_pypi(config: pytest.Config, name: str, *packages: str) -> Path:
    """The folder to put on PYTHONPATH, installed once under this name. `--no-deps` may be among
    the packages."""
    return _cached(
        config,
        f"{name}-py{sys.version_info.major}{sys.version_info.minor}",
        lambda to: [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--target", str(to), *packages),
        ],
    )


def _cached(config: pytest.Config, name: str, command: Any) -> Path:
    cache = getattr(config, "cache", None)
    peers = cache.mkdir("peers") if cache else Path(tempfile.gettempdir()) / "agent-tui-peers"
    peers.mkdir(exist_ok=True)
    folder = peers / name
    # Tests run in several processes: one installs, the others wait for it.
    with (peers / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _install(name, folder, command)
    return folder


def _install(name: str, folder: Path, command: Any) -> None:
    fresh = folder.with_name(f"{name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    run = subprocess.run(command(fresh), capture_output=True, text=True, timeout=300, check=False)
    if run.returncode != 0:
        shutil.rmtree(fresh, ignore_errors=True)
        last = (run.stderr.strip() or run.stdout.strip()).splitlines()[-1:]
        _without(f"{name} cannot be installed: {' '.join(last)[:300]}")
    fresh.rename(folder)


def _without(why: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


class Peer:
    """A server process of another's making on a free port, ready to answer."""

    def __init__(self, argv: list[str], env: dict[str, str], ready: str) -> None:
        """argv and env values may hold {port}; ready: a path that answers once it serves."""
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [part.format(port=port) for part in argv],
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"} | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        end = time.monotonic() + 20 * SLOW
        while True:
            try:
                self.get(ready)
                return
            except OSError as error:
                if time.monotonic() > end or self._process.poll() is not None:
                    said = self.stop()
                    raise AssertionError(f"{argv[0]} does not serve: {error}\n{said}") from None
                time.sleep(0.05)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as response:
            return json.load(response)

    def post(self, path: str, value: Any) -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}", json.dumps(value).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    def stop(self) -> str:
        """Ends it; what it printed."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
        out, _ = self._process.communicate()
        return out.decode("utf-8", "replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_aimock(config: pytest.Config, fixtures: Path) -> Peer:
    node = shutil.which("node") or "node"
    cli = str(aimock(config) / "dist" / "cli.js")
    argv = [node, cli, "--port", "{port}", "--fixtures", str(fixtures), "--log-level", "warn"]
    return Peer(argv, {}, "/v1/_requests")


def start_llmock(config: pytest.Config) -> Peer:
    env = {"PYTHONPATH": str(llmock(config)), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "llmock.cli", "serve", "--port", "{port}"]
    return Peer([*argv, "--response-style", "hello"], env, "/_llmock/requests")
