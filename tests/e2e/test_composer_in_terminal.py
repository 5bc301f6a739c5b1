"""The composer in a terminal: drafts put away, big pastes opened, and vi's keys; looked at are the
screen and what the server was sent."""

import signal
from pathlib import Path

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import texts_of
from tests.e2e.terminal import CTRL_C, ENTER, ESC, wait_until

CTRL_S, CTRL_UNDERSCORE, CTRL_R = b"\x13", b"\x1f", b"\x12"
F9, LEFT, BACKSPACE = b"\x1b[20~", b"\x1b[D", b"\x7f"
BIG = "\n".join(f"pasted line {n}" for n in range(40))
TURNS = [{"text": "Noted.", "repeat": True}]


def test_drafts_put_away_come_back_also_after_a_kill(
    serve: Serve, open_terminal: Open, tmp_path: Path
) -> None:
    server = serve(TURNS)
    terminal = open_terminal("--base-url", server.url, home=tmp_path)
    terminal.wait_ready()
    terminal.write("the long plan ")
    terminal.paste(BIG)
    terminal.wait_for("[pasted 40 lines]")
    terminal.send(CTRL_S)
    terminal.wait_for("1 draft stashed (Ctrl+S brings it back)")
    terminal.say("a short question")
    (first,) = server.wait_requests(1, "a short question")
    assert texts_of(first.messages[-1]) == ["a short question"]
    terminal.wait_ready()
    terminal.say("/clear")
    terminal.wait_for("1 draft stashed")
    terminal.write("and another")
    terminal.send(CTRL_S)
    terminal.wait_for("2 drafts stashed (Ctrl+S brings one back)")

    def both_kept() -> bool:
        files = (tmp_path / "agent-tui").glob("sessions/*/*.jsonl")
        return any("and another" in f.read_text("utf-8").split('"stash"')[-1] for f in files)

    wait_until(both_kept, what="the stash is recorded; it")
    terminal.signal(signal.SIGKILL)
    terminal.exit_code()

    again = open_terminal("--base-url", server.url, "-c", home=tmp_path)
    again.wait_ready()
    again.wait_for("2 drafts stashed")
    again.send(CTRL_S)
    again.wait_for(lambda _: again.draft().strip() == "and another")
    again.send(CTRL_C)
    again.wait_for(lambda _: not again.draft().strip())
    again.send(CTRL_S)
    again.wait_for(lambda _: again.draft().strip() == "the long plan [pasted 40 lines]")
    again.wait_gone("stashed")

    # --- the paste: passed over, opened, undone, deleted, sent ---
    again.send(LEFT)
    again.send("see: ")
    again.wait_for("the long plan see: [pasted 40 lines]")
    again.send(F9)
    again.wait_for("pasted line 39")
    again.send(CTRL_UNDERSCORE)
    again.wait_for("the long plan see: [pasted 40 lines]")
    again.send(BACKSPACE)  # undo selects nothing: the cursor is before the paste
    again.wait_for("the long plan see:[pasted 40 lines]")
    again.send(ENTER)
    sent = server.wait_requests(2)[-1]
    assert texts_of(sent.messages[-1])[-1] == f"the long plan see:{BIG}"


def test_vi_keys(serve: Serve, open_terminal: Open, tmp_path: Path) -> None:
    (tmp_path / "agent-tui").mkdir()
    (tmp_path / "agent-tui" / "config.toml").write_text("vi_keys = true\n")
    server = serve(TURNS)
    terminal = open_terminal("--base-url", server.url, home=tmp_path)
    terminal.wait_ready()
    terminal.wait_for("INSERT")
    terminal.write("one two three")
    terminal.send(ESC)
    terminal.wait_for("NORMAL")

    def after(keys: str, expected: str) -> None:
        terminal.send(keys)
        terminal.wait_for(lambda _: terminal.draft().rstrip() == expected)

    def typed(keys: str, expected: str) -> None:
        after(keys, expected)
        terminal.wait_for("INSERT")
        terminal.send(ESC)
        terminal.wait_for("NORMAL")

    after("0dw", "two three")
    typed("A four", "two three four")
    typed("bcwfive", "two three five")
    after("0wd$", "two")
    after("u", "two three five")
    after("yyp", "two three five\ntwo three five")
    after("u", "two three five")
    terminal.send(CTRL_R)
    terminal.wait_for(lambda _: terminal.draft().count("\n") == 1)
    terminal.send("dd")
    terminal.wait_for(lambda _: terminal.draft().rstrip() == "two three five")
    terminal.enter()
    (request,) = server.wait_requests(1)
    assert texts_of(request.messages[-1]) == ["two three five"]
    terminal.wait_for("INSERT")
