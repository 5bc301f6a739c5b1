"""Faults of configuration (F01, F03 to F09), as a person meets them: the installed command with
wrong keys, addresses, files and proxies. The finer cases are tests of the rooms: settings,
messages_api (client, errors, proxies), conversation (endpoint)."""

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_tui import logs
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import UserMessage
from agent_tui.messages_api import ApiEndpoint, ApiError
from agent_tui.messages_api.stream_function import make_stream_function
from tests.e2e.fixtures import Begin, Open, Run, Serve, begin  # noqa: F401
from tests.e2e.servers import Catcher, OfflineProcess, catcher, free_port
from tests.e2e.terminal import Terminal

KEY = "sk-ant-api03-AbCdEfGh0123456789"
HEADER = "gate-secret-0123456789"


def refusal(path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
    """A provider that repeats the key it was given, with control characters and no end."""
    if "prompt too odd" in body.decode():
        error = {
            "type": "invalid_request_error",
            "message": "messages.0: \x1b[2Jodd\n" + "x" * 9999,
        }
        answer = {"type": "error", "error": error, "request_id": "req_0123456789"}
        return 400, json.dumps(answer).encode(), {"request-id": "req_0123456789"}
    said = f"Bad key {headers.get('authorization')} or {headers.get('x-gate')} at {path}"
    error = {"type": "authentication_error", "message": said}
    return 401, json.dumps({"type": "error", "error": error}).encode(), {"request-id": "req_401"}


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve([{"text": "Fine.", "repeat": True}])


@pytest.fixture(scope="module")
def provider() -> Iterator[Catcher]:
    with catcher(refusal) as found:
        yield found


@pytest.fixture(scope="module")
def proxy() -> Iterator[Catcher]:
    """It sees a request by its whole address, and asks for a password."""
    with catcher(lambda path, _, __: (407, b"", {"proxy-authenticate": "Basic"})) as found:
        yield found


def home_with(folder: Callable[[str], Path], config: str | bytes) -> Path:
    home = folder("configuration")
    (home / "agent-tui").mkdir()
    text = config.encode() if isinstance(config, str) else config
    (home / "agent-tui" / "config.toml").write_bytes(text)
    return home


@pytest.fixture(scope="module")
def homes(folder: Callable[[str], Path]) -> dict[str, Path]:
    return {
        "key in file": home_with(folder, "api_key = ''\n"),
        "backslashes": home_with(folder, 'model = "a"\nsystem_prompt = "C:\\new\\dir"\n'),
        "twice": home_with(folder, 'model = "a"\ntheme = "dark"\nmodel = "b"\n'),
        "nul": home_with(folder, b'model = "a"\n\x00\x00\x00\n'),
        "unknown": home_with(folder, "modle = 'x'\n[mcp.servrs]\na = 1\n"),
        "refused": home_with(folder, f"[headers]\nX-Gate = '{HEADER}'\n"),
    }


@pytest.fixture(scope="module")
def runs(
    server: OfflineProcess, provider: Catcher, proxy: Catcher, begin: Begin,  # noqa: F811
    homes: dict[str, Path],
) -> dict[str, Run]:  # fmt: skip
    """Every run of this module that goes to its end by itself, beside each other."""

    def ask(*argv: str, name: str = "", **env: str) -> Run:
        return begin("-p", "hello", *argv, env=env, **({"home": homes[name]} if name else {}))

    nobody = f"http://127.0.0.1:{free_port()}"
    return {
        "no key": ask(ANTHROPIC_API_KEY=""),
        "no key in file": ask(name="key in file"),
        "backslashes": ask("--demo", name="backslashes"),
        "twice": ask("--demo", name="twice"),
        "nul": ask("--demo", name="nul"),
        "query": ask("--base-url", "http://h?x=1"),
        # A proxy that nobody answers is no matter on this machine.
        "v1": ask("--base-url", f"{server.url}/v1/", name="unknown",
                  HTTPS_PROXY=nobody, HTTP_PROXY=nobody, ALL_PROXY="socks5://127.0.0.1:1"),
        "elsewhere": ask("--base-url", f"{server.url}/else/where/"),
        "refused": begin("-p", "hello", "--base-url", provider.url, "--output", "stream-json",
                         home=homes["refused"], env={"ANTHROPIC_API_KEY": KEY}),
        "evil": ask("--base-url", "http://evil.example/api.anthropic.com/",
                    HTTP_PROXY=proxy.url.replace("//", "//me:" + HEADER + "@"),
                    ANTHROPIC_API_KEY=KEY),
    }  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def screen(
    runs: dict[str, Run], provider: Catcher, open_terminal: Open, folder: Callable[[str], Path]
) -> Terminal:  # fmt: skip
    """The app on a provider that refuses everything."""
    return open_terminal(
        "--base-url", provider.url,
        env={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": "tok-unused-0123456789"},
        home=home_with(folder, f"modle = 'x'\n[headers]\nX-Gate = '{HEADER}'\n"),
    )  # fmt: skip


def said(run: Run) -> str:
    return run.result().stderr.decode()


# --- F01 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "place"),
    [("no key", "environment variable ANTHROPIC_API_KEY"), ("no key in file", "setting api_key")],
)
def test_F01_an_empty_key_is_named_with_the_places_looked_at(
    name: str, place: str, runs: dict[str, Run]
) -> None:
    text = said(runs[name])
    assert runs[name].result().returncode == 2
    assert len(text.splitlines()) == 1
    assert f"{place}: The API key is empty. Set it" in text
    for looked_at in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "/login"):
        assert looked_at in text
    assert "Connection error" not in text


