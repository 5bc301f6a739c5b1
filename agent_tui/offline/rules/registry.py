"""The list of rules, and the view of a request that they look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal["shape", "meaning"]
Block = dict[str, Any]


@dataclass(slots=True)
class Message:
    """One message. path: "messages.3"; blocks: (path, block); text content is one text block."""

    path: str
    role: str
    blocks: list[tuple[str, Block]]


@dataclass(slots=True)
class Group:
    """Messages of one role in a row: the service joins them into one."""

    role: str
    path: str
    blocks: list[tuple[str, Block]]

    def of_type(self, *types: str) -> list[tuple[str, Block]]:
        return [(path, block) for path, block in self.blocks if block["type"] in types]


@dataclass(slots=True)
class Request:
    """A request under test. messages, groups and tools are filled once its shape is right.

    version: the anthropic-version header. counting: it is for count_tokens (no max_tokens).
    is_paused: whether these blocks are an answer that the service paused.
    """

    body: dict[str, Any]
    version: str
    counting: bool
    knows_signature: Callable[[str, str], bool]
    is_paused: Callable[[list[Block]], bool]
    messages: list[Message] = field(default_factory=list[Message])
    groups: list[Group] = field(default_factory=list[Group])
    tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    image_bytes: dict[int, bytes | None] = field(default_factory=dict[int, bytes | None])
    """Decoded images by the id() of their source, so that each is decoded once."""

    _nested: list[tuple[str, Block]] | None = None

    @property
    def goes_on(self) -> bool:
        """It ends with an answer that the service paused, sent back for more of it."""
        last = self.groups[-1] if self.groups else None
        return (
            last is not None
            and last.role == "assistant"
            and self.is_paused([block for _, block in last.blocks])
        )

    def blocks(self) -> Iterator[tuple[str, Block]]:
        for message in self.messages:
            yield from message.blocks

    def nested_blocks(self) -> list[tuple[str, Block]]:
        """Every block, those inside tool results too; collected once."""
        if self._nested is None:
            self._nested = []
            for path, block in self.blocks():
                self._nested.append((path, block))
                content = block.get("content")
                if block["type"] == "tool_result" and isinstance(content, list):
                    self._nested += [
                        (f"{path}.tool_result.content.{index}", inner)
                        for index, inner in enumerate(content)
                    ]
        return self._nested


Check = Callable[[Request], Iterator[str]]
"""Yields the service's message for each breach, or nothing."""


@dataclass(slots=True, frozen=True)
class Rule:
    name: str
    about: str
    phase: Phase
    check: Check


RULES: dict[str, Rule] = {}
"""All rules by name, in the order in which they are held against a request.

Rules of phase "meaning" are looked at only when those of phase "shape" found nothing.
"""


def rule(name: str, about: str, phase: Phase = "meaning") -> Callable[[Check], Check]:
    """Enters a check into RULES. about: the rule in one sentence."""

    def enter(check: Check) -> Check:
        if name in RULES:
            raise ValueError(f"two rules named {name}")
        RULES[name] = Rule(name, about, phase, check)
        return check

    return enter


def as_messages(body: dict[str, Any]) -> list[Message]:
    """The messages of a body whose shape is right."""
    out: list[Message] = []
    for index, message in enumerate(body["messages"]):
        path, content = f"messages.{index}", message["content"]
        if isinstance(content, str):
            blocks = [(f"{path}.content", {"type": "text", "text": content})]
        else:
            blocks = [(f"{path}.content.{i}", block) for i, block in enumerate(content)]
        out.append(Message(path, message["role"], blocks))
    return out


def as_groups(messages: list[Message]) -> list[Group]:
    groups: list[Group] = []
    for message in messages:
        if groups and groups[-1].role == message.role:
            groups[-1].blocks.extend(message.blocks)
        else:
            groups.append(Group(message.role, message.path, list(message.blocks)))
    return groups


def is_program_call(block: Block) -> bool:
    """True for a tool_use that a program in a container made."""
    caller = block.get("caller")
    return block["type"] == "tool_use" and isinstance(caller, dict) and caller["type"] != "direct"
