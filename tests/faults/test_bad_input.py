"""Bad input to the installed command: one clear line that says what to do, the right exit code,
nothing lost, and a screen only where there is something to show."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.fixtures import Begin, Open, Serve, begin, folder, open_terminal, serve  # noqa: F401
from tests.e2e.servers import OfflineProcess, free_port
from tests.e2e.terminal import AGENT_TUI, run_command, start_command

NOBODY = 65534
KEY = "sk-ant-of-a-user-0123456789"


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:  # noqa: F811
    return serve([{"text": "Fine.", "repeat": True}])


def config(home: Path, text: str | bytes) -> Path:
    file = home / "agent-tui" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def assert_one_line(err: bytes, *words: str) -> None:
    text = err.decode()
    assert len(text.splitlines()) == 1, text
    assert text.startswith("agent-tui: ")
    assert all(word in text for word in words), text


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('model = "a"\npath = "C:\\new\\dir"\n', 2, ["'"]),
        ('model = "a"\nmodel = "b"\n', 2, ["model"]),
        ("model = \n", 1, []),
        (b'model = "a"\n\x00\x00\x00\n', 2, []),
        ('model = "a"\nmax_tokens = "many"\n', 2, ["max_tokens", "many"]),
        ("thinking = 'enormous'\n", 1, ["thinking", "low", "max"]),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    text: str | bytes, line: int, words: list[str], tmp_path: Path
) -> None:
    file = config(tmp_path, text)
    run = run_command("-p", "hi", "--demo", home=tmp_path)
    assert run.returncode == 2
    assert run.stdout == b""
    assert_one_line(run.stderr, f"{file}:{line}", *words)


def test_a_broken_file_before_the_screen(open_terminal: Open, tmp_path: Path) -> None:  # noqa: F811
    config(tmp_path, "model = \n")
    terminal = open_terminal("--demo", home=tmp_path)
    assert terminal.exit_code() == 2
    assert "config.toml:1" in terminal.screen().replace("\n", "")
    assert b"\x1b[?1049h" not in terminal.raw, "no screen is opened for one line"


def test_unknown_names_are_warned_of_with_the_nearest_right_one(
    server: OfflineProcess, tmp_path: Path
) -> None:
    file = config(tmp_path, 'max_tokens = 9000\nmodle = "x"\n[mcp_server]\na = 1\n')
    run = run_command(
        "-p", "hi", "--base-url", server.url, home=tmp_path, env={"AGENT_TUI_THINKNG": "low"}
    )
    assert (run.returncode, run.stdout) == (0, b"Fine.\n")
    warnings = run.stderr.decode().splitlines()
    assert len(warnings) == 3
    assert f"{file}:2" in warnings[0] + warnings[1]
    text = run.stderr.decode()
    assert "modle" in text and "did you mean model?" in text
    assert "did you mean AGENT_TUI_THINKING?" in text
    assert server.requests()[-1].body["max_tokens"] == 9000, "the good lines count"


def test_a_config_that_is_not_there(tmp_path: Path) -> None:
    run = run_command("-p", "hi", "--demo", "--config", "none.toml", home=tmp_path)
    assert run.returncode == 2
    assert_one_line(run.stderr, "none.toml", "--config")


# --- keys and addresses -----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", "   ", f"{KEY}\n", f"{KEY}\r\n", f"{KEY}é", "with space"])
def test_an_unusable_key_is_named_before_anything_is_sent(key: str, tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{free_port()}"}
    run = run_command("-p", "hi", home=tmp_path, env=env)
    assert run.returncode == 2
    assert_one_line(run.stderr, "ANTHROPIC_API_KEY")
    assert KEY.encode() not in run.stderr


@pytest.mark.parametrize("key", ["", f"{KEY}\\n"])
def test_an_unusable_key_in_the_file(key: str, tmp_path: Path) -> None:
    config(tmp_path, f'api_key = "{key}"\n')
    run = run_command("-p", "hi", home=tmp_path)
    assert run.returncode == 2
    assert_one_line(run.stderr, "api_key")
    assert KEY.encode() not in run.stderr


@pytest.mark.parametrize(
    "url", ["example.org", "ftp://h/", "http://", "http://h?x=1", "http://h:0x"]
)
def test_an_address_that_cannot_be_one(url: str, tmp_path: Path) -> None:
    run = run_command("-p", "hi", "--base-url", url, home=tmp_path)
    assert run.returncode == 2
    assert_one_line(run.stderr)


def test_an_address_with_v1_is_the_same_address(server: OfflineProcess, tmp_path: Path) -> None:
    run = run_command("-p", "hi", "--base-url", f"{server.url}/v1/", home=tmp_path)
    assert (run.returncode, run.stdout) == (0, b"Fine.\n")
    assert server.requests()[-1].path.partition("?")[0] == "/v1/messages"


@pytest.mark.parametrize("argv", [["-p", "hi"], ["rpc"]])
def test_no_key_and_no_server(argv: list[str], tmp_path: Path) -> None:
    run = run_command(*argv, home=tmp_path)
    assert run.returncode == 2
    assert_one_line(run.stderr, "ANTHROPIC_API_KEY", "--base-url", "--demo")


def test_a_model_that_does_not_exist(tmp_path: Path) -> None:
    argv = ["--demo", "--model", "claude-nonesuch", "--output", "json"]
    run = run_command("-p", "hi", *argv, home=tmp_path)
    assert run.returncode == 1
    assert_one_line(run.stderr, "404", "not_found_error", "claude-nonesuch", "model")
    assert json.loads(run.stdout)["messages"][0]["role"] == "user", "the question is kept"


# --- the command line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-p", "hi", "--output", "xml"], ["xml", "stream-json"]),
        (["-p", "hi", "and more"], ["not both"]),
        (["-p", ""], ["no text"]),
        (["-p", "hi", "--thinking", "enormous"], ["--thinking", "enormous", "low"]),
        (["-p", "hi", "-r"], ["id"]),
        (["-p", "hi", "-r", "no-such-session"], ["no-such-session"]),
        ([], ["-p"]),
        (["--model", "x", "rpc"], ["rpc"]),
    ],
)
def test_options_that_do_not_fit(argv: list[str], words: list[str], tmp_path: Path) -> None:
    run = run_command("--demo", *argv, home=tmp_path)
    assert run.returncode == 2
    assert run.stdout == b""
    assert_one_line(run.stderr, *words)


@pytest.mark.parametrize(
    "argv",
    [["--no-such-option"], ["-p", "hi", "--max-turns", "0"], ["-p", "hi", "--max-cost", "x"]],
)
def test_options_that_the_parser_refuses(argv: list[str], tmp_path: Path) -> None:
    run = run_command("--demo", *argv, home=tmp_path)
    assert run.returncode == 2
    assert run.stdout == b""
    assert argv[-1].encode() in run.stderr or argv[-2].encode() in run.stderr
    assert b"Traceback" not in run.stderr


# --- what is piped in -----------------------------------------------------------------------------


def test_stdin_that_is_not_utf_8(server: OfflineProcess, tmp_path: Path) -> None:
    run = run_command(
        *("-p", "what is this?", "--base-url", server.url),
        home=tmp_path,
        stdin=b"caf\xe9 au lait\n",
    )
    assert (run.returncode, run.stdout) == (0, b"Fine.\n")
    assert_one_line(run.stderr, "UTF-8", "byte 3")
    (request,) = server.requests("what is this?")
    assert request.texts == ["what is this?\n\ncaf\ufffd au lait"]


def test_a_reader_that_goes_away(server: OfflineProcess, tmp_path: Path) -> None:
    argv = ["-p", "hi", "--base-url", server.url, "--output", "stream-json"]
    with start_command(*argv, home=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdin.close()
        process.stdout.close()
        process.wait(60)
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


def test_rpc_lines_that_are_no_commands(server: OfflineProcess, tmp_path: Path) -> None:
    bad = [
        b"not json",
        b"[1, 2]",
        b'{"type": "state"}',
        b'{"id": 1, "type": "nonesuch"}',
        b'{"id": 2, "type": "prompt"}',
        b'{"id": 3, "type": "prompt", "text": "  "}',
        b'{"id": 4, "type": "queue_remove", "item_id": "nonesuch"}',
        b'{"id": 5, "type": "answer", "request_id": "x", "decision": "allow"}',
        b"\xff\xfe",
        b'{"id": "last", "type": "state"}',
    ]
    run = run_command("rpc", "--base-url", server.url, home=tmp_path, stdin=b"\n".join(bad) + b"\n")
    assert (run.returncode, run.stderr) == (0, b"")
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    answers = [a for a in answers if a["type"] == "response"]
    assert [a["ok"] for a in answers] == [False] * (len(bad) - 1) + [True]
    assert all(a["error"] for a in answers[:-1])
    assert [a["id"] for a in answers[3:8]] == [1, 2, 3, 4, 5]
    assert answers[-1]["data"]["status"] == "ready"


# --- folders -------------------------------------------------------------------------------


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """closed("name"): a folder whose files this user may not see."""
    made: list[Path] = []

    def make(name: str) -> Path:
        path = tmp_path / name
        path.mkdir()
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                pytest.skip("as root this needs setpriv")
            os.chown(path, NOBODY, NOBODY)
        path.chmod(0o700 if os.geteuid() == 0 else 0o000)
        made.append(path)
        return path

    yield make
    for path in made:
        path.chmod(0o700)


AS_A_USER = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", AGENT_TUI]
    if os.geteuid() == 0
    else [AGENT_TUI]
)
"""The command without root's right to see everything."""


def test_a_folder_that_cannot_be_read(closed: Callable[[str], Path], tmp_path: Path) -> None:
    cwd = closed("closed")
    run = run_command("-p", "hi", "--demo", home=tmp_path, cwd=cwd, program=AS_A_USER)
    assert run.returncode == 2
    assert_one_line(run.stderr, "cannot be read")


def test_a_home_that_cannot_be_written(closed: Callable[[str], Path], tmp_path: Path) -> None:
    home = closed("home")
    env = {"AGENT_TUI_HOME": str(home / "inside")}
    run = run_command("-p", "hi", "--demo", home=tmp_path, env=env, program=AS_A_USER)
    assert run.returncode == 2
    assert_one_line(run.stderr, str(home))


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f"mkdir {gone}; cd {gone}; rmdir {gone}; exec {AGENT_TUI} -p hi --demo"
    run = run_command("-c", script, home=tmp_path, program=["/bin/sh"])
    assert run.returncode == 2
    assert_one_line(run.stderr, "no longer exists")
