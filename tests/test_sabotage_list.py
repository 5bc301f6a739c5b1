"""The list of breakages (.ci/sabotage) stays true to the code, and its runner demands red."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agent_tui.offline.rules import RULES

ROOT = Path(__file__).resolve().parent.parent


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_sabotage", ROOT / ".ci" / "sabotage.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


sabotage = _load()


# --- the entries ------------------------------------------------------------------------


def test_every_entry_can_still_be_applied() -> None:
    """Its old text stands in its file exactly once, the broken file is Python that says
    something else, and its tests exist."""
    assert sabotage.problems(sabotage.load()) == []


def test_no_request_rule_is_missing() -> None:
    off = {b.name for b in sabotage.load() if b.name.endswith("-off") and "rules." in b.name}
    assert off == {f"rules.{name}-off" for name in RULES}


def test_every_kind_is_there() -> None:
    files = {b.file for b in sabotage.load()}
    for wanted in (
        "agent_tui/text.py",
        "agent_tui/agent/loop.py",
        "agent_tui/agent/message_queue.py",
        "agent_tui/agent/repair.py",
        "agent_tui/agent/tool_batch.py",
        "agent_tui/messages_api/request.py",
        "agent_tui/messages_api/wire_blocks.py",
        "agent_tui/sessions/writer.py",
        "agent_tui/sessions/reader.py",
        "agent_tui/conversation/approvals.py",
        "agent_tui/conversation/driver.py",
        "agent_tui/conversation/retry.py",
        "agent_tui/tools/permissions.py",
    ):
        assert wanted in files


# --- the runner -------------------------------------------------------------------------

PACKAGE = """
import time

def double(number):
    return number * 2

def half(number):
    return number / 2

def third(number):
    return number / 3
"""
TESTS = """
from agent_tui import double, half, third

def test_double():
    assert double(3) == 6

def test_half():
    half(3)
