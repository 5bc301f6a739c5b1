"""Which session -c and -r open, what is said of it, and with which model it goes on."""

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from agent_tui import paths
from agent_tui.agent.messages import UserMessage
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.session_choice import list_here, open_wished
from agent_tui.conversation.session_settings import SessionSettings
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.sessions import Draft, NoSessionYetError, Session
from agent_tui.settings import Loaded, Settings
from tests.faults.helpers import talking

ENDPOINT = Endpoint(ApiEndpoint(api_key="sk-test-key"), source="test")
CWD = "/somewhere"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path))
    return paths.home()


def used(face: str, said: str) -> str:
    """A session of this face, in which this was said; its id."""
    session = Session.create(CWD, paths.home(), face=face)
    session.append_message(UserMessage(content=said))
    session.close()
    assert session.path is not None
    moment = next(_MOMENTS)
    os.utime(session.path, (moment, moment))  # the clock of a file system may be coarse
    return session.id


_MOMENTS = itertools.count(1_700_000_000)


def opened(**wish: Any) -> Session:
    session = open_wished(SessionWish(**wish), CWD, ENDPOINT)
    session.close()
    return session


def test_c_goes_on_where_a_person_was() -> None:
    person = used("screen", "by a person")
    script = used("print", "by a script")
    session = opened(continue_newest=True)
    assert session.id == person
    assert person[:8] in session.greeting and f"/resume {script[:8]}" in session.greeting
    assert opened(continue_newest=True, face="rpc").id == person


def test_c_of_p_goes_on_in_the_newest_of_all() -> None:
    used("screen", "by a person")
    script = used("print", "by a script")
    session = opened(continue_newest=True, face="print")
    assert session.id == script and "passed over" not in session.greeting


def test_without_any_of_a_person_c_opens_the_newest_of_p() -> None:
    used("print", "one")
    last = used("print", "two")
    assert opened(continue_newest=True).id == last


def test_a_session_of_p_in_which_a_person_goes_on_is_the_persons() -> None:
    script = used("print", "by a script")
    session = open_wished(SessionWish(resume_id=script, resume=True), CWD, ENDPOINT)
    session.append_message(UserMessage(content="and now I"))
    session.close()
    assert session.path is not None
    os.utime(session.path, (0, 0))
    used("print", "by another script")
    assert opened(continue_newest=True).id == script


def test_looking_into_a_session_of_p_does_not_make_it_a_persons() -> None:
    person = used("screen", "by a person")
    script = used("print", "by a script")
    assert opened(resume=True, resume_id=script).id == script
    assert opened(continue_newest=True).id == person


def test_what_holds_nothing_is_passed_over_and_not_listed() -> None:
    person = used("screen", "by a person")
    empty = Session.create(CWD, paths.home(), face="screen")
    empty.record_draft(Draft("hm"))
    empty.record_draft(Draft())
    empty.close()
    assert opened(continue_newest=True).id == person
    assert [entry["id"] for entry in list_here(CWD)] == [person]


def test_a_draft_alone_is_something_to_go_on_with() -> None:
    used("screen", "by a person")
    session = Session.create(CWD, paths.home(), face="screen")
    session.record_draft(Draft("half [pasted 9 lines]", {"[pasted 9 lines]": "a thought"}))
    session.close()
    again = opened(continue_newest=True)
    assert again.id == session.id and again.draft.whole == "half a thought"
    assert list_here(CWD)[0]["first_prompt"] == "draft: half a thought"


def test_nothing_to_go_on_with() -> None:
    with pytest.raises(NoSessionYetError):
        opened(continue_newest=True)


def test_without_keeping_an_old_session_is_only_read(home: Path) -> None:
    person = used("screen", "by a person")
    (file,) = home.glob("sessions/*/*.jsonl")
    before = file.read_bytes()
    session = open_wished(SessionWish(keep=False, continue_newest=True), CWD, ENDPOINT)
    session.append_message(UserMessage(content="in confidence"))
    session.record_draft(Draft("hush"))
    session.close()
    assert session.id == person and len(session.messages()) == 2
    assert file.read_bytes() == before


# --- the model and the thinking level ------------------------------------------------------------


def settings_of(session: Session, **sources: str) -> tuple[str, str]:
    loaded = Loaded(Settings(model="by-settings", thinking="low"), sources=sources)
    found = SessionSettings(loaded, ENDPOINT).of(session)
    return found.model, found.thinking


def test_a_session_goes_on_with_what_was_last_chosen_in_it() -> None:
    session = Session.in_memory(CWD)
    assert settings_of(session) == ("by-settings", "low")
    session.record_model("chosen-there")
    session.record_thinking("max")
    assert settings_of(session) == ("chosen-there", "max")
    assert settings_of(session, model="environment", thinking="user") == ("chosen-there", "max")


def test_the_command_line_stands_above_what_was_chosen() -> None:
    session = Session.in_memory(CWD)
    session.record_model("chosen-there")
    session.record_thinking("max")
    assert settings_of(session, model="flag") == ("by-settings", "max")
    assert settings_of(session, thinking="flag") == ("chosen-there", "low")


def test_the_model_of_the_demo_is_of_no_use_elsewhere() -> None:
    session = Session.in_memory(CWD)
    session.record_model("demo")
    assert settings_of(session) == ("by-settings", "low")


async def test_a_draft_goes_along_into_a_new_session_before_the_old_one_lets_it_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[tuple[str, str]] = []
    record = Session.record_draft

    def note(self: Session, draft: Draft) -> Any:
        recorded.append((self.id, draft.whole))
        return record(self, draft)

    monkeypatch.setattr(Session, "record_draft", note)
    old = Session.create(str(tmp_path), tmp_path / "home")
    async with talking({"text": "Yes."}, cwd=tmp_path, session=old) as talk:
        await talk.say("hello")
        talk.conversation.record_draft(Draft("half a thought"))
        await talk.conversation.clear()
        new = talk.conversation.session
        assert recorded[1:] == [(new.id, "half a thought"), (old.id, "")]
        assert new.draft.whole == "half a thought" and not old.draft
