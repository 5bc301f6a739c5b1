"""Write a text in the user's editor. The screen is away meanwhile, the agent works on."""

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from textual.app import App, SuspendNotSupported


class EditorError(Exception):
    """str() is one line that says what to do."""


def editor_command(environ: Mapping[str, str] | None = None) -> list[str]:
    """$VISUAL, $EDITOR, else the first of sensible-editor, nano, vi. Raises EditorError."""
    environ = os.environ if environ is None else environ
    for name in ("VISUAL", "EDITOR"):
        if value := environ.get(name, "").strip():
            try:
                return shlex.split(value)
            except ValueError:
                raise EditorError(f"${name} cannot be read as a command: {value}") from None
    for name in ("sensible-editor", "nano", "vi"):
        if shutil.which(name):
            return [name]
    raise EditorError("There is no editor: set $EDITOR to the one you use.")


def edit_text(text: str, command: list[str]) -> str:
    """Run the editor on a private temporary file (0600) and give back what was saved.

    Blocking: call it in a thread, with the screen suspended. Raises EditorError when the
    editor cannot start, ends with an error, or leaves no readable file.
    """
    handle, name = tempfile.mkstemp(prefix="agent-tui-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        try:
            code = subprocess.run([*command, name], check=False).returncode
        except OSError as error:
            raise EditorError(
                f"The editor did not start ({command[0]}: {error.strerror}): set $EDITOR."
            ) from error
        if code != 0:
            raise EditorError(f"{command[0]} ended with code {code}; the draft is unchanged.")
        try:
            return path.read_text("utf-8").removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise EditorError(f"What {command[0]} saved cannot be read: {error}") from error
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def interrupts_are_the_editors() -> Iterator[None]:
    """Ctrl+C reaches every process of the terminal: it is meant for the one in front.

    A function, not SIG_IGN, which the editor would inherit.
    """
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def visit_editor(app: App[int], text: str) -> str:
    """Leave the screen for the editor, come back with what was saved. Raises EditorError.

    The event loop goes on, so a run that is under way is not held up.
    """
    command = editor_command()
    try:
        # Nothing may be drawn while the editor has the terminal: Textual 8.2 would wait for
        # ever on its writer, which is stopped meanwhile.
        with app.batch_update(), app.suspend(), interrupts_are_the_editors():
            return await asyncio.to_thread(edit_text, text, command)
    except SuspendNotSupported:
        raise EditorError("The screen cannot be left here for an editor.") from None
