"""Which line of a program made a call: found by reading its code, never by guessing.

The service says which program made a call, but not where. A call is traced to a line when
only one line of the code can have made it: the tool's name is called there, and the arguments
written out there agree with the call's. A loop's calls all lead to its one line. Where two
lines could have made it, or the name is used in another way (handed on, given another
meaning), no line is named.
"""

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

CODE_LIMIT = 100_000
"""Characters; longer code is not read."""

QUICK = 6000
"""Characters that are read within a few milliseconds; more is for a thread."""


_NOT_IN_NAMES = re.compile(r"\W", re.ASCII)


@dataclass(slots=True)
class _Site:
    """One place where a name is called. fixed: the arguments written out as literals, by name;
    loose: literals without a name; names: all names given; open: more may be given (`**x`)."""

    line: int
    fixed: dict[str, Any] = field(default_factory=dict[str, Any])
    loose: list[Any] = field(default_factory=list[Any])
    names: set[str] = field(default_factory=set[str])
    open: bool = False

    def agrees(self, arguments: Mapping[str, Any]) -> bool:
        return (
            all(name in arguments and _same(arguments[name], v) for name, v in self.fixed.items())
            and self.names <= arguments.keys()
            and (self.open or len(arguments) >= len(self.names) + len(self.loose))
            and all(any(_same(v, given) for given in arguments.values()) for v in self.loose)
        )


class ProgramLines:
    """The call sites of one program. Never raises; code that cannot be read has no sites."""

    def __init__(self, code: str) -> None:
        self._calls: dict[str, list[ast.Call]] = {}
        self._sites: dict[str, list[_Site]] = {}
        self._unclear: set[str] = set()
        tree = _parse(code)
        if tree is not None:
            self._read(tree)

    def line(self, name: str, arguments: Mapping[str, Any]) -> int | None:
        """The line, from 1, that made this call of the tool `name`; None: it is not certain."""
        if name not in self._calls:
            name = _NOT_IN_NAMES.sub("_", name)  # what a name in Python cannot hold
        if name in self._unclear or name not in self._calls:
            return None
        # The name stands where a call begins, also one that goes over several lines.
        lines = {call.func.lineno for call in self._calls[name]}
        if len(lines) > 1:
            if name not in self._sites:
                self._sites[name] = [_site(call) for call in self._calls[name]]
            lines = {site.line for site in self._sites[name] if site.agrees(arguments)}
        return lines.pop() if len(lines) == 1 else None

    def _read(self, tree: ast.AST) -> None:
        called: set[int] = set()
        for node in ast.walk(tree):  # a call comes before the name in it
            kind = type(node)
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name):
                    called.add(id(node.func))
                    self._calls.setdefault(node.func.id, []).append(node)
            elif isinstance(node, ast.Name):
                if type(node.ctx) is not ast.Load or id(node) not in called:
                    self._unclear.add(node.id)
            elif kind in _NAMING:
                self._unclear.update(_named(node))


_NAMING = frozenset({
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.arg, ast.alias, ast.ExceptHandler,
    ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.Global, ast.Nonlocal,
})  # fmt: skip


def _site(call: ast.Call) -> _Site:
    site = _Site(call.func.lineno)
    for argument in call.args:
        match argument:
            case ast.Dict(keys=keys, values=values) if len(call.args) == 1:
                # All arguments as one dict: call({"year": 2025}).
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        _given(site, key.value, value)
                    else:
                        site.open = True
            case ast.Starred():
                site.open = True
            case _:
                known, value = _literal(argument)
                if known:
                    site.loose.append(value)
                else:
                    site.open = True
    for keyword in call.keywords:
        if keyword.arg is None:
            site.open = True
        else:
            _given(site, keyword.arg, keyword.value)
    return site


def _given(site: _Site, name: str, node: ast.expr) -> None:
    site.names.add(name)
    known, value = _literal(node)
    if known:
        site.fixed[name] = value


def _literal(node: ast.expr) -> tuple[bool, Any]:
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON has it: True is not 1, a tuple is a list."""
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False


def _named(node: ast.AST) -> Iterator[str]:
    """Names that a node gives another meaning."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case _:
            pass


def _parse(code: str) -> ast.AST | None:
    if len(code) > CODE_LIMIT:
        return None
    try:
        with warnings.catch_warnings():
            # "\d" in a string is the program's matter; a warning would draw on the screen.
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