def test_F01_it_is_said_before_there_is_a_screen(open_terminal: Open) -> None:
    terminal = open_terminal(env={"ANTHROPIC_API_KEY": ""})
    assert terminal.exit_code() == 2
    assert b"\x1b[?1049h" not in terminal.raw
    assert b"The API key is empty" in terminal.raw


# --- F03 --------------------------------------------------------------------------------------


def test_F03_v1_at_the_end_is_not_said_twice(runs: dict[str, Run], server: OfflineProcess) -> None:
    run = runs["v1"].result()
    assert (run.returncode, run.stdout) == (0, b"Fine.\n")
    paths = {seen.path for seen in server.requests("hello")}
    assert paths == {"/v1/messages"}


def test_F03_a_query_is_refused(runs: dict[str, Run]) -> None:
    assert runs["query"].result().returncode == 2
    assert 'must not hold "?"' in said(runs["query"])


def test_F03_a_404_says_where_the_request_went(
    runs: dict[str, Run], server: OfflineProcess
) -> None:
    text = said(runs["elsewhere"])
    assert runs["elsewhere"].result().returncode == 1
    assert f"The request went to {server.url}/else/where/v1/messages." in text
    assert "404" in text and "Check base_url" in text


# --- F04 --------------------------------------------------------------------------------------


def files_with(folder: Path, *secrets: str) -> list[Path]:
    """Those below this folder that hold one of the secrets."""
    return [
        file
        for file in folder.rglob("*")
        if file.is_file() and any(secret.encode() in file.read_bytes() for secret in secrets)
    ]


def test_F04_a_key_that_is_repeated_is_nowhere_kept(
    runs: dict[str, Run], provider: Catcher, homes: dict[str, Path]
) -> None:
    run = runs["refused"].result()
    assert run.returncode == 1
    assert any(h["authorization"] == f"Bearer {KEY}" for h in provider.headers), "it was sent"
    assert b"Bad key" in run.stdout + run.stderr
    for secret in (KEY, HEADER):
        assert secret.encode() not in run.stdout + run.stderr
    home = homes["refused"]
    sessions = list((home / "agent-tui" / "sessions").rglob("*.jsonl"))
    assert sessions and any(b"Bad key" in file.read_bytes() for file in sessions)
    config = home / "agent-tui" / "config.toml"
    assert [f for f in files_with(home, KEY, HEADER) if f != config] == []


def test_F04_nor_shown(screen: Terminal) -> None:
    screen.wait_ready()
    screen.say("hello")
    shown = screen.wait_for("Bad key")
    assert "***" in shown
    assert KEY.encode() not in screen.raw and HEADER.encode() not in screen.raw
    config = screen.state / "config.toml"
    assert [f for f in files_with(screen.home, KEY, HEADER) if f != config] == []


