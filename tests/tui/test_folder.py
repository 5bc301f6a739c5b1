from pathlib import Path

import pytest

from agent_tui.tui.folder import Folder, git_branch, short_path


@pytest.mark.parametrize(
    ("cwd", "short"),
    [("/homes/a/src", "~/src"), ("/homes/a", "~"), ("/homes/ab", "/homes/ab"), ("/", "/")],
)
def test_the_home_folder_is_a_tilde(cwd: str, short: str):
    assert short_path(cwd, "/homes/a") == short


def test_a_folder_with_an_escape_in_its_name_is_safe():
    assert "\x1b" not in short_path("/tmp/\x1b[31m", "/homes/a")


def test_the_branch_of_the_folder_or_its_parent(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert git_branch(str(tmp_path)) == "feature/x"
    assert git_branch(str(tmp_path / "deep" / "er")) == "feature/x"


def test_a_detached_head_is_a_short_commit(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert git_branch(str(tmp_path)) == "01234567"


def test_a_worktree_points_elsewhere(tmp_path: Path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "HEAD").write_text("ref: refs/heads/tree\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {real}\n")
    assert git_branch(str(work)) == "tree"


def test_a_broken_repository_is_no_branch(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    assert git_branch(str(tmp_path)) == ""


def test_in_words():
    assert str(Folder("~/src", "main")) == "~/src (main)"
    assert str(Folder("~/src")) == "~/src"
