"""How it starts: what --version loads, which endpoint it takes, and the offline server."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from agent_tui import __version__
from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess, free_port, is_free
from tests.e2e.terminal import all_words, environment, run_command, start_command

LOOPBACK_PORTS = (11434, 1234, 8080, 8000)

LOADED = """
import sys
from agent_tui.cli import main
sys.argv = ["agent-tui", *sys.argv[1:]]
try:
    main()
finally:
    print([name for name in ("anthropic", "mcp", "textual", "uvicorn") if name in sys.modules])
"""


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_short_answer_loads_nothing_heavy(option: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADED, option],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    *said, loaded = run.stdout.splitlines()
    assert loaded == "[]"
    assert run.stderr == ""
    if option == "--version":
        assert said == [f"agent-tui {__version__}"]
    else:
        assert "rpc" in run.stdout


def test_without_a_key_it_is_the_demo(open_terminal: Open) -> None:
    if not all(map(is_free, LOOPBACK_PORTS)):
        pytest.skip("a server answers where people have their model servers")
    terminal = open_terminal()
    terminal.wait_for(all_words(["This is the demo", "scripted", "/login"]), 20)
    terminal.wait_ready()
    terminal.say("who are you?")
    terminal.wait_for("no model")
    terminal.say("/quit")
    assert terminal.exit_code() == 0


@pytest.fixture(scope="module")
def local(serve: Serve) -> OfflineProcess:
    """A model server on one of the ports where people have theirs."""
    port = next((port for port in LOOPBACK_PORTS if is_free(port)), None)
    if port is None:
        pytest.skip("the ports of local model servers are all taken")
    return serve(
        [{"text": "The local model says hello.", "repeat": True}], port=port, models=["m-7b"]
    )


def test_a_server_on_this_machine_is_offered(local: OfflineProcess, open_terminal: Open) -> None:
    port = local.url.rpartition(":")[2]
    chosen, demo = open_terminal(), open_terminal("--no-session", "hello there")
    for terminal, wanted, answer in (
        (chosen, f"on port {port}: m-7b", "The local model says hello."),
        (demo, "the demo: scripted replies", "demo: scripted replies, no model"),
    ):
        terminal.wait_for(all_words(["No key found", f"on port {port}"]), 20)
        terminal.choose("What shall answer?", wanted)
        terminal.wait_ready()
        if terminal is chosen:
            terminal.say("hello there")
        terminal.wait_for(answer)
    (request,) = local.wait_requests(1, "hello there")
    assert request.body["model"] == "m-7b"
    assert not list(demo.state.glob("sessions/*/*")), "--no-session keeps nothing"
    assert list(chosen.state.glob("sessions/*/*.jsonl"))


def test_a_key_is_enough_to_pass_over_it(local: OfflineProcess, open_terminal: Open) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    env = {"ANTHROPIC_API_KEY": "sk-ant-e2e", "ANTHROPIC_BASE_URL": url}
    terminal = open_terminal("is it you?", env=env)
    terminal.wait_for(all_words([url.removeprefix("http://"), "trying again"]), 20)
    assert "What shall answer?" not in terminal.screen()
    assert not local.requests("is it you?"), "a key that fails is never replaced by another answer"


def test_the_offline_server_serves_other_clients(tmp_path: Path) -> None:
    """`agent-tui offline serve`, asked by plain HTTP."""
    with start_command("offline", "serve", "--speed", "0", home=tmp_path) as process:
        assert process.stdout is not None
        first = process.stdout.readline().decode()
        url = first.split()[-1]
        assert first.startswith("listening on http://127.0.0.1:")
        body = {
            "model": "demo",
            "max_tokens": 1000,
            "messages": [{"role": "user", "content": "repeat after me: good morning"}],
        }
        request = urllib.request.Request(
            f"{url}/v1/messages",
            json.dumps(body).encode(),
            {
                "content-type": "application/json",
                "anthropic-version": "2023-06-01",
                "x-api-key": "x",
            },
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            answer = json.load(response)
        run = run_command(
            "-p", "repeat after me: good evening", "--base-url", url, home=tmp_path / "client"
        )
        process.terminate()
        assert process.wait(20) in (0, 143)
    assert "good morning" in answer["content"][0]["text"]
    assert answer["stop_reason"] == "end_turn"
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"good evening" in run.stdout
