"""The working folder in few words, and its git branch, read without running git."""

from dataclasses import dataclass
from pathlib import Path

from agent_tui.tui.lines import one_line


@dataclass(frozen=True, slots=True)
class Folder:
    """path: safe and short ("~/src/shop"). branch: "" outside a repository."""

    path: str
    branch: str = ""

    def __str__(self) -> str:
        return f"{self.path} ({self.branch})" if self.branch else self.path


def short_path(cwd: str, home: str) -> str:
    """The folder with the home folder as "~", made safe."""
    if home and (cwd == home or cwd.startswith(home.rstrip("/") + "/")):
        cwd = "~" + cwd[len(home.rstrip("/")) :]
    return one_line(cwd, 300)


def git_branch(cwd: str) -> str:
    """The branch checked out in `cwd`, a short commit when detached, "" when there is none.

    Reads .git/HEAD of the folder or its nearest parent (also a worktree's .git file).
    Blocking: call it in a thread.
    """
    start = Path(cwd)
    for folder in (start, *start.parents):
        git = folder / ".git"
        try:
            if git.is_file():
                pointer = git.read_text("utf-8", "replace").strip().removeprefix("gitdir:")
                git = folder / pointer.strip()
            if git.is_dir():
                head = (git / "HEAD").read_text("utf-8", "replace").strip()
            else:
                continue
        except OSError:
            return ""
        if head.startswith("ref:"):
            return one_line(head.removeprefix("ref:").strip().removeprefix("refs/heads/"), 60)
        return one_line(head[:8], 60)
    return ""


def describe_folder(cwd: str) -> Folder:
    """Blocking; for a thread."""
    return Folder(short_path(cwd, str(Path.home())), git_branch(cwd))
