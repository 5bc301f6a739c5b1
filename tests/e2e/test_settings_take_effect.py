"""Each setting with two values that differ on the wire, the screen or the disk, and the places
they come from: the user's file, a project's, the environment, a flag."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Begin, Open, Run, Serve
from tests.e2e.servers import Catcher, OfflineProcess, Seen, catcher, result_text
from tests.e2e.terminal import Terminal, start_command

MEET = "for i in $(seq 100); do [ -e here ] && echo met && exit; sleep 0.02; done; echo alone"
TWO_CALLS = [
    {"name": "shell", "input": {"command": MEET}},
    {"name": "shell", "input": {"command": "touch here"}},
]
DOCS = "https://docs.example.com/mcp"
SLOW_COMMAND = [{"name": "shell", "input": {"command": "sleep 1.2; echo it finished"}}]

TURNS: list[dict[str, Any]] = [
    {"match": "two calls, file", "tool_calls": TWO_CALLS},
    {"match": "two calls, environment", "tool_calls": TWO_CALLS},
    {"match": "slow command, short", "tool_calls": SLOW_COMMAND},
    {"match": "slow command, long", "tool_calls": SLOW_COMMAND},
    {"match": "silence", "hang": "before_headers", "repeat": True},
    {"match": "modes", "text": "So much to say. " * 30, "chunk_size": 8, "chunk_delay_ms": 20},
    {"match": "show me", "thinking": "Deep in thought.", "text": "Here it is.", "repeat": True},
    {"text": "Done.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def other_server(serve: Serve) -> OfflineProcess:
    return serve([{"text": "The other one answers.", "repeat": True}])


@pytest.fixture(scope="module")
def keys() -> Iterator[Catcher]:
    """A server that refuses everything, and keeps the headers."""
    body = json.dumps({"type": "error", "error": {"type": "permission_error", "message": "no"}})
    with catcher(lambda *_: (403, body.encode(), {})) as found:
        yield found


def toml(**settings: Any) -> str:
    """JSON's strings, numbers, booleans and lists are TOML's too."""
    plain = {name: value for name, value in settings.items() if not isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    for name in settings.keys() - plain.keys():  # tables come last
        lines.append(f"[{name}]")
        lines += [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in settings[name].items()]
    return "\n".join(lines) + "\n"


def environment(**settings: Any) -> dict[str, str]:
    return {
        f"AGENT_TUI_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in settings.items()
    }


@pytest.fixture(scope="module")
def runs(
    server: OfflineProcess,
    other_server: OfflineProcess,
    keys: Catcher,
    begin: Begin,
    folder: Callable[[str], Path],
) -> dict[str, Run]:
    def home(config: str = "") -> Path:
        made = folder("settings")
        (made / "agent-tui").mkdir()
        (made / "agent-tui" / "config.toml").write_text(config, encoding="utf-8")
        return made

    from_file = home(
        toml(
            base_url=server.url,
            model="model-of-the-file",
            max_tokens=11_111,
            thinking="low",
            system_prompt="You are terse.",
            append_system_prompt="Say so.",
            headers={"X-Team": "blue"},
            cache="1h",
            eager_input_streaming=True,
            betas=["of-the-file-2026-01-01"],
            tool_execution="parallel",
            allow=["shell"],
            programmatic="both",
            tools={"web_search": "direct", "grep": "off", "shell": "direct"},
        )
    )
    instead = folder("config") / "instead.toml"
    instead.write_text(toml(base_url=keys.url, api_key="sk-ant-second"), encoding="utf-8")
    both_files = home(toml(base_url=server.url, model="model-of-the-file", max_tokens=11_111))
    in_env = environment(
        model="model-of-the-environment",
        max_tokens=22_222,
        thinking="max",
        system_prompt="You are verbose.",
        headers='{"X-Team": "red", "X-More": "yes", "anthropic-beta": "of-a-header-2026-01-01"}',
        cache="off",
        eager_input_streaming=False,
        betas="first-2026-01-01,second-2026-01-01",
        tool_execution="sequential",
        allow="grep,shell",
        shell_timeout_s=90,
        programmatic="programmatic",
        tools="shell=direct,web_search=both,memory=direct",
    )
    at = ["--base-url", server.url, "--allow", "shell"]
    return {
        "file": begin("-p", "two calls, file", home=from_file),
        "environment": begin("-p", "two calls, environment", home=both_files, env=in_env),
        "flag": begin(
            *("-p", "answer by flag", "--model", "model-of-the-flag", "--thinking", "high"),
            *("--system-prompt", "You are a flag.", "--append-system-prompt", "Wave."),
            *("--base-url", other_server.url),
            home=both_files,
            env=environment(
                model="model-of-the-environment",
                base_url=server.url,
                programmatic="both",
                connector={"docs": {"url": DOCS, "authorization_token": "token-of-the-docs"}},
            ),
        ),
        "short shell": begin(
            *at, "-p", "slow command, short", env=environment(shell_timeout_s=0.3)
        ),
        "long shell": begin(*at, "-p", "slow command, long", env=environment(shell_timeout_s=30)),
        "short idle": begin(*at, "-p", "silence, short", env=environment(idle_timeout_s=1.5)),
        "long idle": begin(
            *at, "-p", "silence, long", env=environment(idle_timeout_s=90, max_seconds=2)
        ),
        "one key": begin(
            "--base-url", keys.url, "-p", "hi", env=environment(api_key="sk-ant-first")
        ),
        "other key": begin("-p", "hi", "--config", str(instead), home=home("model = broken")),
        "token": begin("--base-url", keys.url, "-p", "hi", env=environment(auth_token="token-3")),
    }


def only(server: OfflineProcess, said: str) -> Seen:
    return server.requests(said)[0]


def test_settings_of_the_users_file(runs: dict[str, Run], server: OfflineProcess) -> None:
    run = runs["file"].result()
    assert (run.returncode, run.stdout, run.stderr) == (0, b"Done.\n", b"")
    request = only(server, "two calls, file")
    assert request.body["model"] == "model-of-the-file"
    assert request.body["max_tokens"] == 11_111
    assert request.headers["x-team"] == "blue"
    (system,) = request.body["system"]
    assert system["text"] == "You are terse.\n\nSay so."


def test_the_environment_wins_over_the_file(runs: dict[str, Run], server: OfflineProcess) -> None:
    run = runs["environment"].result()
    assert (run.returncode, run.stdout, run.stderr) == (0, b"Done.\n", b"")
    request = only(server, "two calls, environment")
    assert request.body["model"] == "model-of-the-environment"
    assert request.body["max_tokens"] == 22_222
    assert (request.headers["x-team"], request.headers["x-more"]) == ("red", "yes")
    (system,) = request.body["system"]
    assert system["text"] == "You are verbose."


def test_flags_win_over_both(runs: dict[str, Run], other_server: OfflineProcess) -> None:
    run = runs["flag"].result()
    assert (run.returncode, run.stdout) == (0, b"The other one answers.\n")
    request = only(other_server, "answer by flag")
    assert request.body["model"] == "model-of-the-flag"
    assert request.body["max_tokens"] == 11_111, "what the flags leave open is the file's"
    (system,) = request.body["system"]
    assert system["text"] == "You are a flag.\n\nWave."


def marks(value: Any) -> list[Any]:
    """Every cache_control in it."""
    if isinstance(value, dict):
        own = [value["cache_control"]] if "cache_control" in value else []
        return own + [mark for inner in value.values() for mark in marks(inner)]
    return [mark for inner in value for mark in marks(inner)] if isinstance(value, list) else []


def test_cache_live_arguments_and_betas(
    runs: dict[str, Run], server: OfflineProcess, other_server: OfflineProcess
) -> None:
    for name in ("file", "environment", "flag"):
        assert runs[name].result().returncode == 0
    of_file = only(server, "two calls, file")
    assert marks(of_file.body) == [{"type": "ephemeral", "ttl": "1h"}] * 3, "tools, system, prompt"
    assert any(tool.get("eager_input_streaming") for tool in of_file.body["tools"])
    assert "of-the-file-2026-01-01" in of_file.headers["anthropic-beta"].split(",")
    of_environment = only(server, "two calls, environment")
    assert marks(of_environment.body) == []
    assert not any("eager_input_streaming" in tool for tool in of_environment.body["tools"])
    betas = of_environment.headers["anthropic-beta"].split(",")
    assert {"first-2026-01-01", "second-2026-01-01", "of-a-header-2026-01-01"} <= set(betas)
    unset = only(other_server, "answer by flag")
    assert {"type": "ephemeral"} in marks(unset.body), "five minutes is what the API takes it for"
    assert not any("eager_input_streaming" in tool for tool in unset.body["tools"])


PROGRAM = "code_execution_20260120"


def callers(request: Seen) -> dict[str, Any]:
    return {t.get("name"): t.get("allowed_callers") for t in request.body["tools"]}


def test_who_may_call_the_tools(runs: dict[str, Run], server: OfflineProcess) -> None:
    for name in ("file", "environment"):
        assert runs[name].result().returncode == 0
    of_file = callers(only(server, "two calls, file"))
    assert of_file["read"] == ["direct", PROGRAM] and of_file["shell"] is None
    assert of_file["web_search"] == ["direct"] and "grep" not in of_file
    of_environment = callers(only(server, "two calls, environment"))
    assert of_environment["read"] == of_environment["grep"] == [PROGRAM]
    assert of_environment["web_search"] == ["direct", PROGRAM]
    assert of_environment["shell"] is None and "memory" in of_environment
    assert "code_execution" in of_file and "code_execution" in of_environment


def test_the_connector_is_not_for_programs(
    runs: dict[str, Run], other_server: OfflineProcess
) -> None:
    run = runs["flag"].result()
    request = only(other_server, "answer by flag")
    (server,) = request.body["mcp_servers"]
    assert (server["name"], server["url"]) == ("docs", DOCS)
    assert server["authorization_token"] == "(hidden)", "sent; the server's log hides it"
    assert "mcp-client-2025-11-20" in request.headers["anthropic-beta"]
    assert all("allowed_callers" not in t for t in request.body["tools"])
    assert b"direct: programs do not go together with the connector (docs)" in run.stderr
    assert b"token-of-the-docs" not in run.stdout + run.stderr


def test_thinking_goes_out_as_the_model_wants_it(
    runs: dict[str, Run], server: OfflineProcess, other_server: OfflineProcess
) -> None:
    for name in ("file", "environment", "flag"):
        runs[name].result()
    bodies = [
        only(server, "two calls, file").body,
        only(other_server, "answer by flag").body,
        only(server, "two calls, environment").body,
    ]
    sent = [json.dumps([b["thinking"], b.get("output_config")]) for b in bodies]
    assert len(set(sent)) == 3, f"low, high and max differ on the wire: {sent}"
    budgets = [b["thinking"].get("budget_tokens", 0) for b in bodies]
    assert budgets == sorted(budgets)
    assert all(n < b["max_tokens"] for n, b in zip(budgets, bodies, strict=True))


def test_tools_run_together_or_one_by_one(runs: dict[str, Run], server: OfflineProcess) -> None:
    for name in ("file", "environment"):
        assert runs[name].result().returncode == 0
    together = server.requests("two calls, file")[1].tool_results
    in_turn = server.requests("two calls, environment")[1].tool_results
    assert "met" in result_text(together[0])
    assert "alone" in result_text(in_turn[0])
    assert not any(result.get("is_error") for result in together + in_turn), "both were allowed"


def test_shell_timeout(runs: dict[str, Run], server: OfflineProcess) -> None:
    assert runs["short shell"].result().returncode == 0
    assert runs["long shell"].result().returncode == 0
    (short,) = server.requests("slow command, short")[1].tool_results
    (long,) = server.requests("slow command, long")[1].tool_results
    assert short["is_error"] is True
    assert "it finished" not in result_text(short)
    assert "it finished" in result_text(long)
    assert not long.get("is_error")


def test_idle_timeout(runs: dict[str, Run], server: OfflineProcess) -> None:
    short = runs["short idle"].result()
    assert short.returncode == 75
    assert len(server.requests("silence, short")) == 2, "silence is tried again, once"
    long = runs["long idle"].result()
    assert long.returncode == 3, long.stderr
    assert b"max_seconds" in long.stderr
    assert len(server.requests("silence, long")) == 1


def test_keys_and_token(runs: dict[str, Run], keys: Catcher) -> None:
    ends = [runs[name].result() for name in ("one key", "other key", "token")]
    assert [run.returncode for run in ends] == [1, 1, 1]
    given = Counter(headers["authorization"] for headers in keys.headers)
    assert given == Counter(f"Bearer {k}" for k in ("sk-ant-first", "sk-ant-second", "token-3"))
    for run in ends:
        for secret in (b"sk-ant-first", b"sk-ant-second", b"token-3"):
            assert secret not in run.stdout + run.stderr


# --- queue modes, over RPC -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "texts"),
    [
        ("one-at-a-time", [["s1"], ["s2"], ["f1"], ["f2"]]),
        ("all", [["s1", "s2"], ["f1", "f2"]]),
    ],
)
def test_queue_modes(mode: str, texts: list[list[str]], serve: Serve, tmp_path: Path) -> None:
    server = serve(TURNS)
    argv = ["rpc", "--base-url", server.url]
    env = environment(steering_mode=mode, follow_up_mode=mode)
    with start_command(*argv, home=tmp_path, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def command(**message: Any) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"id": "1"} | message).encode() + b"\n")
            process.stdin.flush()

        command(type="prompt", text="modes")
        server.wait_requests(1, "modes", ended=False)
        for kind, text in (
            ("steer", "s1"),
            ("steer", "s2"),
            ("follow_up", "f1"),
            ("follow_up", "f2"),
        ):
            command(type=kind, text=text)
        for line in process.stdout:
            if json.loads(line)["type"] == "agent_end":
                break
        process.stdin.close()
        assert process.wait(20) == 0
    requests = server.requests("modes")
    assert all(request.status == 200 for request in requests)
    assert [request.messages[-1]["role"] for request in requests] == ["user"] * len(requests)
    grown = [len(request.texts) for request in requests]
    new = [r.texts[n:] for r, n in zip(requests[1:], grown, strict=False)]
    assert new == texts


# --- the demo's speed ------------------------------------------------------------------------


def test_demo_speed(tmp_path: Path) -> None:
    """At 200 characters a second an answer of 400 takes two seconds, at 100,000 no time."""
    took = {speed: _seconds_of_text(tmp_path / str(speed), speed) for speed in (200, 100_000)}
    assert took[200] >= 1.6
    assert took[100_000] < took[200] / 2


def _seconds_of_text(home: Path, speed: int) -> float:
    """From the first to the last piece of the answer's text."""
    argv = ["--demo", "-p", f"repeat after me: {'abcdefg ' * 50}", "--output", "stream-json"]
    times: list[float] = []
    with start_command(*argv, home=home, env=environment(demo_speed=speed)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == "message_update" and event["event"]["type"] == "text_delta":
                times.append(time.monotonic())
    assert process.returncode == 0
    return times[-1] - times[0]


# --- the screen --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def screens(server: OfflineProcess, open_terminal: Open) -> dict[str, Terminal]:
    at = ["--base-url", server.url, "show me"]
    return {
        "light": open_terminal(
            *at, env=environment(theme="light", show_panel=False, show_thinking="open")
        ),
        "dark": open_terminal(
            *at, env=environment(theme="dark", show_panel=True, show_thinking="hidden")
        ),
    }


def test_theme_panel_and_thinking(screens: dict[str, Terminal]) -> None:
    light, dark = screens["light"], screens["dark"]
    for terminal in (light, dark):
        terminal.wait_for("Here it is.", timeout=20)
        terminal.wait_ready()
    assert brightness(light) > 0.6
    assert brightness(dark) < 0.3
    assert "Container" not in light.lines()[0]
    assert "Container" in dark.lines()[0]
    assert "Deep in thought." in light.screen()
    assert "thought" not in dark.screen()


def brightness(terminal: Terminal) -> float:
    """0 to 1, of the background that most cells have."""
    colour, _ = terminal.backgrounds().most_common(1)[0]
    assert re.fullmatch("[0-9a-f]{6}", colour), colour
    return sum(int(colour[at : at + 2], 16) for at in (0, 2, 4)) / (3 * 255)


# --- a project's file ----------------------------------------------------------------------------


def test_a_projects_file_counts_once_the_folder_is_trusted(
    server: OfflineProcess, open_terminal: Open, begin: Begin, folder: Callable[[str], Path]
) -> None:
    home = folder("project")
    project = home / "work" / ".agent-tui"
    project.mkdir(parents=True)
    (project / "config.toml").write_text(
        toml(system_prompt="You are the project's.", api_key="sk-ant-of-the-project"),
        encoding="utf-8",
    )
    at = ["--base-url", server.url]
    before = begin(*at, "-p", "before trust", home=home).result()
    assert before.returncode == 0
    assert b"not trusted" in before.stderr
    assert "You are agent-tui" in only(server, "before trust").body["system"][0]["text"]

    terminal = open_terminal(*at, "in the terminal", home=home)
    terminal.wait_for("This folder brings its own settings", timeout=20)
    assert not server.requests("in the terminal"), "nothing is sent before the answer"
    terminal.choose("This folder brings its own settings", "trust this folder")
    asked = server.wait_requests(1, "in the terminal")[0]
    assert asked.body["system"][0]["text"] == "You are the project's."
    terminal.wait_for("api_key is not read from a project's file")

    after = begin(*at, "-p", "after trust", home=home).result()
    assert after.returncode == 0
    assert only(server, "after trust").body["system"][0]["text"] == "You are the project's."
    assert b"sk-ant-of-the-project" not in before.stderr + after.stderr + terminal.raw
