"""What must hold of the repository itself: its checks, its Makefile, its pages."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


def ci(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tracked() -> list[Path]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    names = subprocess.run(
        [git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


# --- docs/features.md -----------------------------------------------------------------

TEST_FILE = """
class TestInside:
    async def test_b(self): ...

def test_a(): ...
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "tests" / "e2e").mkdir(parents=True)
    (tmp_path / "tests" / "e2e" / "test_x.py").write_text(TEST_FILE)
    return tmp_path


def page(*rows: str) -> str:
    head = "| Feature | How a user reaches it | State | End-to-end test |\n|---|---|:-:|---|\n"
    return "text\n\n| other | table |\n|---|---|\n| a | b |\n\n" + head + "\n".join(rows) + "\n"


A = "tests/e2e/test_x.py::test_a"
B = "tests/e2e/test_x.py::TestInside::test_b"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("| Send | Enter | built | |", "names no `test`"),
        ("| Send | Enter | built | `tests/e2e/test_x.py::test_c` |", "does not exist"),
        ("| Send | Enter | built | `tests/e2e/test_y.py::test_a` |", "file that does not exist"),
        ("| Send | Enter | built | `tests/e2e/test_x.py::test_b` |", "does not exist"),
        ("| Send | Enter | built | `agent_tui/cli.py::main` |", "not of the form"),
        (f"| Send | Enter | done | `{A}` |", "'done'"),
        ("| Send | | planned | |", "how does a user reach it"),
        ("| Send | Enter | planned |", "3 cells"),
        (f"| Send | a | b | built | `{A}` |", "5 cells"),
    ],
)
def test_a_row_that_proves_nothing_is_refused(repo: Path, row: str, says: str):
    problems = ci("features").check(page(row), repo)
    assert len(problems) == 1 and says in problems[0]


def test_rows_that_are_planned_or_proved_pass(repo: Path):
    text = page(
        "| Send | Enter | planned | |",
        rf"| Pipe | `a \| b` | built | `{A}` |",
        f"| Both | Tab | Built | `{A}`, `{B}` |",
    )
    features = ci("features")
    assert features.check(text, repo) == []
    assert [row.state for row in features.rows(text)] == ["planned", "built", "built"]
    assert features.rows(text)[1].reached_by == "`a | b`"
    assert features.check("no table", repo) == ["no table of features"]


@pytest.mark.parametrize("outcome", ["skipped", "xfailed", "xpassed", "failed", "deselected"])
def test_a_built_row_needs_a_test_that_passed(repo: Path, outcome: str):
    features = ci("features")
    text = page(f"| Send | Enter | built | `{A}` |")
    assert features.check(text, repo, {A: "passed"}) == []
    assert features.check(text, repo, {f"{A}[x]": "passed", f"{A}[y-z]": "passed"}) == []
    (problem,) = features.check(text, repo, {A: outcome})
    assert f"was {outcome}" in problem
    (problem,) = features.check(text, repo, {f"{A}[x]": "passed", f"{A}[y]": outcome})
    assert f"was {outcome}" in problem
    (problem,) = features.check(text, repo, {f"{A}_other": "passed"})
    assert "did not run" in problem


def test_every_built_feature_names_a_test_that_exists():
    text = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    assert ci("features").check(text, ROOT) == []


# --- the report and the counts --------------------------------------------------------


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_report_tells_what_became_of_each_test(tmp_path: Path, workers: str):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_pass(): pass\n"
        "def test_fail(): assert 0\n"
        "@pytest.mark.skip\ndef test_skip(): pass\n"
        "@pytest.mark.xfail\ndef test_xfail(): assert 0\n"
        "@pytest.mark.xfail\ndef test_xpass(): pass\n"
        "@pytest.fixture\ndef broken(): raise ValueError\n"
        "def test_error(broken): pass\n"
        "@pytest.fixture\ndef leaky():\n    yield\n    raise ValueError\n"
        "def test_teardown(leaky): pass\n"
        "def test_left_out(): pass\n"
    )
    report = tmp_path / "report.json"
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", workers),
            *("-k", "not left_out", "-p", "no:cacheprovider"),
        ],
        cwd=tmp_path, env={**os.environ, "AGENT_TUI_TEST_REPORT": str(report)},
        capture_output=True, check=False,
    )  # fmt: skip
    outcomes = json.loads(report.read_text())["outcomes"]
    assert {node.partition("::")[2]: outcome for node, outcome in outcomes.items()} == {
        "test_pass": "passed",
        "test_fail": "failed",
        "test_skip": "skipped",
        "test_xfail": "xfailed",
        "test_xpass": "xpassed",
        "test_error": "error",
        "test_teardown": "error",
        "test_left_out": "deselected",
    }


def test_counts_are_of_cases_that_ran():
    cases, streams = "tests/agent/test_loop_cases.py", "tests/messages_api/test_recordings.py"
    assert ci("counts").counts(
        {
            f"{cases}::test_case[plain]": "passed",
            f"{cases}::test_case[steer]": "failed",
            f"{cases}::test_case[gone]": "skipped",
            f"{cases}::test_again[plain]": "passed",
            f"{cases}::test_the_file_is_whole": "passed",
            f"{streams}::test_replay[a.sse]": "passed",
            "tests/faults/test_screen.py::test_c08_no_escape[x]": "passed",
            "tests/faults/test_screen.py::test_c08_no_escape[y]": "passed",
            "tests/faults/test_screen.py::test_C10_bytes": "passed",
            "tests/faults/test_screen.py::test_helper": "passed",
            "tests/tui/test_x.py::test_a01_elsewhere": "passed",
        }
    ) == {"loop cases": 2, "recordings": 1, "faults": 2}


