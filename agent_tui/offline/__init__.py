"""A Messages API on loopback: strict request rules, a scripted guide, given scenarios.
Any SDK client can talk to it; it says that it is scripted.
"""

from agent_tui.offline.containers import ContainerOptions
from agent_tui.offline.models import DEMO_MODEL, DEMO_NAME
from agent_tui.offline.rules import RULES, ApiProblem, validate_request
from agent_tui.offline.scenarios import Scenario, ScenarioError
from agent_tui.offline.server import NATURAL_SPEED, OfflineServer, OfflineServerError, serve

__all__ = [
    "DEMO_MODEL",
    "DEMO_NAME",
    "NATURAL_SPEED",
    "RULES",
    "ApiProblem",
    "ContainerOptions",
    "OfflineServer",
    "OfflineServerError",
    "Scenario",
    "ScenarioError",
    "serve",
    "validate_request",
]
