"""Slash commands and the pages of the screen."""

from typing import Any

from tests.tui.states.harness import User, state

EDIT: dict[str, Any] = {"tool_calls": [{"name": "edit", "input": {
    "path": "README.md", "edits": [{"old": "A small shop.", "new": "A shop, small and quick."}],
}}]}  # fmt: skip
FILE: dict[str, Any] = {"tool_calls": [{"name": "write", "input": {
    "path": "CHANGES.md", "content": "# Changes\n\n- checkout asks once\n",
}}]}  # fmt: skip


@state()
async def help_page(user: User) -> None:
    await user.press("f1")
    await user.sees("Follow-up")


@state()
async def help_of_a_command(user: User) -> None:
    await user.say("/help container")
    await user.sees("preview")


@state()
async def settings_page(user: User) -> None:
    await user.say("/settings")
    await user.sees("type to search")


@state()
async def setting_is_edited(user: User) -> None:
    await user.say("/settings")
    await user.sees("reduced_motion")
    await user.type("max_t")
    await user.settles()
    await user.press("enter")
    await user.settles()


@state()
async def setting_is_wrong(user: User) -> None:
    await user.say("/settings max_tokens plenty")
    await user.sees("max_tokens")
    await user.settles()


@state()
async def setting_is_changed(user: User) -> None:
    await user.say("/settings max_tokens 16000")
    await user.sees("16")
    await user.settles()


@state()
async def models_listed(user: User) -> None:
    await user.say("/model")
    await user.sees("claude-opus-5-5")


@state()
async def effort_is_changed(user: User) -> None:
    await user.say("/effort high")
    await user.sees("claude-sonnet-5-5 high")


@state()
async def tools_listed(user: User) -> None:
    await user.say("/tools")
    await user.sees("shell")


@state({"text": "It asks once for each item.", "usage": {
    "input_tokens": 812, "output_tokens": 96, "cache_read_input_tokens": 2200,
    "cache_creation_input_tokens": 310}}, {"text": "Yes."}, size=(120, 34))  # fmt: skip
async def usage_table(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")
    await user.ask("is the cart tested?", "Yes.")
    await user.say("/usage")
    await user.sees("cache")


@state({"text": "It asks once for each item."})
async def context_told(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")
    await user.say("/context")
    await user.sees("tools")
    await user.settles()


@state(EDIT, FILE, {"text": "Done."}, allow=("edit", "write"))
async def session_diff(user: User) -> None:
    await user.ask("say it in the readme", "Done.")
    await user.say("/diff")
    await user.sees("checkout asks once")


@state()
async def no_servers(user: User) -> None:
    await user.say("/mcp")
    await user.sees("/mcp add")


@state()
async def palette(user: User) -> None:
    await user.press("ctrl+p")
    await user.settles()


@state()
async def theme_is_chosen(user: User) -> None:
    await user.press("ctrl+p")
    await user.type("theme")
    await user.settles()
    await user.press("enter")
    await user.settles()


@state()
async def key_is_entered(user: User) -> None:
    await user.say("/login")
    await user.sees("Enter a key")
    await user.type("sk-ant-secret")


@state({"text": "It asks once for each item."}, {"text": "Once for each item, forty times."})
async def asked_again(user: User) -> None:
    await user.ask("why is checkout slow?", "once for each item")
    await user.ask("/retry", "forty times")


@state()
async def palette_finds_a_command(user: User) -> None:
    await user.press("ctrl+p")
    await user.type("cont")
    await user.sees("/container", "/context")
    await user.settles()


@state()
async def palette_waits_for_words(user: User) -> None:
    await user.type("a draft")
    await user.press("ctrl+p")
    await user.type("/model")
    await user.sees("/model")
    await user.settles()
    await user.press("enter")
    await user.sees("/model claude-opus-5-5", "put away")


@state(flags={"system_prompt": "You help in a small shop.\n\n- Read a file before you edit it."})
async def system_prompt_is_shown(user: User) -> None:
    await user.say("/system")
    await user.settles()
