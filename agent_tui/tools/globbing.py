"""Glob patterns, .gitignore rules, and one walk over a tree that knows both.

Standard library only: grep's worker process imports this and nothing heavier. Rules of
.gitignore: git's documentation of gitignore. No pattern here can take exponential time.
"""

import fnmatch
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

_MAX_ALTERNATIVES = 64
_MAX_PATTERN = 1000
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
_WILD = re.compile(r"[*?\[\\]")
_MAX_IGNORE_BYTES = 1024 * 1024


class GlobError(ValueError):
    """A pattern that cannot be used; str() says why."""


Segment = Callable[[str], object]
State = frozenset[tuple[int, int]]
"""Where in the alternatives of a pattern a path stands: (alternative, segment)."""


def _anything(name: str) -> bool:
    return True


def _segment(pattern: str) -> Segment:
    """A matcher for one name. `[^a]` is `[!a]`, a backslash takes the next character as it is."""
    if not _WILD.search(pattern):
        return pattern.__eq__
    escaped = re.sub(r"\\(.)", lambda m: f"[{m[1]}]" if m[1] in "*?[" else m[1], pattern)
    try:
        return re.compile(fnmatch.translate(escaped.replace("[^", "[!"))).match
    except re.error as error:
        raise GlobError(f"{pattern!r} is no valid pattern: {error}") from None


def _braces(pattern: str) -> list[str]:
    """`a.{b,c}` → a.b, a.c; nested ones too."""
    depth, start, commas = 0, -1, [-1]
    for at, char in enumerate(pattern):
        if char == "{":
            if depth == 0:
                start, commas = at, [at]
            depth += 1
        elif char == "," and depth == 1:
            commas.append(at)
        elif char == "}" and depth:
            depth -= 1
            if depth == 0 and len(commas) > 1:
                cuts = [*commas, at]
                out: list[str] = []
                for left, right in pairwise(cuts):
                    out += _braces(pattern[:start] + pattern[left + 1 : right] + pattern[at + 1 :])
                    if len(out) > _MAX_ALTERNATIVES:
                        raise GlobError(f"more than {_MAX_ALTERNATIVES} alternatives in braces")
                return out
    return [pattern]


class Glob:
    """`*`, `?`, `[ab]`, `{a,b}` inside a name; `**` over folders. Without a slash the pattern
    is for names at any depth. Used as an automaton: start(), then step() per name."""

    __slots__ = ("_alternatives",)

    def __init__(self, pattern: str, *, braces: bool = True) -> None:
        """Raises GlobError for a pattern that leaves its folder or is malformed."""
        if len(pattern) > _MAX_PATTERN:
            raise GlobError(f"it is longer than {_MAX_PATTERN} characters")
        self._alternatives: list[list[Segment | None]] = []  # None: `**`
        for one in _braces(pattern) if braces else [pattern]:
            parts = [part for part in one.split("/") if part not in ("", ".")]
            if one.startswith(("/", "~")) or ".." in parts:
                raise GlobError("it must stay inside `path`: no leading / or ~, no ..")
            if not parts:
                raise GlobError("it is empty")
            if len(parts) == 1 and not one.endswith("/"):
                parts.insert(0, "**")
            if parts[-1] == "**":
                parts.append("*")
            parts = [p for p, before in zip(parts, ["", *parts], strict=False)
                     if not p == before == "**"]  # fmt: skip
            self._alternatives.append([None if p == "**" else _segment(p) for p in parts])

    def start(self) -> State:
        """The state before the first name."""
        return self._closed({(a, 0) for a in range(len(self._alternatives))})

    def step(self, state: State, name: str) -> State:
        """The state after one more name of the path."""
        after: set[tuple[int, int]] = set()
        for alternative, at in state:
            segments = self._alternatives[alternative]
            if at == len(segments):
                continue
            segment = segments[at]
            if segment is None:
                after.add((alternative, at))
            elif segment(name):
                after.add((alternative, at + 1))
        return self._closed(after)

    def matched(self, state: State) -> bool:
        """Whether the names so far are a whole match."""
        return any(at == len(self._alternatives[alternative]) for alternative, at in state)

    def open(self, state: State) -> bool:
        """Whether further names could still match."""
        return any(at < len(self._alternatives[alternative]) for alternative, at in state)

    def matches(self, path: str) -> bool:
        """Whether a relative path with / matches."""
        state = self.start()
        for name in path.split("/"):
            state = self.step(state, name)
        return self.matched(state)

    def _closed(self, state: set[tuple[int, int]]) -> State:
        # `**` also stands for no folder at all.
        for alternative, at in list(state):
            segments = self._alternatives[alternative]
            if at < len(segments) and segments[at] is None:
                state.add((alternative, at + 1))
        return frozenset(state)


# --- .gitignore -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    ignores: bool
    folders_only: bool
    name: Segment | None  # for a name at any depth
    path: Glob | None  # for a path from the file's folder


