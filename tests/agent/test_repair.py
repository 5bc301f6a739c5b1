"""The repair: every history becomes a valid request, nothing of worth is lost, and what a
message became it stays."""

import copy
import json

import pytest
from histories import History, histories
from hypothesis import HealthCheck, given, settings
from wire_check import check, check_programs

from agent_tui.agent.growing_history import HistoryConverter
from agent_tui.agent.llm_messages import convert_to_llm, repair
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    ImageContent,
    Message,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_content,
)

thorough = settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

PICTURE = ImageContent(data="AAAA", media_type="image/png")
PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv1"}


def user(text: str) -> UserMessage:
    return UserMessage(content=text_content(text))


def assistant(*blocks: object, stop: str = "end_turn") -> AssistantMessage:
    content = [TextContent(text=b) if isinstance(b, str) else b for b in blocks]
    return AssistantMessage(content=content, stop_reason=stop)  # type: ignore[arg-type]


def call(call_id: str, *, program: bool = False, complete: bool = True) -> ToolCall:
    return ToolCall(
        id=call_id, name="echo", arguments={"v": call_id}, complete=complete,
        caller=PROGRAM if program else None,
    )  # fmt: skip


def result(call_id: str, text: str = "r", *, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name="echo", content=text_content(text), is_error=is_error
    )


def server_call(server_id: str = "srv1", name: str = "code_execution") -> OpaqueContent:
    return OpaqueContent(
        raw={"type": "server_tool_use", "id": server_id, "name": name, "input": {"code": "x"}}
    )


def server_result(server_id: str = "srv1") -> OpaqueContent:
    return OpaqueContent(
        raw={
            "type": "code_execution_tool_result",
            "tool_use_id": server_id,
            "content": {"type": "code_execution_result", "stdout": "6\n", "return_code": 0},
        }
    )


def checked(*history: AgentMessage, program_lost: bool = False) -> list[Message]:
    out = convert_to_llm(history, program_lost=program_lost)
    check(out)
    return out


def roles(messages: list[Message]) -> list[str]:
    return [m.role for m in messages]


def dumped(messages: list[Message]) -> list[dict[str, object]]:
    return [m.model_dump() for m in messages]


# --- what must always hold -----------------------------------------------------------------------


@thorough
@given(histories())
def test_every_history_gives_a_valid_request(history: History) -> None:
    before = copy.deepcopy(history.messages)
    out = convert_to_llm(history.messages)
    if out:
        check(out)
    assert history.messages == before, "the record is never changed"
    again = repair(out)  # as after a convert_to_llm of somebody else
    if again:
        check(again)


@thorough
@given(histories(programs=False))
def test_a_repaired_history_needs_no_repair(history: History) -> None:
    out = convert_to_llm(history.messages)
    assert dumped(repair(out)) == dumped(out)


@thorough
@given(histories())
def test_also_when_the_program_is_lost(history: History) -> None:
    out = convert_to_llm(history.messages, program_lost=True)
    if out:
        check(out)


@thorough
@given(histories(max_size=16))
def test_for_who_sends_it_no_call_of_a_program_that_is_nowhere_is_left(history: History) -> None:
    out = convert_to_llm(history.messages, cut_unstarted=True)
    if out:
        check(out)
        check_programs(out)
    converter = HistoryConverter(cut_unstarted=True)
    for at in range(len(history.messages)):
        grown = history.messages[: at + 1]
        assert converter(grown) == convert_to_llm(grown, cut_unstarted=True)


@thorough
@given(histories())
def test_user_messages_texts_and_results_appear_once_and_in_order(history: History) -> None:
    # A message of the user ends what a program may still have kept waiting.
    sent = _all_text(convert_to_llm([*history.messages, user("the end")]))
    for tokens in (history.user_tokens, history.text_tokens):
        places = [sent.find(token) for token in tokens]
        assert -1 not in places
        assert places == sorted(places)
    for token in history.user_tokens + history.text_tokens + history.result_tokens:
        assert sent.count(token) == 1, token
    for token in history.thinking_tokens:
        assert sent.count(token) <= 1


@thorough
@given(histories(programs=False))
def test_signed_thinking_appears_once_and_in_order(history: History) -> None:
    sent = _all_text(convert_to_llm([*history.messages, user("the end")]))
    places = [sent.find(token) for token in history.thinking_tokens]
    assert -1 not in places
    assert places == sorted(places)


