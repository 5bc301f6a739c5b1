"""The law of the loop: every case of tests/data/loop_cases, and of the files that
AGENT_TUI_LOOP_CASES names (separated by os.pathsep)."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from loop_case_runner import Case, run_case

OURS = Path(__file__).parent.parent / "data" / "loop_cases"


def _cases() -> list[tuple[str, Case]]:
    files = sorted(OURS.glob("*.json"))
    named = os.environ.get("AGENT_TUI_LOOP_CASES", "")
    files += [Path(name) for name in named.split(os.pathsep) if name]
    found: list[tuple[str, Case]] = []
    for file in files:
        cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
        found += [(f"{file.stem}:{case['name']}", case) for case in cases]
    return found


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in _cases()])
def test_case(case: Case, record_property: Callable[[str, object], None]) -> None:
    run_case(case)
    record_property("loop case", case["name"])


def test_the_whole_law_is_here() -> None:
    law = json.loads((OURS / "loop_cases.json").read_text(encoding="utf-8"))
    assert len(law["cases"]) == 73
