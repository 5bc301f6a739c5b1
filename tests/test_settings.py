import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from agent_tui import choices, paths
from agent_tui.settings import (
    Loaded,
    Settings,
    SettingsError,
    load_settings,
    parse_setting,
    settings_toml_example,
)
from agent_tui.settings_write import write_setting
from agent_tui.text import SafeText
from agent_tui.toml_file import TomlFileError

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-ant-secret-value"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".agent-tui").mkdir()
    return tmp_path


def load(cwd: Path, **more: Any) -> Loaded:
    more.setdefault("environ", {})
    return load_settings(cwd=str(cwd), **more)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(cwd: Path, **more: Any) -> str:
    with pytest.raises(SettingsError) as error:
        load(cwd, **more)
    return str(error.value)


# --- precedence -----------------------------------------------------------------------


def test_defaults_are_those_of_the_design(home: Path, tmp_path: Path):
    loaded = load(tmp_path)
    settings = loaded.settings
    assert settings.model == "claude-sonnet-5-5"
    assert settings.max_tokens == 32_000
    assert (settings.steering_mode, settings.follow_up_mode) == ("one-at-a-time", "one-at-a-time")
    assert settings.tool_execution == "parallel"
    assert (settings.max_turns, settings.max_cost, settings.max_seconds) == (None, None, None)
    assert settings.base_url is None and settings.api_key is None and settings.allow == []
    assert loaded.warnings == []
    assert set(loaded.sources) == set(Settings.model_fields)
    assert set(loaded.sources.values()) == {"default"}


def test_flags_win_over_environment_over_project_over_user_over_defaults(home: Path, project: Path):
    user = write(
        home / "config.toml", 'model = "u"\nthinking = "low"\ntheme = "nord"\nallow = ["u"]'
    )
    own = write(
        project / ".agent-tui/config.toml",
        '# mine\nmodel = "p"\nthinking = "high"\ntheme = "light"',
    )
    environ = {"AGENT_TUI_MODEL": "e", "AGENT_TUI_THINKING": "max"}
    loaded = load(project, flags={"model": "f"}, trusted=True, environ=environ)
    settings = loaded.settings
    assert (settings.model, settings.thinking, settings.theme, settings.allow) == (
        "f", "max", "light", ["u"],
    )  # fmt: skip
    assert {key: loaded.sources[key] for key in ("model", "thinking", "theme", "allow")} == {
        "model": "flag",
        "thinking": "environment AGENT_TUI_THINKING",
        "theme": f"{own}:4",
        "allow": f"{user}:4",
    }
    assert loaded.sources["max_tokens"] == "default"


def test_config_replaces_the_users_file(home: Path, tmp_path: Path):
    write(home / "config.toml", 'model = "u"\ntheme = "u"')
    other = write(tmp_path / "other.toml", 'model = "o"')
    settings = load(tmp_path, config=str(other)).settings
    assert (settings.model, settings.theme) == ("o", "auto")
    assert "no such file" in refusal(tmp_path, config=str(tmp_path / "missing.toml"))


def test_settings_by_itself_reads_no_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENT_TUI_MODEL", "x")
    monkeypatch.setenv("MODEL", "x")
    assert Settings().model == "claude-sonnet-5-5"  # pyright: ignore[reportCallIssue]


