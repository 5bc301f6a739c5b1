"""`!command`: run beside everything, told to the model at the next place where it may be."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import BashExecutionMessage, UserMessage
from agent_tui.conversation.user_commands import user_command
from agent_tui.sessions.index import newest
from agent_tui.sessions.store import Session
from tests.faults.helpers import Talk, said, talking

SLOW = {"text": "word " * 60, "chunk_size": 5, "chunk_delay_ms": 10}


def ran(talk: Talk) -> list[BashExecutionMessage]:
    return [m for m in talk.conversation.messages if isinstance(m, BashExecutionMessage)]


def ended(talk: Talk) -> list[Any]:
    return [e for e in talk.all("user_command") if e.state != "running"]


@pytest.mark.parametrize(
    ("text", "means"),
    [("!ls", ("ls", False)), ("!! ls -l ", ("ls -l", True)), (" !a\nb", ("a\nb", False)),
     ("!", None), ("!!", None), ("hi!", None), ("", None)],
)  # fmt: skip
def test_what_is_a_command(text: str, means: object) -> None:
    assert user_command(text) == means


async def test_at_rest_it_stands_in_the_transcript_at_once_and_the_model_reads_it(
    tmp_path: Path,
) -> None:
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        assert (await talk.conversation.submit("!echo hello; exit 3")).kind == "command"
        await talk.until(lambda: ran(talk))
        assert talk.bodies == [], "a command asks the model nothing"
        await talk.conversation.submit("!!echo only for me")
        await talk.until(lambda: len(ran(talk)) == 2)
        assert talk.all("permission_request") == []
        await talk.say("what was that?")
        talk.assert_accepted()
        (first, *rest) = said(talk.bodies[0]["messages"][0])
        assert first == "I ran a command:\n$ echo hello; exit 3\nhello\n(exit code 3)"
        assert rest == ["what was that?"]
        stored = [m for m in talk.conversation.session.messages() if m.role == "bash"]
        assert [(m.command, m.exclude) for m in stored] == [  # pyright: ignore
            ("echo hello; exit 3", False), ("echo only for me", True),
        ]  # fmt: skip


async def test_while_a_run_is_on_it_goes_along_with_what_is_said_next(tmp_path: Path) -> None:
    async with talking(SLOW, {"text": "Yes."}, cwd=tmp_path) as talk:
        conversation = talk.conversation
        await conversation.submit("begin")
        await talk.until_stream("text_delta")
        await conversation.submit("!echo one")
        await conversation.submit("!!echo only for me")
        await talk.until(lambda: len(ended(talk)) == 2)
        assert ran(talk) == [], "the transcript of a run is the run's"
        steered = await conversation.submit("look at that")
        assert steered.kind == "steer" and conversation.queue()[0].text == "look at that"
        assert steered.item_id is not None
        await conversation.queue_edit(steered.item_id, "look at this")
        await talk.idle()
        talk.assert_accepted()
        assert said(talk.bodies[1]["messages"][-1]) == [
            "look at this",
            "I ran a command:\n$ echo one\none",
        ]
        last = [m for m in conversation.messages if isinstance(m, UserMessage)][-1]
        assert last.attachments[0].name == "!echo one"


async def test_it_waits_again_when_that_message_is_withdrawn(tmp_path: Path) -> None:
    async with talking(SLOW, {"text": "Yes."}, cwd=tmp_path) as talk:
        conversation = talk.conversation
        await conversation.submit("begin")
        await talk.until_stream("text_delta")
        await conversation.submit("!echo one")
        await talk.until(lambda: ended(talk))
        queued = await conversation.follow_up("look")
        assert queued.item_id is not None
        conversation.queue_remove(queued.item_id)
        await talk.idle()
        await talk.until(lambda: ran(talk))
        await talk.say("and?")
        assert said(talk.bodies[1]["messages"][-1])[0].endswith("$ echo one\none")


async def test_what_ended_during_a_run_comes_behind_it(tmp_path: Path) -> None:
    async with talking(SLOW, cwd=tmp_path) as talk:
        await talk.conversation.submit("begin")
        await talk.until_stream("text_delta")
        await talk.conversation.submit("!echo one")
        await talk.idle()
        await talk.until(lambda: ran(talk))
        assert [m.role for m in talk.conversation.messages] == ["user", "assistant", "bash"]


async def test_a_long_one_is_shown_while_it_runs_and_is_stopped(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        conversation = talk.conversation
        await conversation.submit("!echo begun; sleep 60; touch late")
        await talk.until(lambda: any("begun" in e.text for e in talk.all("user_command")))
        assert conversation.user_commands.running and ended(talk) == []
        assert conversation.status == "ready", "it does not keep the user from talking"
        assert conversation.user_commands.stop()
        await talk.until(lambda: ran(talk))
        (message,) = ran(talk)
        assert message.cancelled and message.output.startswith("begun")
        assert ended(talk)[0].state == "stopped" and not conversation.user_commands.running
        assert not conversation.user_commands.stop()


async def test_much_output_is_cut_and_the_model_is_told_where_the_rest_is(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        await talk.conversation.submit("!seq 1 200000")
        async with asyncio.timeout(15):
            await talk.until(lambda: ran(talk))
        (message,) = ran(talk)
        assert message.truncated and len(message.output) < 100_000
        assert message.output.startswith("1\n2\n") and message.output.endswith("200000")
        assert message.full_output_path
        assert await asyncio.to_thread(Path(message.full_output_path).exists)


async def test_a_new_session_knows_nothing_of_what_was_begun_before(tmp_path: Path) -> None:
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        await talk.conversation.submit("!echo begun; sleep 60")
        await talk.until(lambda: any("begun" in e.text for e in talk.all("user_command")))
        await talk.conversation.clear()
        await talk.conversation.submit("!echo new")
        await talk.until(lambda: ran(talk))
        await talk.until(lambda: not talk.conversation.user_commands.running)
        assert [m.command for m in ran(talk)] == ["echo new"]
        assert [e.command for e in ended(talk)] == ["echo new"]


async def test_closing_ends_it_and_keeps_what_came(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        await talk.conversation.submit("!echo begun; sleep 60")
        await talk.until(lambda: any("begun" in e.text for e in talk.all("user_command")))
        await talk.conversation.close()
        (message,) = ran(talk)
        assert message.cancelled


@pytest.mark.parametrize("then", ["resume", "withdraw", "edit", "send"])
async def test_what_ended_during_a_run_outlives_a_crash_and_is_said_once(
    tmp_path: Path, then: str
) -> None:
    home = tmp_path / "home"
    session = Session.create(str(tmp_path), home)
    async with talking(SLOW, cwd=tmp_path, session=session) as talk:
        await talk.conversation.submit("begin")
        await talk.until_stream("text_delta")
        await talk.conversation.submit("!echo one")
        await talk.conversation.submit("!!echo only for me")
        await talk.until(lambda: len(ended(talk)) == 2)
        if then != "resume":
            await talk.conversation.submit("look")
        assert await talk.conversation.recorded()
        assert session.path is not None
        crashed = await asyncio.to_thread(session.path.read_bytes)
        path = session.path
    await asyncio.to_thread(path.write_bytes, crashed)  # as a kill would have left it

    async with talking({"text": "Yes.", "repeat": True}, cwd=tmp_path,
                       session=await asyncio.to_thread(Session.open, path)) as talk:  # fmt: skip
        conversation = talk.conversation
        if then in ("withdraw", "edit"):
            (item,) = conversation.queue()
            if then == "withdraw":
                conversation.queue_remove(item.id)
            else:
                await conversation.queue_edit(item.id, "look there")
        await talk.say("and?")
        await talk.say("once more")
        talk.assert_accepted()
        texts = [
            text for m in talk.bodies[-1]["messages"] if m["role"] == "user" for text in said(m)
        ]
        assert texts.count("I ran a command:\n$ echo one\none") == 1, texts
        assert not any("only for me" in text for text in texts)
        assert [m.command for m in ran(talk) if m.exclude] == ["echo only for me"]


@pytest.mark.parametrize("busy", [False, True])
async def test_one_that_ran_when_the_app_was_killed_is_not_forgotten(
    tmp_path: Path, busy: bool
) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(SLOW, cwd=tmp_path, session=session) as talk:
        if busy:
            await talk.conversation.submit("begin")
            await talk.until_stream("text_delta")
        await talk.conversation.submit("!echo begun; sleep 60")
        await talk.until(lambda: any("begun" in e.text for e in talk.all("user_command")))
        assert await talk.conversation.recorded()
        assert session.path is not None
        path, killed = session.path, await asyncio.to_thread(session.path.read_bytes)
    await asyncio.to_thread(path.write_bytes, killed)

    found = await asyncio.to_thread(newest, str(tmp_path), tmp_path / "home")
    assert found is not None and found.path == path, "-c goes on with it"
    reopened = await asyncio.to_thread(Session.open, path)
    async with talking({"text": "Yes."}, cwd=tmp_path, session=reopened) as talk:
        await talk.say("and?")
        (message,) = ran(talk)
        assert message.command == "echo begun; sleep 60" and message.cancelled
        assert "killed" in message.output
        assert "sleep 60" in str(talk.bodies[-1]["messages"]), "the model knows that it was run"
