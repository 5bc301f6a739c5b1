"""/mcp: its words, what it shows, what it keeps, what it says to wrong ones, what it completes."""

import asyncio
import json
from pathlib import Path

import pytest

from agent_tui import paths
from agent_tui.conversation.mcp.notices import ServerNotices
from agent_tui.conversation.mcp.words import FORMS, HELP, WrongForm, read, server_of, split
from agent_tui.mcp_servers import ConfigError, ServerConfig
from tests.conversation.mcp_making import (
    ZOO_COMMAND,
    add_line,
    attach,
    configure,
    connected,
    entry,
    run,
)
from tests.faults.helpers import talking

SECRET = "tok-0123456789abcdef"


def config_of(line: str) -> ServerConfig:
    action, *words = split(line)
    return server_of(read(action, words))


@pytest.mark.parametrize(
    "line, command, args",
    [
        ("add zoo -- zoo-server --fast 'a b'", "zoo-server", ("--fast", "a b")),
        ("add zoo zoo-server", "zoo-server", ()),
        ("add --user zoo -- npx -y @scope/server /tmp", "npx", ("-y", "@scope/server", "/tmp")),
        ("add zoo --scope user -- x --scope y -- z", "x", ("--scope", "y", "--", "z")),
        ("add zoo --transport stdio -- x http://y", "x", ("http://y",)),
    ],
)
def test_a_program_is_what_stands_behind_the_dashes(
    line: str, command: str, args: tuple[str, ...]
) -> None:
    config = config_of(line)
    assert (config.transport, config.command, config.args) == ("stdio", command, args)


@pytest.mark.parametrize(
    "line, transport, headers",
    [
        ("add web https://x.example/mcp", "http", {}),
        ("add web https://x.example/mcp --sse", "sse", {}),
        ("add web --transport sse https://x.example/mcp", "sse", {}),
        ("add web --header 'X-Key: a:b' https://x.example/mcp", "http", {"X-Key": "a:b"}),
        ("add web https://x.example/mcp --header=A:1 --header B:2", "http", {"A": "1", "B": "2"}),
        ("add web -t http -H A:1 -- https://x.example/mcp", "http", {"A": "1"}),
    ],
)
def test_an_address_brings_its_headers(line: str, transport: str, headers: dict[str, str]) -> None:
    config = config_of(line)
    assert (config.transport, config.url) == (transport, "https://x.example/mcp")
    assert config.headers == headers


def test_variables_of_a_program() -> None:
    config = config_of("add zoo -e A=1 --env B=x=y --env=C= -- zoo")
    assert config.env == {"A": "1", "B": "x=y", "C": ""}


@pytest.mark.parametrize(
    "line, says",
    [
        ("add", ""),
        ("add zoo", ""),
        ("add zoo --", ""),
        ("add zoo http://x y", "one word"),
        ("add zoo ftp://h/", "it begins with http:// or https://"),
        ("add zoo ws://h/", "ws://h/ is no address of an MCP server"),
        ("add zoo -- ftp://h/", "it begins with http:// or https://"),
        ("add zoo -- http://h/ y", "one word"),
        ("add zoo extra -- cmd", "behind --"),
        ("add zoo --fast -- cmd", "no option --fast"),
        ("add zoo --header -- cmd", "KEY:VALUE"),
        ("add zoo http://x.y --header nothing", "KEY:VALUE"),
        ("add zoo --env nothing -- cmd", "NAME=VALUE"),
        ("add zoo --scope moon -- cmd", "conversation, project or user"),
        ("add zoo --transport pigeon http://x.y", "stdio, http or sse"),
        ("add zoo 'a", "quote"),
        ("remove zoo --sse", "does not belong to remove"),
    ],
)
def test_a_wrong_line_is_answered_with_the_right_form(line: str, says: str) -> None:
    with pytest.raises(WrongForm) as wrong:
        action, *words = split(line)
        server_of(read(action, words))
    assert says in str(wrong.value)
    assert wrong.value.form in FORMS.values()