@thorough
@given(histories())
def test_what_was_sent_stays_as_it_was_sent(history: History) -> None:
    """Append-stable: a request that was answered is the beginning of all later ones. Only a
    program (or server call) that waited at its end may be cut, when it is interrupted."""
    whole = dumped(convert_to_llm(history.messages))
    for at, message in enumerate(history.messages):
        if not isinstance(message, AssistantMessage) or not _leaves_something(message):
            continue
        before = history.messages[:at]
        sent = dumped(convert_to_llm(before))
        if sent == dumped(convert_to_llm(before, program_lost=True)):
            assert whole[: len(sent)] == sent


def _leaves_something(message: AssistantMessage) -> bool:
    return any(m.role == "assistant" for m in convert_to_llm([user("x"), message, user("y")]))


def _all_text(messages: list[Message]) -> str:
    return json.dumps(dumped(messages), ensure_ascii=False)


# --- calls and results ---------------------------------------------------------------------------


def test_a_call_without_result_gets_one_before_the_user_text() -> None:
    out = checked(user("hi"), assistant("ok", call("a"), stop="tool_use"), user("never mind"))
    assert roles(out) == ["user", "assistant", "toolResult", "user"]
    added = out[2]
    assert isinstance(added, ToolResultMessage)
    assert (added.tool_call_id, added.is_error) == ("a", True)
    assert added.text


def test_results_come_first_whatever_stood_between() -> None:
    out = checked(
        user("hi"), assistant(call("a"), call("b")), user("stop after this"), result("a", "A"),
        result("b", "B"),
    )  # fmt: skip
    assert roles(out) == ["user", "assistant", "toolResult", "toolResult", "user"]
    assert [m.text for m in out[2:]] == ["A", "B", "stop after this"]  # type: ignore[union-attr]


def test_a_result_without_its_call_is_kept_as_text() -> None:
    out = checked(user("hi"), result("gone", "the only copy"), assistant("ok"), user("go on"))
    assert roles(out) == ["user", "user", "assistant", "user"]
    assert "the only copy" in out[1].text  # type: ignore[union-attr]


def test_half_streamed_calls_are_dropped_and_whole_ones_answered() -> None:
    out = checked(
        user("hi"),
        assistant("t", call("a"), call("b", complete=False), stop="aborted"),
        user("again"),
    )
    assert isinstance(out[1], AssistantMessage)
    assert [c.id for c in out[1].tool_calls] == ["a"]
    assert isinstance(out[2], ToolResultMessage)


def test_ids_become_unique_and_legal_with_their_results() -> None:
    out = checked(
        user("hi"),
        assistant(call("a b"), call("toolu_1"), call("toolu_1")),
        result("toolu_1", "first"),
        result("a b", "spaced"),
        result("toolu_1", "second"),
        assistant(call("toolu_1")),
        result("toolu_1", "third"),
    )
    ids = [c.id for m in out if isinstance(m, AssistantMessage) for c in m.tool_calls]
    texts = {m.tool_call_id: m.text for m in out if isinstance(m, ToolResultMessage)}
    assert [texts[i] for i in ids] == ["spaced", "first", "second", "third"]


def test_error_results_and_answers_to_programs_hold_only_text() -> None:
    failed = ToolResultMessage(tool_call_id="a", content=[PICTURE], is_error=True)
    silent = ToolResultMessage(tool_call_id="b", content=[], is_error=True)
    shown = ToolResultMessage(tool_call_id="c", content=[PICTURE])
    out = checked(user("hi"), assistant(call("a"), call("b"), call("c")), failed, silent, shown)
    assert out[-1] is shown, "a picture in a good result stays"
    pending = ToolResultMessage(tool_call_id="p", content=[PICTURE])
    checked(user("hi"), assistant(server_call(), call("p", program=True)), pending)


# --- blocks --------------------------------------------------------------------------------------


def test_what_needs_no_repair_is_the_very_same() -> None:
    history = [
        user("hi"),
        assistant(
            ThinkingContent(thinking="", signature="S1"),
            "text ",
            call("a"),
            ThinkingContent(thinking="more", signature="S2"),
            call("b"),
            stop="tool_use",
        ),
        result("b"),
        result("a"),
        user("go on"),
        assistant("ok"),
        user("more"),
    ]
    assert all(a is b for a, b in zip(checked(*history), history, strict=True))


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_blank_text_is_dropped(text: str) -> None:
    out = checked(user("hi"), assistant(text, call("a")), result("a", text), user("go on"))
    assert isinstance(out[1], AssistantMessage) and len(out[1].content) == 1
    assert isinstance(out[2], ToolResultMessage) and out[2].content == []


