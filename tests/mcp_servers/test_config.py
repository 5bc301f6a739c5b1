"""Configuration of servers: shapes other clients write, variables, secrets, files."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui import paths
from agent_tui.mcp_servers.config import (
    ConfigError,
    ServerConfig,
    parse_server,
    server_from_command,
    server_from_json,
    server_from_url,
)
from agent_tui.mcp_servers.config_files import (
    load_entries,
    remove_entry,
    write_enabled,
    write_entry,
)
from agent_tui.mcp_servers.masking import Secrets
from agent_tui.mcp_servers.snapshots import approval_text, config_lines, target_text
from agent_tui.mcp_servers.types import McpError
from agent_tui.mcp_servers.variables import resolve, variables_in

# --- one entry ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "transport", "target"),
    [
        ({"command": "npx", "args": ["-y", "x"]}, "stdio", "npx -y x"),
        ({"type": "stdio", "command": ["uvx", "y"], "args": ["z"]}, "stdio", "uvx y z"),
        ({"url": "https://e.org/mcp"}, "http", "https://e.org/mcp"),
        ({"type": "streamable-http", "url": "https://e.org/mcp"}, "http", "https://e.org/mcp"),
        ({"type": "SSE", "url": "http://e.org/sse"}, "sse", "http://e.org/sse"),
        ({"command": "x", "args": [1, 2.5]}, "stdio", "x 1 2.5"),
    ],
)
def test_the_shapes_that_others_write(raw: dict[str, Any], transport: str, target: str):
    config = parse_server("s", raw)
    assert (config.transport, target_text(config)) == (transport, target)


def test_all_fields_by_our_names_and_by_those_of_others():
    ours = parse_server("s", {
        "command": "x", "connect_timeout_s": 5, "call_timeout_s": 60, "list_timeout_s": 7,
        "enabled_tools": ["a*"], "disabled_tools": ["ab"], "approval": "allow",
        "exposure": {"a": "both"}, "disabled": True, "env": {"A": "1", "N": 2, "B": True},
    })  # fmt: skip
    assert (ours.connect_timeout_s, ours.list_timeout_s, ours.call_timeout_s) == (5, 7, 60)
    assert (ours.enabled_tools, ours.disabled_tools) == (("a*",), ("ab",))
    assert (ours.approval, ours.exposure, ours.enabled) == ({"*": "allow"}, {"a": "both"}, False)
    assert ours.env == {"A": "1", "N": "2", "B": "true"}
    others = parse_server("s", {
        "url": "https://e.org", "startup_timeout_sec": 5, "tool_timeout_sec": 60,
        "http_headers": {"X": "1"}, "enabled": False,
    })  # fmt: skip
    assert (others.connect_timeout_s, others.call_timeout_s) == (5, 60)
    assert (others.headers, others.enabled) == ({"X": "1"}, False)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([], "must be a table"),
        ({}, "command is missing"),
        ({"type": "http"}, "url is missing"),
        ({"type": "pigeon", "command": "x"}, "type must be stdio, http or sse"),
        ({"command": 3}, "command must be text"),
        ({"command": "x", "args": "-y"}, "args must be a list"),
        ({"command": "x", "args": [["y"]]}, "args must be a list"),
        ({"command": "x", "env": {"A": []}}, "env.A must be text"),
        ({"command": "x", "env": {"A=B": "1"}}, "env has a name that cannot be"),
        ({"command": "x", "env": ["A=1"]}, "env must be a table"),
        ({"url": "ftp://e.org"}, "url must be an address that begins with http"),
        ({"url": "https://"}, "url must be an address"),
        ({"command": "ftp://h/"}, "command is an address: must be an address that begins with"),
        ({"command": "https://h/mcp"}, "command is an address: write it as url"),
        ({"command": "a\0b"}, "command holds a NUL character"),
        ({"command": ["a", "b\0"]}, "command[1] holds a NUL character"),
        ({"command": "a", "args": ["b", "\0"]}, "args[1] holds a NUL character"),
        ({"command": "a", "args": ["\ud83d"]}, "args[0] holds half of a character"),
        ({"command": "a", "env": {"K": "\0"}}, "env.K holds a NUL character"),
        ({"command": "a", "env": {"K": "\ud83d"}}, "env.K holds half of a character"),
        ({"command": "a", "env": {"\ud83d": "v"}}, "env has a name that cannot be"),
        ({"command": "a", "cwd": "/\ud83d"}, "cwd holds half of a character"),
        ({"url": "https://e.org/\0"}, "url holds a NUL character"),
        ({"url": "https://e.org/\ud83d"}, "url holds half of a character"),
        ({"url": "https://e.org", "headers": {"X-A": "\0"}}, "headers.X-A holds a NUL"),
        ({"url": "https://e.org", "headers": {"X-A": "a\nb"}}, "headers.X-A holds a line end"),
        ({"url": "https://e.org", "headers": {"X-A": "ä"}}, "headers.X-A holds a character that"),
        ({"url": "https://e.org", "headers": {"X A": "1"}}, "headers has a name that no header"),
        ({"url": "https://e.org", "headers": {"X-Ä": "1"}}, "headers has a name that no header"),
        ({"url": "https://e.org", "oauth": {"scope": "\0"}}, "oauth.scope holds a NUL"),
        ({"url": "http://[::1"}, "url is no address"),
        ({"command": "x", "disabled": "yes"}, "disabled must be true or false"),
        ({"command": "x", "call_timeout_s": 0}, "call_timeout_s must be a number of seconds"),
        ({"command": "x", "call_timeout_s": True}, "call_timeout_s must be a number of seconds"),
        ({"command": "x", "tool_timeout_sec": "5"}, "tool_timeout_sec must be a number"),
        ({"command": "x", "approval": "maybe"}, "approval must be one of ask, allow, deny"),
        ({"command": "x", "exposure": {"t": "no"}}, "exposure.t must be one of direct"),
    ],
)
def test_what_is_wrong_names_server_and_field(raw: Any, says: str):
    with pytest.raises(ConfigError) as caught:
        parse_server("my-server", raw)
    assert str(caught.value).startswith(f"my-server: {says}")


def test_unknown_fields_are_kept_and_named_with_the_nearest_known():
    warnings: list[str] = []
    config = parse_server("s", {"command": "x", "cdw": "/tmp", "gallery": True}, warnings)
    assert config.extra == {"cdw": "/tmp", "gallery": True}
    assert "s: the field cdw is not known, so it has no effect. Did you mean cwd?" in warnings
    assert config.to_raw()["gallery"] is True


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)
CONFIGS = st.builds(
    lambda stdio, fields: ServerConfig(name="s", **(stdio | fields)),
    st.one_of(
        st.fixed_dictionaries({
            "command": st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
            .map(str.strip).filter(lambda command: command and "://" not in command),
            "args": st.lists(TEXTS, max_size=3).map(tuple),
            "env": st.dictionaries(st.sampled_from(["A", "TOKEN"]), TEXTS),
        }),
        st.fixed_dictionaries({
            "transport": st.sampled_from(["http", "sse"]), "url": st.just("https://e.org/mcp"),
            "headers": st.dictionaries(st.sampled_from(["X-A"]), st.text(PRINTABLE)),
        }),
    ),
    st.fixed_dictionaries({
        "enabled": st.booleans(),
        "call_timeout_s": st.sampled_from([1.0, 300.0]),
        "enabled_tools": st.sampled_from([None, (), ("a",)]),
        "approval": st.sampled_from([{}, {"*": "allow", "a": "deny"}]),
        "extra": st.sampled_from([{}, {"gallery": [1]}]),
    }),
)  # fmt: skip


@given(CONFIGS)
def test_what_is_written_is_read_back(config: ServerConfig):
    assert parse_server("s", json.loads(json.dumps(config.to_raw()))) == config


def test_servers_of_the_command_line():
    config = server_from_command("time", ["uvx", "mcp-server-time", "--x"], {"A": "1"})
    assert (config.command, config.args) == ("uvx", ("mcp-server-time", "--x"))
    assert server_from_url("x", "https://e.org/sse", {"A": "b"}, sse=True).transport == "sse"
    whole = '{"mcpServers": {"other": {"command": "x"}}}'
    assert server_from_json("x", whole) == server_from_json("x", '{"command": "x"}')
    for text, says in [
        ("{", "the entry is not JSON: a name in double quotes is missing (column 2)"),
        ('{"command": "x"', "the entry is not JSON: a comma is missing, or a quote (column 16)"),
        ('{"command": }', "the entry is not JSON: a value is missing (column 13)"),
        ('{"a": ' + "9" * 5000 + "}", "the entry holds a number that is too long to be read"),
        ("[" * 100_000, "the entry is nested too deeply to be read"),
    ]:
        with pytest.raises(ConfigError) as caught:
            server_from_json("x", text)
        assert str(caught.value) == f"x: {says}."
    for call in (
        lambda: server_from_json("x", "{"),
        lambda: server_from_command("x", [], {}),
        lambda: server_from_url("x", "example.org", {}),
    ):
        with pytest.raises(ConfigError):
            call()


@pytest.mark.parametrize("name", ["", "a b", "a__b", "a_", "-a", "x" * 65, "ä", "a.b", "a/b"])
def test_a_new_name_is_one_that_tools_can_carry(name: str):
    with pytest.raises(ConfigError, match="cannot be a server's name"):
        server_from_command(name, ["x"], {})


# --- variables and secrets ------------------------------------------------------------------------


def test_variables_are_put_in_everywhere():
    config = parse_server("s", {
        "command": "${DIR}/run", "args": ["--at", "${env:PLACE}", "${NONE:-here}", "${EMPTY:-e}"],
        "env": {"KEY": "${TOKEN}", "PLAIN": "$TOKEN", "TWICE": "${A}${A}"},
        "cwd": "${workspaceFolder}/sub",
    })  # fmt: skip
    environ = {"DIR": "/opt", "PLACE": "home", "TOKEN": "t0p-secret", "A": "x", "EMPTY": ""}
    found = resolve(config, environ, "/srv")
    assert found.command == "/opt/run"
    assert found.args == ["--at", "home", "here", "e"]
    assert found.env == {"KEY": "t0p-secret", "PLAIN": "$TOKEN", "TWICE": "xx"}
    assert found.cwd == "/srv/sub"
    assert variables_in(config) == ["A", "DIR", "EMPTY", "NONE", "PLACE", "TOKEN",
                                    "workspaceFolder"]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"command": "${GONE}"}, "command"),
        ({"command": "x", "args": ["a", "${GONE}"]}, "args[1]"),
        ({"command": "x", "env": {"K": "${env:GONE}"}}, "env.K"),
        ({"command": "x", "cwd": "${GONE}"}, "cwd"),
        ({"url": "https://${GONE}/"}, "url"),
        ({"url": "https://e.org", "headers": {"Authorization": "Bearer ${GONE}"}},
         "headers.Authorization"),
    ],
)  # fmt: skip
def test_an_unset_variable_names_the_field(raw: dict[str, Any], place: str):
    with pytest.raises(ConfigError) as caught:
        resolve(parse_server("s", raw), {}, "/")
    assert str(caught.value) == (
        f"s: {place} needs the variable GONE, which is not set. Set it before the start, or "
        "write ${GONE:-default}."
    )


@pytest.mark.parametrize("text", ["${input:key}", "${}", "${A B}", "${env:}"])
def test_a_variable_of_a_kind_we_do_not_know_is_not_sent_as_it_is(text: str):
    with pytest.raises(ConfigError, match="which is not supported"):
        resolve(parse_server("s", {"command": "x", "args": [text]}), {"A": "1"}, "/")


def test_a_default_may_hold_variables_of_its_own():
    args = ["${A:-${B:-x}}", "${A:-<${B}${C:-${D:-}}>}", "${env:A:-${B:-x}y}", "}${A:-}{", "${A"]
    config = parse_server("s", {"command": "run", "args": args})
    assert resolve(config, {"B": "b"}, "/").args == ["b", "<b>", "by", "}{", "${A"]
    assert resolve(config, {"A": "a"}, "/").args == ["a", "a", "a", "}a{", "${A"]
    assert variables_in(config) == ["A", "B", "C", "D"]
    with pytest.raises(ConfigError, match=r"args\[1\] needs the variable B"):
        resolve(config, {}, "/")
    deep = parse_server("s", {"command": "run", "args": ["${A:-" * 5000 + "}" * 5000]})
    with pytest.raises(ConfigError, match=r"args\[0\] holds a default with more than 20"):
        resolve(deep, {}, "/")
    assert variables_in(deep) == ["A"]


def test_what_variables_bring_must_still_be_a_url_and_a_header():
    config = parse_server("s", {"url": "${HOST}/mcp"})
    with pytest.raises(ConfigError, match="url, with its variables put in, must be an address"):
        resolve(config, {"HOST": "example.org"}, "/")
    config = parse_server("s", {"url": "https://e.org", "headers": {"A": "${LINES}"}})
    with pytest.raises(ConfigError, match=r"headers\.A holds a line end"):
        resolve(config, {"LINES": "a\r\nHost: evil"}, "/")
    with pytest.raises(ConfigError, match=r"headers\.A holds a character that no header"):
        resolve(config, {"LINES": "kéy"}, "/")
    config = parse_server("s", {"command": "x", "env": {"A": "${V}"}})
    with pytest.raises(ConfigError, match=r"env\.A holds half of a character"):
        resolve(config, {"V": "\ud83d"}, "/")
    assert resolve(config, {"V": "/p\udce9"}, "/").env["A"] == "/p\udce9"  # bytes of a path


SECRET_CONFIG = parse_server("s", {
    "command": "run", "args": ["--api-key", "k3y-of-args", "--token=t0ken", "plain", "${FROM_ENV}"],
    "env": {"MY_PASSWORD": "pa55word!", "LEVEL": "debug", "ODD": "abcdef0123456789abcdef"},
})  # fmt: skip
SECRETS = ("k3y-of-args", "t0ken", "pa55word!", "abcdef0123456789abcdef", "from-the-environment")


def test_no_list_and_no_message_shows_a_secret():
    found = resolve(SECRET_CONFIG, {"FROM_ENV": SECRETS[-1], "HOME": "/home/me"}, "/")
    text = f"failed: {found.args} {found.env} in /home/me at level debug, plain"
    masked = found.secrets.mask(text)
    assert not [secret for secret in SECRETS if secret in masked]
    assert "/home/me at level debug, plain" in masked
    assert not [s for s in SECRETS if s in repr(found.secrets) or s in repr(found)]
    for shown in (target_text(SECRET_CONFIG), *config_lines(SECRET_CONFIG)):
        assert not [secret for secret in SECRETS if secret in shown], shown
    assert "MY_PASSWORD=***" in "\n".join(config_lines(SECRET_CONFIG))


@pytest.mark.parametrize("name", ["DB_PASS", "MYPASS", "PASS_FILE", "GITHUB_PAT", "app-pwd"])
def test_one_list_of_names_is_for_variables_options_and_addresses(name: str):
    option = f"--{name.lower()}"
    for raw in (
        {"command": "srv", "env": {name: "s3kret-value"}},
        {"command": "srv", "args": [option, "s3kret-value"]},
        {"command": "srv", "args": [f"{option}=s3kret-value"]},
        {"url": f"https://e.org/mcp?{name}=s3kret-value"},
        {"url": "https://e.org/mcp/s3kret0value0of0mine/sse"},
    ):
        config = parse_server("s", raw)
        assert "s3kret" not in target_text(config)
        assert "s3kret" not in "\n".join(config_lines(config))
        masked = resolve(config, {}, "/").secrets.mask("s3kret-value s3kret0value0of0mine")
        assert masked.count("s3kret") == 1
    for args, shown in [
        (["--passive", "on"], "--passive on"),
        (["-k", "s3kret0value0of0mine"], "-k ***"),
        (["-m", "mcp_server_time", "-p", "8080"], "-m mcp_server_time -p 8080"),
    ]:
        assert target_text(parse_server("s", {"command": "srv", "args": args})) == f"srv {shown}"


def test_secrets_of_addresses_and_headers():
    config = parse_server("s", {
        "url": "https://me:pa55@e.org/mcp?api_key=k3y12345&page=2",
        "headers": {"Authorization": "Bearer b3arer-t0ken", "Accept": "text/html"},
    })  # fmt: skip
    assert target_text(config) == "https://***@e.org/mcp?api_key=***&page=2"
    secrets = resolve(config, {}, "/").secrets
    said = secrets.mask("sent Bearer b3arer-t0ken and k3y12345 and pa55 as text/html")
    assert "b3arer" not in said and "k3y12345" not in said and "pa55" not in said
    assert "text/html" in said


@given(st.text(st.characters(codec="utf-8", exclude_characters=" \n"), min_size=8, max_size=30))
def test_a_secret_is_known_in_each_of_its_spellings(secret: str):
    secrets = Secrets([secret])
    for spelled in (secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        assert secret not in secrets.mask_result(f"<{spelled}>").replace("***", "")


def test_a_result_keeps_what_only_looks_like_a_secret():
    text = "authorization: Bearer abc12345678"
    assert Secrets(["other-value"]).mask_result(text) == text
    assert "abc12345678" not in Secrets().mask(text)


# --- files ----------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_all_places_are_read_and_the_nearer_counts(home: Path, project: Path):
    user_toml, project_toml = home / "config.toml", project / "config.toml"
    user_toml.write_text('[mcp.servers.a]\ncommand = "1"\n[mcp.servers.b]\ncommand = "1"\n')
    paths.mcp_file().write_text('{"mcpServers": {"b": {"command": "2"}, "c": {"command": "2"}}}')
    project_toml.write_text('[mcp.servers.d]\ncommand = "3"\n[mcp.servers.c]\ncommand = "3"\n')
    (project / ".mcp.json").write_text('{"servers": {"c": {"url": "https://e.org"}}}')
    entries, warnings = load_entries(project, user_toml=user_toml, project_toml=project_toml)
    found = {e.name: (e.scope, Path(e.source).name, e.config.command) for e in entries if e.config}
    assert found == {
        "a": ("user", "config.toml", "1"), "b": ("user", "mcp.json", "2"),
        "c": ("project", ".mcp.json", ""), "d": ("project", "config.toml", "3"),
    }  # fmt: skip
    assert [w.split(" is configured")[0] for w in warnings] == ["b", "c", "c"]
    # What a project brings does not count before it is approved: the user's own does.
    assert warnings[0].endswith(f"that of {paths.mcp_file()} is used.")
    for warning in warnings[1:]:
        assert f"that of {paths.mcp_file()} is used: nobody has approved" in warning
        assert "/mcp enable c approves it" in warning


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"mcpServers": {"a": {"command": "x"},}}', ".mcp.json:1:39: is not JSON"),
        ("[1]", 'must be an object with a table "mcpServers"'),
        ('{"mcpServers": [1]}', "must be tables of servers by name"),
        ('{"a": {"command": "x"}}', 'put the servers into a table "mcpServers"'),
        ("[" * 100_000, "nested too deeply"),
        ('{"mcpServers": {"a": {"n": ' + "1" * 5000 + "}}}", "a number that is too long"),
        (b"\xff\xfe{}", "is not UTF-8"),
        ("", ""),
        ("\ufeff{}", ""),
    ],
)
def test_a_bad_file_costs_its_own_servers(home: Path, project: Path, text: Any, says: str):
    paths.mcp_file().write_text('{"mcpServers": {"mine": {"command": "x"}}}')
    data = text if isinstance(text, bytes) else text.encode()
    (project / ".mcp.json").write_bytes(data)
    entries, warnings = load_entries(project)
    assert [entry.name for entry in entries] == ["mine"]
    assert (says in warnings[0] and str(project) in warnings[0]) if says else warnings == []


def test_a_file_that_is_none_is_not_waited_for(project: Path):
    os.mkfifo(project / ".mcp.json")
    assert load_entries(project)[1] == [f"{project}/.mcp.json: is not a file; move it away."]


def test_a_bad_entry_costs_itself(project: Path):
    (project / ".mcp.json").write_text(
        '{"mcpServers": {"bad": {"command": 1}, "odd": {"command": "x", "cdw": "y"}}}'
    )
    (bad, odd), warnings = load_entries(project)
    assert bad.config is None and "bad: command must be text" in bad.problem
    assert str(project / ".mcp.json") in bad.problem
    assert odd.config is not None and "Did you mean cwd?" in warnings[0]


def test_writing_changes_one_server_and_keeps_all_else(home: Path):
    path = paths.mcp_file()
    before = {
        "theme": "x", "servers": {"ä": {"command": "x", "note": [1]}, "b": {"command": "y"}},
    }  # fmt: skip
    path.write_text(json.dumps(before, indent=4, ensure_ascii=False))
    path.chmod(0o644)
    write_entry(path, "c", {"command": "z"})
    write_enabled(path, "ä", False)
    remove_entry(path, "b")
    after = json.loads(path.read_text())
    assert after == {
        "theme": "x",
        "servers": {
            "ä": {"command": "x", "note": [1], "disabled": True}, "c": {"command": "z"},
        },
    }  # fmt: skip
    assert '\n    "theme"' in path.read_text() and "ä" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    write_enabled(path, "ä", True)
    assert json.loads(path.read_text())["servers"]["ä"] == before["servers"]["ä"]
    for call in (
        lambda: remove_entry(path, "b"),
        lambda: write_enabled(path, "b", True),
    ):
        with pytest.raises(McpError, match="has no server b"):
            call()


def test_a_file_that_cannot_be_read_is_not_written_over(home: Path):
    path = paths.mcp_file()
    path.write_text('{"mcpServers": {')
    with pytest.raises(McpError, match="is not JSON"):
        write_entry(path, "a", {"command": "x"})
    assert path.read_text() == '{"mcpServers": {'


def test_a_project_s_file_keeps_its_rights(project: Path):
    path = project / ".mcp.json"
    path.write_text("{}")
    path.chmod(0o644)
    write_entry(path, "a", {"command": "x"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert json.loads(path.read_text()) == {"mcpServers": {"a": {"command": "x"}}}


def test_what_is_approved_is_said_in_full(project: Path):
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"s": {
        "command": "run", "args": ["--token", "s3cret", "\x1b[2J"], "env": {
            "K": "${MY_KEY}", "NODE_OPTIONS": "--require ./evil.js", "API_TOKEN": "t0ken-value"},
        "cwd": "sub", "approval": {"rm": "allow", "ls": "ask"},
    }}}))  # fmt: skip
    [entry], _ = load_entries(project)
    lines = approval_text(entry).split("\n")
    assert lines[0].startswith("Runs: run --token '***'") or lines[0].startswith(
        "Runs: run --token ***"
    )
    assert "\x1b" not in approval_text(entry)
    assert lines[1:] == [
        "In the folder: sub",
        "With the environment: K=${MY_KEY} NODE_OPTIONS=--require ./evil.js API_TOKEN=***",
        "Is given your variables: MY_KEY",
        "Its tools run without being asked for: rm",
    ]  # fmt: skip
