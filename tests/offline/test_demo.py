"""The demo: what it calls, and that what it says follows from the results, not from a script."""

import base64
import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_helpers import Serve

from agent_tui.messages_api.wire_history import ABORTED, FAILED
from agent_tui.offline.demo import demo_reply
from agent_tui.offline.demo.intents import find_script
from agent_tui.offline.demo.turn import current_turn
from agent_tui.offline.models import DEMO_NAME
from agent_tui.offline.rules import validate_request
from agent_tui.offline.signing import is_signed

BUILTIN = ["read", "write", "edit", "list", "glob", "grep", "shell"]


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"The {name} tool.",
        "input_schema": {"type": "object"},
    } | more


class Chat:
    """A conversation with the demo; every request is held against the rules."""

    def __init__(self, *tools: Any, **fields: Any) -> None:
        offered = tools or tuple(BUILTIN)
        self.fields: dict[str, Any] = {
            "model": "demo",
            "max_tokens": 32_000,
            "tools": [tool(t) if isinstance(t, str) else t for t in offered],
            "thinking": {"type": "adaptive"},
        } | fields
        self.messages: list[dict[str, Any]] = []

    def body(self) -> dict[str, Any]:
        return copy.deepcopy(self.fields | {"messages": self.messages})

    def _reply(self) -> list[dict[str, Any]]:
        body = self.body()
        assert validate_request(body, knows_signature=is_signed) == []
        reply = demo_reply(body)
        again = demo_reply(self.body())
        assert (reply.content, reply.stop_reason) == (again.content, again.stop_reason)
        calls = [b for b in reply.content if b["type"] == "tool_use"]
        self.stop_reason = reply.stop_reason
        if reply.stop_reason not in ("max_tokens", "refusal"):
            assert reply.stop_reason == ("tool_use" if calls else "end_turn")
        if reply.content:
            self.messages.append({"role": "assistant", "content": reply.content})
        self.calls = [(b["name"], b["input"]) for b in calls]
        self.pending = calls
        self.text = "".join(b["text"] for b in reply.content if b["type"] == "text")
        self.thinking = "".join(b["thinking"] for b in reply.content if b["type"] == "thinking")
        return reply.content

    def say(self, *texts: str) -> "Chat":
        self.messages += [{"role": "user", "content": text} for text in texts]
        self._reply()
        return self

    def give(self, *results: Any, said: str | None = None) -> "Chat":
        """Answers the pending calls: text, or (text,) for an error; `said` comes along."""
        assert len(results) == len(self.pending)
        blocks: list[dict[str, Any]] = []
        for call, outcome in zip(self.pending, results, strict=True):
            failed = isinstance(outcome, tuple)
            content = outcome[0] if failed else outcome
            blocks.append(
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": content,
                    "is_error": failed,
                }
            )
        self.messages.append({"role": "user", "content": blocks})
        if said is not None:
            self.messages.append({"role": "user", "content": said})
        self._reply()
        return self