def test_unsigned_thinking_is_dropped_signed_and_redacted_kept() -> None:
    out = checked(
        user("hi"),
        assistant(
            ThinkingContent(thinking="done", signature="S"),
            ThinkingContent(redacted="EmABC=="),
            ThinkingContent(thinking="half"),
            stop="aborted",
        ),
        user("again"),
    )
    assert isinstance(out[1], AssistantMessage)
    assert [getattr(b, "signature", None) for b in out[1].content] == ["S", None]


def test_an_empty_answer_is_left_out() -> None:
    assert roles(checked(user("hi"), assistant(stop="aborted"), user("again"))) == ["user"] * 2


def test_lone_surrogates_and_nul_are_replaced_everywhere() -> None:
    bad = "a\ud83d\x00b"
    broken_call = ToolCall(id="a", name="echo", arguments={bad: [bad, {"k": bad}]})
    opaque = OpaqueContent(raw={"type": "hologram", "deep": [bad]})
    out = checked(user(bad), assistant(bad, opaque, broken_call), result("a", bad))
    assert out[0].text == "a\ufffd\\x00b"  # type: ignore[union-attr]


def test_a_surrogate_pair_in_two_halves_becomes_its_character() -> None:
    assert checked(user("x\ud83d\ude00"))[0].text == "x\U0001f600"  # type: ignore[union-attr]


def test_the_list_ends_with_the_user() -> None:
    """A44: never a partial answer last, or the model would go on with its sentence."""
    out = checked(user("hi"), assistant("The three", stop="aborted"))
    assert roles(out) == ["user", "assistant", "user"]
    assert roles(checked(user("hi"), assistant("a", stop="error"), assistant("b"))) == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


def test_a_history_that_begins_with_an_answer_gets_a_user_message_first() -> None:
    assert roles(checked(assistant("yo"), user("hi"))) == ["user", "assistant", "user"]


def test_nothing_gives_nothing() -> None:
    assert convert_to_llm([]) == []
    assert convert_to_llm([assistant(stop="aborted")]) == []


# --- the API's own turns -------------------------------------------------------------------------


def test_a_paused_turn_goes_back_unchanged_as_the_last_message() -> None:
    history = [
        user("hi"),
        assistant("searching", server_call("srv1", "web_search"), stop="pause_turn"),
    ]
    out = checked(*history)
    assert out[-1] is history[-1]


def test_a_server_call_gets_its_result_in_the_next_message_of_the_turn() -> None:
    history = [
        user("hi"),
        assistant(server_call(), stop="pause_turn"),
        assistant(server_result(), "done"),
        user("thanks"),
    ]
    out = checked(*history)
    assert all(a is b for a, b in zip(out, history, strict=True))


def test_a_waiting_program_is_answered_with_results_only() -> None:
    history = [
        user("hi"),
        assistant("I'll query", server_call(), call("p", program=True), call("q", program=True)),
        result("p"),
        result("q"),
    ]
    assert all(a is b for a, b in zip(checked(*history), history, strict=True))


def test_a_finished_program_stays_whole() -> None:
    history = [
        user("hi"),
        assistant("I'll query", server_call(), call("p", program=True), stop="tool_use"),
        result("p"),
        assistant(call("q", program=True), stop="pause_turn"),
        result("q"),
        assistant(server_result(), "done"),
        user("thanks"),
    ]
    assert all(a is b for a, b in zip(checked(*history), history, strict=True))


def test_an_interrupted_program_is_cut_at_its_start_and_its_calls_are_told() -> None:
    out = checked(
        user("hi"),
        assistant("I'll query", server_call(), call("p", program=True), stop="tool_use"),
        result("p", "42 rows"),
        assistant(call("q", program=True), call("s", program=True), stop="tool_use"),
        result("q", "stopped", is_error=True),
        user("only Europe please"),
    )
    assert roles(out) == ["user", "assistant", "user", "user"]
    assert isinstance(out[1], AssistantMessage)
    assert [b.type for b in out[1].content] == ["text"]
    note = out[2].text  # type: ignore[union-attr]
    assert "interrupted" in note
    for told in ('echo({"v": "p"}): 42 rows', "stopped", 'echo({"v": "s"})'):
        assert told in note
    assert out[3].text == "only Europe please"  # type: ignore[union-attr]


def test_a_lost_program_is_cut_and_the_note_is_the_users_word() -> None:
    history = [
        user("hi"),
        assistant("I'll query", server_call(), call("p", program=True)),
        result("p", "42 rows"),
    ]
    out = checked(*history, program_lost=True)
    assert roles(out) == ["user", "assistant", "user"]
    assert "42 rows" in out[2].text  # type: ignore[union-attr]
    later = checked(*history, assistant("I see"), user("go on"), program_lost=True)
    assert dumped(later[:3]) == dumped(out), "and so it stays"


