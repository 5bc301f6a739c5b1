"""list, glob, grep: .gitignore, bounds of time and size, links, foreign names."""

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.tools import ToolContext
from agent_tui.tools import search
from agent_tui.tools.globbing import Glob, GlobError, Walk
from agent_tui.tools.workspace import Workspace, guarded

from .conftest import Call, text_of, until


def tree(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {path}\n")


def lines(text: str) -> list[str]:
    return text.split("\n\n[")[0].split("\n")


# --- list -----------------------------------------------------------------------------


async def test_list_shows_kinds_sizes_and_targets(call: Call, cwd: Path) -> None:
    tree(cwd, "b.txt", "sub/x", ".hidden")
    (cwd / "big").write_bytes(b"x" * 12_345)
    (cwd / "link").symlink_to("sub")
    (cwd / "gone").symlink_to("nowhere")
    result = await call("list")
    assert lines(text_of(result)) == [
        ".hidden  16 B", "b.txt  14 B", "big  12.3 kB", "gone -> nowhere", "link/ -> sub", "sub/",
    ]  # fmt: skip
    assert result.details["count"] == 6
    assert lines(text_of(await call("list", path="sub"))) == ["x  14 B"]


async def test_list_of_an_empty_a_missing_and_no_folder(call: Call, cwd: Path) -> None:
    assert "empty" in text_of(await call("list"))
    tree(cwd, "file")
    assert "is a file" in text_of(await call("list", path="file"))
    missing = await call("list", path="nope")
    assert missing.is_error and "does not exist" in text_of(missing)


async def test_list_is_bounded(call: Call, cwd: Path) -> None:
    for n in range(1100):
        (cwd / f"f{n:04}").touch()
    result = await call("list")
    assert len(lines(text_of(result))) == 1000
    assert "100 more entries" in text_of(result) and result.details["count"] == 1100


async def test_names_with_controls_stay_on_their_line(call: Call, cwd: Path) -> None:
    (cwd / "a\nb\x1b]0;x\x07").touch()
    for name, arguments in (("list", {}), ("glob", {"pattern": "*"})):
        text = text_of(await call(name, **arguments))
        assert "a\\nb\\x1b]0;x\\x07" in text and len(lines(text)) == 1


# --- glob -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/b.py"], ["a.pyc", "a.py/x"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/x/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "srcs/a.py"]),
        ("**/test_*", ["test_a", "x/test_b"], ["x/atest_"]),
        ("src/**", ["src/a", "src/x/y"], ["src", "a/src"]),
        ("**", ["a", "x/y/z"], []),
        ("*.{ts,tsx}", ["a.ts", "b/c.tsx"], ["a.t", "a.{ts,tsx}"]),
        ("{a,b/{c,d}}/x", ["a/x", "b/c/x", "b/d/x"], ["b/x", "c/x"]),
        ("[ab]?.[!x]", ["a1.y", "q/bz.z"], ["c1.y", "a1.x"]),
        ("./a/b", ["a/b"], ["b", "x/a/b"]),
        (r"\*", ["*"], ["a"]),
        ("a**b", ["aXb", "ab"], ["a/b"]),
    ],
)
def test_glob_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in yes if not glob.matches(path)] == []
    assert [path for path in no if glob.matches(path)] == []


@pytest.mark.parametrize(
    "pattern", ["/etc/*", "../*", "a/../../b", "~/x", "", "{a,/b}", "x" * 2000]
)
async def test_glob_stays_in_its_folder(call: Call, cwd: Path, pattern: str) -> None:
    with pytest.raises(GlobError):
        Glob(pattern)
    if pattern:
        result = await call("glob", pattern=pattern)
        assert result.is_error and "cannot be used as a glob" in text_of(result)


def test_no_glob_takes_exponential_time() -> None:
    start = time.process_time()
    assert not Glob("*a" * 40 + "b").matches("a" * 250)
    assert not Glob("**/a/" * 40 + "b").matches("/".join("a" * 200))
    with pytest.raises(GlobError):
        Glob("{a,b}" * 30)
    assert time.process_time() - start < 5


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=4))
def test_the_walk_s_automaton_prunes_nothing_that_matches(names: list[str]) -> None:
    for pattern in ("a/**/b", "*/b/*", "**/ab", "a*"):
        glob = Glob(pattern)
        state = glob.start()
        for name in names[:-1]:
            if not glob.open(state):
                assert not glob.matches("/".join(names))
            state = glob.step(state, name)