def test_the_process_environment_is_read(home: Path, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setenv("AGENT_TUI_MODEL", "from-env")
    assert load_settings(cwd=str(tmp_path)).settings.model == "from-env"


def test_environment_spelling_of_tables_lists_and_switches(home: Path, tmp_path: Path):
    settings = load(
        tmp_path,
        environ={
            "AGENT_TUI_ALLOW": "read, shell",
            "AGENT_TUI_HEADERS": "X-Team: blue\nX-Url: http://h:1",
            "AGENT_TUI_SHOW_PANEL": "false",
            "AGENT_TUI_MAX_COST": "2.5",
            "AGENT_TUI_THEME": "",
        },
    ).settings
    assert settings.allow == ["read", "shell"]
    assert settings.headers == {"X-Team": "blue", "X-Url": "http://h:1"}
    assert settings.show_panel is False
    assert settings.max_cost == 2.5
    assert settings.theme == "auto"
    as_json = load(
        tmp_path, environ={"AGENT_TUI_ALLOW": '["a,b"]', "AGENT_TUI_HEADERS": '{"A": "b"}'}
    ).settings
    assert (as_json.allow, as_json.headers) == (["a,b"], {"A": "b"})


def test_reserved_variables_are_no_settings(home: Path, tmp_path: Path):
    names = ("HOME", "LOOP_CASES", "RECORDINGS")
    assert load(tmp_path, environ={f"AGENT_TUI_{name}": "/x" for name in names}).warnings == []


def test_an_empty_key_is_kept_so_that_it_can_be_named(home: Path, tmp_path: Path):
    write(home / "config.toml", 'api_key = ""')
    assert load(tmp_path).settings.api_key == SecretStr("")
    assert load(tmp_path, environ={"AGENT_TUI_AUTH_TOKEN": ""}).settings.auth_token == SecretStr("")


# --- projects -------------------------------------------------------------------------


DANGEROUS = """
base_url = "http://evil.example"
allow = ["shell"]
api_key = "sk-ant-theirs"
auth_token = "theirs"
model = "theirs"
[headers]
X-Evil = "1"
"""


def test_an_untrusted_project_sets_nothing_and_says_so(home: Path, project: Path):
    write(project / ".agent-tui/config.toml", DANGEROUS)
    loaded = load(project)
    assert loaded.settings == Settings()  # pyright: ignore[reportCallIssue]
    assert set(loaded.sources.values()) == {"default"}
    assert len(loaded.warnings) == 1
    assert "not trusted" in loaded.warnings[0]
    assert str(project / ".agent-tui/config.toml") in loaded.warnings[0]


def test_an_untrusted_project_cannot_stop_the_start(home: Path, project: Path):
    write(project / ".agent-tui/config.toml", b"\0\0 [[[")
    assert load(project).settings.model == "claude-sonnet-5-5"


def test_a_trusted_project_still_brings_no_keys(home: Path, project: Path):
    path = write(project / ".agent-tui/config.toml", DANGEROUS)
    loaded = load(project, trusted=True)
    assert loaded.settings.model == "theirs"
    assert loaded.settings.base_url == "http://evil.example"
    assert loaded.settings.allow == ["shell"]
    assert loaded.settings.api_key is None and loaded.settings.auth_token is None
    assert loaded.sources["api_key"] == "default"
    warnings = sorted(loaded.warnings)
    assert [line.split(": ")[:2] for line in warnings] == [
        [f"{path}:4", "api_key is not read from a project's file. Remove it there; use /login or "
         "your own config.toml."],
        [f"{path}:5", "auth_token is not read from a project's file. Remove it there; use /login "
         "or your own config.toml."],
    ]  # fmt: skip
    assert "theirs" not in "".join(warnings)


# --- unknown keys ---------------------------------------------------------------------


def test_unknown_keys_are_named_with_line_and_nearest_name(home: Path, tmp_path: Path):
    path = write(
        home / "config.toml",
        'system_prompt = """\nmodle = 1\n"""\nmodle = "x"\nmax-tokens = 5\n[mcp.servrs]\na = 1\n'
        '[heders]\nX = "1"\n[zzz]\n',
    )
    loaded = load(tmp_path, environ={"AGENT_TUI_THINKNG": "low"})
    assert loaded.settings.model == "claude-sonnet-5-5"
    assert loaded.warnings == [
        f"{path}:4: unknown key modle: did you mean model?",
        f"{path}:5: unknown key max-tokens: did you mean max_tokens?",
        f"{path}:6: unknown key mcp.servrs: did you mean mcp.servers?",
        f"{path}:8: unknown key heders: did you mean headers?",
        f"{path}:10: unknown key zzz: no setting has a name like it.",
        "environment: unknown variable AGENT_TUI_THINKNG: did you mean AGENT_TUI_THINKING?",
    ]


def test_the_table_of_mcp_servers_is_no_unknown_key(home: Path, tmp_path: Path):
    path = write(
        home / "config.toml",
        '[mcp.servers.time]\ncommand = "x"\n[mcp.servers.time.env]\nA = "1"\n[mcp.wait]\n',
    )
    assert load(tmp_path).warnings == [f"{path}:5: unknown key mcp.wait: did you mean mcp.servers?"]


def test_an_unknown_key_cannot_write_to_the_terminal(home: Path, tmp_path: Path):
    write(home / "config.toml", '"a\\u001b[2J" = 1')
    (warning,) = load(tmp_path).warnings
    assert "\x1b" not in warning


# --- broken files ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ('model = "m"\npath = "C:\\new\\dir"\n', "2:", "single quotes"),
        ('model = "C:\\Users"', "1:", "single quotes"),
        ('model = "a"\ntheme = "x"\nmodel = "b"\n', "3:", "line 1"),
        ("[headers]\nA = '1'\n[headers]\nB = '2'", "3:", "line 1"),
        ("model = claude", "1:9:", "quotes"),
        ("show_panel = True", "1:14:", "small letters"),
        ('model = "x', "1:", "close the quote"),
        ("allow = [\n 'a',\n", "2:", "close the quote or bracket"),
        ("modle", "1:", 'key = "value"'),
        (b"\0" * 100, "1:1:", "NUL"),
        (b'model = "a"\nthe\0', "2:4:", "NUL"),
        (b'model = "a"\ntheme = "\xe9"', "2:10:", "UTF-8"),
        ('model = "a"'.encode("utf-16"), "1:1:", "UTF-8"),
        ("a = " + "[" * 10_000, "", "nested too deeply"),
        ("a = " + "9" * 10_000, "", "too long"),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, str | bytes) else None,
)
def test_broken_toml_is_one_line_with_place_line_and_hint(
    home: Path, tmp_path: Path, text: str | bytes, place: str, says: str
):
    path = write(home / "config.toml", text)
    message = refusal(tmp_path)
    assert message.startswith(f"{path}:{place}")
    assert says in message
    assert "\n" not in message and "Traceback" not in message


