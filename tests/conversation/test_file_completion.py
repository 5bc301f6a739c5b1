"""What an @ may become: which files are listed, which fit, and that nothing waits for it."""

import asyncio
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.conversation.mentions import completer as completer_module
from agent_tui.conversation.mentions.completer import READING, FileCompleter, Offer
from agent_tui.conversation.mentions.file_list import FileList, list_files
from agent_tui.conversation.mentions.ranking import SHOWN, NotWanted, Query, best
from tests.faults.helpers import talking

NEVER = threading.Event()


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def ranked(typed: str, *paths: str, recent: dict[str, int] | None = None) -> list[str]:
    folded = [path.casefold() for path in paths]
    return best(paths, folded, Query.of(typed), recent or {}, lambda: True)


async def settled(completer: FileCompleter, typed: str) -> list[Offer]:
    """What is offered once all is known."""
    news = asyncio.Event()
    completer.changed = news.set
    async with asyncio.timeout(20):
        while True:
            news.clear()
            offers = completer.complete(typed)
            if not completer.busy:
                return offers
            await news.wait()


def names(offers: list[Offer]) -> list[str]:
    return [value for value, _ in offers]


# --- which fit, in which order ----------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "better", "worse"),
    [
        ("cart", "src/shop/cart", "src/shop/cart.py"),  # the whole name
        ("cart", "src/shop/cart.py", "src/old-cart.py"),  # its beginning before its middle
        ("cart", "src/old-cart.py", "src/discarter.py"),  # a word before a part of one
        ("cart", "a/b/c/cart.py", "cart/index.py"),  # the name before the folder
        ("shop", "shop/index.py", "workshop/index.py"),  # a folder's beginning
        ("qv", "tui/queue_view.py", "tui/quiver/x.py"),  # first letters of words
        ("CaRt", "cart.py", "card_test.py"),  # no case
        ("app", "src/app.py", "src/deep/er/app.py"),  # short before long
        ("s/c", "src/cart.py", "scripts.cfg/x"),
    ],
)
def test_the_better_of_two(typed: str, better: str, worse: str) -> None:
    for order in ([better, worse], [worse, better]):
        assert ranked(typed, *order)[0] == better


def test_the_better_of_many() -> None:
    many = [f"deep/in/some/folder/xcart{at}.py" for at in range(3000)]
    assert ranked("cart", *many[:1500], "cart.py", *many[1500:])[0] == "cart.py"
    assert ranked("cart", "cart.py", *many)[0] == "cart.py"
    assert len(ranked("cart", *many)) == SHOWN


def test_what_was_named_before_comes_first_among_equals() -> None:
    assert ranked("test", "a/test_a.py", "a/test_b.py", recent={"a/test_b.py": 0}) == [
        "a/test_b.py", "a/test_a.py",
    ]  # fmt: skip
    assert ranked("test_a", "a/test_a.py", "a/xtest_a.py", recent={"a/xtest_a.py": 0})[0] == (
        "a/test_a.py"
    )


def test_hidden_names_only_for_who_types_a_dot() -> None:
    paths = (".env", "src/.env", ".github/env.yml", "env.py")
    assert ranked("env", *paths) == ["env.py"]
    assert set(ranked(".e", *paths)) == {".env", "src/.env", ".github/env.yml"}
    assert "src/.env" in ranked("src/.e", *paths)


PATHS = st.lists(st.text("abAB/._- é", min_size=1, max_size=12), max_size=400)


@given(st.text("abAB/.", max_size=4), PATHS)
def test_all_that_fits_and_nothing_else(typed: str, paths: list[str]) -> None:
    def fits(path: str) -> bool:
        left = iter(path.casefold())
        return all(character in left for character in typed.casefold())

    shown = "." in typed[:1] or "/." in typed
    expected = [p for p in paths if fits(p) and (shown or not (p[:1] == "." or "/." in p))]
    found = ranked(typed, *paths)
    assert len(found) == min(len(expected), SHOWN)
    assert not set(found) - set(expected)
    if len(expected) <= SHOWN:
        assert sorted(found) == sorted(expected)


def test_a_search_that_nobody_wants_ends() -> None:
    with pytest.raises(NotWanted):
        best(["a"] * 5000, ["a"] * 5000, Query.of("a"), {}, lambda: False)


# --- which files ---------------------------------------------------------------------------


