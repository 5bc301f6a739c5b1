"""What is said of failures: what happened while it is tried again, what to do at the end; and
/retry, which asks again where an answer failed or was stopped."""

from pathlib import Path

from agent_tui.messages_api.errors import ApiError, without_advice
from agent_tui.sessions.store import Session
from tests.faults.helpers import kinds, said, talking

OVERLOADED = {"status": 529, "error": "Overloaded", "retry_after": 0}


async def test_a_wait_says_what_happened_and_the_end_what_to_do(tmp_path: Path) -> None:
    async with talking({**OVERLOADED, "repeat": 3}, {"text": "fine"}, cwd=tmp_path) as talk:
        await talk.say("hello")
        assert [r.reason for r in talk.retries] == ["Overloaded (529, overloaded_error)."] * 2
        last = talk.last
        assert last.error_message is not None
        assert "It was tried 3 times." in last.error_message
        assert "The service is busy: try again in a moment." in last.error_message
        result = await talk.conversation.command("/retry")
        assert result.error is None
        await talk.idle()
        assert talk.last.text == "fine"
        assert [m.role for m in talk.conversation.messages] == ["user", "assistant"]
        assert talk.bodies[-1]["messages"] == talk.bodies[0]["messages"]


async def test_an_answer_that_broke_midway_is_tried_again_without_advice(tmp_path: Path) -> None:
    broken = {"text": "half of it", "cut": True}
    async with talking(broken, {"text": "whole"}, cwd=tmp_path) as talk:
        await talk.say("hello")
        (retry,) = talk.retries
        assert retry.strikes is not None
        assert "try again" not in retry.reason and "kept" not in retry.reason
        assert retry.reason.rstrip(".").endswith(("response", "complete", "message_stop"))
        assert [m.text for m in talk.conversation.messages] == ["hello", "whole"]


async def test_a_stopped_answer_can_be_asked_for_again(tmp_path: Path) -> None:
    hangs = {"text": "So far", "hang": "mid_stream"}
    async with talking(hangs, {"text": "whole"}, {"text": "more"}, cwd=tmp_path) as talk:
        await talk.conversation.submit("hello")
        await talk.until_stream("text_delta")
        busy = await talk.conversation.command("/retry")
        assert busy.error == "Stop the run first (Esc), then /retry."
        talk.conversation.abort()
        await talk.idle()
        assert talk.last.stop_reason == "aborted"
        await talk.conversation.command("/retry")
        await talk.idle()
        assert [m.text for m in talk.conversation.messages] == ["hello", "whole"]
        talk.assert_accepted()
        assert [said(m) for m in talk.bodies[1]["messages"]] == [["hello"]]
        session = talk.conversation.session
        assert [m.text for m in session.messages()] == ["hello", "whole"], "also on disk"
        await talk.say("go on")
        assert [kinds(m) for m in talk.bodies[2]["messages"]] == [["text"], ["text"], ["text"]]


async def test_a_whole_answer_is_made_anew_and_the_old_one_stays_on_disk(tmp_path: Path) -> None:
    look = {"tool_calls": [{"name": "list", "input": {"path": "."}}]}
    turns = (look, {"text": "the old one"}, {"text": "the new one"})
    kept = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(*turns, cwd=tmp_path, session=kept) as talk:
        await talk.say("hello")
        calls = len(talk.all("tool_execution_start"))
        assert (await talk.conversation.command("/retry")).error is None
        await talk.idle()
        talk.assert_accepted()
        assert talk.bodies[2]["messages"] == talk.bodies[1]["messages"]
        assert len(talk.all("tool_execution_start")) == calls == 1, "no tool ran again"
        assert [m.text for m in talk.conversation.messages][-1] == "the new one"
        session = talk.conversation.session
        assert [m.text for m in session.messages()][-1] == "the new one"
        assert await talk.conversation.recorded()
        assert session.path is not None
        assert "the old one" in session.path.read_text(encoding="utf-8")


async def test_nothing_to_try_again_is_said(tmp_path: Path) -> None:
    async with talking({"text": "fine"}, cwd=tmp_path) as talk:
        result = await talk.conversation.command("/retry")
        assert result.error == "There is nothing to try again: nothing was asked yet."
        assert (await talk.conversation.command("/retry now")).error == "The form is: /retry"


def test_advice_is_taken_off_a_stored_sentence() -> None:
    for kind in ("overloaded", "stream_cut", "server", "timeout", "connection", "rate_limit"):
        error = ApiError("It broke.", kind=kind)  # type: ignore[arg-type]
        assert error.user_sentence() != "It broke."
        assert without_advice(error.user_sentence()) == error.what_happened() == "It broke."


async def test_asked_again_by_the_user_is_no_failed_try(tmp_path: Path) -> None:
    async with talking({"text": "old"}, {"text": "new"}, cwd=tmp_path) as talk:
        await talk.say("hello")
        await talk.conversation.command("/retry")
        await talk.idle()
        (asked,) = talk.retries
        assert (asked.attempt, asked.wait_s) == (0, 0.0), "nothing failed"
        assert asked.strikes is not None