def test_the_wrong_line_is_quoted(home: Path, tmp_path: Path):
    write(home / "config.toml", '\nmodel = "C:\\new\\dir"')
    assert 'model = "C:\\new\\dir"' in refusal(tmp_path)


@pytest.mark.parametrize(
    "line", [f"api_key = '{KEY}", f"api_key = {KEY}", f'x-api-key = "{KEY}\\d"', f"theme = {KEY}"]
)
def test_a_key_in_the_wrong_line_is_not_quoted(home: Path, tmp_path: Path, line: str):
    write(home / "config.toml", line)
    assert "secret-value" not in refusal(tmp_path)


def test_a_folder_name_cannot_write_to_the_terminal(home: Path, tmp_path: Path):
    path = tmp_path / "\x1b[2J" / "config.toml"
    path.parent.mkdir()
    write(path, "a = =")
    assert "\x1b" not in refusal(tmp_path, config=str(path))
    write(path, 'thinking = "x"')
    assert "\x1b" not in refusal(tmp_path, config=str(path))
    write(path, "x = 1")
    assert "\x1b" not in load(tmp_path, config=str(path)).warnings[0]


def test_a_byte_order_mark_and_windows_line_ends_are_no_error(home: Path, tmp_path: Path):
    write(home / "config.toml", b'\xef\xbb\xbfmodel = "m"\r\ntheme = "dark"\r\n')
    loaded = load(tmp_path)
    assert loaded.settings.model == "m"
    assert loaded.sources["theme"].endswith(":2")


def test_a_folder_in_place_of_the_file_is_named(home: Path, tmp_path: Path):
    (home / "config.toml").mkdir()
    assert "config.toml: cannot be read" in refusal(tmp_path)


def test_both_broken_files_are_named(home: Path, project: Path):
    write(home / "config.toml", "a = =")
    write(project / ".agent-tui/config.toml", "b = =")
    lines = refusal(project, trusted=True).splitlines()
    assert [str(home) in lines[0], str(project) in lines[1], len(lines)] == [True, True, 2]