def test_program_lost_leaves_direct_calls_alone() -> None:
    history = [user("hi"), assistant(call("a")), result("a")]
    assert checked(*history, program_lost=True) == history


def test_an_abort_in_a_running_program_cuts_it() -> None:
    out = checked(user("hi"), assistant("t", server_call(), stop="aborted"), user("again"))
    assert isinstance(out[1], AssistantMessage)
    assert [b.type for b in out[1].content] == ["text"]
    assert roles(out) == ["user", "assistant", "user", "user"]


def test_a_finished_program_is_not_cut_with_a_later_one() -> None:
    """Also where its start is not in the history any more."""
    history = [
        user("hi"),
        assistant("t", call("p", program=True)),
        result("p"),
        assistant(call("a")),
        result("a"),
    ]
    sent = checked(*history)
    later = checked(*history, assistant(call("q", program=True), stop="aborted"), user("no"))
    assert dumped(later[: len(sent)]) == dumped(sent)


def test_a_stray_result_waits_until_text_may_be_sent() -> None:
    history = [
        user("hi"),
        assistant(call("a"), server_call("s", "web_search")),
        result("a"),
        result("stray", "the only copy"),
    ]
    sent = checked(*history)
    assert roles(sent) == ["user", "assistant", "toolResult"]
    later = checked(*history, assistant(server_result("s"), "found"), user("ok"))
    assert roles(later)[3:] == ["assistant", "user", "user"]
    assert "the only copy" in later[4].text  # type: ignore[union-attr]


def test_a_cut_search_is_named() -> None:
    out = checked(
        user("hi"), assistant(server_call("s", "web_search"), stop="pause_turn"), user("wait")
    )
    assert "web_search" in out[1].text  # type: ignore[union-attr]


def test_a_program_without_its_start_in_the_history_is_cut_too() -> None:
    out = checked(user("hi"), assistant("t", call("p", program=True)), result("p", "R"), user("no"))
    assert "R" in out[2].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "caller", [PROGRAM, {"type": "somebody_else", "tool_id": "srv1"}, {"type": "code_execution_1"}]
)
def test_a_program_that_is_nowhere_is_cut_once_the_turn_has_ended(caller: dict[str, str]) -> None:
    """The API refuses each request that holds such a call (law: the loop leaves it)."""
    stray = call("p").model_copy(update={"caller": caller})
    running = [user("hi"), assistant("t", call("a"), stray), result("a"), result("p", "RESULT")]
    assert dumped(convert_to_llm(running, cut_unstarted=True)) == dumped(running)
    whole = [*running, assistant("so"), user("and?")]
    assert dumped(convert_to_llm(whole)) == dumped(whole), "the law"
    out = convert_to_llm(whole, cut_unstarted=True)
    check(out)
    check_programs(out)
    assert [b.type for b in out[1].content] == ["text", "toolCall"]
    assert _all_text(out).count("RESULT") == 1 and "so" in _all_text(out)


def test_a_kind_of_caller_that_does_not_exist_is_cut_though_its_program_is_there() -> None:
    stray = call("p").model_copy(update={"caller": {"type": "somebody", "tool_id": "srv1"}})
    whole = [user("hi"), assistant("t", server_call(), stray), result("p", "R"),
             assistant(server_result(), "so"), user("and?")]  # fmt: skip
    out = convert_to_llm(whole, cut_unstarted=True)
    check(out)
    check_programs(out)


def test_a_program_that_was_started_is_left_whole_by_who_sends_it() -> None:
    history = [
        user("hi"),
        assistant("I'll query", server_call(), call("p", program=True), stop="tool_use"),
        result("p"),
        assistant(server_result(), "done"),
        user("thanks"),
    ]
    assert convert_to_llm(history, cut_unstarted=True) == history


def test_a_server_result_without_its_call_is_left_out() -> None:
    out = checked(user("summary"), assistant(server_result(), "so 6"), user("ok"))
    assert isinstance(out[1], AssistantMessage)
    assert [b.type for b in out[1].content] == ["text"]


def test_an_unfinished_server_call_was_never_made() -> None:
    half = server_call().model_copy(update={"complete": False})
    out = checked(user("hi"), assistant("t", half, stop="aborted"), user("again"))
    assert roles(out) == ["user", "assistant", "user"]


def test_a_long_result_of_an_interrupted_program_is_shortened_in_the_note() -> None:
    out = checked(
        user("hi"), assistant(server_call(), call("p", program=True)), result("p", "x" * 99_999),
        user("no"),
    )  # fmt: skip
    assert len(out[1].text) < 3000  # type: ignore[union-attr]
    assert "more characters" in out[1].text  # type: ignore[union-attr]
