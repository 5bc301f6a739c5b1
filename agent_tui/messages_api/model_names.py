"""What the name of a model says: clouds dress Anthropic's own ids up, with dates and versions."""

import re

_DRESS = re.compile(
    r"""
      \Aarn:.*/                   # an ARN of Bedrock
    | \A(?:[a-z-]+\.)?anthropic\. # Bedrock, with or without the group of regions
    | -v\d+(?::\d+)?\Z            # Bedrock's version
    | @[a-z0-9-]+\Z               # Vertex
    """,
    re.VERBOSE,
)
_DATE = re.compile(r"-\d{8}\Z")
_NEW = re.compile(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2})(?!\d))?")
_OLD = re.compile(r"claude-(\d)(?:-(\d))?-[a-z]+")


def plain_name(model: str) -> str:
    """Anthropic's undated id of a model under any of its names:
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0" → "claude-sonnet-4-5"."""
    return _DATE.sub("", _DRESS.sub("", _DRESS.sub("", model)))


def model_version(model: str) -> tuple[int, int] | None:
    """(5, 5) for claude-sonnet-5-5 under any of its names; None for a name that tells nothing."""
    name = plain_name(model)
    found = _NEW.search(name) or _OLD.search(name)
    return (int(found[1]), int(found[2] or 0)) if found else None
