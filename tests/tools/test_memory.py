"""The memory tool: its commands, and that nothing outside its folder can be reached."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.tools import ToolContext, ToolResult
from agent_tui.conversation.validation import validate_arguments
from agent_tui.paths import PathError
from agent_tui.tools import memory
from agent_tui.tools.memory import memory_tool


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def call(root: Path) -> Any:
    tool = memory_tool(lambda: root, "memory_20250818")

    async def run(command: str, **arguments: Any) -> ToolResult:
        checked = validate_arguments(tool.parameters, {"command": command, **arguments})
        return await tool.execute("t1", checked, ToolContext("t1", lambda _: None))

    return run


async def good(result: Any) -> str:
    made = await result
    assert not made.is_error, made.content[0].text
    return made.content[0].text


async def bad(result: Any) -> str:
    made = await result
    assert made.is_error
    return made.content[0].text


async def test_a_file_from_its_making_to_its_end(call: Any, root: Path) -> None:
    assert "(nothing yet)" in await good(call("view", path="/memories"))
    await good(call("create", path="/memories/notes/a.md", file_text="one\ntwo\n"))
    assert (root / "notes/a.md").read_text() == "one\ntwo\n"
    listed = await good(call("view", path="/memories"))
    assert "/memories/notes/\n" in listed and "8B\t/memories/notes/a.md" in listed
    assert "     1\tone\n     2\ttwo" in await good(call("view", path="/memories/notes/a.md"))
    part = await good(call("view", path="/memories/notes/a.md", view_range=[2, -1]))
    assert "     2\ttwo" in part and "one" not in part
    await good(call("str_replace", path="/memories/notes/a.md", old_str="two", new_str="2"))
    await good(call("insert", path="/memories/notes/a.md", insert_line=1, insert_text="1.5"))
    await good(call("insert", path="/memories/notes/a.md", insert_line=0, insert_text="zero\n"))
    assert (root / "notes/a.md").read_text() == "zero\none\n1.5\n2\n"
    await good(call("rename", old_path="/memories/notes/a.md", new_path="/memories/b/c.md"))
    assert (root / "b/c.md").exists() and not (root / "notes/a.md").exists()
    await good(call("delete", path="/memories/b"))
    assert not (root / "b").exists() and (root / "notes").exists()


async def test_a_change_comes_with_its_diff(call: Any) -> None:
    made = await call("create", path="/memories/a", file_text="one\n")
    assert made.details["created"] and "+one" in made.details["diff"]
    changed = await call("str_replace", path="/memories/a", old_str="one", new_str="two")
    assert changed.details["path"] == "/memories/a"
    assert "-one\n+two" in changed.details["diff"]
    assert "     1\ttwo" in changed.content[0].text


async def test_files_are_private(call: Any, root: Path) -> None:
    before = os.umask(0)
    try:
        await good(call("create", path="/memories/sub/a", file_text="secret"))
        await good(call("insert", path="/memories/sub/a", insert_line=0, insert_text="more"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "sub/a").stat().st_mode) == 0o600
    for folder in (root, root / "sub"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


OUTSIDE = [
    "/etc/passwd",
    "memories/a",
    "/memories/../secret",
    "/memories/sub/../../secret",
    "/memoriesecret",
    "/memories/link/secret",
    "/memories/link",
    "/memories/a\0b",
    "",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_nothing_outside_can_be_reached(
    path: str, call: Any, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret\n")
    await good(call("create", path="/memories/inside", file_text="x"))
    (root / "link").symlink_to(tmp_path)
    (root / "sub").mkdir()
    for command, more in (
        ("view", {}),
        ("create", {"file_text": "x"}),
        ("str_replace", {"old_str": "secret", "new_str": "x"}),
        ("insert", {"insert_line": 0, "insert_text": "x"}),
        ("delete", {}),
    ):
        assert await bad(call(command, path=path, **more))
    assert await bad(call("rename", old_path=path, new_path="/memories/taken"))
    assert await bad(call("rename", old_path="/memories/inside", new_path=path))
    assert (tmp_path / "secret").read_text() == "secret\n"
    assert sorted(os.listdir(tmp_path)) == ["kept", "secret"]  # noqa: PTH208
    assert (root / "inside").read_text() == "x"


async def test_a_link_is_not_listed(call: Any, root: Path, tmp_path: Path) -> None:
    await good(call("create", path="/memories/a", file_text="x"))
    (root / "link").symlink_to(tmp_path)
    (root / ".hidden").write_text("x")
    listed = await good(call("view", path="/memories/"))
    assert "/memories/a" in listed and "link" not in listed and "hidden" not in listed


async def test_what_cannot_be_done_says_what_can(call: Any) -> None:
    await good(call("create", path="/memories/a", file_text="b\nb\n"))
    assert "does not exist" in await bad(call("view", path="/memories/none"))
    assert "exists already" in await bad(call("create", path="/memories/a", file_text=""))
    twice = await bad(call("str_replace", path="/memories/a", old_str="b", new_str="c"))
    assert "2 times" in twice and "lines 1, 2" in twice
    lost = await bad(call("str_replace", path="/memories/a", old_str="z", new_str="c"))
    assert "old_str is not in" in lost
    assert "old_str is not in" in await bad(
        call("str_replace", path="/memories/a", old_str="", new_str="c")
    )
    late = await bad(call("insert", path="/memories/a", insert_line=9, insert_text="x"))
    assert "from 0 to 2" in late
    assert "past them" in await bad(call("view", path="/memories/a", view_range=[9, 12]))
    assert "itself" in await bad(call("delete", path="/memories"))
    assert "itself" in await bad(call("rename", old_path="/memories", new_path="/memories/b"))
    taken = await bad(call("rename", old_path="/memories/a", new_path="/memories/a"))
    assert "there already" in taken
    assert "needs file_text" in await bad(call("create", path="/memories/b"))


async def test_a_file_too_large_is_left_as_it_was(
    call: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MAX_FILE_BYTES", 10)
    await good(call("create", path="/memories/a", file_text="0123456789"))
    assert "at most" in await bad(
        call("insert", path="/memories/a", insert_line=0, insert_text="x")
    )
    assert (root / "a").read_text() == "0123456789"
    (root / "big").write_text("x" * 11)
    assert "too large" in await bad(call("view", path="/memories/big"))
    (root / "binary").write_bytes(b"\x00\x01")
    assert "no text file" in await bad(call("view", path="/memories/binary"))


def test_the_commands_are_those_of_the_sdk() -> None:
    """Each with the arguments that it needs there."""
    import anthropic.types.beta as types

    for command, needed in memory._COMMANDS.items():
        name = command.title().replace("_", "")
        model = getattr(types, f"BetaMemoryTool20250818{name}Command")
        theirs = {n for n, f in model.model_fields.items() if f.is_required()} - {"command"}
        assert set(needed) == theirs


async def test_a_path_that_ends_with_a_slash_is_a_folder(call: Any, root: Path) -> None:
    said = await bad(call("create", path="/memories/d/", file_text="x"))
    assert "/memories/d/ is a folder" in said
    assert not (root / "d").exists()
    await good(call("create", path="/memories/d", file_text="x"))
    for command in ({"command": "str_replace", "old_str": "x", "new_str": "y"},
                    {"command": "insert", "insert_line": 0, "insert_text": "y"}):  # fmt: skip
        assert "is no file" in await bad(call(**command, path="/memories/d/"))
    assert (root / "d").read_text() == "x"


async def test_errors_name_files_as_the_model_knows_them(
    call: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await good(call("create", path="/memories/a.md", file_text="x"))

    def no_room(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device", str(root / "a.md"))

    monkeypatch.setattr(memory, "replace_file", no_room)
    said = await bad(call("str_replace", path="/memories/a.md", old_str="x", new_str="y"))
    assert "/memories/a.md" in said and str(root) not in said

    def no_folder(path: Path) -> Path:
        raise PathError(f"Cannot make {path}")

    monkeypatch.setattr(memory, "private_folder", no_folder)
    said = await bad(call("view", path="/memories"))
    assert "folder cannot be used" in said and str(root) not in said