# --- each kind of request, to its end ---------------------------------------------------


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("list the files", [("list", {})]),
        ("please list files in src", [("list", {"path": "src"})]),
        ("ls", [("list", {})]),
        ("Could you read README.md?", [("read", {"path": "README.md"})]),
        ("read @docs/a.md", [("read", {"path": "docs/a.md"})]),
        ('read "my notes and plans.txt"', [("read", {"path": "my notes and plans.txt"})]),
        ("read a.py lines 10-20", [("read", {"path": "a.py", "offset": 10, "limit": 11})]),
        ("read a.py, b.py and c.py", [("read", {"path": p}) for p in ("a.py", "b.py", "c.py")]),
        ("search TODO", [("grep", {"pattern": "TODO"})]),
        ("search for 'def total' in shop", [("grep", {"pattern": "def total", "path": "shop"})]),
        ("find files *.py", [("glob", {"pattern": "*.py"})]),
        ("run ls -la | head", [("shell", {"command": "ls -la | head"})]),
        ("run `git status`", [("shell", {"command": "git status"})]),
        (
            "write notes.txt: hello\nthere",
            [("write", {"path": "notes.txt", "content": "hello\nthere\n"})],
        ),
        ("make a tool fail", [("read", {"path": "no-such-file.txt"})]),
        ('call read with {"path": "x"}', [("read", {"path": "x"})]),
        ("never mind, list the files instead", [("list", {})]),
    ],
)
def test_what_is_called(said: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert Chat().say(said).calls == calls


class TestAnswersFollowResults:
    """Two different results, two different answers, each with what is in its own result."""

    def test_list(self) -> None:
        chat = Chat().say("list the files").give("alpha.md  3 B\nbeta/\n[1 more hidden]")
        assert "2 entries" in chat.text and "`alpha.md 3 B`" in chat.text and "`beta/`" in chat.text
        assert "read alpha.md" in chat.text
        other = Chat().say("list the files").give("gamma/")
        assert "1 entry" in other.text and "gamma" in other.text and "alpha" not in other.text

    def test_read_counts_lines_and_words_without_the_numbering(self) -> None:
        numbered = "     1\tone two\n     2\t\n     3\tthree"
        assert "`f`: 3 lines, 3 words" in Chat().say("read f").give(numbered).text
        assert "`f`: 2 lines, 4 words" in Chat().say("read f").give("a b\nc d\n").text

    def test_read_two_keeps_them_apart(self) -> None:
        chat = Chat().say("read a and b").give("first file", ("b does not exist",))
        assert "`a`: 1 line" in chat.text and "first file" in chat.text
        assert "`read` failed. There is nothing under that name" in chat.text
        assert "b does not exist" in chat.text

    def test_search_counts_lines_by_file(self) -> None:
        chat = (
            Chat().say("search x").give("a.py:1:x\na.py:9:xx\nb|c.py:2:x\n\n[Searched: 3 files.]")
        )
        assert "3 matching lines in 2 files" in chat.text
        assert "| `a.py` | 2 |" in chat.text
        assert "| `b\\|c.py` | 1 |" in chat.text
        assert "No line matches" in Chat().say("search x").give("[No line matches.]").text

    def test_run_quotes_what_was_printed(self) -> None:
        chat = Chat().say("run date").give("Mon Nov 30\nsecond")
        assert "2 lines" in chat.text and "Mon Nov 30" in chat.text
        failed = Chat().say("run date").give(("oops\n[exit code 3]",))
        assert "exit code" in failed.text and "oops" in failed.text

    def test_count_adds_up_what_the_command_printed(self) -> None:
        chat = Chat().say("count the lines of code")
        assert chat.calls[0][0] == "shell" and "wc -l" in chat.calls[0][1]["command"]
        chat.give("  10 ./a.py\n 200 ./b c.py\n   7 ./x.rs\n 217 total")
        assert "**217 lines** in 3 files" in chat.text
        assert "| `.py` | 2 | 210 |" in chat.text and "| `.rs` | 1 | 7 |" in chat.text

    def test_a_program_that_cannot_run_here_says_how_to_switch_it_on(self) -> None:
        for said in ("count the lines of code with a program", "run a program"):
            chat = Chat().say(said)
            assert "/tools" in chat.text and "code execution" in chat.text
            assert chat.calls == [] and chat.stop_reason == "end_turn"

    def test_edit_looks_first_and_changes_only_what_is_there(self) -> None:
        chat = Chat().say("edit n.txt: replace old by 'new text'")
        assert chat.calls == [("read", {"path": "n.txt"})]
        chat.give("     1\tthe old and the old")
        assert "2 places" in chat.text
        assert chat.calls == [
            ("edit", {"path": "n.txt", "edits": [{"old": "old", "new": "new text"}]})
        ]
        assert "`n.txt` is changed" in chat.give("n.txt: 1 edit made.").text
        absent = Chat().say("edit n.txt: replace old by new").give("     1\tnothing here")
        assert absent.calls == [] and "I leave `n.txt` alone" in absent.text

    def test_write_says_whether_it_worked(self) -> None:
        assert "`n.txt` is written" in Chat().say("write n.txt: x").give("Wrote n.txt").text
        refused = Chat().say("write n.txt: x").give(("refused by the user",))
        assert "is written" not in refused.text and "not permitted" in refused.text

    def test_wait_counts_the_ticks_that_came(self) -> None:
        chat = Chat().say("wait 3 seconds")
        assert "seq 1 3" in chat.calls[0][1]["command"]
        assert "2 of 3 ticks" in chat.give(("tick 1\ntick 2\ninterrupted by user",)).text

    def test_things_at_once_are_in_one_message_and_told_apart(self) -> None:
        chat = Chat().say("run three things at once")
        assert len(chat.calls) == 3 and len({json.dumps(c) for c in chat.calls}) == 3
        chat.give("first", ("second failed",), "third")
        assert "3 results came back, 1 of them failed" in chat.text
        assert "first `first`" in chat.text and "failed: second failed" in chat.text

    def test_make_a_tool_fail(self) -> None:
        assert (
            "goes on all the same" in Chat().say("make a tool fail").give(("does not exist",)).text
        )
        assert "did not fail" in Chat().say("make a tool fail").give("it is there").text

    def test_a_fence_in_a_result_does_not_end_the_quote(self) -> None:
        text = Chat().say("run x").give("```\nfenced\n```` \n").text
        opening = re.search(r"^(`+)text$", text, re.M)
        assert opening and len(opening[1]) == 5

    def test_a_long_result_is_shown_in_part_and_says_so(self) -> None:
        text = Chat().say("run x").give("\n".join(f"row {n}" for n in range(40))).text
        assert "40 lines" in text and "row 11" in text and "row 12" not in text
        assert "and 28 more lines" in text

    def test_a_result_of_another_kind(self) -> None:
        image = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
        assert "1 image" in Chat().say("run x").give([image]).text
        assert "nothing back" in Chat().say("run x").give("").text


class TestTour:
    def test_it_goes_through_several_turns(self) -> None:
        chat = Chat().say("tour")
        assert chat.calls == [("list", {})]
        chat.give("src/\nREADME.md  20 B\nz.py  1 B")
        assert [c[0] for c in chat.calls] == ["read", "grep"]
        assert chat.calls[0][1] == {"path": "README.md"}
        chat.give("hello", "a.py:1:TODO")
        assert chat.calls == [("read", {"path": "no-such-file.txt"})]
        chat.give(("no-such-file.txt does not exist",))
        assert chat.calls[0][0] == "shell"
        chat.give("step 1\nstep 2")
        assert chat.calls == []
        assert chat.text.count("| `read` |") == 2
        assert "failed: no-such-file.txt does not exist" in chat.text
        assert "2 lines, first `step 1`" in chat.text

    def test_it_picks_a_file_that_the_listing_names(self) -> None:
        assert Chat().say("tour").give("only.toml").calls[0] == ("read", {"path": "only.toml"})
        assert Chat().say("tour").give("folder/").calls == [("grep", {"pattern": "TODO"})]

    def test_it_leaves_out_what_the_request_does_not_offer(self) -> None:
        chat = Chat("list").say("tour").give("a.md")
        assert chat.calls == [] and "`shell`" in chat.text

    def test_steering_on_the_way_is_told_back_and_the_tour_goes_on(self) -> None:
        chat = Chat().say("tour").give("README.md", said="mind the gap")
        assert "You also said: `mind the gap`" in chat.text
        assert [c[0] for c in chat.calls] == ["read", "grep"]
        chat.give("x", "y")
        assert "mind the gap" not in chat.text

    def test_words_of_the_program_are_not_told_as_the_users(self) -> None:
        for note in (ABORTED, FAILED):
            chat = Chat().say(f"{note}")
            assert "The answer before" not in chat.text
        body_text = [{"type": "text", "text": ABORTED}, {"type": "text", "text": "sing a song"}]
        spoken = current_turn(
            {"messages": [{"role": "user", "content": body_text}]}, lambda _: False
        )
        assert spoken.prompt == "sing a song"


class TestSteering:
    def test_a_note_is_told_back_with_the_result(self) -> None:
        chat = Chat().say("run sleep 5").give("done", said="don't touch db.py")
        assert "You also said: `don't touch db.py`" in chat.text
        assert "`shell` gave 1 line" in chat.text

    def test_a_task_takes_over(self) -> None:
        chat = Chat().say("run sleep 5").give("half", said="read README.md instead")
        assert "You also said: `read README.md instead`" in chat.text
        assert "`shell`: 1 line" in chat.text
        assert chat.calls == [("read", {"path": "README.md"})]
        assert "`README.md`: 1 line" in chat.give("text").text

    def test_after_an_abort_the_new_prompt_counts(self) -> None:
        chat = (
            Chat().say("run sleep 60").give(("interrupted by user",), said="never mind, list files")
        )
        assert chat.calls == [("list", {})]
        assert "failed: interrupted by user" in chat.text

    def test_several_messages_at_once(self) -> None:
        chat = Chat().say("first a note", "list the files")
        assert "You also said: `first a note`" in chat.text
        assert chat.calls == [("list", {})]

    def test_stop(self) -> None:
        chat = Chat().say("tour").give("README.md", said="stop after this")
        assert chat.calls == [] and "I stop here" in chat.text

    def test_a_follow_up_is_a_task_of_its_own(self) -> None:
        chat = Chat().say("read a").give("x").say("read b")
        assert chat.calls == [("read", {"path": "b"})]
        assert "You also said" not in chat.text

    def test_text_beside_the_task_in_one_message_does_not_hide_it(self) -> None:
        """A file that was mentioned travels as a block of its own."""
        chat = Chat()
        blocks = [
            {"type": "text", "text": "list the files"},
            {"type": "text", "text": "<file>x</file>"},
        ]
        chat.messages = [{"role": "user", "content": blocks}]
        chat._reply()
        assert chat.calls == [("list", {})]


class TestTalk:
    @pytest.mark.parametrize("said", ["who are you?", "What model are you", "are you Claude?"])
    def test_it_says_what_it_is(self, said: str) -> None:
        assert Chat().say(said).text.startswith(DEMO_NAME)
        assert DEMO_NAME == "demo: scripted replies, no model"

    @pytest.mark.parametrize(
        "said", ["help", "what can you do?", "find out why it is slow", "好", "?"]
    )
    def test_help_and_the_unknown_tell_what_it_can_do(self, said: str) -> None:
        chat = Chat().say(said)
        assert chat.calls == []
        for hint in ("list the files", "tour", "write a long answer", "call TOOL with"):
            assert hint in chat.text

    def test_every_hint_of_the_help_is_a_task(self) -> None:
        from agent_tui.offline.demo.texts import CAN_DO

        hints = re.findall(r"`([^`]+)`", CAN_DO)
        assert len(hints) > 15
        for hint in hints:
            assert find_script(hint), hint

    @pytest.mark.parametrize("word", ["hello", "你好 🙂", "a\nb", "**not bold**"])
    def test_echo(self, word: str) -> None:
        assert Chat().say(f"repeat after me: {word}").text == word

    def test_think(self) -> None:
        chat = Chat().say("think about rivers")
        assert "rivers" in chat.thinking and len(chat.thinking) > 500
        assert "rivers" in chat.text
        off = Chat(thinking={"type": "disabled"}).say("think about rivers")
        assert off.thinking == "" and "Thinking is off" in off.text

    def test_thinking_off_is_none_anywhere(self) -> None:
        for fields in ({"thinking": {"type": "disabled"}}, {"thinking": None}):
            chat = Chat(**fields).say("tour")
            assert chat.thinking == "" and chat.calls

    def test_thinking_omitted_is_signed_and_empty(self) -> None:
        chat = Chat(thinking={"type": "adaptive", "display": "omitted"}).say("read a")
        block = chat.messages[-1]["content"][0]
        assert block["type"] == "thinking" and block["thinking"] == ""
        assert is_signed("", block["signature"])

    def test_a_long_answer(self) -> None:
        text = Chat().say("write a long answer").text
        assert len(text) > 4000
        for part in ("| stop reason |", "```python", "```rust", "- [x]", "你好", "한국어", "> "):
            assert part in text
        assert text.count("```") % 2 == 0

    def test_words_by_number(self) -> None:
        chat = Chat(max_tokens=64_000).say("write 5000 words")
        assert 5000 <= len(chat.text.split()) < 5600

    def test_max_tokens_cuts(self) -> None:
        chat = Chat(max_tokens=100).say("write a long answer")
        assert len(chat.text) <= 400 and chat.stop_reason == "max_tokens"

    def test_which_tools(self) -> None:
        text = Chat("read", "everything__add").say("which tools do you have?").text
        assert "2 tools" in text and "`everything__add`" in text and "everything" in text

    def test_refusal(self) -> None:
        assert Chat().say("show a refusal").stop_reason == "refusal"

    def test_summarize_counts_what_happened(self) -> None:
        chat = Chat().say("read a").give("x").say("run date").give("y").say("summarize")
        assert "`read` 1×" in chat.text and "`shell` 1×" in chat.text
        assert "- `read a`" in chat.text and "9 messages" in chat.text

    def test_images_are_named_by_kind_and_size(self) -> None:
        chat = Chat()
        png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(62)).decode()
        source = {"type": "base64", "media_type": "image/png", "data": png}
        chat.messages = [{"role": "user", "content": [{"type": "image", "source": source}]}]
        chat._reply()
        assert "1 image" in chat.text and "image/png, 70 bytes" in chat.text


