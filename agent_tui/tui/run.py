"""run_app: runs the screen and gives the exit code; the terminal is put back on every way out."""

import io
import logging
import sys
from typing import TYPE_CHECKING, Any

from agent_tui.tui.terminal_restore import ExitLadder, TerminalState, signals_handled

if TYPE_CHECKING:
    from agent_tui.tui.app import Starter

log = logging.getLogger(__name__)


def run_app(*, settings: Any, starter: "Starter", first_prompt: str = "", banner: str = "") -> int:
    """Exit codes: 0 the user left, 1 an unexpected error (the log is named), 129, 130, 143 by
    signal. Returns, or ends the process by force where leaving does not settle."""
    from agent_tui.tui.app import AgentTuiApp
    from agent_tui.tui.terminal_input import mend_terminal_input

    _let_any_locale_draw()
    mend_terminal_input()
    terminal = TerminalState()
    ladder = ExitLadder(terminal)
    app = AgentTuiApp(
        settings=settings, starter=starter, first_prompt=first_prompt, banner=banner, ladder=ladder
    )
    terminal.undo = lambda: app.signals.undo
    try:
        with signals_handled(app.leaving.begin_from_signal):
            app.run()
    except KeyboardInterrupt:
        terminal.restore()
        return 130
    except Exception:
        # Textual restores and reports what happens while it runs; this is before or after it.
        from agent_tui.tui.crash import crash_line, open_log

        open_log()
        log.exception("the screen could not run")
        terminal.restore()
        print(crash_line(), file=sys.stderr)  # noqa: T201 - the screen is gone
        return 1
    finally:
        ladder.done()
    if app.leaving.last_words:
        print(app.leaving.last_words, file=sys.stderr)  # noqa: T201 - the screen is gone
    if app.leaving.code is not None:
        return app.leaving.code
    return app.return_code or 0


def _let_any_locale_draw() -> None:
    """In the encoding that the locale names (fault D27); what that lacks is drawn as "?". A
    locale that is plain C names none: what Python has chosen stays."""
    from agent_tui.terminal_locale import terminal_encoding

    stream = sys.__stderr__  # Textual draws there
    if not isinstance(stream, io.TextIOWrapper):
        return
    named = terminal_encoding()
    if named not in ("utf-8", "ascii"):
        stream.reconfigure(encoding=named, errors="replace")
    elif stream.encoding.lower() not in ("utf-8", "utf8"):
        stream.reconfigure(errors="replace")
