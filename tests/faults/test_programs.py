"""Programs of the model, for real: over HTTP, in the offline server's containers. What they call
runs here like any other call, and whatever becomes of them, the next request is valid."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import ImageContent, TextContent, ToolResultMessage
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.conversation.toolset import ALL, BUILTIN
from agent_tui.offline.containers import ContainerOptions
from agent_tui.sessions.store import Session
from tests.faults.helpers import (
    Body,
    Gate,
    Talk,
    blocks,
    instant,
    kinds,
    said,
    talking,
    without_marks,
)

ONE = "print(await work())"
TWO = "a = await work()\nb = await work()\nprint(a, b)"
THREE_AND_TWENTY = """\
import asyncio
first = await asyncio.gather(work(), work(), work())
total = 0
for _ in range(20):
    total += len(await work())
print(first, total)
"""
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def callers(body: Body) -> dict[str, list[str] | None]:
    """Who may call each tool that a request offers."""
    return {t["name"]: t.get("allowed_callers") for t in body["tools"]}


def containers(talk: Talk) -> list[str | None]:
    return [body.get("container") for body in talk.bodies]


def note(talk: Talk) -> str:
    """What the user is made to say in the last request, one text below the other."""
    return "\n".join(said(talk.bodies[-1]["messages"][-1]))


# --- paused and resumed --------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["tool_use", "pause_turn"])
async def test_three_calls_at_once_and_twenty_in_a_loop(reason: str, tmp_path: Path) -> None:
    """One container, one list of tools, answers of results only; steering waits for the end."""
    gate = Gate("slow", result="slowly")
    turns = [
        {"text": "I count.", "program": THREE_AND_TWENTY + "print(await slow())",
         "pause_reason": reason},
        {"text": "Counted."},
        {"match": "in EUR", "text": "In EUR."},
    ]  # fmt: skip
    async with talking(
        *turns, cwd=tmp_path, tools=[instant(), gate.tool], programmatic="both"
    ) as talk:
        await talk.conversation.submit("count it")
        await talk.until(lambda: gate.begun)
        await talk.conversation.submit("in EUR, please")
        (entry,) = talk.conversation.queue()
        assert entry.state == "held" and "program" in entry.delivery
        gate.may_end(gate.begun[0])
        await talk.idle()
        talk.assert_accepted()
        assert len(talk.bodies) == 1 + 1 + 20 + 1 + 1
        going_on = talk.bodies[1:-1]
        assert [kinds(b["messages"][-1]) for b in going_on] == [
            ["tool_result"] * 3, *[["tool_result"]] * 21,
        ]  # fmt: skip
        (only,) = {c["id"] for c in talk.server.containers}
        assert containers(talk) == [None, *[only] * 23]
        assert all(callers(body) == callers(talk.bodies[0]) for body in talk.bodies)
        assert callers(talk.bodies[0])["work"] == ["direct", "code_execution_20260120"]
        (output,) = blocks(talk.bodies[-1], "code_execution_tool_result")
        assert output["content"]["stdout"] == "['done', 'done', 'done'] 80\nslowly\n"
        assert said(talk.bodies[-1]["messages"][-1]) == ["in EUR, please"]
        program = blocks(talk.bodies[-1], "server_tool_use")[0]
        for call in blocks(talk.bodies[-1], "tool_use"):
            caller = {"type": "code_execution_20260120", "tool_id": program["id"]}
            assert call["caller"] == caller


async def test_calls_of_a_program_run_at_once(tmp_path: Path) -> None:
    gate = Gate()
    code = "import asyncio\nprint(await asyncio.gather(work(), work(), work()))"
    async with talking(
        {"program": code}, {"text": "Done."}, cwd=tmp_path, tools=[gate.tool], programmatic="both"
    ) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: len(gate.begun) == 3)
        for call in gate.begun:
            gate.may_end(call)
        await talk.idle()
        talk.assert_accepted()


async def test_arguments_of_a_program_are_checked_like_any_others(tmp_path: Path) -> None:
    """Coerced where that is harmless; else the program gets the error, and may go on."""
    got: list[Any] = []

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        got.append(arguments)
        return ToolResult.text("ok")

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = AgentTool("take", "Takes a number.", schema, execute)
    code = (
        'print(await take(n="42"))\n'
        'try:\n    await take(n="many")\nexcept RuntimeError as e:\n    print("refused", e)'
    )
    async with talking(
        {"program": code}, {"text": "Done."}, {}, cwd=tmp_path, tools=[tool], programmatic="both"
    ) as talk:
        await talk.say("go")
        await talk.say("and?")
        talk.assert_accepted()
        assert got == [{"n": 42}]
        (output,) = blocks(talk.bodies[-1], "code_execution_tool_result")
        assert output["content"]["stdout"].startswith("ok\nrefused ")
        assert "expected an integer" in output["content"]["stdout"]


async def test_an_image_for_a_program_is_named_and_not_sent(tmp_path: Path) -> None:
    """Its answers hold only text (facts)."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        picture = ImageContent(data=PIXEL, media_type="image/png")
        return ToolResult([TextContent(text="a picture"), picture])

    shot = AgentTool("shot", "A picture.", {"type": "object", "properties": {}}, execute)
    async with talking(
        {"program": "print(await shot())"}, {"tool_calls": [{"name": "shot"}]}, {"text": "Seen."},
        cwd=tmp_path, tools=[shot], programmatic="both",
    ) as talk:  # fmt: skip
        await talk.say("go")
        talk.assert_accepted()
        by_program, direct = talk.bodies[1]["messages"][-1], talk.bodies[2]["messages"][-1]
        assert [b["type"] for b in by_program["content"][0]["content"]] == ["text", "text"]
        assert "an image" in by_program["content"][0]["content"][1]["text"]
        assert [b["type"] for b in direct["content"][0]["content"]] == ["text", "image"]