@given(st.binary(max_size=200) | st.text(alphabet="[]{}=.\"'#\\\n ab1,", max_size=60))
def test_any_file_loads_or_is_refused_in_words(content: bytes | str):
    path = Path(os.environ["AGENT_TUI_HOME"]) / "any.toml"
    write(path, content)
    try:
        load(path.parent, config=str(path))
    except SettingsError as error:
        assert str(error).startswith(str(path))
        assert SafeText(str(error)) == str(error) and "\n" not in str(error)


# --- wrong values ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('betas = ["fine-1", "hush hush"]', "1: betas = ***: "),
        ('model = "m"\nbetas = ["hush\\nhush"]', "2: betas = ***: "),
        ('betas = ["hush", ""]', "1: betas = ***: "),
        ('betas = ["hush,,fine-1"]', "1: betas = ***: "),
        ('[headers]\nX-Team = "blue"\nX-Test = "hush\\nhush"', "3: headers.X-Test = ***: "),
        ('headers.X-Test = "hush\\u00fc"', "1: headers.X-Test = ***: "),
        ('[headers]\nX-Team = "hush"\n"X Test" = "hush"', "3: headers.X Test: "),
        ('[headers]\n"" = "hush"', "2: headers"),
    ],
)
def test_what_no_header_can_hold_is_refused_by_its_key_and_not_shown(
    home: Path, tmp_path: Path, text: str, place: str
):
    path = write(home / "config.toml", text)
    message = refusal(tmp_path)
    assert message.startswith(f"{path}:{place}") and "\n" not in message
    assert "hush" not in message


def test_a_wrong_header_of_the_environment_is_named(tmp_path: Path):
    said = refusal(tmp_path, environ={"AGENT_TUI_HEADERS": '{"X-Test": "hush\\nhush"}'})
    assert said.startswith("AGENT_TUI_HEADERS: X-Test = ***: ") and "hush" not in said
    said = refusal(tmp_path, environ={"AGENT_TUI_BETAS": "hush hush"})
    assert said.startswith("AGENT_TUI_BETAS: ***: ") and "hush" not in said


def test_what_a_header_can_hold_is_kept(home: Path, tmp_path: Path):
    write(home / "config.toml", 'betas = ["a-1, b-2", "a-1"]\n[headers]\nX-a_b = " two words "')
    settings = load(tmp_path).settings
    assert settings.betas == ["a-1", "b-2"], "as the header itself lists them"
    assert settings.headers == {"X-a_b": "two words"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[tools]\nread = "off"\nshell = "never"', "3: tools.shell = 'never': "),
        ('[tools]\nread = "off"\n"a.b" = "never"', "3: tools.a.b = 'never': "),
        ('tools.read = "off"\ntools.shell = "never"', "2: tools.shell = 'never': "),
        ('\ntools = { read = "off", shell = "never" }', "2: tools.shell = 'never': "),
        ('[connector.a]\nurl = "https://a.example"\n[connector.b]\nurl = "http://b.example"',
         "4: connector.b.url = ***: "),
        ('[connector.a]\nurl = "https://a.example"\n[connector.b]', "3: connector.b.url = ***: "),
        ('[tools]\nread = "off"\n[connector."d cs"]\nurl = "https://a.example"',
         "3: connector.d cs: a server's name is 1 to 64 letters, digits, - and _"),
    ],
)  # fmt: skip
def test_a_wrong_value_in_a_table_is_named_by_its_own_line(
    home: Path, tmp_path: Path, text: str, place: str
):
    path = write(home / "config.toml", text)
    message = refusal(tmp_path)
    assert message.startswith(f"{path}:{place}") and "\n" not in message


def test_a_value_of_the_environment_is_not_given_a_line_of_the_file(home: Path, tmp_path: Path):
    write(home / "config.toml", '[tools]\nshell = "off"')
    said = refusal(tmp_path, environ={"AGENT_TUI_TOOLS": "shell=never"})
    assert said.startswith("AGENT_TUI_TOOLS: shell = 'never': ")


