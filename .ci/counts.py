"""Print how many loop cases, recordings and faults ran in a test run."""
# ruff: noqa: T201

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

_PARAMETER = re.compile(r"\[(.+)\]$")
_FAULT = re.compile(r"::test_([a-f]\d\d)(?![0-9])", re.IGNORECASE)
_RAN = ("passed", "failed", "xfailed", "xpassed")


def counts(outcomes: Mapping[str, str]) -> dict[str, int]:
    """Distinct cases that ran, whatever came out: a case or recording is the parameter of a test
    in its file, a fault the name of a test in tests/faults (test_c08_...)."""
    ran = [node for node, outcome in outcomes.items() if outcome in _RAN]
    return {
        "loop cases": len(_parameters(ran, "tests/agent/test_loop_cases.py")),
        "recordings": len(_parameters(ran, "tests/messages_api/test_recordings.py")),
        "faults": len(
            {
                match[1].upper()
                for node in ran
                if node.startswith("tests/faults/") and (match := _FAULT.search(node))
            }
        ),
    }


def _parameters(ran: list[str], file: str) -> set[str]:
    return {
        match[1]
        for node in ran
        if node.startswith(f"{file}::") and (match := _PARAMETER.search(node))
    }


def main() -> None:
    outcomes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["outcomes"]
    for what, number in counts(outcomes).items():
        print(f"{what}: {number}")
    for variable in ("AGENT_TUI_LOOP_CASES", "AGENT_TUI_RECORDINGS"):
        if not os.environ.get(variable):
            print(f"{variable} is not set: only what is in the repository ran")


if __name__ == "__main__":
    main()
