"""Files named by @, images dropped on the terminal, and commands of the user's own, by their
keys; what the server gets is what was meant."""

import base64
import re
import subprocess

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess
from tests.e2e.terminal import CTRL_C, ENTER, ESC, F3, TAB, UP, Terminal, wait_until
from tests.tools.test_files import png

TALK = {"text": "So much to tell. " * 900, "chunk_size": 6, "chunk_delay_ms": 20}
TURNS = [{"match": "talk on", **TALK, "repeat": True}, {"text": "Noted.", "repeat": True}]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def opened(server: OfflineProcess, open_terminal: Open) -> Terminal:
    terminal = open_terminal("--base-url", server.url)
    for name, text in {
        "src/shop/cart.py": "def total():\n    return 1\n",
        "src/shop/cart_test.py": "def test(): ...\n",
        "src/shop/my notes.txt": "buy milk\n",
        "build/cart.py": "generated\n",
        ".gitignore": "build/\n",
    }.items():
        file = terminal.cwd / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (terminal.cwd / "shot one.png").write_bytes(png(5, 4))
    subprocess.run(["git", "init", "-q"], cwd=terminal.cwd, check=True)
    return terminal


@pytest.fixture
def terminal(opened: Terminal) -> Terminal:
    opened.wait_ready()
    return opened


def test_files_are_completed_sent_and_come_back(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.write("read @crt")
    shown = terminal.wait_for("@src/shop/cart.py")
    assert "@build/cart.py" not in shown, "git ignores it"
    terminal.send(TAB)
    terminal.wait_for(lambda _: terminal.draft() == "read @src/shop/cart.py")
    terminal.write(" and @sr")
    terminal.wait_for(re.compile(r"@src/ .*folder"))
    terminal.send(TAB)
    terminal.wait_for(lambda _: terminal.draft().endswith(" and @src/"))
    terminal.wait_for(lambda shown: "cart" not in shown.partition("read @")[0])
    terminal.send(TAB)
    terminal.wait_for(lambda _: terminal.draft().endswith(" and @src/shop/"))
    terminal.wait_for(re.compile(r'❯ @src/shop/cart.py.*my notes.txt"', re.DOTALL))
    terminal.send(UP)
    terminal.wait_for('❯ @"src/shop/my notes.txt"')
    terminal.send(TAB)
    terminal.wait_for(lambda _: terminal.draft().endswith('and @"src/shop/my notes.txt"'))
    terminal.send(ENTER)
    (request,) = server.wait_requests(1, "read @src/shop/cart.py")
    assert request.texts == [
        'read @src/shop/cart.py and @"src/shop/my notes.txt"',
        "[file src/shop/cart.py]\n     1\tdef total():\n     2\t    return 1",
        "[file src/shop/my notes.txt]\n     1\tbuy milk",
    ]
    shown = terminal.wait_ready()
    assert re.search(r"· src/shop/cart.py  2 lines", shown)
    assert "def total" not in shown, "what came along is named, not shown"
    terminal.send(UP)
    terminal.wait_for(lambda _: terminal.draft().startswith("read @src/shop/cart.py"))
    terminal.send(CTRL_C)


def test_a_dropped_image_waits_in_the_queue_is_edited_and_goes_out(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.say("talk on")
    terminal.wait_status("streaming")
    dropped = terminal.cwd / "shot one.png"
    terminal.paste(dropped.as_uri())
    terminal.wait_for(lambda _: terminal.draft() == '@"shot one.png"')
    terminal.write("what is this?")
    terminal.send(TAB)
    terminal.wait_for(re.compile(r"⧗ .*what is this\?"))
    data = dropped.read_bytes()
    dropped.unlink()
    terminal.write("another")
    terminal.send(TAB)
    terminal.wait_for(re.compile("⧗ .*another"))
    terminal.send(F3)
    terminal.wait_for("withdraw")
    terminal.send("d")
    terminal.wait_for('Withdrawn: "another"')
    terminal.send("e")
    terminal.wait_for(lambda _: terminal.draft().endswith("what is this?"))
    terminal.write(" Tell me.")
    terminal.send(ENTER)
    terminal.wait_for(re.compile(r"⧗ .*Tell me\."))
    terminal.send(ESC)
    terminal.wait_ready()
    terminal.send(ENTER)
    (request,) = server.wait_requests(1, "Tell me.")
    terminal.wait_ready()
    images = [b for b in request.messages[-1]["content"] if b["type"] == "image"]
    assert [base64.b64decode(b["source"]["data"]) for b in images] == [data]
    assert terminal.wait_for("shot one.png  PNG, 5 x 4 px")


def test_what_cannot_be_sent_stays_in_the_draft(server: OfflineProcess, terminal: Terminal) -> None:
    (terminal.cwd / "data.bin").write_bytes(b"\0\1" * 50)
    terminal.write("look at @data.bin")
    terminal.wait_for("@data.bin")
    terminal.send(ESC)
    terminal.send(ENTER)
    terminal.wait_for("@data.bin was not sent: binary file, 100 bytes")
    assert terminal.draft() == "look at @data.bin"
    assert server.requests("data.bin") == []
    terminal.send(CTRL_C)


def test_commands_run_beside_a_turn_and_at_rest(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("talk on, once more")
    terminal.wait_status("streaming")
    terminal.say("!echo from $((40+2)); ls src")
    terminal.wait_for(re.compile(r"from 42\b.*\n\s+shop"))
    assert "wants to run" not in terminal.screen()
    assert "streaming" in terminal.status(), "the turn goes on beside it"
    terminal.send(ESC)
    terminal.wait_ready()
    terminal.say("!!echo secret $((1+1)); sleep 100")
    terminal.wait_for("secret 2")
    terminal.wait_for(re.compile(r"!! echo secret.*\d+ s  Esc stops it"))
    terminal.send(ESC)
    terminal.wait_for(re.compile(r"!! echo secret.*stopped"))
    terminal.say("what did I run?")
    (request,) = server.wait_requests(1, "what did I run?")
    assert "I ran a command:\n$ echo from $((40+2)); ls src\nfrom 42\nshop" in request.texts
    assert not any("secret" in text for text in request.texts)
    terminal.wait_ready()
    wait_until(lambda: "secret" not in terminal.draft())
