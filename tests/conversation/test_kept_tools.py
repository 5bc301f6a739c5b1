"""What /tools chose is of the session: it is there again when the session is gone on with."""

from pathlib import Path

from agent_tui.agent.messages import UserMessage, text_content
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.session_settings import SessionSettings
from agent_tui.conversation.toolset import ALL, BUILTIN, Exposure, Toolset
from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.sessions.store import Session
from agent_tui.settings import Loaded, Settings
from tests.faults.helpers import Talk, instant, talking


def stored(folder: Path) -> Session:
    """A new session on disk."""
    return Session.create(str(folder), folder / "home")


def as_after_a_kill(session: Session) -> Session:
    """As another process finds it that was not told of an end."""
    session.flush(10)
    assert session.path is not None
    return Session.open(session.path, read_only=True)


def wanted(talk: Talk) -> dict[str, str]:
    return {row.name: row.wanted for row in talk.conversation.toolset.rows()}


def sent(talk: Talk) -> set[str]:
    return {tool["name"] for tool in talk.bodies[-1]["tools"]}


async def test_the_choices_are_there_again_and_the_next_request_has_them(tmp_path: Path) -> None:
    async with talking({"text": "a"}, cwd=tmp_path, session=stored(tmp_path)) as talk:
        await talk.conversation.command("/tools shell off")
        await talk.say("hello")
        await talk.conversation.command("/tools web_search direct")
        before, again = wanted(talk), as_after_a_kill(talk.conversation.session)
    async with talking({"text": "b"}, cwd=tmp_path, session=again) as talk:
        assert wanted(talk) == before
        await talk.say("go on")
        assert "shell" not in sent(talk) and {"read", "web_search"} <= sent(talk)
        talk.assert_accepted()


async def test_of_several_names_with_a_wrong_one_none_is_kept(tmp_path: Path) -> None:
    async with talking({"text": "a"}, cwd=tmp_path) as talk:
        result = await talk.conversation.command("/tools shell nonsense off")
        assert result.error is not None
        assert wanted(talk)["shell"] == "direct"
        assert "shell" not in talk.conversation.session.tools


async def test_another_session_brings_its_own_choices(tmp_path: Path) -> None:
    async with talking({"text": "a"}, {"text": "b"}, {"text": "c"}, cwd=tmp_path) as talk:
        conversation = talk.conversation
        await conversation.command("/tools shell off")
        await conversation.clear()
        assert wanted(talk)["shell"] == "off", "as the model and the thinking level"
        assert conversation.session.tools == {"shell": "off"}
        other = Session.in_memory(str(tmp_path))
        other.record_tools({"read": "off"})
        await conversation.open_session(other)
        await talk.say("hello")
        assert "shell" in sent(talk) and "read" not in sent(talk)
        await conversation.open_session(Session.in_memory(str(tmp_path)))
        await talk.say("hello")
        assert {"shell", "read"} <= sent(talk)


def test_an_equal_choice_is_not_written_again(tmp_path: Path) -> None:
    session = stored(tmp_path)
    session.append_message(UserMessage(content=text_content("hello")))
    for choices in ({"all": "both", "shell": "off"},) * 2:
        session.record_tools(choices)
    session.close()
    assert session.path is not None
    assert session.path.read_text().count('"type":"tools"') == 1
    session.tools["shell"] = "direct"
    assert session.tools == {"all": "both", "shell": "off"}, "a copy is given"


def restored(choices: dict[str, str], **settings: Exposure) -> Toolset:
    toolset = Toolset(default="direct", chosen=settings)
    toolset.offer(BUILTIN, [instant("shell"), instant("read")])
    toolset.restore(choices)
    return toolset


def test_choices_for_what_is_not_there_wait_for_it() -> None:
    choices = {"files__*": "off", "files__open": "both", "read": "by-telepathy"}
    toolset = restored(choices)
    assert toolset.exposure("read") == "direct", "what a later version knows has no effect here"
    assert toolset.choices() == choices, "and is not lost"
    toolset.offer("files", [instant("files__open"), instant("files__close")])
    assert toolset.exposure("files__open") == "both"
    assert toolset.exposure("files__close") == "off"
    assert toolset.unknown() == {}, "only of the settings it is said that a tool is unknown"


def test_the_same_holds_after_a_restore_as_before() -> None:
    made = restored({}, read="off")
    for name, exposure in (("shell", "off"), (ALL, "both"), ("r*", "direct"), ("web_*", "direct")):
        made.set_exposure(name, exposure)  # type: ignore[arg-type]
    again = restored(made.choices(), read="off")
    assert again.rows() == made.rows()
    assert again.choices() == made.choices() == {ALL: "both", "r*": "direct", "web_*": "direct"}
    again.restore({})
    assert again.rows() == restored({}, read="off").rows(), "back to the settings"


def test_the_command_line_stands_above_the_choices() -> None:
    session = Session.in_memory("/")
    session.record_tools({ALL: "both", "shell": "off", "read": "off"})
    endpoint = Endpoint(ApiEndpoint(api_key="sk-test-key"), source="test")

    def of(**sources: str) -> dict[str, str]:
        settings = Settings(tools={"shell": "direct"}, programmatic="programmatic")
        return SessionSettings(Loaded(settings, sources=sources), endpoint).tools(session)

    assert of(tools="user", programmatic="environment") == session.tools
    assert of(tools="flag") == {ALL: "both", "read": "off", "shell": "direct"}
    assert of(programmatic="flag") == {"shell": "off", "read": "off"}
