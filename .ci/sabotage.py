"""Break the product on purpose, a line at a time, and demand that its tests notice.

A test that cannot fail looks like one that passes. So every rule that matters has an entry in
.ci/sabotage/*.toml: a small breakage, and the tests that must go red for it. The tree (with
what is not committed yet) is copied, each breakage is made alone in the copy, and a breakage
that stays green is a hole in the tests: the exit code is then 1.

    make sabotage                                  all of them
    make sabotage ARGS="--only 'loop.*'"           by name; may be repeated
    make sabotage ARGS="--jobs 2"                  two at a time, each in a copy of its own
    make sabotage ARGS="--list"                    what there is

tests/test_sabotage_list.py keeps the entries true to the code.
"""
# ruff: noqa: T201

import argparse
import ast
import contextlib
import fnmatch
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LISTS = ROOT / ".ci" / "sabotage"
PLUGINS = LISTS  # pytest_sabotage.py lies beside the lists

TIMEOUT_S = 120.0
"""So long may the tests of one breakage take; a suite that hangs tells nobody what broke."""

NOTICED, UNNOTICED, HUNG, NOT_RUN, RED_BEFORE = (
    "noticed", "UNNOTICED", "HUNG", "DID NOT RUN", "RED BEFORE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Breakage:
    """One entry. name: "list.entry". breaks: the rule that no longer holds, in words. old stands
    in `file` exactly once. tests: pytest files or node ids, those that should notice."""

    name: str
    breaks: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The broken text. Raises ValueError unless `old` stands in it exactly once."""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.name}: its old text stands {found} times in {self.file}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a breakage. by: the test that noticed, or what went wrong."""

    breakage: Breakage
    outcome: str
    seconds: float
    by: str


# --- the list ---------------------------------------------------------------------------


def load(folder: Path = LISTS) -> list[Breakage]:
    """The entries of every list, in order.

    A list has `file` and `tests` for all its entries, which an entry may replace. An entry with
    `each` stands for one per name in it, with {each} replaced in its texts. Raises ValueError.
    """
    found: list[Breakage] = []
    for path in sorted(folder.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in table.pop("breakage"):
            try:
                found += _expanded(path.stem, table | entry)
            except (KeyError, TypeError) as error:
                raise ValueError(f"{path.name}: {entry.get('name')}: {error!r}") from error
    return found


_KEYS = {"name", "breaks", "file", "old", "new", "tests", "each"}


def _expanded(group: str, entry: dict[str, Any]) -> Iterator[Breakage]:
    if unknown := set(entry) - _KEYS:
        raise KeyError(f"unknown: {', '.join(sorted(unknown))}")
    names: list[str | None] = entry.get("each") or [None]
    for each in names:
        texts = {
            key: entry[key] if each is None else entry[key].replace("{each}", each)
            for key in ("name", "breaks", "file", "old", "new")
        }
        texts["name"] = f"{group}.{texts['name']}"
        yield Breakage(**texts, tests=tuple(entry["tests"]))


def problems(breakages: Sequence[Breakage], root: Path = ROOT) -> list[str]:
    """What is wrong with the entries, a line each: rotten, senseless or twice the same."""
    wrong = [
        f"{name}: {count} entries have this name"
        for name, count in Counter(b.name for b in breakages).items()
        if count > 1
    ]
    texts: dict[str, str] = {}
    tests: dict[str, bool] = {}
    for breakage in breakages:
        path = root / breakage.file
        if not path.is_file():
            wrong.append(f"{breakage.name}: there is no {breakage.file}")
            continue
        if breakage.file not in texts:
            texts[breakage.file] = path.read_text(encoding="utf-8")
        text = texts[breakage.file]
        try:
            broken = breakage.applied(text)
            if path.suffix == ".py":
                ast.parse(broken)
            if breakage.old.split() == breakage.new.split():
                wrong.append(f"{breakage.name}: it changes nothing")
        except (ValueError, SyntaxError) as error:
            wrong.append(f"{breakage.name}: {error}")
        for test in breakage.tests:
            if test not in tests:
                tests[test] = _is_test(test, root)
            if not tests[test]:
                wrong.append(f"{breakage.name}: there is no test {test}")
        if not breakage.tests or not breakage.breaks:
            wrong.append(f"{breakage.name}: which rule, and which tests?")
    return wrong


def _is_test(test: str, root: Path) -> bool:
    file, _, inner = test.partition("::")
    if not (root / file).is_file():
        return False
    scope: list[ast.stmt] = ast.parse((root / file).read_text(encoding="utf-8")).body
    for name in inner.partition("[")[0].split("::") if inner else ():
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        named = [node for node in scope if isinstance(node, kinds) and node.name == name]
        if not named:
            return False
        scope = named[-1].body
    return True


def chosen(breakages: Sequence[Breakage], patterns: Sequence[str]) -> list[Breakage]:
    """Those whose name is, or fits, one of the patterns. Raises SystemExit when none does."""
    if not patterns:
        return list(breakages)
    picked = [b for b in breakages if any(fnmatch.fnmatchcase(b.name, p) for p in patterns)]
    if not picked:
        sys.exit(f"no breakage named {', '.join(patterns)}; --list names them all")
    return picked


# --- copies of the tree -----------------------------------------------------------------


def copy_tree(root: Path, target: Path) -> None:
    """What git knows or would add, as it is on disk now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    for name in set(listed.split("\0")) - {""}:
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


class Copy:
    """One copy of the tree, in which one breakage at a time is made and tested."""

    def __init__(self, folder: Path, timeout_s: float = TIMEOUT_S) -> None:
        self.folder = folder
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None

    def check_imports(self) -> None:
        """Raises SystemExit unless the copy's own package is what its tests import."""
        code = "import agent_tui; print(agent_tui.__file__)"
        ran = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.folder, env=self._env(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not Path(ran.stdout.strip()).is_relative_to(self.folder):
            sys.exit(f"the tests would not import the copy but {ran.stdout or ran.stderr}")

    @contextlib.contextmanager
    def broken(self, breakage: Breakage) -> Iterator[None]:
        path = self.folder / breakage.file
        stat, text = path.stat(), path.read_text(encoding="utf-8")
        path.write_text(breakage.applied(text), encoding="utf-8")
        # Compiled files are told apart by second and size: neither may be as before.
        os.utime(path, (stat.st_atime, stat.st_mtime + 7))
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, (stat.st_atime, stat.st_mtime))

    def pytest(self, *arguments: str, keep_bytecode: bool = False) -> tuple[int | None, list[str]]:
        """pytest's exit code (None: it took too long), and the tests that failed."""
        report = self.folder / ".sabotage-report.json"
        report.unlink(missing_ok=True)
        env = self._env() | {"SABOTAGE_REPORT": str(report)}
        if not keep_bytecode:
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        process = self._process = subprocess.Popen(
            [*command, "-p", "pytest_sabotage", *arguments],
            cwd=self.folder, env=env, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            # Unbroken, all tests run at once.
            code: int | None = process.wait(self._timeout_s * (10 if keep_bytecode else 1))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            self.stop()
        failed = json.loads(report.read_text(encoding="utf-8")) if report.exists() else []
        return code, failed

    def stop(self) -> None:
        """End the tests, and whatever a broken program has left running. Idempotent."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def judge(self, breakage: Breakage) -> Verdict:
        started = time.monotonic()
        with self.broken(breakage):
            code, failed = self.pytest("-x", *breakage.tests)
        seconds = time.monotonic() - started
        match code:
            case 1 if failed:
                return Verdict(breakage, NOTICED, seconds, failed[0])
            case 0:
                return Verdict(breakage, UNNOTICED, seconds, f"green: {', '.join(breakage.tests)}")
            case None:
                return Verdict(breakage, HUNG, seconds, f"after {self._timeout_s:g} s")
            case _:
                # A program that cannot even be imported proves nothing about its tests.
                return Verdict(breakage, NOT_RUN, seconds, f"pytest ended with {code}")

    def _env(self) -> dict[str, str]:
        return os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(PLUGINS)]),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / ".hypothesis"),
        }


# --- the run ----------------------------------------------------------------------------


def run(
    breakages: Sequence[Breakage],
    root: Path = ROOT,
    *,
    jobs: int = 1,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[Verdict]:
    """Judge each breakage, as they are done. Those whose tests fail in an unbroken tree too are
    told first and not judged."""
    with tempfile.TemporaryDirectory(prefix="sabotage-") as folder:
        first = Path(folder).resolve() / "0"
        first.mkdir()
        copy_tree(root, first)
        copies = [Copy(first, timeout_s)]
        copies[0].check_imports()
        red = _red(copies[0], breakages)
        for breakage in breakages:
            if breakage in red:
                yield Verdict(breakage, RED_BEFORE, 0.0, red[breakage])
        for number in range(1, jobs):
            shutil.copytree(first, first.with_name(str(number)))
            copies.append(Copy(first.with_name(str(number)), timeout_s))
        free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for copy in copies:
            free.put(copy)

        def judge(breakage: Breakage) -> Verdict:
            copy = free.get()
            try:
                return copy.judge(breakage)
            finally:
                free.put(copy)

        with ThreadPoolExecutor(jobs) as pool:
            try:
                yield from pool.map(judge, [b for b in breakages if b not in red])
            finally:  # also on Ctrl+C, which the tests in their own sessions do not hear
                for copy in copies:
                    copy.stop()


def _red(copy: Copy, breakages: Sequence[Breakage]) -> dict[Breakage, str]:
    """Breakages that cannot be judged, with the test that fails before anything is broken."""
    targets = sorted({test for breakage in breakages for test in breakage.tests})
    code, failed = copy.pytest(*targets, keep_bytecode=True)
    if code not in (0, 1):
        said = "it took too long" if code is None else f"pytest ended with {code}"
        sys.exit(f"the tests do not run in an unbroken copy: {said}")
    red: dict[Breakage, str] = {}
    for breakage in breakages:
        for test in failed:
            if any(test == t or test.startswith((f"{t}::", f"{t}[")) for t in breakage.tests):
                red[breakage] = test
                break
    return red


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="sabotage", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="or a glob")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="copies at a time")
    parser.add_argument("--list", action="store_true", help="print the entries, break nothing")
    options = parser.parse_args(arguments)
    breakages = chosen(load(), options.only)
    if wrong := problems(breakages):
        print(*wrong, sep="\n")
        return 1
    if options.list:
        for breakage in breakages:
            print(f"{breakage.name:46} {breakage.breaks}")
        return 0
    outcomes: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    print(f"{len(breakages)} breakages; their tests run unbroken first", flush=True)
    for verdict in run(breakages, jobs=max(1, options.jobs)):
        outcomes[verdict.outcome] += 1
        groups[verdict.breakage.name.partition(".")[0]] += 1
        name, by = verdict.breakage.name, verdict.by
        print(f"{verdict.outcome:12} {verdict.seconds:6.1f} s  {name:46} {by}", flush=True)
        if verdict.outcome != NOTICED:
            print(f"{'':22} {verdict.breakage.breaks}", flush=True)
    print("   ".join(f"{group} {count}" for group, count in sorted(groups.items())))
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    print(f"{len(breakages)} breakages: {told}")
    return 0 if set(outcomes) == {NOTICED} else 1


if __name__ == "__main__":
    # As on Ctrl+C: the tests in their own sessions end, and the copies are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
