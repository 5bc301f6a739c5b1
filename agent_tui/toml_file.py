"""Reading a TOML file a person wrote: its values, the line of every key, and errors that name
file, line and column, quote the line and say what to do."""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui.text import clean, cut, mask_secrets

_QUOTED_LINE = 120


class TomlFileError(Exception):
    """str() is one line: file:line:col: what, the line, a hint."""

    def __init__(self, message: str) -> None:
        super().__init__(clean(message))


@dataclass(slots=True)
class TomlFile:
    """values: the top-level table. lines: the line (from 1) of each key as spelled in the
    file, dotted with its table ("headers.X-Team"), and of each table."""

    path: Path
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    lines: dict[str, int] = field(default_factory=dict[str, int])

    def spelled(self, key: str) -> str:
        """The longest name under which a top-level key first appears: "mcp.servrs" for mcp."""
        return next((name for name in self.lines if _top(name) == key), key)

    def where(self, key: str) -> str:
        """`file:line` of a top-level key."""
        line = self.lines.get(self.spelled(key))
        return f"{self.path}:{line}" if line else str(self.path)

    def where_in(self, key: str, inner: str) -> str:
        """`file:line` of a key in the table `key`, or in tables in it ("docs.url"); of the
        nearest table around it that has a line, for one that has none."""
        name = f"{key}.{inner}"
        while name != key:
            line = next((n for at, n in self.lines.items() if f"{at}.".startswith(f"{name}.")), 0)
            if line:
                return f"{self.path}:{line}"
            name = name.rpartition(".")[0]
        return self.where(key)


def read_toml(path: Path) -> TomlFile | None:
    """None if there is no such file. Raises TomlFileError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TomlFileError(f"{path}: cannot be read: {reason}.") from error
    text = _decode(path, data)
    lines = _key_lines(text)
    try:
        return TomlFile(path, tomllib.loads(text), lines)
    except tomllib.TOMLDecodeError as error:
        raise _parse_error(path, text, lines, str(error)) from error
    except (RecursionError, ValueError) as error:
        raise TomlFileError(
            f"{path}: a value is nested too deeply or too long to be read; make it simpler."
        ) from error


def _decode(path: Path, data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TomlFileError(f"{path}:1:1: the file is UTF-16; save it as UTF-8.")
    if b"\0" in data:
        line, column = _position(data[: data.index(b"\0")].decode("utf-8", "replace"))
        raise TomlFileError(
            f"{path}:{line}:{column}: the file holds NUL bytes, so it is damaged; "
            "restore it from a copy, or remove it to start with the defaults."
        )
    try:
        # TOML counts CR LF as one line end, Python's parser only LF.
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line, column = _position(data[: error.start].decode("utf-8", "replace"))
        raise TomlFileError(
            f"{path}:{line}:{column}: byte 0x{data[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8."
        ) from error


def _position(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _parse_error(path: Path, text: str, lines: dict[str, int], message: str) -> TomlFileError:
    """From tomllib's message, which names the place at its end."""
    at = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    what = message[: at.start()] if at else message
    what = re.sub(r"\((?:'[^']*',? ?)+\)", lambda m: ".".join(re.findall("'([^']*)'", m[0])), what)
    source = text.split("\n")
    if at and at[1]:
        line, column = int(at[1]), int(at[2])
    else:
        line = max((n for n, content in enumerate(source, 1) if content.strip()), default=1)
        column = len(source[line - 1]) + 1
    quoted = source[line - 1].strip() if line <= len(source) else ""
    hint = _hint(what, quoted, lines, line, at_end=not (at and at[1]))
    return TomlFileError(
        f"{path}:{line}:{column}: {clean(what[:1].lower() + what[1:])}"
        f"{f', in: {_without_secrets(quoted)}' if quoted else ''}{f'  ({hint})' if hint else ''}"
    )


def _without_secrets(line: str) -> str:
    key, equals, _ = line.partition("=")
    if equals and re.search(r"key|token|secret|password|auth|header", key, re.IGNORECASE):
        return f"{clean(key.strip())} = ***"
    return clean(cut(mask_secrets(line), _QUOTED_LINE))


def _hint(what: str, quoted: str, lines: dict[str, int], line: int, *, at_end: bool) -> str:
    _, equals, value = quoted.partition("=")
    value = value.strip()
    if "\\" in value and value.startswith('"'):
        return "put text with backslashes in single quotes: 'C:\\new\\dir'"
    if re.search("overwrite|twice|immutable", what):
        name = re.split(r"[=\]]", quoted.lstrip("["), maxsplit=1)[0].strip().strip("\"'")
        first = next(
            (n for key, n in lines.items() if n < line and key.rpartition(".")[2] == name), None
        )
        there = f" in line {first}" if first else ""
        return f"the same name stands{there} already; keep one of them"
    if equals and not value:
        return "write a value after the ="
    if what.startswith(("Unterminated", "Unclosed")) or (at_end and what == "Invalid value"):
        return "close the quote or bracket that is still open"
    if value.casefold() in ("true", "false", "yes", "no", "on", "off"):
        return "write true or false, in small letters"
    if value and value[0] not in "\"'[{" and not value[0].isdigit():
        return 'put text in quotes: key = "value"'
    if what.startswith("Expected '='"):
        return 'each line is: key = "value"'
    return ""


_BLANKED = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*'
)
_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_LINE = re.compile(rf"[ \t]*(?:\[\[?[ \t]*(?P<table>{_DOTTED})[ \t]*\]|(?P<key>{_DOTTED})[ \t]*=)")


def _key_lines(text: str) -> dict[str, int]:
    """Keys and tables with their lines. Works on broken files too, as errors need it."""
    # Long strings and comments may hold lines that look like keys.
    text = _BLANKED.sub(
        lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][:3] in ('"""', "'''") or m[0][0] == "#"
        else m[0],
        text,
    )  # fmt: skip
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = _LINE.match(line)
        if match is None:
            continue
        name = ".".join(
            part.strip("\"'") for part in re.findall(_KEY, match["table"] or match["key"])
        )
        if match["table"]:
            table = name
        elif table:
            name = f"{table}.{name}"
        found.setdefault(name, number)
    return found


def _top(name: str) -> str:
    return name.partition(".")[0]
