"""Who must be asked: fault C16 (links out of the folder) and what "always" would allow."""

from pathlib import Path
from typing import Any

import pytest

from agent_tui.tools.permissions import approval_rule, needs_approval

READING = ["read", "list", "glob", "grep"]


@pytest.mark.parametrize("tool", READING)
@pytest.mark.parametrize(
    "path", ["f", "./sub/f", "sub/../f", "new/not/yet", "{cwd}", "{cwd}/sub", "inner"]
)
def test_reading_inside_the_folder_is_free(cwd: Path, tool: str, path: str) -> None:
    (cwd / "sub").mkdir()
    (cwd / "inner").symlink_to("sub")
    assert not needs_approval(tool, {"path": path.format(cwd=cwd)}, str(cwd))


@pytest.mark.parametrize("tool", ["list", "glob", "grep"])
def test_no_path_is_the_folder_itself(cwd: Path, tool: str) -> None:
    assert not needs_approval(tool, {"pattern": "x"}, str(cwd))


@pytest.mark.parametrize(
    "path",
    [
        "..", "../work2/f", "/etc/passwd", "~/.ssh/id", "sub/../../f", "out", "out/x/y", "dangling",
        "dangling_folder/new", "chain", "file_out", "a\0b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("tool", READING)
def test_C16_what_leads_out_asks_also_over_links(
    cwd: Path, tmp_path: Path, tool: str, path: str
) -> None:
    (tmp_path / "secret").write_text("x")
    (cwd / "sub").mkdir()
    (cwd / "out").symlink_to("/")
    (cwd / "dangling").symlink_to(tmp_path / "new")
    (cwd / "dangling_folder").symlink_to(tmp_path / "no" / "folder")
    (cwd / "chain").symlink_to("file_out")
    (cwd / "file_out").symlink_to(tmp_path / "secret")
    assert needs_approval(tool, {"path": path}, str(cwd))


def test_C16_a_sibling_with_the_same_beginning_is_outside(cwd: Path) -> None:
    assert needs_approval("read", {"path": f"{cwd}-other/f"}, str(cwd))


def test_a_working_folder_that_is_a_link_is_its_real_folder(cwd: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(cwd)
    assert not needs_approval("read", {"path": str(cwd / "f")}, str(link))
    assert not needs_approval("read", {"path": "f"}, str(link))


@pytest.mark.parametrize("arguments", [{"path": 3}, {"path": ["f"]}, {"path": None}])
def test_odd_arguments_ask(cwd: Path, arguments: dict[str, Any]) -> None:
    assert needs_approval("read", arguments, str(cwd))


@pytest.mark.parametrize("tool", ["write", "edit", "shell", "srv__read", "READ", "", "unknown"])
def test_everything_else_asks(cwd: Path, tool: str) -> None:
    assert needs_approval(tool, {"path": "f", "command": "ls"}, str(cwd))


def test_folders_may_be_made_readable(cwd: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    call = {"path": str(outputs / "x.txt")}
    assert needs_approval("read", call, str(cwd))
    assert not needs_approval("read", call, str(cwd), readable=[str(outputs)])
    assert needs_approval("write", call, str(cwd), readable=[str(outputs)])
    assert needs_approval("read", {"path": f"{outputs}/../f"}, str(cwd), readable=[str(outputs)])


# --- what "always" would allow ---------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    ["git status && rm -rf x", "git status;rm", "git status\nrm", "git  status", "git status ", ""],
)
def test_always_for_shell_is_this_command_and_no_other(other: str) -> None:
    rule = approval_rule("shell", {"command": "git status"})
    assert "git status" in rule
    assert approval_rule("shell", {"command": "git status", "timeout": 5}) == rule
    assert approval_rule("shell", {"command": other}) != rule


def test_always_for_writing_is_the_tool_in_its_folder(cwd: Path, tmp_path: Path) -> None:
    def rule(tool: str, path: str) -> str:
        return approval_rule(tool, {"path": path}, str(cwd))

    (cwd / "out").symlink_to("/etc")
    inside = rule("write", "a/b.py")
    assert str(cwd) in inside
    assert inside == rule("write", "c.py") == rule("write", str(cwd / "new" / "d"))
    assert inside != rule("edit", "a/b.py")
    assert inside != rule("write", "out/passwd")
    assert "/etc" in rule("write", "out/passwd")
    assert rule("write", str(tmp_path / "x")) == rule("write", str(tmp_path / "y"))
    assert rule("write", str(tmp_path / "x")) != rule("write", str(tmp_path / "deeper" / "y"))


def test_always_without_a_folder_is_this_path_only() -> None:
    assert approval_rule("write", {"path": "a"}) != approval_rule("write", {"path": "b"})


def test_always_for_other_tools_is_the_exact_tool() -> None:
    rule = approval_rule("srv__query", {"sql": "select 1"})
    assert rule == approval_rule("srv__query", {"sql": "drop table x"})
    assert rule != approval_rule("srv__query2", {"sql": "select 1"})
    assert "srv__query" in rule
