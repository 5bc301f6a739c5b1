"""For each rule, requests that break it and their nearest neighbour that does not."""

from rule_cases_content import CASES as CONTENT
from rule_cases_pairing import CASES as PAIRING
from rule_cases_settings import CASES as SETTINGS
from rule_cases_shape import CASES as SHAPE
from rule_cases_tool_search import CASES as TOOL_SEARCH

CASES = [*SHAPE, *SETTINGS, *CONTENT, *PAIRING, *TOOL_SEARCH]

ALSO = {
    # Steering after a program's calls also ends a turn whose program has no result.
    "program_results_only": {"server_results_missing"},
    "cache_control_empty": {"empty_text"},
    "results_missing": {"prefill"},
}
"""Rules that a breach of another one cannot help but break too."""
