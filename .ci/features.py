"""Check docs/features.md: what is called built has an end-to-end test, and that test passed.

.ci/features.py            every built row names a test that exists
.ci/features.py REPORT     and it passed in the run that wrote REPORT
                           (AGENT_TUI_TEST_REPORT, see tests/conftest.py)
"""
# ruff: noqa: T201

import ast
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATES = ("planned", "built")
_HEADER = ["feature", "how a user reaches it", "state", "end-to-end test"]


@dataclass(frozen=True, slots=True)
class Row:
    """One feature. tests: pytest node ids, without parameters."""

    line: int
    feature: str
    reached_by: str
    state: str
    tests: tuple[str, ...]


def rows(text: str) -> list[Row]:
    """The rows of every table with our header. Raises ValueError for a row of another width."""
    found: list[Row] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
            continue
        # A bar inside a cell is written \|.
        cells = [
            cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))
        ]
        if [cell.lower() for cell in cells] == _HEADER:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            if len(cells) != len(_HEADER):
                raise ValueError(f"line {number}: {len(cells)} cells instead of {len(_HEADER)}")
            tests = tuple(re.findall(r"`([^`]+)`", cells[3]))
            found.append(Row(number, cells[0], cells[1], cells[2].lower(), tests))
    return found


def check(text: str, root: Path, outcomes: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong, a line each. outcomes: of a whole run, by node id; None: only what can be
    known without one."""
    try:
        table = rows(text)
    except ValueError as error:
        return [str(error)]
    problems = [] if table else ["no table of features"]
    for row in table:
        where = f"line {row.line}: {row.feature}"
        if row.state not in STATES:
            problems.append(f"{where}: the state is {row.state!r}, not one of {', '.join(STATES)}")
        if not row.feature or not row.reached_by:
            problems.append(f"{where}: how does a user reach it?")
        if row.state != "built":
            continue
        if not row.tests:
            problems.append(f"{where}: built, but names no `test`")
        for test in row.tests:
            wrong = _missing(test, root) or (_not_passed(test, outcomes) if outcomes else None)
            if wrong:
                problems.append(f"{where}: {test} {wrong}")
    return problems


def _missing(test: str, root: Path) -> str | None:
    file, _, inner = test.partition("::")
    path = root / file
    if not file.startswith("tests/") or not inner:
        return "is not of the form tests/FILE.py::test_name"
    if not path.is_file():
        return "is in a file that does not exist"
    scope: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for name in inner.partition("[")[0].split("::"):
        named = [
            node
            for node in scope
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == name
        ]
        if not named:
            return "does not exist"
        scope = named[-1].body
    return None


def _not_passed(test: str, outcomes: Mapping[str, str]) -> str | None:
    """A test with parameters counts when all of them passed."""
    mine = {
        outcome
        for node, outcome in outcomes.items()
        if node == test or node.startswith((f"{test}[", f"{test}::"))
    }
    if not mine:
        return "did not run"
    others = sorted(mine - {"passed"})
    return f"was {', '.join(others)}" if others else None


def main() -> int:
    page = ROOT / "docs" / "features.md"
    text = page.read_text(encoding="utf-8")
    outcomes = None
    if len(sys.argv) > 1:
        outcomes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["outcomes"]
        if not outcomes:
            print("features: the report holds no test")
            return 1
    problems = check(text, ROOT, outcomes)
    for problem in problems:
        print(f"{page.relative_to(ROOT)}, {problem}")
    if not problems:
        states = [row.state for row in rows(text)]
        print(f"features: {states.count('built')} built, {states.count('planned')} planned")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