async def test_a_refused_call_is_an_error_in_the_program(tmp_path: Path) -> None:
    """It is asked for like any other call, and the question says which program asks."""
    code = "try:\n    print(await work())\nexcept RuntimeError as e:\n    print('caught', e)"
    async with talking(
        {"program": "print(1)"}, {"program": code}, {"text": "Done."}, {"text": "Ok."},
        cwd=tmp_path, programmatic="both",
    ) as talk:  # fmt: skip
        talk.conversation.toolset.offer(BUILTIN, [instant()])
        await talk.conversation.submit("go")
        asked = await talk.until_event("permission_request")
        assert (asked.tool_name, asked.program) == ("work", 2)
        talk.conversation.answer(asked.request_id, "deny", "not on Mondays")
        await talk.idle()
        await talk.say("and?")
        talk.assert_accepted()
        output = blocks(talk.bodies[-1], "code_execution_tool_result")[-1]
        assert "caught" in output["content"]["stdout"]
        assert "not on Mondays" in output["content"]["stdout"]


# --- the tools of a program ----------------------------------------------------------------------


async def test_a_change_of_the_tools_waits_for_the_program(tmp_path: Path) -> None:
    gate = Gate()
    async with talking(
        {"program": TWO}, {"text": "Done."}, {"text": "Without."},
        cwd=tmp_path, tools=[gate.tool, instant("other")], programmatic="both",
    ) as talk:  # fmt: skip
        conversation = talk.conversation
        await conversation.submit("go")
        await talk.until(lambda: gate.begun)
        changed = await conversation.command("/tools work off")
        assert "waits" in changed.text
        assert "waits" in (await conversation.command("/tools")).text
        await conversation.command(f"/tools {ALL} direct")
        conversation.toolset.offer("server", [instant("server__new")])
        gate.may_end(gate.begun[0])
        await talk.until(lambda: len(gate.begun) == 2)
        gate.may_end(gate.begun[1])
        await talk.idle()
        await talk.say("and now?")
        talk.assert_accepted()
        began = callers(talk.bodies[0])
        assert [callers(b) for b in talk.bodies[:3]] == [began] * 3
        assert callers(talk.bodies[3]) == {"other": None, "work": None, "server__new": None}