def test_no_test_can_leave_this_machine():
    import socket

    with socket.socket() as connection, pytest.raises(Exception, match="a test connected"):
        connection.connect(("192.0.2.1", 80))
    with pytest.raises(Exception, match="a test looked up"):
        socket.getaddrinfo("api.anthropic.com", 443)
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


async def test_no_async_test_can_leave_this_machine():
    import asyncio

    with pytest.raises(Exception, match="a test connected"):
        await asyncio.open_connection("192.0.2.1", 80)


# --- the Makefile ---------------------------------------------------------------------


def shell(script: Path, cwd: Path, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(script)],
        cwd=cwd, env={"PATH": str(path), "HOME": str(cwd)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def fake_python(folder: Path, name: str, body: str) -> None:
    script = folder / name
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("cat", "rm", "grep", "mkdir"):
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    return folder


OLD = 'case "$1" in --version) echo Python 3.9.2;; *) exit 1;; esac'


def test_a_python_that_is_too_old_is_named(tmp_path: Path, bin_folder: Path):
    fake_python(bin_folder, "python3", OLD)
    ran = shell(ROOT / ".ci" / "make_venv", tmp_path, bin_folder)
    assert ran.returncode == 1
    assert "needs Python 3.11 or newer; found: Python 3.9.2" in ran.stderr
    assert "PYTHON=" in ran.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_python_without_venv_says_what_to_install(tmp_path: Path, bin_folder: Path):
    fake_python(bin_folder, "python3", 'case "$1" in -c) exit 0;; *) mkdir .venv; exit 1;; esac')
    ran = shell(ROOT / ".ci" / "make_venv", tmp_path, bin_folder)
    assert ran.returncode == 1
    assert "python3-venv" in ran.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_environment_is_kept_while_it_works_and_made_anew_after_a_move(
    tmp_path: Path, bin_folder: Path
):
    made = (
        'case "$1" in -c) exit 0;; esac\n'
        "mkdir -p .venv/bin && echo made >> made\n"
        'echo "#!$PWD/.venv/bin/python" > .venv/bin/pip\n'
        f"cat {bin_folder}/python3.11 > .venv/bin/python; {shutil.which('chmod')} +x .venv/bin/*"
    )
    fake_python(bin_folder, "python3", OLD)
    fake_python(bin_folder, "python3.11", made)
    here, there = tmp_path / "he re", tmp_path / "there"
    here.mkdir()
    script = ROOT / ".ci" / "make_venv"
    for _ in range(2):
        assert shell(script, here, bin_folder).returncode == 0
    assert (here / "made").read_text() == "made\n"
    assert (here / ".venv" / ".made").read_text() == str(here)
    here.rename(there)
    assert shell(script, there, bin_folder).returncode == 0
    assert (there / "made").read_text() == "made\nmade\n"


def test_make_has_what_the_pages_promise():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert targets >= {"run", "test", "lint", "types", "bench", "snapshots", "config"}
    for text in ((ROOT / "README.md").read_text(encoding="utf-8"),):
        assert set(re.findall(r"`?make ([a-z]+)`", text)) <= targets
    for script in ("run", "make_venv"):
        assert os.access(ROOT / ".ci" / script, os.X_OK)


def test_a_benchmark_that_fails_fails_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    bench = ci("bench")
    (tmp_path / "benchmarks").mkdir()
    for name, code in (("good", 0), ("bad", 3), ("_helper", 9)):
        (tmp_path / "benchmarks" / f"{name}.py").write_text(f"raise SystemExit({code})")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench"])
    assert bench.main() == 1
    monkeypatch.setattr(sys, "argv", ["bench", "good"])
    assert bench.main() == 0
    with pytest.raises(SystemExit, match="no benchmark nope"):
        bench.benchmarks(["nope"])


# --- versions and leaks ---------------------------------------------------------------


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {
        name.lower().replace("_", "-"): version
        for name, _, version in (line.partition("==") for line in lines)
    }


def test_constraints_are_exact_versions_and_no_addresses():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.+!-]+", line), line
    assert "agent-tui" not in pins()


def test_every_dependency_has_a_pin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    for requirement in wanted:
        match = re.match(r"[A-Za-z0-9_.-]+", requirement)
        assert match and match[0].lower().replace("_", "-") in pins(), requirement


def test_no_tracked_file_names_a_machine():
    """No absolute path of a developer's machine, no address of a package mirror."""
    leak = re.compile(
        rb"/home/(?!me\b|you\b|user\b|x\b)[a-z]+/|/Users/(?!me\b|you\b|user\b)[A-Za-z]+/"
        rb"|(?<![\w.])/(?:root|work)/[a-z]|index-url|pypi\.org/simple"
    )
    found = [
        f"{path.relative_to(ROOT)}: {match[0]!r}"
        for path in tracked()
        if path != Path(__file__) and (match := leak.search(path.read_bytes()))
    ]
    assert found == []


def test_the_front_door_imports_nothing_heavy():
    code = (
        "import sys, agent_tui.cli\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'anthropic', 'mcp', 'textual', 'uvicorn', 'pydantic_monty'}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