async def test_glob_gives_newest_first_with_folders(call: Call, cwd: Path) -> None:
    tree(cwd, "old.py", "sub/new.py", "other.txt")
    (cwd / "dir.py").mkdir()
    for n, name in enumerate(["old.py", "dir.py", "sub/new.py"]):
        os.utime(cwd / name, (n + 1, n + 1))
    result = await call("glob", pattern="*.py")
    assert lines(text_of(result)) == ["sub/new.py", "dir.py/", "old.py"]
    assert result.details["count"] == 3
    assert lines(text_of(await call("glob", pattern="*.py", path="sub"))) == ["sub/new.py"]
    assert "Nothing matches" in text_of(await call("glob", pattern="*.rs"))


async def test_glob_is_bounded_and_says_so(call: Call, cwd: Path) -> None:
    for n in range(600):
        (cwd / f"f{n}").touch()
    result = await call("glob", pattern="f*")
    assert len(lines(text_of(result))) == 500
    assert "500 of 600" in text_of(result) and result.details["count"] == 600


# --- .gitignore -----------------------------------------------------------------------

_RULES = """\
# a comment
*.log
!keep.log
/only_top
build/
docs/*.tmp
**/deep/x
any/**/end
trailing/**
name\\ \n\\#hash
\\!bang
[ab].q
spaces  
tab\t
sub/
!sub/inner
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
def test_gitignore_is_read_as_git_reads_it(tmp_path: Path) -> None:
    """git itself is the judge: what it does not list as untracked is ignored."""
    paths = [
        "a.log", "x/keep.log", "x/b.log", "only_top", "x/only_top", "build/f", "x/build/g",
        "x/y/build", "docs/a.tmp", "docs/x/a.tmp", "x/docs/a.tmp", "deep/x", "q/deep/x", "any/end",
        "any/a/b/end", "any/a/ends", "trailing/a/b", "x/trailing/c", "name ", "#hash", "!bang",
        "a.q", "c.q", "spaces", "tab", "sub/inner", "sub/f", "nested/a.txt", "nested/b.txt",
        "nested/deeper/b.txt", ".dot/file", "excluded/f", "normal.txt",
    ]  # fmt: skip
    tree(tmp_path, *paths)
    (tmp_path / ".gitignore").write_text(_RULES)
    (tmp_path / "nested" / ".gitignore").write_text("*.txt\n!/b.txt\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env=environment)
    (tmp_path / ".git/info/exclude").write_text("excluded\n")
    listed = subprocess.run(
        ["git", "-C", str(tmp_path), "ls-files", "-z", "--others", "--exclude-standard"],
        check=True, env=environment, capture_output=True, text=True,
    ).stdout.split("\0")[:-1]  # fmt: skip
    walked = [found.relative for found in Walk(str(tmp_path)) if not found.is_folder]
    assert sorted(walked) == sorted(listed)
    below = [found.relative for found in Walk(str(tmp_path / "nested")) if not found.is_folder]
    assert sorted(below) == [".gitignore", "b.txt"]


async def test_ignored_files_are_left_out_and_this_is_said(call: Call, cwd: Path) -> None:
    (cwd / ".git").mkdir()
    tree(cwd, "node_modules/lib/index.js", ".git/config", "index.ts")
    (cwd / ".gitignore").write_text("node_modules\n")
    for name, arguments in (
        ("glob", {"pattern": "*.js"}),
        ("grep", {"pattern": "text of node"}),
    ):
        text = text_of(await call(name, **arguments))
        assert "index.js" not in text and ".gitignore" in text, name
    assert "node_modules/lib/index.js" in text_of(
        await call("glob", pattern="*.js", path="node_modules")
    )
    assert "config" not in text_of(await call("glob", pattern="*"))


# --- grep -----------------------------------------------------------------------------


async def test_grep_gives_path_line_text_in_path_order(call: Call, cwd: Path) -> None:
    (cwd / "b.py").write_text("x\ndef total():\n")
    (cwd / "a").mkdir()
    (cwd / "a/a.py").write_bytes(b"\xef\xbb\xbfdef total(x):\r\n  total = 1\r\n")
    (cwd / "a/c.txt").write_bytes("def total".encode("utf-16"))
    result = await call("grep", pattern=r"^def total")
    assert lines(text_of(result)) == [
        "a/a.py:1:def total(x):", "a/c.txt:1:def total", "b.py:2:def total():",
    ]  # fmt: skip
    assert result.details == {"count": 3, "files": 3}
    only = await call("grep", pattern="total", glob="*.py", path="a")
    assert lines(text_of(only)) == ["a/a.py:1:def total(x):", "a/a.py:2:  total = 1"]
    one = await call("grep", pattern="(?i)TOTAL", path="b.py")
    assert lines(text_of(one)) == ["b.py:2:def total():"]


async def test_grep_without_a_match_says_what_it_saw(call: Call, cwd: Path) -> None:
    tree(cwd, "a", "b")
    (cwd / "c").write_bytes(b"\0text of")
    text = text_of(await call("grep", pattern="nothing like it"))
    assert "No line matches" in text and "Searched: 2 files." in text
    assert "Skipped: 1 binary file." in text


async def test_grep_is_bounded_in_lines_and_in_text(call: Call, cwd: Path) -> None:
    (cwd / "many").write_text("hit\n" * 1000)
    result = await call("grep", pattern="hit")
    assert result.details["count"] == 200 and len(lines(text_of(result))) == 200
    assert "more than these 200" in text_of(result)
    (cwd / "many").write_text("x" * 500_000 + "needle" + "y" * 500_000)
    text = text_of(await call("grep", pattern="needle"))
    assert "needle" in text and len(text) < 1000


@pytest.mark.parametrize("pattern", ["(a+", "a\nb", "*x", "(?P<n>a)(?P<n>b)"])
async def test_grep_with_a_bad_pattern_says_what_to_do(call: Call, cwd: Path, pattern: str) -> None:
    result = await call("grep", pattern=pattern)
    assert result.is_error
    text_of(result)


async def test_grep_shows_controls_and_broken_text(call: Call, cwd: Path) -> None:
    (cwd / "f").write_bytes(b"hit \x1b[2J \xff\n")
    assert "hit \\x1b[2J \ufffd" in text_of(await call("grep", pattern="hit"))


async def test_links_are_not_followed_out_of_the_folder(
    call: Call, cwd: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "outside"
    tree(secret, "secret.txt")
    (cwd / "folder").symlink_to(secret)
    (cwd / "file").symlink_to(secret / "secret.txt")
    (cwd / "loop").symlink_to(".")
    assert "No line matches" in text_of(await call("grep", pattern="text of"))
    assert "secret.txt" not in text_of(await call("glob", pattern="**/*"))


async def test_a_pattern_that_never_ends_is_stopped_and_told(cwd: Path) -> None:
    tree(cwd, "a_first")
    (cwd / "z").write_text("a" * 100 + "!\n")
    workspace = Workspace(str(cwd))
    grep = guarded(workspace, search.grep_tool(workspace, seconds=0.3))
    context = ToolContext("c", lambda partial: None)
    loop_was_free = 0

    async def tick() -> None:
        nonlocal loop_was_free
        while True:
            await asyncio.sleep(0.01)
            loop_was_free += 1

    ticking = asyncio.create_task(tick())
    result = await asyncio.wait_for(grep("c", {"pattern": "(a|a)+$|text of"}, context), 20)
    ticking.cancel()
    text = text_of(result)
    assert lines(text) == ["a_first:1:text of a_first"]
    assert "Stopped after 0.3 s" in text and "simplify the pattern" in text
    assert loop_was_free > 10, "the event loop was held up"


async def test_a_cancelled_search_ends_its_process(cwd: Path) -> None:
    (cwd / "z").write_text("a" * 100 + "!\n")
    workspace = Workspace(str(cwd))
    grep = guarded(workspace, search.grep_tool(workspace))
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def spawn(*arguments: object, **named: object) -> "subprocess.Popen[bytes]":
        started.append(real(*arguments, **named))  # type: ignore[call-overload]
        return started[-1]

    patch = pytest.MonkeyPatch()
    patch.setattr(search.subprocess, "Popen", spawn)
    try:
        task = asyncio.ensure_future(
            grep("c", {"pattern": "(a|a)+$"}, ToolContext("c", lambda partial: None))
        )
        await until(lambda: started)
        task.cancel()
        start = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - start < 2
        assert started[0].wait(5) is not None
    finally:
        patch.undo()


async def test_an_unreadable_folder_costs_only_itself(call: Call, cwd: Path) -> None:
    tree(cwd, "a/f", "b/f")
    (cwd / "a").chmod(0)
    try:
        text = text_of(await call("grep", pattern="text of"))
        assert "b/f:1:text of b/f" in text
        if os.geteuid() != 0:
            assert "Could not be read: 1 path." in text
    finally:
        (cwd / "a").chmod(0o700)
