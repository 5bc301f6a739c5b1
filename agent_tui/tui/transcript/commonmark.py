"""How lines of CommonMark begin: what opens, closes and interrupts blocks.

The parser proper is markdown-it-py; these are for telling, line by line, where a block ends.
"""

import re

FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$")
INNER_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$")
QUOTE = re.compile(r" {0,3}>")
QUOTED = re.compile(r"(?: {0,3}> ?)*")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
MARKER = re.compile(r"( *)([-*+]|(\d{1,9})([.)]))([ \t]+|$)")
TABLE_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")

STARTS = (RULE, HEADING, FENCE, QUOTE)
"""What ends a list where it is not inside an item."""


def indent_of(line: str) -> int:
    """Columns of white space before the text; a tab goes to the next multiple of four."""
    column = 0
    for char in line:
        if char == " ":
            column += 1
        elif char == "\t":
            column += 4 - column % 4
        else:
            break
    return column


def without_indent(line: str, columns: int) -> str:
    """The line with up to so many columns of white space taken off."""
    column = 0
    for index, char in enumerate(line):
        if column >= columns:
            return " " * (column - columns) + line[index:]
        if char == " ":
            column += 1
        elif char == "\t":
            column += 4 - column % 4
        else:
            return line[index:]
    return " " * max(0, column - columns)


def closes(line: str, fence: str) -> bool:
    """Whether the line ends what `fence` has opened, its indent aside."""
    text = line.strip()
    return text.startswith(fence) and not text.strip(fence[0])