def test_each_wrong_value_is_a_line_with_place_value_and_what_is_allowed(
    home: Path, tmp_path: Path
):
    path = write(home / "config.toml", 'model = "m"\nthinking = "hgh"\nallow = "a"\nheaders = 5')
    with pytest.raises(SettingsError) as error:
        load(
            tmp_path,
            flags={"max_cost": -1.0},
            environ={"AGENT_TUI_MAX_TURNS": "many", "AGENT_TUI_TOOL_EXECUTION": "x"},
        )
    lines = str(error.value).splitlines()
    assert lines == list(error.value.problems)
    assert sorted(lines) == sorted(
        [
            f"{path}:2: thinking = 'hgh': must be 'off', 'low', 'medium', 'high', 'xhigh' or 'max'",
            f"{path}:4: headers = ***: must be a valid dictionary",
            "--max-cost: -1.0: must be greater than 0",
            "AGENT_TUI_MAX_TURNS: 'many': must be a whole number",
            "AGENT_TUI_TOOL_EXECUTION: 'x': must be 'parallel' or 'sequential'",
        ]
    )


@pytest.mark.parametrize(
    "line",
    [
        "max_tokens = true", "max_tokens = 0", "max_tokens = 1.5", "max_cost = nan",
        "max_seconds = inf", "max_turns = 0", "shell_timeout_s = -1", "idle_timeout_s = 0",
        'show_thinking = "maybe"', 'steering_mode = "one"', "model = ' '", "model = 5",
        "show_panel = 7", "demo_speed = 0", "allow = [1]", "headers = {A = 1}",
    ],
)  # fmt: skip
def test_wrong_values_are_refused(home: Path, tmp_path: Path, line: str):
    write(home / "config.toml", line)
    message = refusal(tmp_path)
    assert message.startswith(f"{home / 'config.toml'}:1: ") and "\n" not in message


@pytest.mark.parametrize("line", ["api_key = 12345678", "headers = {Authorization = 12345678}"])
def test_a_wrong_secret_is_not_shown(home: Path, tmp_path: Path, line: str):
    write(home / "config.toml", line)
    message = refusal(tmp_path)
    assert "12345678" not in message and "***" in message


def test_a_wrong_value_cannot_write_to_the_terminal(home: Path, tmp_path: Path):
    message = refusal(tmp_path, environ={"AGENT_TUI_THINKING": "\x1b[2J" + "x" * 1000})
    assert "\x1b" not in message and len(message) < 300


def test_secrets_are_not_in_the_repr(home: Path, tmp_path: Path):
    write(home / "config.toml", f'api_key = "{KEY}"\n[headers]\nAuthorization = "{KEY}"')
    loaded = load(tmp_path)
    assert loaded.settings.api_key == SecretStr(KEY)
    assert KEY not in repr(loaded)


# --- config.example.toml --------------------------------------------------------------


def test_the_committed_example_is_the_generated_one():
    committed = (ROOT / "config.example.toml").read_text(encoding="utf-8")
    assert committed == settings_toml_example(), "run `make config`"


def uncommented() -> str:
    lines = settings_toml_example().splitlines()
    assignments = [line for line in lines if " = " in line or line.startswith("# [")]
    return "\n".join(line.removeprefix("# ") for line in assignments)


def test_every_setting_is_in_the_example_and_loads_from_it(home: Path, tmp_path: Path):
    assert set(tomllib.loads(uncommented())) == set(Settings.model_fields)
    write(home / "config.toml", uncommented())
    loaded = load(tmp_path)
    assert loaded.warnings == []
    assert "default" not in loaded.sources.values()


def test_the_example_as_it_is_changes_nothing(home: Path, tmp_path: Path):
    write(home / "config.toml", settings_toml_example())
    assert load(tmp_path).settings == Settings()  # pyright: ignore[reportCallIssue]


def test_every_setting_tells_what_it_is():
    for name, info in Settings.model_fields.items():
        assert info.title and info.description, name
        assert info.description.endswith("."), name


# --- one setting changed in a file -------------------------------------------------------


