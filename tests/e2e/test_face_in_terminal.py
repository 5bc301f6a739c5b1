"""The face in a terminal: the loop panel, /retry, /diff, /settings, keys of one's own, what is
told to the terminal, what is kept for the next start, and the last line."""

import re
import tomllib
from pathlib import Path
from typing import Any

from tests.e2e.fixtures import Open, Serve
from tests.e2e.terminal import CTRL_D, ENTER, ESC, F6, UP, Terminal, wait_until

FOCUS_OUT = b"\x1b[O"
CTRL_E, CTRL_R = b"\x05", b"\x12"

TURNS: list[dict[str, Any]] = [
    {"match": "mend it", "tool_calls": [{"name": "write", "input": {
        "path": "cart.py", "content": "total = 2\n"}}]},
    {"text": "The first answer."},
    {"text": "The second answer."},
    {"match": "wait", "text": "Slowly. " * 12, "chunk_size": 8, "chunk_delay_ms": 60},
    {"text": "Done.", "repeat": True},
]  # fmt: skip


def start(open_terminal: Open, home: Path, url: str, *argv: str, config: str = "") -> Terminal:
    (home / "agent-tui").mkdir(parents=True, exist_ok=True)
    if config:
        (home / "agent-tui" / "config.toml").write_text(config)
    cwd = home / "shop"
    cwd.mkdir(exist_ok=True)
    return open_terminal("--base-url", url, *argv, home=home, cwd=cwd)


QUIET = 'terminal_title = false\nnotify = "off"\nprogress = "off"\n'
LOUD = '# mine\nnotify = "osc9"\nprogress = "on"\nallow = ["write"]\n[keys]\neditor = "ctrl+e"\n'


def test_a_session_seen_changed_regenerated_and_gone_on_with(
    serve: Serve, open_terminal: Open, tmp_path: Path
) -> None:
    server = serve(TURNS)
    quiet = start(open_terminal, tmp_path / "quiet", server.url, config=QUIET)
    home = tmp_path / "loud"
    terminal = start(open_terminal, home, server.url, config=LOUD)
    terminal.wait_ready()
    for _ in range(2):
        terminal.send(F6)
    terminal.wait_for("no run yet")
    terminal.say("mend it")
    terminal.wait_for("The first answer.")
    terminal.wait_for("the run ended because:")
    assert "turn 2" in terminal.panel()
    terminal.say("/diff")
    terminal.wait_for("+total = 2")
    terminal.say("/retry")
    terminal.wait_for("The second answer.")
    terminal.wait_gone("The first answer.")
    terminal.wait_ready()

    # --- settings: the page, and a line ---
    terminal.send("/settings")
    terminal.enter()
    terminal.wait_for("type to search")
    terminal.send("show_panel")
    terminal.wait_for(lambda shown: "terminal_title" not in shown)
    terminal.wait_for("show_panel")
    terminal.send("\x1b[B\x1b[A")  # the row is chosen, also where the list was just drawn
    terminal.send(ENTER)
    terminal.wait_for("take it out of your file")
    terminal.send("false")
    terminal.wait_for(lambda shown: "true" not in shown)
    terminal.send(ENTER)
    terminal.wait_for("it holds now.")
    terminal.send(ESC)
    terminal.wait_gone("type to search")
    terminal.wait_gone("the run ended because")
    terminal.say("/settings theme light")
    terminal.wait_for("theme is light")
    written = (home / "agent-tui" / "config.toml").read_text()
    values = tomllib.loads(written)
    assert (values["show_panel"], values["theme"]) == (False, "light")
    assert written.startswith("# mine\n")
    assert terminal.backgrounds().most_common(1)[0][0] == "fbfbfa"
    terminal.say("/keys")
    terminal.wait_for("Change one in config.toml")

    # --- told to the terminal, and not where the settings say no ---
    quiet.wait_ready()
    for one in (terminal, quiet):
        one.say("wait")
        one.send(FOCUS_OUT)  # last: a key tells that somebody is there
    for one in (terminal, quiet):
        one.wait_ready()
    title = b"\x1b]2;\xe2\x97\x8f shop - agent-tui\x07"
    told = (title, b"\x1b]9;4;3\x07", b"\x1b]9;agent-tui in shop: the answer is there\x07")
    for sequence in told:
        terminal.wait_raw(sequence)
        assert sequence not in quiet.raw
    assert b"\x1b]2;" not in quiet.raw and b"\x1b]9;" not in quiet.raw

    # --- the end, and the next start ---
    terminal.send(CTRL_D)
    assert terminal.exit_code() == 0
    terminal.assert_restored()
    assert terminal.raw.rfind(b"\x1b[23;2t") > terminal.raw.rfind(b"\x1b]2;")
    last = re.search(r"Go on with: \S*agent-tui -r (\S+)   \(so far \S+\)", terminal.after_screen())
    assert last is not None, terminal.after_screen()
    again = start(open_terminal, home, server.url, "-r", last[1])
    again.wait_for("The second answer.")
    again.wait_ready()
    again.send(CTRL_R)
    again.send("mend")
    again.wait_for(re.compile(r"❯ mend it"))
    again.send(ESC)
    again.send(UP)
    wait_until(lambda: again.draft().strip() == "wait", what="the message before")
    history = list((home / "agent-tui" / "history").iterdir())
    assert [path.stat().st_mode & 0o777 for path in history] == [0o600]
