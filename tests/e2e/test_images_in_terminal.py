"""Images in a terminal: drawn by one that says it can, told in words by one that says nothing."""

import base64
import re
from pathlib import Path
from typing import Any

from tests.e2e.fixtures import Open, Serve
from tests.e2e.terminal import ESC, Terminal, wait_until
from tests.tui.pictures import png

F8 = b"\x1b[19~"
CHART = png(200, 90)
QUERY = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"
YES = b"\x1b_Gi=31;OK\x1b\\\x1b[?62;4c"
TURNS: list[dict[str, Any]] = [
    {"match": prompt, "tool_calls": [{"name": "read", "input": {"path": "chart.png"}}]}
    for prompt in ("look at the chart", "what is on it")
]
TURNS.append({"text": "It rises.", "repeat": True})


def images(terminal: Terminal) -> list[bytes]:
    """Those the terminal was given, decoded."""
    found: list[bytes] = []
    for head, text in re.findall(rb"\x1b_G([^;\x1b]*);([A-Za-z0-9+/=]*)\x1b\\", terminal.raw):
        if b"a=t," in head:
            found.append(text)
        elif re.fullmatch(rb"m=[01]", head):
            found[-1] += text
    return [base64.b64decode(text, validate=True) for text in found]


def shows(terminal: Terminal) -> int:
    """Images placed and not deleted again."""
    return terminal.raw.count(b"\x1b_Ga=p,") - terminal.raw.count(b"\x1b_Ga=d,d=I,")


def look_at_it(terminal: Terminal) -> None:
    terminal.send(F8)
    terminal.wait_for("i image")
    terminal.send("k")  # from the answer to the call above it
    terminal.send("i")


def test_an_image_is_drawn_or_told(serve: Serve, open_terminal: Open, tmp_path: Path) -> None:
    server = serve(TURNS)
    (cwd := tmp_path / "work").mkdir()
    (cwd / "chart.png").write_bytes(CHART)
    kitty, silent = (
        open_terminal("--base-url", server.url, prompt, cwd=cwd)
        for prompt in ("look at the chart", "what is on it")
    )
    for terminal in (kitty, silent):
        terminal.wait_for("It rises.", timeout=20)
        terminal.wait_ready()
        assert b"\x1b_G" not in terminal.raw, "the terminal was asked before an image was opened"
        look_at_it(terminal)
        terminal.wait_raw(QUERY)
        if terminal is kitty:
            kitty.send(YES)  # at once: an answer is not waited for for long
    kitty.wait_for("chart.png  PNG")
    wait_until(lambda: shows(kitty) == 1, what="the image")
    assert images(kitty) == [CHART]
    kitty.resize(100, 30)
    wait_until(lambda: len(images(kitty)) == 2 and shows(kitty) == 1, what="drawn again")
    kitty.send(ESC)
    wait_until(lambda: shows(kitty) == 0, what="it is off the screen")
    kitty.wait_for("It rises.")
    kitty.send("i")
    wait_until(lambda: shows(kitty) == 1, what="the image again")
    assert kitty.raw.count(QUERY) == 1, "the terminal is asked once"
    kitty.send(ESC)

    silent.wait_for("Not drawn: this terminal draws none.")
    saved = re.search(r"Saved as (\S+\.png)", silent.screen())
    assert saved is not None
    assert Path(saved[1]).read_bytes() == CHART
    silent.send("o")
    silent.wait_for("There is no desktop here to open it on")
    silent.send(ESC)
    silent.wait_for("It rises.")
    silent.send(YES)  # far too late: it must not be typed
    silent.send(ESC)
    silent.wait_for("Enter send")
    silent.write("still here")
    assert silent.draft() == "still here"
    assert shows(silent) == 0