def test_a_setting_is_changed_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config.toml",
        '# mine\nmodel = "a" # why\nunknown = 1\n\n# servers\n[mcp.servers.x]\ncommand = "y"\n',
    )
    write_setting(path, "model", "b")
    write_setting(path, "max_turns", 3)
    text = path.read_text()
    assert tomllib.loads(text) == {
        "model": "b",
        "unknown": 1,
        "max_turns": 3,
        "mcp": {"servers": {"x": {"command": "y"}}},
    }
    for kept in ("# mine\n", 'model = "b" # why\n', "# servers\n", "[mcp.servers.x]\n"):
        assert kept in text
    assert path.stat().st_mode & 0o777 == 0o600
    write_setting(path, "keys", {"send": "ctrl+s"})
    write_setting(path, "max_turns", None)
    loaded = load(tmp_path, config=str(path))
    assert loaded.settings.keys == {"send": "ctrl+s"} and loaded.settings.max_turns is None


@given(st.sampled_from(["", "# c\n", 'model = "x"\n', "[keys]\nsend = 'x'\n", "a.b = 1\n[t]\n"]))
def test_whatever_stands_there_the_value_is_read_back(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "c.toml", text)
        before = tomllib.loads(text)
        write_setting(path, "theme", "light")
        assert tomllib.loads(path.read_text()) == before | {"theme": "light"}
        write_setting(path, "theme", None)
        assert tomllib.loads(path.read_text()) == before


def test_a_broken_file_is_named_and_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "config.toml", 'model = "a\n')
    with pytest.raises(TomlFileError, match=r"config\.toml:1"):
        write_setting(path, "theme", "dark")
    assert path.read_text() == 'model = "a\n'


def test_a_typed_value_is_read_as_in_the_environment() -> None:
    assert parse_setting("max_turns", "5") == 5
    assert parse_setting("show_panel", "off") is False
    assert parse_setting("keys", '{"send": ["ctrl+s", "enter"]}') == {"send": "ctrl+s,enter"}
    with pytest.raises(SettingsError, match=r"^/settings: max_turns = 'x': must be a whole number"):
        parse_setting("max_turns", "x")


@pytest.mark.parametrize(
    ("name", "hint"), [("drak", "did you mean dark"), ("high_contrast", "high-contrast"),
                       ("zzzz", "try dark, light")],
)  # fmt: skip
def test_an_unknown_theme_is_named_with_the_nearest(tmp_path: Path, name: str, hint: str) -> None:
    path = write(tmp_path / "config.toml", f'theme = "{name}"\n')
    assert hint in refusal(tmp_path, config=str(path))


# --- choices made on the screen ------------------------------------------------------------


def test_a_choice_holds_where_nothing_else_is_said(home: Path, tmp_path: Path) -> None:
    choices.remember("model", "m-2")
    choices.remember("theme", "light")
    assert load(tmp_path).settings.model != "m-2", "programs get what is configured"
    loaded = load(tmp_path, remembered=True)
    assert (loaded.settings.model, loaded.settings.theme) == ("m-2", "light")
    assert loaded.sources["model"] == f"chosen on the screen ({paths.choices_file()})"
    assert not loaded.explicit("model")
    write(home / "config.toml", 'model = "m-3"\n')
    loaded = load(tmp_path, remembered=True)
    assert (loaded.settings.model, loaded.explicit("model")) == ("m-3", True)
    assert paths.choices_file().stat().st_mode & 0o777 == 0o600


def test_choices_can_be_switched_off(home: Path, tmp_path: Path) -> None:
    choices.remember("theme", "light")
    for value, theme in (("false", "auto"), ("true", "light")):
        write(home / "config.toml", f"remember_choices = {value}\n")
        assert load(tmp_path, remembered=True).settings.theme == theme


@pytest.mark.parametrize("text", ["", "[]", "{", '{"theme": 3}', '{"theme": "gone"}', '{"x": 1}'])
def test_a_choice_that_does_not_fit_stops_nothing(home: Path, tmp_path: Path, text: str) -> None:
    write(home / "choices.json", text)
    assert load(tmp_path, remembered=True).settings.theme == "auto"
