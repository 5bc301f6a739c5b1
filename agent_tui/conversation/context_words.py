"""The sources of a context, in words."""

from collections.abc import Mapping
from typing import Final

SOURCE_WORDS: Final[Mapping[str, str]] = {
    "system": "system prompt",
    "tools": "tools",
    "prompts": "your messages",
    "answers": "answers",
    "thinking": "thinking",
    "calls": "tool calls",
    "results": "tool results",
    "server": "server tools",
    "images": "images",
    "answer": "last answer",
}
"""Of a ContextChangedEvent, in words; "answer" is the one that has just come."""
