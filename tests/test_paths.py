import os
import stat
from pathlib import Path

import pytest

from agent_tui import paths
from agent_tui.paths import PathError

needs_modes = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere"
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def wide_umask():
    before = os.umask(0o000)
    yield
    os.umask(before)


def test_home_is_the_named_folder_and_private(home: Path, monkeypatch: pytest.MonkeyPatch):
    named = home / "a" / "b"
    monkeypatch.setenv("AGENT_TUI_HOME", str(named))
    assert paths.home() == named
    assert mode(named) == mode(named.parent) == 0o700


def test_home_without_a_name_is_the_users_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AGENT_TUI_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert paths.home().is_relative_to(tmp_path)
    assert paths.home().name == "agent-tui"


def test_a_home_that_was_there_keeps_its_mode(home: Path):
    home.chmod(0o750)
    assert mode(paths.home()) == 0o750


@pytest.mark.parametrize("name", ["logs_dir", "recordings_dir", "outputs_dir"])
def test_folders_are_private(home: Path, name: str):
    folder: Path = getattr(paths, name)()
    assert folder.is_dir() and folder.is_relative_to(home)
    assert mode(folder) == 0o700


def test_sessions_folder_is_private_and_one_per_real_folder(home: Path, tmp_path: Path):
    real = tmp_path / "src" / "my shop"
    real.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)
    folder = paths.sessions_dir(real)
    assert paths.sessions_dir(link) == folder == paths.sessions_dir(f"{real}/../my shop")
    assert folder.name.startswith("src-my-shop-")
    assert mode(folder) == mode(folder.parent) == 0o700


def test_folders_that_look_alike_do_not_share_sessions(home: Path):
    assert paths.sessions_dir("/a/b-c") != paths.sessions_dir("/a-b/c")
    assert paths.folder_slug("/x/日本") != paths.folder_slug("/x/中国")


@pytest.mark.parametrize("cwd", ["/", "/" + "x" * 250 + "/" + "y" * 250, "/bad\udcff/\x1b[2J"])
def test_every_folder_has_a_plain_short_slug(cwd: str):
    slug = paths.folder_slug(cwd)
    assert slug.isascii() and slug.isprintable() and "/" not in slug
    assert 8 <= len(slug) <= 80 and not slug.startswith((".", "-"))


def test_home_in_the_way_of_a_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(PathError) as error:
        paths.home()
    assert str(tmp_path / "file" / "home") in str(error.value)
    assert "AGENT_TUI_HOME" in str(error.value) and "\n" not in str(error.value)


def test_the_remedy_fits_the_place_and_the_cause(home: Path, tmp_path: Path):
    with pytest.raises(PathError, match=r"Make its folder, or choose another place\.$"):
        paths.private_open(tmp_path / "missing" / "export.md", "w")
    with pytest.raises(
        PathError, match=r"Move away .*, or name another folder with AGENT_TUI_HOME"
    ):
        paths.private_open(paths.logs_dir(), "a")
    with pytest.raises(PathError) as error:
        paths.private_open(tmp_path / "\x1b[2J" / "x", "w")
    assert "\x1b" not in str(error.value)


@needs_modes
def test_unwritable_home_says_so(home: Path):
    home.chmod(0o500)
    with pytest.raises(PathError, match="permission denied"):
        paths.home()
    home.chmod(0o700)


def test_private_open_makes_and_narrows(tmp_path: Path):
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("before\n")
    old.chmod(0o644)
    with paths.private_open(new, "w") as file:
        file.write("é\n")
    with paths.private_open(old, "ab") as file:
        file.write(b"after\n")
    assert new.read_bytes() == "é\n".encode()
    assert old.read_text() == "before\nafter\n"
    assert mode(new) == mode(old) == 0o600
    with pytest.raises(PathError):
        paths.private_open(new, "x")


def test_atomic_write_replaces_whole_and_private(tmp_path: Path):
    path = tmp_path / "credentials.json"
    path.write_text("old and longer")
    path.chmod(0o644)
    paths.write_private_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["credentials.json"]


def test_atomic_write_keeps_a_link(tmp_path: Path):
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "config.toml"
    target.write_text("old")
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    paths.write_private_atomic(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"


def test_atomic_write_that_fails_leaves_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "f"
    path.write_text("old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PathError, match="no space left"):
        paths.write_private_atomic(path, b"new")
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_project_config_is_in_the_project(tmp_path: Path):
    assert paths.project_config(tmp_path) == tmp_path / ".agent-tui" / "config.toml"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Written to /home/me/config.toml", "Written to ~/config.toml"),
        ("in /home/me and below", "in ~ and below"),
        ("/home/me_too/config.toml", "/home/me_too/config.toml"),
        ("/backup/home/me/x", "/backup/home/me/x"),
        ("/home/me-old/x, /home/me/y", "/home/me-old/x, ~/y"),
    ],
)
def test_a_home_folder_is_shown_as_a_tilde(
    monkeypatch: pytest.MonkeyPatch, text: str, shown: str
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert paths.with_tilde(text) == shown


def test_a_home_that_is_the_root_is_not_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert paths.with_tilde("/etc/hosts") == "/etc/hosts"