class TestTools:
    def test_a_tool_that_is_missing_is_named_with_what_there_is(self) -> None:
        chat = Chat("read").say("run date")
        assert chat.calls == [] and "`shell`" in chat.text and "It has: `read`" in chat.text

    def test_any_tool_by_name(self) -> None:
        add = tool("everything__add")
        chat = Chat(add).say('call add with {"a": 2, "b": "x\\"y"}')
        assert chat.calls == [("everything__add", {"a": 2, "b": 'x"y'})]
        assert "the sum is 5" in chat.give("the sum is 5").text

    def test_arguments_made_from_the_schema(self) -> None:
        schema = {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 3},
                "kind": {"enum": ["b", "c"]},
                "on": {"type": "boolean"},
                "free": {"type": "string"},
                "unused": {"type": "string"},
            },
            "required": ["n", "kind", "on", "free"],
        }
        chat = Chat(tool("make", input_schema=schema)).say("call make")
        assert chat.calls == [("make", {"n": 3, "kind": "b", "on": False, "free": "example"})]

    @pytest.mark.parametrize("outcome", ['{"a": }', "{a: 1}"])
    def test_arguments_that_are_no_json(self, outcome: str) -> None:
        chat = Chat().say(f"call read with {outcome}")
        assert chat.calls == [] and "not JSON" in chat.text

    def test_tools_for_programs_only_are_not_called_directly(self) -> None:
        chat = Chat(tool("read", allowed_callers=["code_execution_20260120"])).say("read a")
        assert chat.calls == [] and "`read`" in chat.text

    def test_tool_choice_none(self) -> None:
        chat = Chat(tool_choice={"type": "none"}).say("read a")
        assert chat.calls == [] and "tool_choice" in chat.text

    def test_tool_choice_forces_a_call(self) -> None:
        fields = {"thinking": None, "tool_choice": {"type": "tool", "name": "glob"}}
        assert [c[0] for c in Chat(**fields).say("hello").calls] == ["glob"]
        any_ = {"thinking": None, "tool_choice": {"type": "any"}}
        assert len(Chat(**any_).say("hello").calls) == 1
        assert Chat(**any_).say("read a").calls == [("read", {"path": "a"})]

    def test_one_call_at_a_time_when_the_request_says_so(self) -> None:
        one = {"type": "auto", "disable_parallel_tool_use": True}
        chat = Chat(tool_choice=one).say("read a and b")
        assert chat.calls == [("read", {"path": "a"})]
        chat.give("text of a")
        assert chat.calls == [("read", {"path": "b"})]
        chat.give("text of b")
        assert chat.calls == [] and "text of a" in chat.text and "text of b" in chat.text

    def test_a_history_with_other_calls_than_the_script_makes(self) -> None:
        """A session that a model began: the demo tells what came back and ends the turn."""
        chat = Chat().say("list the files")
        chat.messages[-1]["content"] = [
            {"type": "tool_use", "id": "toolu_x", "name": "made_up", "input": {}},
        ]
        chat.pending = chat.messages[-1]["content"]
        chat.give("anything").say("list the files")
        assert chat.calls == [("list", {})]

    def test_an_open_end_is_no_new_task(self) -> None:
        chat = Chat()
        server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        chat.messages = [
            {"role": "user", "content": "list the files"},
            {"role": "assistant", "content": [server]},
        ]
        chat._reply()
        assert chat.calls == [] and "nothing to go on with" in chat.text


