"""A first look never promises what the full load would not keep."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui import choices, trust
from agent_tui.conversation.endpoint import configured_endpoint
from agent_tui.first_look import PLAIN, FirstLook, first_look
from agent_tui.settings import Settings, load_settings

WORDS = st.sampled_from(
    ["", " ", "a", "off", "max", "all", "dark", "http://h", "http://h:70000", "https://a/b?c",
     "[1]", '["a"]', "parallel", "both", "\u202e", "a\nb", "x\x00", "sk-ant-1", "'q'", "hidden"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.one_of(
    WORDS,
    st.text(max_size=12),
    st.booleans(),
    st.integers(-3, 10**9),
    st.floats(allow_nan=True, allow_infinity=True),
    st.lists(st.one_of(WORDS, st.integers()), max_size=2),
    st.dictionaries(st.text(max_size=3), WORDS, max_size=1),
    st.none(),
)
GIVEN = st.dictionaries(st.sampled_from(sorted(Settings.model_fields)), VALUES, max_size=3)
ENVIRONMENT = st.dictionaries(
    st.one_of(
        st.sampled_from([f"AGENT_TUI_{name.upper()}" for name in Settings.model_fields]),
        st.sampled_from(["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE",
                         "ANTHROPIC_CUSTOM_HEADERS", "AGENT_TUI_TEST_REPORT"]),
    ),
    st.one_of(WORDS, st.text(max_size=12)).filter(lambda text: "\x00" not in text),
    max_size=2,
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("first-look")
        patch.setenv("AGENT_TUI_HOME", str(folder))
        yield folder


@settings(max_examples=300, deadline=None)
@given(flags=GIVEN, environ=ENVIRONMENT)
def test_what_is_plain_is_right_and_is_what_the_settings_say(
    home: Path, flags: dict[str, Any], environ: dict[str, str]
) -> None:
    look = first_look(cwd=home, flags=flags, environ=environ)
    if look is None:
        return
    loaded = load_settings(cwd=str(home), flags=flags, environ=environ)
    configured_endpoint(loaded.settings, environ)
    assert shown(loaded.settings) == look


def shown(full: Settings) -> FirstLook:
    return FirstLook(full.theme, full.show_panel, full.show_thinking, full.screen_reader)


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_the_default_of_every_plain_setting_is_plain(name: str) -> None:
    default = Settings.model_fields[name].get_default(call_default_factory=True, validated_data={})
    assert default is None or PLAIN[name](default)


@pytest.mark.parametrize(
    "text",
    [
        'theme = "light"\nshow_panel = false\nscreen_reader = true\n',
        'show_thinking = "open"\nmodel = "claude-opus-5-5"\nmax_turns = 5\n',
        '[mcp.servers.docs]\ncommand = "docs"\n',
    ],
)
def test_a_file_that_is_plain_is_read_at_once(home: Path, tmp_path: Path, text: str) -> None:
    file = home / "config.toml"
    file.write_text(text, "utf-8")
    try:
        look = look_at(tmp_path)
        assert look == shown(load_settings(cwd=str(tmp_path), environ={}).settings)
    finally:
        file.unlink()


def look_at(cwd: Path, environ: Mapping[str, str] | None = None, **flags: Any) -> FirstLook | None:
    return first_look(cwd=cwd, flags=flags, environ=environ or {})


@pytest.mark.parametrize(
    "text",
    ["theme = ", "show_panel = 1\n", 'them = "dark"\n', "[headers]\nX = 1\n", 'thinking = "much"\n',
     "\x00", "max_turns = true\n"],
)  # fmt: skip
def test_a_file_that_is_not_is_loaded_before_the_screen(
    home: Path, tmp_path: Path, text: str
) -> None:
    file = home / "config.toml"
    file.write_text(text, "utf-8")
    try:
        assert look_at(tmp_path) is None
    finally:
        file.unlink()


def test_a_projects_file_counts_only_where_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / ".agent-tui").mkdir()
    (tmp_path / ".agent-tui" / "config.toml").write_text('theme = "light"\n', "utf-8")
    assert look_at(tmp_path) == FirstLook()
    trust.set_trusted(tmp_path, True)
    assert look_at(tmp_path) == FirstLook(theme="light")
    assert look_at(tmp_path, {"AGENT_TUI_THEME": "ansi"}) == FirstLook(theme="ansi")
    assert look_at(tmp_path, {"AGENT_TUI_THEME": "ansi"}, theme="dark") == FirstLook(theme="dark")


def test_credentials_with_rules_of_their_own_are_looked_at_in_full(tmp_path: Path) -> None:
    assert look_at(tmp_path, {"ANTHROPIC_API_KEY": "sk-ant-1"}) == FirstLook()
    assert look_at(tmp_path, {"ANTHROPIC_API_KEY": ""}) is None
    assert look_at(tmp_path, {"ANTHROPIC_PROFILE": "work"}) is None
    assert look_at(tmp_path, base_url="http://127.0.0.1:54321") == FirstLook()
    assert look_at(tmp_path, base_url="http://127.0.0.1:99999") is None
    assert first_look(cwd=tmp_path, flags={}, config="other.toml", environ={}) is None


def test_a_theme_that_was_chosen_is_painted_at_once(home: Path, tmp_path: Path) -> None:
    try:
        for theme, look in (("light", "light"), ("nord", "nord"), ("gone", None)):
            choices.remember("theme", theme)
            found = first_look(cwd=tmp_path, flags={}, environ={})
            assert (found.theme if found else None) == look
            loaded = load_settings(cwd=str(tmp_path), environ={}, remembered=True)
            assert loaded.settings.theme == (look or "auto")
    finally:
        (home / "choices.json").unlink()