async def test_a_change_while_a_program_is_being_written_waits_too(tmp_path: Path) -> None:
    """It began with the tools of its request, and pauses only after the change."""
    async with talking(
        {"text": "I write a program. " * 20, "program": TWO, "chunk_size": 4, "chunk_delay_ms": 2},
        {"text": "Done."}, {"text": "Without."},
        cwd=tmp_path, tools=[instant()], programmatic="both",
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until_stream("text_delta")
        await talk.conversation.command("/tools work off")
        await talk.idle()
        await talk.say("and now?")
        talk.assert_accepted()
        began = callers(talk.bodies[0])
        assert [callers(b) for b in talk.bodies[:3]] == [began] * 3
        assert "tools" not in talk.bodies[3]
        (output,) = blocks(talk.bodies[3], "code_execution_tool_result")
        assert output["content"]["stdout"] == "done done\n"


async def test_a_change_between_two_answers_is_in_the_next_request(tmp_path: Path) -> None:
    """The neighbour of the above: no program waits."""
    gate = Gate()
    async with talking(
        {"tool_calls": [{"id": "toolu_1", "name": "work"}]}, {"text": "Done."},
        cwd=tmp_path, tools=[gate.tool],
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        assert "next request" in (await talk.conversation.command("/tools work both")).text
        gate.may_end("toolu_1")
        await talk.idle()
        talk.assert_accepted()
        assert [set(callers(b)) for b in talk.bodies] == [{"work"}, {"work", "code_execution"}]


async def test_a_change_in_the_last_answer_is_offered_when_the_run_is_over(tmp_path: Path) -> None:
    """No request follows: what /context counts, and another face shows, has it all the same."""
    async with talking(
        {"text": "A long one. " * 20, "chunk_size": 4, "chunk_delay_ms": 2},
        cwd=tmp_path, tools=[instant()],
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until_stream("text_delta")
        await talk.conversation.command("/tools work off")
        offered = talk.conversation.agent.config
        assert [tool.name for tool in offered.tools] == ["work"]
        await talk.idle()
        assert offered.tools == []


async def test_a_change_while_a_paused_program_lies_still(tmp_path: Path) -> None:
    """Stopped by a limit, then other tools: what the user says ends the program, and only then
    the tools are the new ones."""
    async with talking(
        {"program": TWO}, {"text": "Noted."},
        cwd=tmp_path, tools=[instant()], programmatic="both", max_turns=1,
    ) as talk:  # fmt: skip
        await talk.say("go")
        assert "waits" in (await talk.conversation.command("/tools work direct")).text
        talk.conversation.limits.max_turns = None
        await talk.say("never mind")
        talk.assert_accepted()
        assert [set(callers(b)) for b in talk.bodies] == [{"work", "code_execution"}, {"work"}]
        assert "interrupted" in note(talk) and "done" in note(talk) and "never mind" in note(talk)


async def test_an_answer_that_breaks_off_after_a_program_is_asked_for_again(
    tmp_path: Path,
) -> None:
    """With the same results, to the same container; no call runs twice."""
    async with talking(
        {"program": TWO}, {"text": "Done and", "cut": True}, {"text": "Done."}, {"text": "Ok."},
        cwd=tmp_path, tools=[instant()], programmatic="both",
    ) as talk:  # fmt: skip
        await talk.say("go")
        await talk.say("and?")
        talk.assert_accepted()
        assert len(talk.retries) == 1 and talk.retries[0].strikes
        broken, again = talk.bodies[2:4]
        assert broken == again
        assert len(talk.all("tool_execution_start")) == 2
        (only,) = talk.server.containers
        assert containers(talk)[1:] == [only["id"]] * 4 and only["programs"] == 1


# --- interrupted ---------------------------------------------------------------------------------


async def test_a_program_that_was_stopped_is_told_with_what_had_finished(tmp_path: Path) -> None:
    gate = Gate()
    async with talking(
        {"text": "I try.", "program": TWO}, {"text": "Understood."}, {"text": "Gladly."},
        cwd=tmp_path, tools=[gate.tool], programmatic="both",
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        gate.may_end(gate.begun[0])
        await talk.until(lambda: len(gate.begun) == 2)
        talk.conversation.abort()
        await talk.idle()
        await talk.say("another way, please")
        await talk.say("thank you")
        talk.assert_accepted()
        body = talk.bodies[2]
        assert not blocks(body, "server_tool_use") and not blocks(body, "tool_result")
        answer, told = body["messages"][-2:]
        assert said(answer) == ["I try."]
        program_note, text = said(told)
        assert text == "another way, please"
        finished, _, rest = program_note.partition("failed or were stopped")
        assert "interrupted" in finished and "work({}): done" in finished
        assert "stopped" in rest
        later = talk.bodies[3]["messages"][: len(body["messages"])]
        assert without_marks(later) == without_marks(body["messages"]), "what was said stays said"
        assert containers(talk)[2] == containers(talk)[1], "the container lives on"
        assert talk.server.containers[0]["state"] == "idle"


async def killed_while_paused(tmp_path: Path) -> Session:
    """A program has one result and waits for the next, and the process is gone."""
    session = Session.create(str(tmp_path), tmp_path / "home")
    gate = Gate()
    async with talking(
        {"text": "I try.", "program": TWO},
        cwd=tmp_path, tools=[gate.tool], programmatic="both", session=session,
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        gate.may_end(gate.begun[0])
        await talk.until(lambda: len(gate.begun) == 2)
        assert await talk.conversation.recorded()
        assert session.path is not None
        stored = await asyncio.to_thread(session.path.read_bytes)  # as a kill leaves it
    (tmp_path / "killed.jsonl").write_bytes(stored)
    return Session.open(tmp_path / "killed.jsonl")


@pytest.mark.parametrize("programmatic", ["both", "off"])
async def test_a_program_that_a_crash_left_paused_is_told_too(
    programmatic: str, tmp_path: Path
) -> None:
    session = await killed_while_paused(tmp_path)
    async with talking(
        {"text": "Understood."}, cwd=tmp_path, tools=[instant()], programmatic=programmatic,
        session=session,
    ) as talk:  # fmt: skip
        await talk.say("where were we?")
        talk.assert_accepted()
        (body,) = talk.bodies
        assert not blocks(body, "server_tool_use") and not blocks(body, "tool_result")
        finished, _, rest = note(talk).partition("without a result")
        assert "interrupted" in finished and "work({}): done" in finished
        assert "work({})" in rest and "where were we?" in rest


async def test_a_program_goes_on_after_a_crash_only_with_its_tools(tmp_path: Path) -> None:
    """Continued where the tools are direct by now: its results can go nowhere, so it is told."""
    session = await killed_while_paused(tmp_path)
    async with talking({"text": "Understood."}, cwd=tmp_path, tools=[instant()],
                       session=session) as talk:  # fmt: skip
        await talk.conversation.continue_()
        await talk.idle()
        talk.assert_accepted()
        assert not blocks(talk.bodies[0], "tool_result")
        assert "interrupted" in note(talk) and "work({}): done" in note(talk)
        assert "cannot go on" in talk.notices


# --- containers that are gone --------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["error", "untyped", "result"])
async def test_an_expired_container_is_left_and_a_new_one_begun(
    answer: Any, tmp_path: Path
) -> None:
    gone = ContainerOptions(idle_seconds=0.25, expired_answer=answer)
    async with talking(
        {"text": "First.", "program": "print(1)"}, {"text": "One."},
        {"text": "Second.", "program": ONE}, {"text": "Two."},
        {"text": "Third.", "program": ONE}, {"text": "Three."},
        cwd=tmp_path, tools=[instant()], programmatic="both", containers=gone,
    ) as talk:  # fmt: skip
        await talk.say("go")
        await talk.until(lambda: talk.server.containers[0]["state"] == "expired")
        await talk.say("again")
        if answer == "result":  # the model was told by its program; the next gets a new one
            await talk.say("once more")
        assert "expired" in talk.notices or "gone" in talk.notices
        old, new = (c["id"] for c in talk.server.containers)
        assert talk.conversation.state()["container"]["id"] == new
        told = [text for b in talk.bodies for text in said(b["messages"][-1])]
        if answer != "result":
            assert any("container" in text and "gone" in text for text in told)
        tries = 3 if answer == "untyped" else 1  # a 500 may be about something else
        assert containers(talk).count(old) == tries
        assert blocks(talk.bodies[-1], "tool_result"), "the new program's call was answered"


@pytest.mark.parametrize("answer", ["error", "untyped", "result"])
async def test_a_container_that_expires_under_a_paused_program(answer: Any, tmp_path: Path) -> None:
    gate = Gate()
    gone = ContainerOptions(idle_seconds=0.25, expired_answer=answer)
    async with talking(
        {"text": "I try.", "program": ONE}, {"text": "Another way."},
        {"text": "New.", "program": "print(2)"}, {"text": "Two."},
        cwd=tmp_path, tools=[gate.tool], programmatic="both", containers=gone,
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        await talk.until(lambda: talk.server.containers[0]["state"] == "expired")
        gate.may_end(gate.begun[0])
        await talk.idle()
        if answer == "result":
            (ended,) = [b.raw for b in talk.last.content if b.type == "opaque"]
            assert ended["content"]["error_code"] == "container_expired"
        else:
            program, container = said(talk.bodies[-1]["messages"][-1])
            assert "interrupted" in program and "work({}): done" in program
            assert "gone" in container
        await talk.say("again")
        talk.assert_accepted(*{"error": [1], "untyped": [1, 2, 3], "result": []}[answer])
        assert len(talk.server.containers) == 2
        assert containers(talk)[-1] is None


async def test_a_program_that_was_kept_waiting_sees_a_timeout(tmp_path: Path) -> None:
    """Answered too late: the API says so in the program's output, and all goes on."""
    gate = Gate()
    code = "try:\n    print(await work())\nexcept TimeoutError as e:\n    print('late', e)"
    async with talking(
        {"program": code}, {"text": "It was late."}, {"text": "Ok."},
        cwd=tmp_path, tools=[gate.tool], programmatic="both",
        containers=ContainerOptions(result_seconds=0.2),
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        await talk.until(lambda: talk.server.containers[0]["state"] == "idle")
        gate.may_end(gate.begun[0])
        await talk.idle()
        await talk.say("and?")
        talk.assert_accepted()
        (output,) = blocks(talk.bodies[-1], "code_execution_tool_result")
        assert output["content"]["stdout"].startswith("late")
        results = [m for m in talk.conversation.messages if isinstance(m, ToolResultMessage)]
        assert [m.text for m in results] == ["done"]
