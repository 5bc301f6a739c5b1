"""A file dropped on the terminal is its path, pasted; what becomes of it."""

import shlex
from pathlib import Path

import pytest

from agent_tui.tui.dropped_paths import as_mentions
from tests.tools.test_files import jpeg, png


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    path = tmp_path / "my shot.png"
    path.write_bytes(png(4, 3))
    return path


def test_an_image_in_every_form_a_terminal_gives_it(shot: Path) -> None:
    wanted = f'@"{shot}" '
    for form in (
        str(shot), f"'{shot}'", f'"{shot}"', str(shot).replace(" ", "\\ "), shot.as_uri(),
        f"{shot}\r\n", f" {shlex.quote(str(shot))} ", f"file://localhost{shot}".replace(" ", "%20"),
    ):  # fmt: skip
        assert as_mentions(form) == wanted, form


def test_several_at_once(shot: Path, tmp_path: Path) -> None:
    other = tmp_path / "two.jpg"
    other.write_bytes(jpeg(4, 3))
    wanted = f'@"{shot}" @{other} '
    assert as_mentions(f"{shlex.quote(str(shot))} {other}") == wanted
    assert as_mentions(f"{shot.as_uri()}\r\n{other.as_uri()}\r\n") == wanted


def test_in_the_working_folder_and_at_home_it_is_short(
    shot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert as_mentions(str(shot)) == '@"my shot.png" '
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert as_mentions("'~/my shot.png'") == f'@"{shot}" '


def test_what_is_no_file_to_send_stays_text(shot: Path, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("echo")
    for text in (
        str(script), str(tmp_path), "/no/such.png", "look at " + str(shot), f"{shot} and more",
        "", "/", "file://", "file://elsewhere/x.png", f"{shot}\0", "'unclosed", "/" + "x" * 9000,
        "/model", "~/nothing.png",
    ):  # fmt: skip
        assert as_mentions(text) is None, text
    assert as_mentions(script.as_uri()) == f"@{script} ", "an address is given by a drop alone"
