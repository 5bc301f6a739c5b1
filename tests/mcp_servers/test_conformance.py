"""Some scenarios of the conformance suite; `make conformance` runs all of them."""

from collections import Counter

import pytest

from tests.mcp_servers.conformance import __main__ as command
from tests.mcp_servers.conformance import suite as s
from tests.mcp_servers.conformance.suite import Outcome, Scenario, Suite


@pytest.fixture(scope="module")
def suite(request: pytest.FixtureRequest) -> Suite:
    return s.install(request.config, older=False)


@pytest.mark.network_registry
@pytest.mark.parametrize(
    ("name", "revision", "checks"),
    [
        ("elicitation-sep1034-client-defaults", "2025-11-25", 5),
        ("http-custom-headers", "2026-07-28", 18),
        # A login, a call that needs more rights, a second login for both.
        ("auth/scope-step-up", "2026-07-28", 15),
    ],
)
def test_a_scenario_is_passed_through_the_manager(
    suite: Suite, name: str, revision: str, checks: int
):
    outcome = s.run(suite, Scenario(name, revision), "manager")
    assert outcome.passed, (*outcome.failures, outcome.said)
    assert outcome.met >= checks and not outcome.failures


def outcome(passed: bool) -> Outcome:
    checks = Counter({"SUCCESS" if passed else "FAILURE": 1})
    return Outcome(passed, checks, () if passed else ("it failed",), "")


def test_the_command_fails_for_what_only_the_manager_fails(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(s, "known_failures", lambda: {"known": "why"})
    yes, no = outcome(True), outcome(False)
    assert command.wrong({Scenario("a"): (yes, yes), Scenario("known"): (no, no)}) == []
    assert command.wrong({Scenario("known"): (yes, no)}) == []
    [said, *_] = command.wrong({Scenario("a", "2025-11-25"): (no, yes)})
    assert said == "a at 2025-11-25: the bare SDK passes, the manager does not."
    [said, *_] = command.wrong({Scenario("a"): (yes, no)})
    assert "no known failure says why" in said
    [said] = command.wrong({Scenario("known"): (yes, yes)})
    assert "no known failure any more" in said
