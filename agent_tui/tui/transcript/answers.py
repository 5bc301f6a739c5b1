"""Answers: the source of what the model said, for copying: whole answers, and code in them."""

import re
from collections.abc import Iterator, Sequence

from agent_tui.tui.transcript.blocks import Block, TextBlock

_FENCE = re.compile(r"([ \t]*)(?:[-*+>][ \t]+|\d{1,9}[.)][ \t]+)*(`{3,}|~{3,})([^\n]*)$")


def answers(blocks: Sequence[Block]) -> Iterator[str]:
    """The answers of the model, the last one first: markdown as it was sent, of each message
    that says something, its texts parted by a blank line."""
    texts: list[str] = []
    message = ""
    for block in reversed(blocks):
        if not isinstance(block, TextBlock) or block.struck or not block.message_id:
            continue
        if texts and block.message_id != message:
            yield "\n\n".join(reversed(texts))
            texts = []
        message = block.message_id
        if text := block.source().strip("\n"):
            texts.append(text)
    if texts:
        yield "\n\n".join(reversed(texts))


def fenced_code(text: str) -> list[str]:
    """The code of each fence of a markdown text, in order, without the indent of the fence
    (CommonMark 4.5); one that is still open counts."""
    found: list[str] = []
    fence, indent = "", 0
    lines: list[str] = []
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if not fence:
            if match and not (match[2][0] == "`" and "`" in match[3]):
                fence, indent, lines = match[2], match.start(2), []
        elif (
            match
            and match[2].startswith(fence)
            and not match[3].strip()
            and not line[: match.start(2)].strip()
        ):
            found.append("\n".join(lines))
            fence = ""
        else:
            blank = len(line) - len(line.lstrip(" "))
            lines.append(line[min(indent, blank) :])
    if fence:
        found.append("\n".join(lines))
    return found


def codes(blocks: Sequence[Block]) -> Iterator[str]:
    """The code blocks of all answers, the last one first."""
    for answer in answers(blocks):
        yield from reversed(fenced_code(answer))