async def test_F04_nor_logged_at_any_level_nor_with_a_traceback(tmp_path: Path) -> None:
    """A log with everything in it: the SDK's and its transport's debug lines, and a crash."""
    with catcher(refusal) as found:
        endpoint = ApiEndpoint(found.url, api_key=KEY, headers={"X-Gate": HEADER})
        file = logs.set_up_logging(tmp_path / "log", secrets=endpoint.secrets)
        for name in ("", "anthropic", "httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.DEBUG)
        stream = make_stream_function(endpoint)
        context = LLMContext("", [UserMessage(content="hi")], [])
        try:
            with contextlib.suppress(ApiError):
                async for _ in stream("m", context, StreamOptions()):
                    pass
            try:
                raise RuntimeError(f"with {KEY} and {endpoint.headers} in {endpoint!r}")
            except RuntimeError:
                logging.getLogger("agent_tui.tui").exception("crashed with %s", KEY)
        finally:
            for name in ("anthropic", "httpx2", "httpcore2"):
                logging.getLogger(name).setLevel(logging.WARNING)
    text = file.read_text()
    assert "Sending HTTP Request" in text and "Traceback" in text and "***" in text
    assert KEY not in text and HEADER not in text


# --- F05 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "place", "hint"),
    [
        ("backslashes", ":2:", "single quotes"),
        ("twice", ":3:", "line 1"),
        ("nul", ":2:1:", "restore it from a copy"),
    ],
)
def test_F05_a_file_that_is_no_toml_is_named_with_line_and_hint(
    name: str, place: str, hint: str, runs: dict[str, Run], homes: dict[str, Path]
) -> None:
    run, text = runs[name].result(), said(runs[name])
    assert (run.returncode, run.stdout) == (2, b"")
    assert len(text.splitlines()) == 1
    assert f"{homes[name] / 'agent-tui' / 'config.toml'}{place}" in text
    assert hint in text
    if name == "backslashes":
        assert 'system_prompt = "C:\\new\\dir"' in text


# --- F06 --------------------------------------------------------------------------------------


def test_F06_unknown_keys_are_named_and_stop_nothing(
    runs: dict[str, Run], homes: dict[str, Path]
) -> None:
    text = said(runs["v1"])
    config = homes["unknown"] / "agent-tui" / "config.toml"
    assert f"{config}:1: unknown key modle: did you mean model?" in text
    assert f"{config}:2: unknown key mcp.servrs" in text
    assert runs["v1"].result().returncode == 0


def test_F06_they_are_named_on_the_screen(screen: Terminal) -> None:
    screen.wait_for("unknown key modle: did you mean model?")


def test_F01_a_credential_that_is_not_used_is_named_on_the_screen(screen: Terminal) -> None:
    screen.wait_for("ANTHROPIC_AUTH_TOKEN is set too and not used.")
    assert b"tok-unused" not in screen.raw


# --- F07 --------------------------------------------------------------------------------------


def test_F07_an_error_is_shown_with_its_type_words_and_request_id(screen: Terminal) -> None:
    screen.wait_ready()
    screen.say("prompt too odd")
    shown = screen.wait_for("Request id: req_0123456789")
    assert "messages.0:" in shown and "invalid_request_error" in shown and "400" in shown
    assert "␛[2Jodd" in shown, "what a terminal acts on is shown as a symbol"
    assert "change the model, the settings" in " ".join(shown.split())
    assert shown.count("xxxxxxxxxx") < 120, "it has an end"
    assert "[object Object]" not in shown and "N/A" not in shown


# --- F08, F09 -----------------------------------------------------------------------------------


def test_F08_the_host_is_read_and_not_searched_for(runs: dict[str, Run]) -> None:
    text = said(runs["evil"])
    assert "evil.example is another machine" in text and "unencrypted" in text


def test_F09_the_proxy_is_used_and_named(runs: dict[str, Run], proxy: Catcher) -> None:
    text = said(runs["evil"])
    assert proxy.headers[0]["host"] == "evil.example"
    assert "proxy-authorization" in proxy.headers[0]
    assert f"The proxy {proxy.url}" in text and "HTTP_PROXY" in text
    assert "user name and password" in text
    assert HEADER not in text and KEY not in text
    assert runs["evil"].result().returncode == 2


def test_F09_this_machine_is_reached_past_a_proxy(runs: dict[str, Run]) -> None:
    assert runs["v1"].result().stdout == b"Fine.\n"
