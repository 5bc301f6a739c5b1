"""/settings: what each setting is and where from; a change is written and holds where it can."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from agent_tui import paths
from agent_tui.settings import Settings
from tests.faults.helpers import Talk, talking

KEY = "sk-test-key"


async def run(talk: Talk, line: str) -> Any:
    return await talk.conversation.command(line)


async def row(talk: Talk, name: str) -> dict[str, Any]:
    (found,) = (await run(talk, f"/settings {name}")).data["settings"]
    return found


def on_disk() -> dict[str, Any]:
    return tomllib.loads(paths.config_file().read_text())


async def test_all_of_them_with_value_and_source_and_no_secret(tmp_path: Path) -> None:
    paths.config_file().write_text("# mine\nmax_turns = 7\n")
    secret = {"x-team": "hush-hush"}
    async with talking({"text": "x"}, cwd=tmp_path, headers=secret, thinking="low") as talk:
        result = await run(talk, "/settings")
        assert result.action == "settings"
        rows = {r["name"]: r for r in result.data["settings"]}
        assert sorted(rows) == sorted(Settings.model_fields)
        assert list(rows)[:4] == ["theme", "model", "thinking", "show_panel"]
        assert list(rows)[-1] == "foundry_resource" and list(rows)[-8] == "provider"
        assert (rows["thinking"]["value"], rows["thinking"]["source"]) == ("low", "flag")
        assert rows["max_turns"]["source"] == f"{paths.config_file()}:2"
        assert (rows["theme"]["value"], rows["theme"]["source"]) == ("auto", "default")
        for name in ("api_key", "headers"):
            assert rows[name]["value"] == "set, not shown" and rows[name]["secret"]
        assert rows["auth_token"]["value"] == "not set"
        said = str(result)
        for line in ("/settings api_key", "/settings headers"):
            said += str(await run(talk, line))
        assert KEY not in said and "hush-hush" not in said
        assert "| `thinking` | `low` | flag |" in result.text


@pytest.mark.parametrize(("first", "second"), [("1", "2"), ("unset", "3")])
async def test_a_change_is_written_and_holds_at_once(
    tmp_path: Path, first: str, second: str
) -> None:
    paths.config_file().write_text("# mine\nmax_turns = 9 # few\n")
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        for text in (first, second):
            result = await run(talk, f"/settings max_turns {text}")
            assert result.error is None and "it holds now" in result.text
            wanted = None if text == "unset" else int(text)
            assert on_disk().get("max_turns") == wanted == talk.conversation.limits.max_turns
        assert paths.config_file().read_text().startswith("# mine\n")
        assert (await row(talk, "max_turns"))["source"] == str(paths.config_file())
        (first_told, second_told) = talk.all("setting_changed")
        assert (second_told.name, second_told.value) == ("max_turns", second)
        assert first_told.name == "max_turns"


@pytest.mark.parametrize(
    ("name", "value", "now"),
    [
        ("steering_mode", "all", lambda c: c.agent.queue.steering_mode),
        ("follow_up_mode", "all", lambda c: c.agent.queue.follow_up_mode),
        ("thinking", "max", lambda c: c.thinking),
        ("model", "claude-opus-5", lambda c: c.model),
    ],
)
async def test_what_can_holds_now(tmp_path: Path, name: str, value: str, now: Any) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        before = now(talk.conversation)
        assert (await row(talk, name))["live"]
        assert (await run(talk, f"/settings {name} {value}")).error is None
        assert (now(talk.conversation), on_disk()[name]) == (value, value) != (before, before)


async def test_what_cannot_says_when_it_holds(tmp_path: Path) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        result = await run(talk, "/settings shell-timeout-s 7")
        assert "from the next start on" in result.text
        assert on_disk() == {"shell_timeout_s": 7.0}
        theme = await run(talk, "/settings theme light")
        assert "from the next start on" in theme.text, "no face here that could change it"


async def test_a_stronger_place_is_named(tmp_path: Path) -> None:
    async with talking({"text": "x"}, cwd=tmp_path, thinking="low") as talk:
        result = await run(talk, "/settings thinking max")
        assert "but flag says other and wins" in result.text
        assert talk.conversation.thinking == "low" and on_disk() == {"thinking": "max"}


async def test_effort_and_thinking_are_one_and_say_so(tmp_path: Path) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        assert "`thinking` is" in (await run(talk, "/settings effort high")).text
        assert talk.conversation.thinking == "high" == on_disk()["thinking"]
        assert "/effort" in (await run(talk, "/settings thinking")).text
        assert "setting `thinking`" in (await run(talk, "/effort")).text
        assert "setting thinking" in (await run(talk, "/help effort")).text


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("/settings thinkin", "did you mean thinking?"),
        ("/settings max_turns none", "/settings: max_turns = 'none': must be a whole number"),
        ("/settings max_turns 0", "greater than or equal to 1"),
        ("/settings theme drak", "did you mean dark?"),
        ("/settings api_key sk-other-secret", "is secret and is not typed here: /login"),
    ],
)
async def test_a_wrong_line_says_what_is_right(tmp_path: Path, line: str, error: str) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        result = await run(talk, line)
        assert error in (result.error or "") and "sk-other" not in str(result)
        assert not paths.config_file().exists()


async def test_a_broken_file_is_left_as_it_is(tmp_path: Path) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        paths.config_file().write_text("model = \n")
        result = await run(talk, "/settings max_turns 3")
        assert "config.toml:1" in (result.error or "")
        assert paths.config_file().read_text() == "model = \n"
        assert talk.conversation.limits.max_turns is None


async def test_names_and_values_are_completed(tmp_path: Path) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        complete = talk.conversation.completions
        assert complete("/settings steer")[0] == ("/settings steering_mode ", "Steering")
        assert [line for line, _ in complete("/settings steering_mode ")] == [
            f"/settings steering_mode {v}" for v in ("one-at-a-time", "all", "unset")
        ]
        assert complete("/settings api_key ") == []
        assert ("/effort max", "") in complete("/effort m")
        models = dict(complete("/model "))
        assert models[f"/model {talk.conversation.model}"] == "now"


async def test_a_choice_is_told_to_the_face(tmp_path: Path) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        told: list[tuple[str, str]] = []
        talk.conversation.remember = lambda name, value: told.append((name, value))
        await run(talk, "/model claude-opus-5")
        await run(talk, "/effort High")
        await run(talk, "/effort wrong")
        assert told == [("model", "claude-opus-5"), ("thinking", "high")]


async def test_what_has_a_fixed_list_offers_it_with_the_one_in_force_marked(tmp_path: Path) -> None:
    async with talking({"text": "x"}, cwd=tmp_path, thinking="low") as talk:
        for name, value, some in (
            ("theme", "auto", {"dark", "light", "nord"}),
            ("thinking", "low", {"off", "high", "max"}),
            ("notify", "auto", {"bell", "off"}),
            ("vi_keys", "false", {"true"}),
            ("eager_input_streaming", None, {"true", "false"}),
        ):
            assert some <= set((await row(talk, name))["choices"])
            offered = dict(talk.conversation.completions(f"/settings {name} "))
            assert {f"/settings {name} {v}" for v in (*some, "unset")} <= set(offered)
            marked = [line for line, about in offered.items() if about == "now"]
            assert marked == ([f"/settings {name} {value}"] if value else [])
        first = [line for line, _ in talk.conversation.completions("/settings ")]
        assert first[0] == "/settings theme ", "its values are chosen behind it"


@pytest.mark.parametrize("name", ["light", "nord"])
async def test_theme_is_the_short_form(tmp_path: Path, name: str) -> None:
    async with talking({"text": "x"}, cwd=tmp_path) as talk:
        assert "/theme auto" in dict(talk.conversation.completions("/theme "))
        assert dict(talk.conversation.completions("/theme a"))["/theme auto"] == "now"
        assert (await run(talk, f"/theme {name}")).error is None
        assert on_disk() == {"theme": name}
        assert f"`theme` is `{name}`" in (await run(talk, "/theme")).text
        assert "did you mean dark?" in ((await run(talk, "/theme drak")).error or "")
        assert on_disk() == {"theme": name}