def _rule(line: str) -> _Rule | None:
    line = line.rstrip("\r\n")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line if ignores else line[1:]
    parts = line.strip("/").split("/") if "//" not in line else []
    if not any(parts) or "." in parts:
        return None  # no path has an empty name, or one that is a dot
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    try:
        if "/" not in line:
            return _Rule(ignores, folders_only, _segment(line), None)
        # The slash keeps a single anchored name from meaning "at any depth".
        anchored = line.lstrip("/")
        glob = Glob(anchored if "/" in anchored else f"{anchored}/", braces=False)
    except GlobError:
        return None
    return _Rule(ignores, folders_only, None, glob)


class IgnoreFile:
    """The rules of one .gitignore for the paths below its folder."""

    __slots__ = ("_rules", "base")

    def __init__(self, base: str, text: str) -> None:
        self.base = base
        self._rules = [rule for line in text.split("\n") if (rule := _rule(line))]
        self._rules.reverse()  # the last rule that matches decides

    @classmethod
    def load(cls, base: str, file: str) -> "IgnoreFile | None":
        """The rules of `file` for what is below `base`; None when there are none to read."""
        try:
            with Path(file).open("rb") as opened:
                text = opened.read(_MAX_IGNORE_BYTES).decode("utf-8", "surrogateescape")
        except OSError:
            return None
        found = cls(base, text.removeprefix("\ufeff"))
        return found if found._rules else None

    def decides(self, path: str, name: str, is_folder: bool) -> bool | None:
        """True: ignored, False: un-ignored, None: no rule here is about it."""
        below: str | None = None
        for rule in self._rules:
            if rule.folders_only and not is_folder:
                continue
            if rule.name is not None:
                if rule.name(name):
                    return rule.ignores
            elif rule.path is not None:
                below = below or path[len(self.base.rstrip("/")) + 1 :]
                if rule.path.matches(below):
                    return rule.ignores
        return None


def ignores_above(root: str) -> list[IgnoreFile]:
    """The ignore files that hold for what is below `root`, outermost first: those from the
    top of its git work tree down to (not with) `root`, and .git/info/exclude."""
    chain = [Path(root), *Path(root).parents]
    top = next((n for n, folder in enumerate(chain) if (folder / ".git").exists()), None)
    if top is None:
        return []
    files = [(chain[top], chain[top] / ".git" / "info" / "exclude")]
    files += [(folder, folder / ".gitignore") for folder in reversed(chain[1 : top + 1])]
    loaded = (IgnoreFile.load(str(base), str(file)) for base, file in files)
    return [ignore for ignore in loaded if ignore]


# --- the walk -------------------------------------------------------------------------


@dataclass(slots=True)
class Found:
    """One entry: its path from the root with /, and its directory entry."""

    relative: str
    entry: "os.DirEntry[str]"
    is_folder: bool


@dataclass(slots=True)
class _Level:
    entries: Iterator["os.DirEntry[str]"]
    relative: str
    ignores: list[IgnoreFile]
    state: State


@dataclass(slots=True)
class Walk:
    """Every entry below `root` in path order, without what is ignored and without the folders
    of version control. Symbolic links are given but never followed: what lies behind one may
    be outside of `root`.

    glob: only what it matches, and only folders in which something could match. unreadable
    counts folders that could not be opened, ignored what .gitignore left out; timed_out is
    set when `deadline` (time.monotonic) ended the walk.
    """

    root: str
    glob: Glob | None = None
    deadline: float = float("inf")
    stopped: Callable[[], bool] = field(default=lambda: False)
    unreadable: int = 0
    ignored: int = 0
    timed_out: bool = False

    def __iter__(self) -> Iterator[Found]:
        state = self.glob.start() if self.glob else frozenset[tuple[int, int]]()
        levels = [self._level(self.root, "", ignores_above(self.root), state)]
        while levels:
            if self.stopped():
                return
            if time.monotonic() > self.deadline:
                self.timed_out = True
                return
            level = levels[-1]
            entry = next(level.entries, None)
            if entry is None:
                levels.pop()
                continue
            name = entry.name
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if (is_folder and name in _NEVER) or self._is_ignored(level, entry, is_folder):
                continue
            relative = f"{level.relative}{name}"
            after = self.glob.step(level.state, name) if self.glob else level.state
            if self.glob is None or self.glob.matched(after):
                yield Found(relative, entry, is_folder)
            if is_folder and (self.glob is None or self.glob.open(after)):
                levels.append(self._level(entry.path, f"{relative}/", level.ignores, after))

    def _is_ignored(self, level: _Level, entry: "os.DirEntry[str]", is_folder: bool) -> bool:
        for ignore in reversed(level.ignores):
            decided = ignore.decides(entry.path, entry.name, is_folder)
            if decided is not None:
                self.ignored += decided
                return decided
        return False

    def _level(self, folder: str, relative: str, above: list[IgnoreFile], state: State) -> _Level:
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            self.unreadable += 1
            entries = []
        ignores = above
        if any(entry.name == ".gitignore" for entry in entries):
            own = IgnoreFile.load(folder, str(Path(folder, ".gitignore")))
            ignores = [*above, own] if own else above
        return _Level(iter(entries), relative, ignores, state)