# --- what must always hold --------------------------------------------------------------

SAID = [
    "tour", "list the files", "read a and b", "edit f: replace x by y", "run date", "help", "stop",
    "run two things at once", "think about x", "a note", "count the lines of code",
    "show a refusal",
]  # fmt: skip
RESULTS = ["", "a.md\nb.py", "     1\tx", ("does not exist",), ("interrupted by user",), "x" * 500]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(SAID), st.integers(0, 5), st.booleans()), max_size=12))
def test_any_conversation_stays_valid_and_repeatable(steps: list[tuple[str, int, bool]]) -> None:
    """Prompts, results and steering in any order: Chat checks rules and determinism each time."""
    chat = Chat()
    chat.say("hello")
    for said, number, steer in steps:
        if chat.pending:
            results = [RESULTS[(number + n) % len(RESULTS)] for n in range(len(chat.pending))]
            chat.give(*results, said=said if steer else None)
        else:
            chat.say(said)
    ids = [
        b["id"] for m in chat.messages for b in m["content"] if isinstance(b, dict) and "id" in b
    ]
    assert len(ids) == len(set(ids))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_gets_an_answer(text: str) -> None:
    if text.strip() and not re.search("[\ud800-\udfff\0]", text):
        chat = Chat().say(text)
        assert chat.text.strip() or chat.calls or chat.stop_reason == "refusal"


