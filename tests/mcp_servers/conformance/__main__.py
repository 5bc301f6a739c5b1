"""Runs the conformance suite for clients with the product's manager and with the bare SDK.

    python -m tests.mcp_servers.conformance [--only GLOB] [--write]

Fails when the manager fails a scenario that the bare SDK passes, and when the SDK fares
otherwise than known_sdk_failures.toml says. --write puts the figure into docs/conformance.md.
"""

import argparse
import importlib.metadata
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.mcp_servers.conformance import suite as s
from tests.mcp_servers.conformance.suite import Outcome, Scenario, Suite

DOC = s.ROOT / "docs" / "conformance.md"
Pair = tuple[Outcome, Outcome]
"""The manager's and the SDK's."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance")
    parser.add_argument("--only", default="*", help="names of scenarios, * stands for others")
    parser.add_argument("--write", action="store_true", help="write docs/conformance.md anew")
    options = parser.parse_args()
    try:
        suite = s.install(SimpleNamespace(cache=Cache()))
    except (pytest.skip.Exception, pytest.fail.Exception) as error:
        print(f"The suite cannot be installed: {error}")
        return 2
    chosen = s.scenarios(suite, options.only)
    if not chosen:
        print(f"There is no scenario {options.only}.")
        return 2
    print(f"{s.PACKAGE} {suite.version} on node {suite.node}: {len(chosen)} scenarios")
    print(f"{'scenario':<58}{'manager':>16}{'bare SDK':>16}")
    outcomes: dict[Scenario, Pair] = {}
    for scenario in chosen:
        pair = s.run(suite, scenario, "manager"), s.run(suite, scenario, "sdk")
        outcomes[scenario] = pair
        print(f"{scenario!s:<58}{in_words(pair[0]):>16}{in_words(pair[1]):>16}", flush=True)
    problems = wrong(outcomes)
    print("\n" + summary(outcomes))
    print("\n".join(problems))
    if options.write and options.only == "*":
        DOC.write_text(page(suite, outcomes), encoding="utf-8")
    return 1 if problems else 0


class Cache:
    """The folder that pytest keeps for tests, for a program that is none."""

    def mkdir(self, name: str) -> Path:
        folder = s.ROOT / ".pytest_cache" / "d" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def in_words(outcome: Outcome) -> str:
    """`passed 12/12`: of the checks that judge something, how many were met."""
    if outcome.passed and not outcome.judged:
        return "not judged"
    return f"{'passed' if outcome.passed else 'FAILED'} {outcome.met}/{outcome.judged}"


def wrong(outcomes: dict[Scenario, Pair]) -> list[str]:
    """What must not be, a line or some for each; empty when all is as it should be."""
    known = s.known_failures()
    problems: list[str] = []
    for scenario, (manager, sdk) in outcomes.items():
        if sdk.passed and not manager.passed:
            problems.append(f"{scenario}: the bare SDK passes, the manager does not.")
            problems += [f"    {line}" for line in (*manager.failures, manager.said)]
        if not sdk.passed and scenario.name not in known:
            problems.append(f"{scenario}: the bare SDK fails; no known failure says why.")
            problems += [f"    {line}" for line in (*sdk.failures, sdk.said)]
    for name in known:
        of_name = [sdk.passed for scenario, (_, sdk) in outcomes.items() if scenario.name == name]
        if of_name and all(of_name):
            problems.append(f"{name}: the bare SDK passes now; it is no known failure any more.")
    return problems


def summary(outcomes: dict[Scenario, Pair]) -> str:
    """One line for each client."""
    lines: list[str] = []
    for n, who in enumerate(("Manager", "Bare SDK")):
        of_it = [pair[n] for pair in outcomes.values()]
        judged = [outcome for outcome in of_it if outcome.judged or not outcome.passed]
        passed = sum(outcome.passed for outcome in judged)
        met, all_ = sum(o.met for o in judged), sum(o.judged for o in judged)
        lines.append(f"{who}: {passed} of {len(judged)} scenarios passed, {met} of {all_} checks.")
    return "\n".join(lines)


def page(suite: Suite, outcomes: dict[Scenario, Pair]) -> str:
    """docs/conformance.md."""
    version = importlib.metadata.version
    known = s.known_failures()
    rows = "\n".join(
        f"| {scenario.name} | {scenario.revision or 'extension'} | {in_words(manager)} | "
        f"{in_words(sdk)} |"
        for scenario, (manager, sdk) in outcomes.items()
    )
    failed = {scenario.name for scenario, (_, sdk) in outcomes.items() if not sdk.passed}
    reasons = "\n".join(f"- {name}: {known[name]}" for name in sorted(failed) if name in known)
    return f"""# Conformance of the MCP client

{summary(outcomes).replace(chr(10), "  " + chr(10))}

Every scenario that the bare SDK passes is passed through the product's own manager too.

Measured with `{s.PACKAGE}` {suite.version} on node {suite.node.lstrip("v")} and `mcp`
{version("mcp")}. "passed 12/12" is: of twelve checks that judge something, twelve were met; a
scenario that the suite lets pass may have warnings among them. "not judged": the suite saw
nothing to judge (extensions that neither client has).

To repeat it: `make conformance` (needs npm; takes some minutes, because scenarios run one after
the other: side by side they run into their own time-outs). `ARGS="--only 'auth/*'"` runs some;
`ARGS=--write` writes this page anew. The command fails when the manager fails what the bare SDK
passes. Both clients play the same steps: tests/mcp_servers/conformance/client.py.

| scenario | protocol | manager | bare SDK |
|---|---|---|---|
{rows}

What the bare SDK fails, and why (tests/mcp_servers/conformance/known_sdk_failures.toml):

{reasons}
"""


if __name__ == "__main__":
    sys.exit(main())