"""
RED = "def test_red():\n    assert 0\n"


def entry(name: str, old: str, new: str, *tests: str) -> object:
    return sabotage.Breakage(
        name, "a rule", "agent_tui/__init__.py", old, new, tests or ("tests/test_it.py",)
    )


GOOD = entry("a.noticed", "number * 2", "number * 3")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project of the same name as ours, known to git but not committed."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("no git")
    for name, text in {
        "agent_tui/__init__.py": PACKAGE,
        "tests/test_it.py": TESTS,
        "tests/test_red.py": RED,
        "left_out/x.py": "raise ValueError",
        ".gitignore": "left_out/\n__pycache__/\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run([git, "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_each_breakage_alone_must_turn_its_tests_red(root: Path) -> None:
    before = (root / "agent_tui" / "__init__.py").read_text(encoding="utf-8")
    verdicts = list(
        sabotage.run(
            [
                GOOD,
                entry("a.unnoticed", "number / 3", "number / 4"),
                entry("a.broken", "import time", "import no_such_module_at_all"),
                entry("a.hangs", "return number * 2", "time.sleep(60)"),
                entry("a.red-before", "number * 2", "number * 3", "tests/test_red.py"),
            ],
            root,
            jobs=2,
            timeout_s=12.0,
        )
    )
    outcomes = {v.breakage.name: v.outcome for v in verdicts}
    assert outcomes == {
        "a.noticed": sabotage.NOTICED,
        "a.unnoticed": sabotage.UNNOTICED,
        "a.broken": sabotage.NOT_RUN,
        "a.hangs": sabotage.HUNG,
        "a.red-before": sabotage.RED_BEFORE,
    }
    by = {v.breakage.name: v.by for v in verdicts}
    assert by["a.noticed"] == "tests/test_it.py::test_double"
    assert by["a.red-before"] == "tests/test_red.py::test_red"
    assert (root / "agent_tui" / "__init__.py").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("breakage", "says"),
    [
        (entry("a.b", "number * 7", "x"), "stands 0 times"),
        (entry("a.b", "return", "x"), "stands 3 times"),
        (entry("a.b", "number * 2", "number *  2"), "changes nothing"),
        (entry("a.b", "number * 2", "number * ("), "was never closed"),
        (entry("a.b", "number * 2", "0", "tests/test_no.py"), "no test tests/test_no.py"),
        (entry("a.b", "number * 2", "0", "tests/test_it.py::test_no"), "::test_no"),
        (sabotage.Breakage("a.b", "", "agent_tui/x.py", "", "", ()), "no agent_tui/x.py"),
    ],
)
def test_an_entry_that_proves_nothing_is_refused(root: Path, breakage: object, says: str) -> None:
    problems = sabotage.problems([GOOD, breakage], root)
    assert len(problems) == 1 and says in problems[0]
    assert sabotage.problems([GOOD, entry("a.b", "number / 2", "0", "tests/test_it.py::test_half")],
                             root) == []  # fmt: skip


def test_two_entries_of_one_name_are_refused(root: Path) -> None:
    assert "2 entries" in sabotage.problems([GOOD, GOOD], root)[0]


def test_a_list_is_read_with_its_defaults_and_for_each_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(
        'file = "f.py"\ntests = ["tests/t.py"]\n'
        '[[breakage]]\nname = "one"\nbreaks = "x"\nold = "a"\nnew = "b"\nfile = "g.py"\n'
        '[[breakage]]\nname = "{each}-off"\nbreaks = "{each}"\nold = "a"\nnew = "{each}"\n'
        'each = ["x", "y"]\n'
    )
    read = sabotage.load(tmp_path)
    assert [(b.name, b.file, b.new) for b in read] == [
        ("b.one", "g.py", "b"), ("b.x-off", "f.py", "x"), ("b.y-off", "f.py", "y"),
    ]  # fmt: skip
    assert {b.tests for b in read} == {("tests/t.py",)}
    (tmp_path / "c.toml").write_text('[[breakage]]\nname = "one"\nold = "a"\nbreak = "x"\n')
    with pytest.raises(ValueError, match="unknown: break"):
        sabotage.load(tmp_path)


LIST = """
file = "agent_tui/__init__.py"
tests = ["tests/test_it.py"]
[[breakage]]
name = "seen"
breaks = "Twice is twice"
old = "number * 2"
new = "number * 3"
[[breakage]]
name = "unseen"
breaks = "A third is a third"
old = "number / 3"
new = "number / 4"
"""


def test_the_command_breaks_what_is_asked_for_and_reports_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `make sabotage ARGS="--only NAME"` does, on the small project: for real."""
    (root / "list").mkdir()
    (root / "list" / "small.toml").write_text(LIST, encoding="utf-8")
    load, problems, run = sabotage.load, sabotage.problems, sabotage.run
    monkeypatch.setattr(sabotage, "load", lambda: load(root / "list"))
    monkeypatch.setattr(sabotage, "problems", lambda breakages: problems(breakages, root))
    monkeypatch.setattr(sabotage, "run", lambda b, jobs: run(b, root, jobs=jobs, timeout_s=20.0))
    assert sabotage.main(["--only", "small.seen"]) == 0
    out = capsys.readouterr().out
    assert "noticed" in out and "tests/test_it.py::test_double" in out
    assert "1 breakages: 1 noticed" in out and "unseen" not in out
    assert sabotage.main(["--only", "small.uns*"]) == 1
    out = capsys.readouterr().out
    assert "UNNOTICED" in out and "A third is a third" in out


@pytest.mark.parametrize(
    ("outcome", "code"), [("NOTICED", 0), ("UNNOTICED", 1), ("HUNG", 1), ("RED_BEFORE", 1)]
)
def test_the_exit_code_tells_whether_all_were_noticed(
    outcome: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(breakages: list[object], **_: object) -> list[object]:
        kinds = [getattr(sabotage, outcome), *[sabotage.NOTICED] * (len(breakages) - 1)]
        return [sabotage.Verdict(b, k, 1.0, "by") for b, k in zip(breakages, kinds, strict=True)]

    monkeypatch.setattr(sabotage, "run", judged)
    assert sabotage.main(["--only", "rules.*"]) == code
    out = capsys.readouterr().out
    assert f"{getattr(sabotage, outcome)} " in out and "rules." in out
    with pytest.raises(SystemExit, match="no breakage named nope"):
        sabotage.main(["--only", "nope"])
