"""Ctrl+G: the draft in the user's editor."""

import os
import signal
import stat
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from agent_tui.tui.external_editor import EditorError, edit_text, editor_command
from tests.tui.conftest import Drive


def editor(tmp_path: Path, body: str) -> list[str]:
    """A command that runs `body` with `path` naming the file."""
    script = tmp_path / "editor.py"
    script.write_text(f"import sys, os, pathlib\npath = pathlib.Path(sys.argv[1])\n{body}\n")
    return [sys.executable, str(script)]


def test_what_the_editor_saves_comes_back_and_the_file_is_gone(tmp_path: Path):
    body = f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(str(path))\n"
    body += "path.write_text(path.read_text() + ' and more\\n')"
    assert edit_text("some [/x] text", editor(tmp_path, body)) == "some [/x] text and more"
    assert not Path((tmp_path / "seen").read_text()).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_only_the_user_can_read_the_file(tmp_path: Path):
    out = tmp_path / "mode"
    body = f"pathlib.Path({str(out)!r}).write_text(str(os.stat(path).st_mode))"
    edit_text("secret plan", editor(tmp_path, body))
    assert stat.S_IMODE(int(out.read_text())) == 0o600


def test_an_editor_that_fails_leaves_the_draft(tmp_path: Path):
    with pytest.raises(EditorError, match="ended with code 3; the draft is unchanged"):
        edit_text("x", editor(tmp_path, "sys.exit(3)"))


def test_an_editor_that_does_not_exist_says_what_to_do():
    with pytest.raises(EditorError, match=r"set \$EDITOR"):
        edit_text("x", ["/nonexistent/editor"])


def test_the_users_choice_wins_with_its_arguments():
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"EDITOR": "emacs -nw"}) == ["emacs", "-nw"]


def test_an_unreadable_choice_is_named():
    with pytest.raises(EditorError, match="EDITOR"):
        editor_command({"EDITOR": "vi 'unclosed"})


async def test_ctrl_g_edits_the_whole_draft_pastes_and_all(
    drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    command = editor(tmp_path, "path.write_text(path.read_text().upper())")
    monkeypatch.setenv("VISUAL", " ".join(command))
    async with drive() as d:
        monkeypatch.setattr(d.app, "suspend", nullcontext)
        await d.type("see ")
        await d.paste("abc\n" * 500)
        await d.press("ctrl+g")
        await d.until(lambda: "ABC" in d.draft)
        assert d.draft == "SEE " + ("ABC\n" * 500).removesuffix("\n")
        assert d.conv.calls == []


async def test_where_the_screen_cannot_be_left_it_says_so(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VISUAL", "true")
    async with drive() as d:
        await d.type("draft")
        await d.press("ctrl+g")
        await d.shows("cannot")
        assert d.draft == "draft"
    assert os.environ["VISUAL"] == "true"


@pytest.mark.skipif(sys.platform == "win32", reason="no signals there")
async def test_ctrl_c_in_the_editor_leaves_the_agent_alone(
    drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The terminal sends it to every process in front, not to the editor alone."""
    body = "import signal, time\nos.kill(os.getppid(), signal.SIGINT)\n"
    body += "ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    body += "path.write_text(f'the editor takes its own: {ours}')"
    monkeypatch.setenv("VISUAL", " ".join(editor(tmp_path, body)))
    before = signal.getsignal(signal.SIGINT)
    async with drive() as d:
        monkeypatch.setattr(d.app, "suspend", nullcontext)
        await d.press("ctrl+g")
        await d.until(lambda: d.draft == "the editor takes its own: True")
        assert signal.getsignal(signal.SIGINT) is before