@pytest.mark.parametrize(
    "line, says",
    [
        ("add zoo --header A:1 -- cmd", "no headers"),
        ("add zoo --env A=1 http://x.y", "no environment"),
        ("add my.zoo -- cmd", "'my.zoo' cannot be a server's name"),
        ("add a__b -- cmd", "cannot be a server's name"),
        ("add zoo --transport http x.y", "http:// or https://"),
    ],
)
def test_a_server_that_cannot_be_is_refused(line: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        config_of(line)


def test_the_json_of_add_json_stays_as_it_was_typed() -> None:
    line = 'add-json --user zoo {"command": "x y", "args": ["a \'b\'"]}'
    assert split(line) == [
        "add-json", "--user", "zoo", '{"command": "x y", "args": ["a \'b\'"]}',
    ]  # fmt: skip


def test_every_action_has_a_form_and_a_word() -> None:
    assert FORMS.keys() == HELP.keys()
    assert all(form.startswith(name) for name, form in FORMS.items())


# --- in a conversation ----------------------------------------------------------------


async def test_a_bare_mcp_shows_the_state_and_every_error_the_form(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        command = talk.conversation.command
        nothing = await command("/mcp")
        assert (
            nothing.error is None
            and "No MCP server" in nothing.text
            and "add NAME" in (nothing.text)
        )
        for line, says in (
            ("/mcp bogus", "/mcp bogus is not known"),
            ("/mcp ad zoo", "Did you mean add?"),
            ("/mcp add", "The form is: /mcp add NAME -- COMMAND ARGS..."),
            ("/mcp add zoo 'x", "The form is: /mcp add NAME"),
            ("/mcp remove", "The form is: /mcp remove NAME"),
            ("/mcp remove zoo", "There is no MCP server zoo."),
            ("/mcp tools zoo", "There is no MCP server zoo."),
            ("/mcp log zoo many", "The form is: /mcp log NAME [LINES]"),
            ("/mcp level loud", "The form is: /mcp level debug|"),
            ("/mcp add-json zoo {", "is not JSON"),
            ("/mcp add-json zoo", "The form is: /mcp add-json NAME JSON"),
        ):
            assert says in str((await command(line)).error), line
        await attach(talk, "zoo")
        shown = await run(talk, "/mcp")
        assert shown.text == (await run(talk, "/mcp list")).text
        for word in ("`zoo`", "connected", "13", "this conversation", "zoo.py Plain"):
            assert word in shown.text, word
        again = await command(add_line("zoo"))
        assert "There is a server zoo already." in str(again.error)
        assert "is a program" in str((await command("/mcp login zoo")).error)
        await run(talk, "/mcp level debug")


async def test_secrets_are_masked_wherever_a_server_is_shown(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        await run(talk, add_line("zoo", "Noisy", {"ZOO_TOKEN": SECRET}))
        await connected(talk, "zoo")
        await run(talk, f"/mcp add web http://127.0.0.1:9/mcp?key={SECRET} --header X-Key:{SECRET}")
        for line in ("/mcp", "/mcp get zoo", "/mcp get web", "/mcp log zoo", "/mcp tools"):
            shown = await run(talk, line)
            assert SECRET not in shown.text + json.dumps(shown.data), line
        assert "ZOO_TOKEN=***" in (await run(talk, "/mcp get zoo")).text
        assert SECRET not in json.dumps(talk.conversation.state())
        assert SECRET not in talk.notices


async def test_all_about_a_server(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        await attach(talk, "bad", "BadNames")
        shown = (await run(talk, "/mcp tools bad")).text
        for alias, own in (("bad__read_file", ""), ("bad__read_file_", "read.file")):
            assert alias in shown and own in shown
        assert "\x1b" not in shown
        # What is left out is told in the transcript, at most some lines of it at once.
        notes = [e.text for e in talk.all("notice") if e.text.startswith("bad: ")]
        assert 0 < len(notes) <= 4
        about = (await run(talk, "/mcp get bad")).text
        assert "protocol: 2025-11-25" in about
        await attach(talk, "zoo")
        about = (await run(talk, "/mcp get zoo")).text
        assert "Be kind to the animals." in about
        assert "log" in (await run(talk, "/mcp log zoo 5")).text


async def test_a_name_with_spaces_is_taken_with_and_without_quotes(tmp_path: Path) -> None:
    configure(paths.mcp_file(), **{"my zoo": entry(), "my zoo 2": entry()})
    async with talking(cwd=tmp_path) as talk:
        await connected(talk, "my zoo")
        for line in ("/mcp get my zoo", "/mcp get 'my zoo'", "/mcp tools my zoo"):
            assert (
                "echo" in (await run(talk, line)).text
                or "**my zoo**" in (await run(talk, line)).text
            )
        await connected(talk, "my zoo 2")
        for line, count in (("my zoo", 50), ("'my zoo' 1", 1), ("my zoo 1", 1)):
            result = await run(talk, f"/mcp log {line}")
            assert "mcp-my-zoo-" in result.data["path"] and len(result.data["lines"]) <= count
        assert (await run(talk, "/mcp log my zoo 2")).data["path"] == (
            talk.conversation.mcp.snapshot("my zoo 2").log_path
        )
        for line in ("/mcp log our zoo", "/mcp get our zoo", "/mcp resources our zoo"):
            wrong = await talk.conversation.command(line)
            assert "A name with spaces stands in quotes. The form is: /mcp" in str(wrong.error)


async def test_scopes_are_kept_where_they_belong(tmp_path: Path) -> None:
    project, user = tmp_path / ".mcp.json", paths.mcp_file()
    async with talking(cwd=tmp_path) as talk:
        await run(talk, add_line("here"))
        assert not project.exists() and not user.exists()
        await run(talk, add_line("mine").replace("/mcp add", "/mcp add --user"))
        await run(talk, add_line("ours").replace("/mcp add", "/mcp add --project"))
        assert [*json.loads(user.read_text())["mcpServers"]] == ["mine"]
        assert [*json.loads(project.read_text())["mcpServers"]] == ["ours"]
        for name in ("here", "mine", "ours"):
            await connected(talk, name)
        wrong = await talk.conversation.command("/mcp remove mine --project")
        assert "is a server of the user" in str(wrong.error)
        await run(talk, "/mcp disable ours")
    async with talking(cwd=tmp_path) as talk:
        await connected(talk, "mine")
        states = {s.name: s.state for s in talk.conversation.mcp.snapshots()}
        assert states == {"mine": "connected", "ours": "disabled"}, "what was added is approved"
        await run(talk, "/mcp remove mine --user")
        await run(talk, "/mcp remove ours")
    assert json.loads(user.read_text())["mcpServers"] == {}
    assert json.loads(project.read_text())["mcpServers"] == {}


async def test_actions_and_names_are_completed(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        offer = talk.conversation.completions
        assert [line for line, _ in offer("/mcp re")] == [
            "/mcp remove ", "/mcp reconnect ", "/mcp resources ",
        ]  # fmt: skip
        assert [line for line, _ in offer("/mcp l")] == [
            "/mcp list", "/mcp login ", "/mcp logout ", "/mcp log ", "/mcp level ",
        ]  # fmt: skip
        assert offer("/mcp remove ") == []
        await attach(talk, "zoo")
        await run(talk, "/mcp add web http://127.0.0.1:9/mcp")
        assert [line for line, _ in offer("/mcp remove ")] == ["/mcp remove web", "/mcp remove zoo"]
        assert [line for line, _ in offer("/mcp login ")] == ["/mcp login web"]
        assert [line for line, _ in offer("/mcp enable ")] == []
        assert [line for line, _ in offer("/mcp level w")] == ["/mcp level warning"]
        await run(talk, "/mcp disable zoo")
        assert [line for line, _ in offer("/mcp enable ")] == ["/mcp enable zoo"]
        assert [line for line, _ in offer("/mcp disable ")] == ["/mcp disable web"]


async def test_a_server_that_has_become_another_is_asked_for_anew(tmp_path: Path) -> None:
    """Always was said of the program that stood in the file then."""
    user = paths.mcp_file()
    async with talking(cwd=tmp_path) as talk:
        await run(talk, add_line("zoo").replace("/mcp add", "/mcp add --user"))
        await connected(talk, "zoo")
        approvals = talk.conversation.approvals
        approvals._always = {("zoo__echo", "rule"), ("shell", "rule")}
        await run(talk, "/mcp reconnect zoo")
        assert ("zoo__echo", "rule") in approvals._always, "the same as before"
        whole = json.loads(user.read_text())
        whole["mcpServers"]["zoo"]["args"] = [*ZOO_COMMAND[1:], "Many"]
        user.write_text(json.dumps(whole))
        await run(talk, "/mcp reconnect zoo")
        assert approvals._always == {("shell", "rule")}


# --- notices ---------------------------------------------------------------------------


async def test_what_becomes_of_a_server_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    notices = ServerNotices(lambda event: told.append(event.text))
    for error in ("no such file", "no such file", "still no such file"):
        notices.changed("a", "connecting", 0, None)
        notices.changed("a", "failed", 0, error)
    notices.changed("a", "connected", 3, None)
    notices.changed("a", "connected", 4, None)
    assert told == ["a: no such file", "a is connected: 3 tools."]
    told.clear()
    notices.changed("b", "connected", 1, None)
    assert told == [], "nobody waits for this one"
    notices.expect("b")
    notices.changed("b", "connected", 1, None)
    notices.changed("b", "needs_auth", 0, None)
    notices.changed("b", "needs_auth", 0, None)
    assert told == ["b is connected: 1 tool.", "b wants you to log in: /mcp login b"]


async def test_a_line_about_a_server_names_it_whatever_it_is_called() -> None:
    """Also where the name stands in the line by chance."""
    told: list[str] = []
    notices = ServerNotices(lambda event: told.append(event.text))
    for name in ("it", "a", "not"):
        notices.note(name, "it writes what is not a message")
        notices.changed(name, "failed", 0, "it did not answer within 2 s")
    notices.changed("zoo", "failed", 0, "zoo: args[1] needs the variable A")
    await asyncio.sleep(0)
    assert len(told) == 7
    assert [line.split(": ")[0] for line in told] == ["it", "a", "not", "zoo", "it", "a", "not"]
    assert told[3] == "zoo: args[1] needs the variable A"


async def test_what_cannot_be_offered_is_told_once_by_get(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        await attach(talk, "many", "Many")
        about = (await run(talk, "/mcp get many")).text
        assert about.count("its schema is not that of an object") == 1


async def test_many_lines_about_a_server_are_told_in_few() -> None:
    told: list[str] = []
    notices = ServerNotices(lambda event: told.append(event.text))
    for number in range(6):
        notices.note("bad", f"the tool t{number} is left out")
    notices.note("zoo", "zoo: its list was cut short")
    assert told == [], "all that comes at once is told together"
    await asyncio.sleep(0)
    assert told == [
        *(f"bad: the tool t{number} is left out" for number in range(3)),
        "bad: 3 more notes; /mcp tools bad has all.",
        "zoo: its list was cut short",
    ]
