"""Every RPC command: what it answers, what it refuses, what it changes (DESIGN: RPC)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import AssistantMessage, CustomMessage, ToolCall, UserMessage
from agent_tui.headless.rpc import MAX_LINE

from .rpc_making import HANGS, Json, Rpc, calling, rpc

COMMANDS = {
    "prompt", "steer", "follow_up", "custom", "abort", "abort_tool", "continue", "queue",
    "queue_edit", "queue_move", "queue_remove", "queue_promote", "queue_demote", "queue_pause",
    "queue_resume", "send_now", "command", "set_model", "set_thinking", "state", "messages",
    "answer", "answer_question", "quit",
}  # fmt: skip


async def texts(it: Rpc) -> list[tuple[str, str]]:
    return [(item["kind"], item["text"]) for item in (await it.ok("queue"))["items"]]


async def queued(it: Rpc) -> list[str]:
    """Two of each kind; their ids."""
    kinds = ("steer", "steer", "follow_up", "follow_up")
    return [(await it.ok(k, text=f"{k} {n}"))["item_id"] for n, k in enumerate(kinds)]


# --- lines that are no commands -------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "ident", "says"),
    [
        pytest.param("[" * 100_000, None, "nested too deeply", id="deep"),
        ("{", None, "not a JSON object on one line"),
        ("hello", None, "not a JSON object on one line"),
        ("[1]", None, "a JSON object with id and type"),
        ('"prompt"', None, "a JSON object with id and type"),
        ("null", None, "a JSON object with id and type"),
        ('{"type": "state"}', None, "needs an id"),
        ('{"id": 7}', 7, "unknown type None"),
        ('{"id": "x", "type": "no_such"}', "x", "unknown type 'no_such'; known are: abort, "),
        ('{"id": 7, "type": ["state"]}', 7, "unknown type"),
        ('{"id": 7, "type": {"a": 1}}', 7, "unknown type"),
        ('{"id": 1, "type": "state", "type": "x"}', 1, "unknown type 'x'"),
        ('{"id": 1, "type": "prompt", "text": 5}', 1, "prompt needs 'text', a string"),
        ('{"id": 1, "type": "queue_move", "item_id": "a", "index": "0"}', 1,
         "queue_move needs 'index', a whole number"),
        ('{"id": 1, "type": "queue_move", "item_id": "a", "index": true}', 1, "a whole number"),
        ('{"id": 1, "type": "queue_move", "item_id": "a", "index": 1.5}', 1, "a whole number"),
    ],
)  # fmt: skip
async def test_a_line_that_is_no_command_is_answered_with_what_is_wrong(
    tmp_path: Path, line: str, ident: Any, says: str
) -> None:
    async with rpc(tmp_path) as it:
        answer = await it.line(line)
        assert (answer["id"], answer["ok"]) == (ident, False)
        assert says in answer["error"]
        assert "unexpected error" not in answer["error"]
        assert (await it.ok("state"))["status"] == "ready", "it goes on"


async def test_every_command_is_known_and_names_what_it_lacks(tmp_path: Path) -> None:
    needs = {
        "prompt": "text", "steer": "text", "follow_up": "text", "custom": "text",
        "abort_tool": "tool_call_id", "queue_edit": "item_id", "queue_move": "item_id",
        "queue_remove": "item_id", "queue_promote": "item_id", "queue_demote": "item_id",
        "command": "text", "set_model": "model", "set_thinking": "level", "answer": "decision",
    }  # fmt: skip
    async with rpc(tmp_path) as it:
        known = (await it.error("?")).partition("known are: ")[2]
        assert set(known.split(", ")) == COMMANDS
        for command, field in needs.items():
            assert await it.error(command) == f"{command} needs '{field}', a string"
        assert await texts(it) == [], "nothing was carried out"
        for command in ("prompt", "steer", "follow_up", "custom"):
            assert await it.error(command, text=" \n", kind="k") == "the text is empty"


# --- what the answers hold ------------------------------------------------------------------


async def test_state_queue_and_messages_have_the_shapes_of_the_design(tmp_path: Path) -> None:
    async with rpc(tmp_path, {"text": "Hello."}) as it:
        state = await it.ok("state")
        assert state.keys() >= {
            "status", "model", "thinking", "session_id", "cwd", "queue", "container",
            "mcp_servers", "usage",
        }  # fmt: skip
        assert state["status"] == "ready"
        assert state["cwd"] == str(tmp_path / "work")
        assert state["usage"].keys() == {"input", "output", "cache_read", "cache_write", "cost"}
        assert await it.ok("queue") == {"items": [], "paused": False}
        assert await it.ok("messages") == []

        await it.ok("prompt", text="Hi.")
        await it.idle()
        user, assistant = await it.ok("messages")
        assert (user["role"], user["content"][0]["text"]) == ("user", "Hi.")
        assert (assistant["role"], assistant["content"][0]["text"]) == ("assistant", "Hello.")
        assert (await it.ok("state"))["usage"]["input"] > 0

        item_id = (await it.ok("follow_up", text="And then?"))["item_id"]
        (item,) = (await it.ok("queue"))["items"]
        assert item == {
            "id": item_id, "kind": "follow_up", "text": "And then?", "state": "queued",
            "delivery": "after the next prompt",
        }  # fmt: skip
        assert (await it.ok("state"))["queue"] == [item]


# --- prompts, and what goes with a run --------------------------------------------------------


async def test_a_prompt_is_accepted_once_its_record_is_on_disk(tmp_path: Path) -> None:
    async with rpc(tmp_path, HANGS) as it:
        assert await it.ok("prompt", text="Remember this.") is None
        assert [m.text for m in it.stored().messages()][:1] == ["Remember this."]  # type: ignore[union-attr]
        assert await it.error("prompt", text="Again.") == "a run is on: use steer or follow_up"
        assert (await it.ok("state"))["status"] != "ready"


async def test_a_line_of_a_prompt_that_looks_like_a_command_is_a_prompt(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        await it.ok("prompt", text="/clear")
        await it.idle()
        assert (await it.ok("messages"))[0]["content"][0]["text"] == "/clear"


async def test_what_is_queued_is_accepted_once_it_is_on_disk(tmp_path: Path) -> None:
    async with rpc(tmp_path, HANGS) as it:
        await it.ok("prompt", text="Go.")
        for command, fields in (
            ("steer", {"text": "s"}), ("follow_up", {"text": "f"}),
            ("custom", {"text": "c", "kind": "note"}),
        ):  # fmt: skip
            item_id = (await it.ok(command, **fields))["item_id"]
            stored = {item.id: item for item in it.stored().queue_items()}
            assert stored[item_id].message.text == fields["text"]  # type: ignore[union-attr]
        await it.ok("queue_edit", item_id=item_id, text="changed")
        assert it.stored().queue_items()[1].message.text == "changed"  # type: ignore[union-attr]
        await it.ok("queue_pause")
        assert it.stored().queue_paused
        await it.ok("queue_remove", item_id=item_id)
        assert item_id not in [item.id for item in it.stored().queue_items()]


async def test_steering_follow_ups_and_custom_messages_go_out_in_their_order(
    tmp_path: Path,
) -> None:
    async with rpc(tmp_path, {"text": "One.", "delay_ms": 300}) as it:
        await it.ok("prompt", text="Go.")
        await it.ok("follow_up", text="F")
        await it.ok("steer", text="S")
        await it.ok("custom", text="C", kind="note")
        await it.idle()
        said = [m for m in it.conversation.messages if isinstance(m, UserMessage | CustomMessage)]
        assert [m.text for m in said] == ["Go.", "S", "C", "F"]
        assert [m.kind for m in said if isinstance(m, CustomMessage)] == ["note"]
        delivered = [e["text"] for e in it.all("queue_delivered")]
        assert delivered == ["S", "C", "F"]


async def test_while_idle_what_is_queued_waits_for_the_next_prompt(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        await it.ok("steer", text="S")
        assert (await it.ok("state"))["status"] == "ready"
        await it.ok("prompt", text="Go.")
        await it.idle()
        assert [m.text for m in it.conversation.messages if m.role == "user"] == ["Go.", "S"]  # type: ignore[union-attr]


async def test_abort_ends_the_run_and_leaves_the_queue(tmp_path: Path) -> None:
    async with rpc(tmp_path, HANGS, HANGS) as it:
        assert await it.ok("abort") is None, "nothing to stop is no error"
        await it.ok("prompt", text="Go.")
        await it.ok("steer", text="S")
        await it.event("message_update")
        await it.ok("abort")
        assert {"type": "status", "status": "stopping"} in it.lines, "said at once"
        await it.idle()
        assert it.conversation.messages[-1].stop_reason == "aborted"  # type: ignore[union-attr]
        assert await texts(it) == [("steer", "S")]
        assert (await it.ok("queue"))["paused"] is False
        await it.ok("queue_resume")
        await it.until(lambda: it.all("queue_delivered"))
        await it.ok("follow_up", text="F")
        await it.ok("abort", pause_queue=True)
        await it.idle()
        assert (await it.ok("queue"))["paused"] is True


async def test_abort_tool_stops_one_call_and_the_run_goes_on(tmp_path: Path) -> None:
    async with rpc(tmp_path, calling("sleep 600", "echo fine"), allow=["shell"]) as it:
        assert await it.ok("abort_tool", tool_call_id="none") == {"stopped": False}
        await it.ok("prompt", text="Go.")
        await it.event("tool_execution_end")
        assert await it.ok("abort_tool", tool_call_id="toolu_0") == {"stopped": True}
        await it.idle()
        ends = {e["tool_call_id"]: e for e in it.all("tool_execution_end")}
        assert ends["toolu_0"]["is_error"] is True
        assert ends["toolu_1"]["is_error"] is False
        assert it.conversation.messages[-1].text == "(unscripted)"  # type: ignore[union-attr]


async def test_abort_tool_stops_a_call_that_is_still_being_written(tmp_path: Path) -> None:
    """The server sees its stream close; the model is told why, and the call never runs."""
    slow = calling("touch never " + "x" * 4000) | {"chunk_size": 4, "chunk_delay_ms": 20}
    async with rpc(tmp_path, slow, allow=["shell"]) as it:
        await it.ok("prompt", text="Go.")
        await it.until(lambda: [e for e in it.all("message_update")
                                if e["event"].get("delta", "").count("x") > 3])  # fmt: skip
        stop = {"tool_call_id": "toolu_0", "reason": "wrong folder"}
        assert await it.ok("abort_tool", **stop) == {"stopped": True}
        await it.idle()
        first, second = [e for e in it.server.journal if e["path"].startswith("/v1/messages")]
        assert (first["closed_by_client"], first["at"]) == (True, "arguments")
        assert second["status"] == 200
        assert second["body"]["messages"][-2]["content"][-1]["input"] == {}
        (result,) = second["body"]["messages"][-1]["content"]
        assert result["is_error"] is True
        told = result["content"][0]["text"]
        assert told.startswith(
            "Not run: the user stopped this call before its arguments were complete: wrong folder"
        )
        assert "touch never" in told
        assert not (tmp_path / "work" / "never").exists()


async def test_send_now_skips_what_has_not_started(tmp_path: Path) -> None:
    async with rpc(tmp_path, calling("echo never")) as it:
        assert await it.ok("send_now") == {"sent": False}
        await it.ok("prompt", text="Go.")
        await it.event("permission_request")
        assert await it.ok("send_now") == {"sent": False}, "nothing to send"
        await it.ok("steer", text="Leave that.")
        assert await it.ok("send_now") == {"sent": True}
        await it.idle()
        roles = [m.role for m in it.conversation.messages]
        assert roles == ["user", "assistant", "toolResult", "user", "assistant"]
        assert it.conversation.messages[2].is_error  # type: ignore[union-attr]


async def test_continue_goes_on_from_the_transcript(tmp_path: Path) -> None:
    async with rpc(tmp_path, {"status": 400, "error": "no"}) as it:
        assert "nothing to continue" in await it.error("continue")
        await it.conversation.agent.add_message(UserMessage(content="Said before a crash."))  # type: ignore[arg-type]
        assert await it.ok("continue") is None
        assert "running" in await it.error("continue")
        await it.idle()
        assert it.server.journal[0]["status"] == 400
        await it.ok("steer", text="Again.")
        await it.ok("queue_resume")
        await it.idle()
        assert it.conversation.messages[-1].text == "(unscripted)"  # type: ignore[union-attr]


async def test_continue_goes_on_from_calls_that_a_crash_left_open(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        agent = it.conversation.agent
        await agent.add_message(UserMessage(content="Go."))  # type: ignore[arg-type]
        calls = [ToolCall(id="toolu_0", name="shell", arguments={"command": "echo never"})]
        answer = AssistantMessage(content=calls, stop_reason="tool_use")  # type: ignore[arg-type]
        await agent.add_message(answer)
        await it.ok("continue")
        await it.idle()
        (entry,) = it.server.journal
        assert entry["status"] == 200, entry["error"]
        (result,) = entry["body"]["messages"][-1]["content"]
        assert (result["type"], result["is_error"]) == ("tool_result", True)
        assert it.all("tool_execution_start") == [], "it is not run again"
        assert it.conversation.messages[-1].text == "(unscripted)"  # type: ignore[union-attr]


async def test_continue_is_refused_while_a_broken_answer_waits_for_its_retry(
    tmp_path: Path,
) -> None:
    async with rpc(tmp_path, {"text": "Cut.", "cut": True}) as it:
        it.conversation.driver._policy.first_wait_s = 60
        await it.ok("prompt", text="Go.")
        retry = await it.event("retry")
        assert retry.keys() >= {"attempt", "wait_s", "reason"}
        assert "running" in await it.error("continue")
        assert await it.error("prompt", text="x") == "a run is on: use steer or follow_up"
        await it.ok("abort")
        await it.idle()
        held = [m.id for m in it.conversation.messages]
        assert await it.conversation.recorded()
        assert [m.id for m in it.stored().messages()] == held, "as after a restart"


# --- the queue ----------------------------------------------------------------------------------


async def test_the_queue_is_edited_moved_and_sorted(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        s0, s1, f2, f3 = await queued(it)
        await it.ok("queue_edit", item_id=s0, text="edited")
        await it.ok("queue_move", item_id=s1, index=0)
        assert await texts(it) == [
            ("steer", "steer 1"), ("steer", "edited"),
            ("follow_up", "follow_up 2"), ("follow_up", "follow_up 3"),
        ]  # fmt: skip
        await it.ok("queue_promote", item_id=f3)
        await it.ok("queue_demote", item_id=s1)
        await it.ok("queue_remove", item_id=f2)
        assert await texts(it) == [
            ("steer", "edited"), ("steer", "follow_up 3"), ("follow_up", "steer 1")
        ]  # fmt: skip
        assert [i.message.text for i in it.stored().queue_items()] == [  # type: ignore[union-attr]
            "edited", "follow_up 3", "steer 1"
        ]  # fmt: skip
        last = it.all("queue_changed")[-1]
        assert last.keys() == {"type", "items", "paused"}
        assert [i["text"] for i in last["items"]] == ["edited", "follow_up 3", "steer 1"]


@pytest.mark.parametrize("index", [-5, 99])
async def test_a_move_beyond_the_ends_stops_there(tmp_path: Path, index: int) -> None:
    async with rpc(tmp_path) as it:
        s0, s1, *_ = await queued(it)
        await it.ok("queue_move", item_id=s1 if index < 0 else s0, index=index)
        assert (await texts(it))[:2] == [("steer", "steer 1"), ("steer", "steer 0")]


async def test_an_item_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        gone = (await it.ok("steer", text="S"))["item_id"]
        await it.ok("queue_remove", item_id=gone)
        for command in ("queue_edit", "queue_move", "queue_remove", "queue_promote",
                        "queue_demote"):  # fmt: skip
            more: Json = {"text": "x", "index": 0}
            assert "no_such" in await it.error(command, item_id="no_such", **more)
            assert "withdrawn" in await it.error(command, item_id=gone, **more)
        assert await texts(it) == []
        item_id = (await it.ok("steer", text="S"))["item_id"]
        assert await it.error("queue_edit", item_id=item_id, text="") == "the text is empty"


async def test_a_paused_queue_waits_until_it_is_resumed(tmp_path: Path) -> None:
    async with rpc(tmp_path, {"text": "One.", "delay_ms": 200}) as it:
        await it.ok("prompt", text="Go.")
        await it.ok("queue_pause")
        await it.ok("steer", text="S")
        (item,) = (await it.ok("queue"))["items"]
        assert item["state"] == "paused"
        await it.idle()
        assert await texts(it) == [("steer", "S")]
        await it.ok("queue_resume")
        await it.idle()
        assert await texts(it) == []
        assert [m.text for m in it.conversation.messages if m.role == "user"] == ["Go.", "S"]  # type: ignore[union-attr]


# --- settings and commands ------------------------------------------------------------------------


async def test_model_and_thinking_change_from_the_next_request_on(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        await it.ok("set_model", model="claude-opus-4-8")
        await it.ok("set_thinking", level="high")
        assert "no thinking level; the levels are off, low" in await it.error(
            "set_thinking", level="much"
        )
        state = await it.ok("state")
        assert (state["model"], state["thinking"]) == ("claude-opus-4-8", "high")
        assert "name of the model is empty" in await it.error("set_model", model=" ")
        assert (await it.ok("state"))["model"] == "claude-opus-4-8"
        changed = [(e["name"], e["value"]) for e in it.all("setting_changed")]
        assert changed == [("model", "claude-opus-4-8"), ("thinking", "high")]
        await it.ok("prompt", text="Go.")
        await it.idle()
        assert it.server.journal[-1]["body"]["model"] == "claude-opus-4-8"
        assert (it.stored().model, it.stored().thinking) == ("claude-opus-4-8", "high")


async def test_a_command_line_is_run_and_its_result_returned(tmp_path: Path) -> None:
    async with rpc(tmp_path, HANGS) as it:
        data = await it.ok("command", text="/help")
        assert data.keys() == {"text", "action", "data"}
        assert "/clear" in data["text"]
        assert "Did you mean /help" in await it.error("command", text="/hlep")
        assert "begins with /" in await it.error("command", text="help")
        assert "begins with /" in await it.error("command", text="/etc/passwd")
        await it.ok("prompt", text="Go.")
        queued = await it.ok("command", text="/clear")
        assert queued["action"] == "queued"
        (item,) = (await it.ok("queue"))["items"]
        assert item["id"] == queued["data"]["item_id"]
        assert (item["text"], item["delivery"]) == ("/clear", "when the run ends")
        await it.ok("abort")
        await it.idle()
        assert len(await it.ok("messages")) == 2, "an abort leaves the queue for what comes next"
        assert (await it.ok("command", text="/clear"))["action"] == "clear"
        assert await it.ok("messages") == []


async def test_a_command_that_waited_tells_what_it_gave(tmp_path: Path) -> None:
    async with rpc(tmp_path, HANGS) as it:
        await it.ok("prompt", text="Go.")
        await it.event("message_update")
        first = (await it.ok("state"))["session_id"]
        await it.ok("command", text="/clear")
        await it.ok("follow_up", text="For the new one.")
        await it.ok("abort")
        await it.idle()
        await it.ok("queue_resume")
        await it.idle()
        (ran,) = it.all("command_ran")
        assert (ran["line"], ran["action"], ran["error"]) == ("/clear", "clear", None)
        assert (await it.ok("state"))["session_id"] != first
        assert [m["role"] for m in await it.ok("messages")] == ["user", "assistant"]
        assert it.server.journal[-1]["body"]["messages"][0]["content"][0]["text"] == (
            "For the new one."
        )
        assert (await it.ok("queue"))["items"] == []
        await it.ok("command", text=f"/resume {first}")
        assert (await it.ok("queue"))["items"] == [], "it went along with the command"


async def test_each_session_goes_on_with_its_own_model_and_thinking_level(tmp_path: Path) -> None:
    async with rpc(tmp_path, models=["claude-opus-4-8", "claude-sonnet-5-5"]) as it:

        async def now() -> tuple[str, str]:
            state = await it.ok("state")
            return state["model"], state["thinking"]

        await it.ok("prompt", text="One.")
        await it.idle()
        first, by_settings = (await it.ok("state"))["session_id"], await now()
        await it.ok("command", text="/clear")
        assert await now() == by_settings
        await it.ok("set_model", model="claude-opus-4-8")
        await it.ok("set_thinking", level="max")
        await it.ok("command", text="/clear")
        assert await now() == ("claude-opus-4-8", "max"), "what was chosen stays chosen"
        await it.ok("prompt", text="Two.")
        await it.idle()
        second = (await it.ok("state"))["session_id"]
        assert (it.stored().model, it.stored().thinking) == ("claude-opus-4-8", "max")
        told = len(it.all("setting_changed"))
        await it.ok("command", text=f"/resume {first}")
        assert await now() == by_settings
        assert [(e["name"], e["value"]) for e in it.all("setting_changed")[told:]] == [
            ("model", by_settings[0]), ("thinking", by_settings[1]),
        ]  # fmt: skip
        await it.ok("command", text=f"/resume {second}")
        assert await now() == ("claude-opus-4-8", "max")
        await it.ok("prompt", text="Three.")
        await it.idle()
        body = it.server.journal[-1]["body"]
        assert (body["model"], body["output_config"]) == ("claude-opus-4-8", {"effort": "max"})


async def test_each_session_keeps_its_own_queue(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        first = (await it.ok("state"))["session_id"]
        await it.ok("prompt", text="One.")
        await it.idle()
        await it.ok("steer", text="For the first.")
        await it.ok("queue_pause")
        await it.ok("command", text="/clear")
        assert await it.ok("queue") == {"items": [], "paused": False}
        await it.ok("follow_up", text="For the second.")
        second = (await it.ok("state"))["session_id"]
        for session_id, item, paused in (
            (first, ("steer", "For the first."), True),
            (second, ("follow_up", "For the second."), False),
            (first, ("steer", "For the first."), True),
        ):
            await it.ok("command", text=f"/resume {session_id}")
            assert await texts(it) == [item]
            assert (await it.ok("queue"))["paused"] is paused
        await it.ok("queue_resume")
        await it.idle()
        assert await texts(it) == []
        assert it.stored().queue_items() == []


@pytest.mark.parametrize("line", ['{"type": "quit"', '{"type": "command", "text": "/quit"'])
async def test_quit_is_answered_and_asks_for_the_end(tmp_path: Path, line: str) -> None:
    async with rpc(tmp_path) as it:
        answer = await it.line(line + ', "id": "bye"}')
        assert (answer["id"], answer["ok"]) == ("bye", True)
        assert it.face.quit.is_set()


# --- permissions --------------------------------------------------------------------------------


async def test_a_tool_that_asks_waits_for_its_answer(tmp_path: Path) -> None:
    turns = [calling("echo a", "echo b"), calling("echo c"), calling("echo c")]
    async with rpc(tmp_path, *turns) as it:
        await it.ok("prompt", text="Go.")
        request = await it.event("permission_request")
        assert request.keys() >= {"request_id", "tool_call_id", "tool_name", "arguments"}
        assert (request["tool_call_id"], request["tool_name"]) == ("toolu_0", "shell")
        assert request["arguments"] == {"command": "echo a"}
        first = request["request_id"]
        assert "no decision" in await it.error("answer", request_id=first, decision="maybe")
        assert "no longer open" in await it.error("answer", request_id="x", decision="allow")
        assert await it.ok("answer", request_id=first, decision="allow") is None
        assert "no longer open" in await it.error("answer", request_id=first, decision="deny")
        second = (await it.event("permission_request", 2))["request_id"]
        await it.ok("answer", request_id=second, decision="deny", reason="Not today.")
        third = (await it.event("permission_request", 3))["request_id"]
        await it.ok("answer", request_id=third, decision="allow_always")
        await it.idle()
        assert len(it.all("permission_request")) == 3, "always: the same is not asked again"
        results = [m.text.strip() for m in it.conversation.messages if m.role == "toolResult"]  # type: ignore[union-attr]
        assert results[0] == "a"
        assert "Not today." in results[1]
        assert results[2:] == ["c", "c"]


async def test_abort_withdraws_what_was_asked(tmp_path: Path) -> None:
    async with rpc(tmp_path, calling("echo a")) as it:
        await it.ok("prompt", text="Go.")
        request = await it.event("permission_request")
        await it.ok("abort")
        await it.idle()
        resolved = await it.event("permission_resolved")
        assert (resolved["request_id"], resolved["decision"]) == (
            request["request_id"],
            "withdrawn",
        )
        late = await it.error("answer", request_id=request["request_id"], decision="allow")
        assert "no longer open" in late


# --- events ---------------------------------------------------------------------------------------


async def test_events_are_those_of_the_design_and_never_repeat_the_partial(tmp_path: Path) -> None:
    text = "All of these words come in small pieces. " * 60
    arguments = {"path": "absent.txt", "limit": 5}
    turn: Json = {
        "thinking": "Let me think about that. " * 40, "text": text, "chunk_size": 8,
        "tool_calls": [{"id": "toolu_0", "name": "read", "input": arguments}],
    }  # fmt: skip
    async with rpc(tmp_path, turn) as it:
        await it.ok("prompt", text="Go.")
        await it.idle()
        kinds = [line["type"] for line in it.lines if line["type"] not in
                 ("status", "response", "usage", "cache", "context", "message_update")]  # fmt: skip
        assert kinds == [
            "agent_start", "turn_start", "message_start", "message_end", "message_start",
            "message_end", "tool_execution_start", "tool_execution_end", "message_start",
            "message_end", "turn_end", "turn_start", "message_start", "message_end", "turn_end",
            "agent_end",
        ]  # fmt: skip
        start = it.all("message_start")[1]
        assert start["message"]["content"] == []
        updates = [u for u in it.all("message_update") if u["message_id"] == start["message"]["id"]]
        assert all(u.keys() == {"type", "message_id", "event"} for u in updates)

        def joined(kind: str) -> str:
            return "".join(u["event"]["delta"] for u in updates if u["event"]["type"] == kind)

        end = it.all("message_end")[1]["message"]
        assert end["id"] == start["message"]["id"]
        assert joined("text_delta") == text == end["content"][1]["text"]
        assert joined("thinking_delta") == turn["thinking"] == end["content"][0]["thinking"]
        assert json.loads(joined("toolcall_delta")) == arguments == end["content"][2]["arguments"]
        longest = max(len(json.dumps(u)) for u in updates if u["event"]["type"].endswith("_delta"))
        assert longest < 400, "a delta's line does not grow with what came before"

        tool = it.all("tool_execution_start")[0]
        assert tool.keys() == {"type", "tool_call_id", "tool_name", "arguments", "caller"}
        ended = it.all("tool_execution_end")[0]
        assert ended.keys() == {
            "type", "tool_call_id", "tool_name", "result", "is_error", "duration_ms", "caller"
        }  # fmt: skip
        assert ended["is_error"] is True
        turn_end = it.all("turn_end")[0]
        assert turn_end["message"]["id"] == end["id"]
        assert [r["tool_call_id"] for r in turn_end["tool_results"]] == ["toolu_0"]
        new = [m["id"] for m in it.all("agent_end")[0]["messages"]]
        assert new == [m.id for m in it.conversation.messages]
        usage = it.all("usage")[-1]
        assert usage.keys() >= {"input", "output", "cache_read", "cache_write", "cost"}


async def test_a_line_that_is_too_long_is_refused_alone(tmp_path: Path) -> None:
    async with rpc(tmp_path) as it:
        it.face.refuse_line(f"a command may be {MAX_LINE} bytes long at most")
        assert it.lines[-1]["id"] is None
        assert it.lines[-1]["ok"] is False
        await it.ok("state")


async def test_a_slow_disk_delays_an_answer_and_not_the_run(tmp_path: Path) -> None:
    """Events go on while an answer waits for the disk."""
    async with rpc(tmp_path, {"text": "A. " * 50, "chunk_delay_ms": 2}, HANGS) as it:
        held = asyncio.Event()
        written = it.conversation._link.written

        async def slow() -> bool:
            await held.wait()
            return await written()

        it.conversation._link.written = slow  # type: ignore[method-assign]
        asking = asyncio.create_task(it.call("prompt", text="Go."))
        await it.event("message_update", 10)
        assert not asking.done(), "not accepted before it is on disk"
        held.set()
        assert (await asking)["ok"] is True