def test_matching_is_quick_on_long_text() -> None:
    """A pasted page is no task, and is not searched for one for long."""
    for text in ("read " + "a, " * 6000, "please " * 2500, "edit " + "x " * 9000, "`" * 19_000):
        find_script(text)
    assert find_script("run " + "x" * 20_001) is None


def test_the_turn_begins_at_the_last_prompt() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}
    messages = [
        {"role": "user", "content": "read a"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
    ]
    turn = current_turn({"messages": messages}, lambda text: True)
    assert turn.prompt == "read a" and [o.text for s in turn.steps for o in s.outcomes] == ["x"]
    ended = [*messages, {"role": "assistant", "content": "done"}, {"role": "user", "content": "b"}]
    later = current_turn({"messages": ended}, lambda text: True)
    assert (later.prompt, later.steps) == ("b", [])


async def test_over_the_wire_with_the_sdk(serve: Serve, sdk: Any) -> None:
    """The demo's reply arrives whole: signed thinking, text, and arguments in pieces."""
    client = sdk(serve())
    request = {
        "model": "demo", "max_tokens": 8000, "thinking": {"type": "adaptive"},
        "tools": [tool(name) for name in BUILTIN],
        "messages": [{"role": "user", "content": "edit n.txt: replace a by b"}],
    }  # fmt: skip
    kinds: list[str] = []
    for outcome in ("     1\ta", "n.txt: 1 edit made.", None):
        async with client.beta.messages.stream(**request) as stream:
            kinds += [e.type async for e in stream]
            message = await stream.get_final_message()
        request["messages"].append({"role": "assistant", "content": message.content})
        if outcome is None:
            break
        assert message.stop_reason == "tool_use"
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": outcome}
            for b in message.content
            if b.type == "tool_use"
        ]
        request["messages"].append({"role": "user", "content": results})
    assert message.stop_reason == "end_turn" and "`n.txt` is changed" in message.content[0].text
    assert {"thinking", "signature", "text", "input_json"} <= set(kinds)