def listed(root: Path) -> set[str]:
    return set(list_files(str(root), NEVER).paths)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with ignored files of every kind."""
    make(
        tmp_path, "a.py", "src/b.py", "src/deep/c.log", "src/deep/kept.log", "build/x.o",
        "local.txt", ".hidden/d.py", "new\nline.py",
    )  # fmt: skip
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / "src/deep/.gitignore").write_text("!kept.log\n")
    return tmp_path


WANTED = {"a.py", "src/b.py", "src/deep/kept.log", ".hidden/d.py", "new\nline.py", ".gitignore",
          "src/deep/.gitignore", "src/", "src/deep/", ".hidden/"}  # fmt: skip


def test_of_a_work_tree_what_git_does_not_ignore(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tree, "init", "-q")
    (tree / ".git/info/exclude").write_text("local.txt\n")
    assert listed(tree) == WANTED
    git(tree, "add", "a.py")
    assert listed(tree) == WANTED, "what is known to git and what is not, each once"
    paths = list_files(str(tree), NEVER).paths
    assert len(paths) == len(set(paths))
    assert set(list_files(str(tree / "src"), NEVER).paths) == {
        "b.py", "deep/", "deep/kept.log", "deep/.gitignore",
    }  # fmt: skip


def test_a_repository_runs_no_program_of_its_own(tree: Path) -> None:
    git(tree, "init", "-q")
    hook = tree / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch '{tree}/ran'\n")
    hook.chmod(0o755)
    git(tree, "config", "core.fsmonitor", str(hook))
    listed(tree)
    assert not (tree / "ran").exists()


def test_without_git_the_ignore_files_hold_as_well(tree: Path) -> None:
    assert listed(tree) == WANTED | {"local.txt"}


def test_a_cap_is_said(tree: Path) -> None:
    found = list_files(str(tree), NEVER, most=3)
    assert len([p for p in found.paths if not p.endswith("/")]) == 3
    assert found.note == "only the first 3 files of this folder are listed"


def test_a_list_that_is_as_before_says_so(tree: Path) -> None:
    first = list_files(str(tree), NEVER)
    again = list_files(str(tree), NEVER, first)
    assert first.changed and not again.changed and again.paths is first.paths
    make(tree, "more.py")
    assert list_files(str(tree), NEVER, first).changed


# --- what is offered -----------------------------------------------------------------------


async def test_folders_go_deeper_and_names_are_quoted(tmp_path: Path) -> None:
    make(tmp_path, "src/shop/my cart.py", "src/shop/b.py", "src/x.py", "top.py")
    completer = FileCompleter(str(tmp_path))
    assert names(await settled(completer, "")) == ["src/", "top.py"]
    assert names(await settled(completer, "src/")) == ["src/shop/", "src/x.py"]
    assert names(await settled(completer, "src/shop/")) == [
        "src/shop/b.py", '"src/shop/my cart.py"',
    ]  # fmt: skip
    assert names(await settled(completer, '"my c')) == ['"src/shop/my cart.py"']
    assert names(await settled(completer, "./top")) == ["top.py"]
    assert names(await settled(completer, "nothing like it")) == []


async def test_paths_outside_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "beside/one.txt", "beside/.secret", "work/a.py", "home/notes.md")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    completer = FileCompleter(str(tmp_path / "work"))
    assert names(await settled(completer, "../be")) == ["../beside/"]
    assert names(await settled(completer, "../beside/")) == ["../beside/one.txt"]
    assert names(await settled(completer, "../beside/.s")) == ["../beside/.secret"]
    assert names(await settled(completer, "~/no")) == ["~/notes.md"]
    assert names(await settled(completer, f"{tmp_path}/home/")) == [f"{tmp_path}/home/notes.md"]
    ((value, why),) = await settled(completer, "/no such folder/x")
    assert value == "/no such folder/x" and "cannot be read" in why


async def test_what_came_or_went_is_seen_when_the_list_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "old.py")
    completer = FileCompleter(str(tmp_path))
    assert names(await settled(completer, "py")) == ["old.py"]
    make(tmp_path, "new.py")
    (tmp_path / "old.py").unlink()
    monkeypatch.setattr(completer_module, "STALE_S", 0.01)
    async with asyncio.timeout(20):
        while names(await settled(completer, "py")) != ["new.py"]:
            await asyncio.to_thread(time.sleep, 0.01)


async def test_while_the_folder_is_read_it_says_so_and_waits_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def slow(folder: str, stop: threading.Event, before: FileList | None = None) -> FileList:
        assert threading.current_thread() is not threading.main_thread()
        go.wait(10)
        return FileList(["a.py"], ["a.py"])

    monkeypatch.setattr(completer_module, "list_files", slow)
    make(tmp_path, "a.py")
    completer = FileCompleter(str(tmp_path))
    assert completer.complete("a") == [("a", READING)]
    await asyncio.sleep(0)
    assert completer.complete("a.") == [("a.", READING)]
    go.set()
    assert names(await settled(completer, "a.")) == ["a.py"]
    completer.close()


async def test_nothing_is_offered_for_what_is_no_name(tmp_path: Path) -> None:
    completer = FileCompleter(str(tmp_path))
    assert completer.complete("x" * 5000) == [] and completer.complete("\0") == []
    assert not completer.busy


async def test_files_stand_behind_the_resources_and_named_ones_come_first(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "sub/z.py")
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        conversation = talk.conversation
        await conversation.message_of("@sub/z.py")
        conversation.mcp.mentions.complete = lambda typed: [("zoo:x", "an ape")]  # type: ignore[method-assign]
        conversation.mentions("")
        await settled(conversation.file_names, "")
        assert names(conversation.mentions("")) == ["zoo:x", "sub/z.py", "sub/", "a.py"]
