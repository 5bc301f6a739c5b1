"""Rules of the repair (DESIGN) that every other test here would let go unnoticed when broken."""

import pytest
from loop_making import answer, call
from wire_check import check

from agent_tui.agent.llm_messages import convert_message, convert_to_llm
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    Message,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
    text_content,
)

LEGAL = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv"}


def user(text: str) -> UserMessage:
    return UserMessage(content=text_content(text))


def server_call() -> OpaqueContent:
    return OpaqueContent(
        raw={"type": "server_tool_use", "id": "srv", "name": "code_execution", "input": {}}
    )


def server_result() -> OpaqueContent:
    return OpaqueContent(
        raw={"type": "code_execution_tool_result", "tool_use_id": "srv", "content": {}}
    )


def result(call_id: str, text: str) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call_id, content=text_content(text))


def sent(*history: AgentMessage, program_lost: bool = False) -> list[Message]:
    out = convert_to_llm(history, program_lost=program_lost)
    check(out)
    return out


@pytest.mark.parametrize(
    ("stop", "told"), [("aborted", "Not run"), ("error", "Not run"), ("tool_use", "no result")]
)
def test_a_call_is_told_not_to_have_run_only_where_that_is_known(stop: str, told: str) -> None:
    """After a crash in mid-batch the call may have run: its result alone is missing."""
    *_, made_up, _ = sent(user("go"), answer(call("a"), stop=stop), user("and?"))
    assert isinstance(made_up, ToolResultMessage) and made_up.is_error
    assert told in made_up.text


def test_a_failed_request_does_not_cut_the_program_that_waits() -> None:
    history = [
        user("go"),
        answer("t", server_call(), call("p", caller=PROGRAM), stop="tool_use"),
        result("p", "42 rows"),
    ]
    failed = AssistantMessage(stop_reason="error", error_message="overloaded")
    assert sent(*history, failed) == history


def test_a_stopped_program_is_cut_also_where_nothing_was_said_after_it() -> None:
    """Continued after a stop: the program is over, and the model is told."""
    out = sent(
        user("go"),
        answer("t", server_call(), call("p", caller=PROGRAM), stop="aborted"),
        result("p", "stopped"),
    )
    assert isinstance(out[1], AssistantMessage)
    assert [block.type for block in out[1].content] == ["text"]
    assert isinstance(out[-1], UserMessage) and "interrupted" in out[-1].text


def test_a_lost_container_changes_nothing_where_no_program_waits() -> None:
    history = [user("go"), answer("part one", stop="pause_turn")]
    assert sent(*history, program_lost=True) == history


def test_a_text_that_waited_for_a_program_is_said_once() -> None:
    out = sent(
        user("go"),
        answer("t", server_call(), call("p", caller=PROGRAM), stop="tool_use"),
        result("stray", "the only copy"),
        result("p", "r"),
        answer(call("q", caller=PROGRAM)),
        result("q", "r"),
        answer(server_result(), "done"),
        user("thanks"),
        answer("welcome"),
        user("bye"),
    )
    said = [m.text for m in out if isinstance(m, UserMessage)]
    assert sum("the only copy" in text for text in said) == 1


def search_call(call_id: str) -> OpaqueContent:
    return OpaqueContent(
        raw={"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}
    )


def search_result(call_id: str) -> OpaqueContent:
    return OpaqueContent(
        raw={"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}
    )


BESIDE_A_CUT = {
    "a search behind the program, its result in the next answer": (
        ["t", server_call(), search_call("w"), call("p", caller=PROGRAM)],
        [search_result("w"), call("q", caller=PROGRAM)],
    ),
    "a search before the program, its result behind the cut": (
        ["t", search_call("w"), server_call(), search_result("w"), call("p", caller=PROGRAM)],
        [call("q", caller=PROGRAM)],
    ),
    "a search before the program, its result behind a later call": (
        ["t", search_call("w"), server_call(), call("p", caller=PROGRAM)],
        [call("q", caller=PROGRAM), search_result("w")],
    ),
    "a search without result before a program that is done": (
        ["t", search_call("w"), server_call(), call("p", caller=PROGRAM)],
        [server_result()],
    ),
    "thinking behind the cut": (
        ["t", server_call(), call("p", caller=PROGRAM)],
        [ThinkingContent(thinking="hm", signature="sig"), call("q", caller=PROGRAM)],
    ),
}


@pytest.mark.parametrize("name", BESIDE_A_CUT)
def test_nothing_that_hangs_on_a_cut_is_left(name: str) -> None:
    """No call without its result, no result without its call, no signature that is void: each
    would be refused for good."""
    first, second = BESIDE_A_CUT[name]
    out = sent(
        user("go"),
        answer(*first, stop="tool_use"),
        result("p", "42 rows"),
        answer(*second, stop="aborted"),
        user("stop, only Europe"),
    )
    kept = [b for m in out if isinstance(m, AssistantMessage) for b in m.content]
    assert [block.type for block in kept] == ["text"]
    note, last = out[-2:]
    assert isinstance(note, UserMessage) and "42 rows" in note.text
    assert isinstance(last, UserMessage) and last.text == "stop, only Europe"


def test_ids_and_names_are_of_the_characters_the_api_takes() -> None:
    """^[a-zA-Z0-9_-]+$, a name of 128 characters at most (facts)."""
    odd = ["a.b", "a b", "a/ü", "call:1", ""]
    out = sent(
        user("go"),
        AssistantMessage(
            content=[call(id_, name) for id_ in odd for name in ("x.y", "n" * 300)],
            stop_reason="tool_use",
        ),
        user("and?"),
    )
    calls = [c for m in out if isinstance(m, AssistantMessage) for c in m.tool_calls]
    assert len({c.id for c in calls}) == len(calls) == 10
    for made in calls:
        assert made.id and set(made.id) <= LEGAL
        assert set(made.name) <= LEGAL and 0 < len(made.name) <= 128


def test_a_result_kept_as_text_keeps_its_picture() -> None:
    picture = ImageContent(data="AAAA", media_type="image/png")
    stray = ToolResultMessage(
        tool_call_id="gone", tool_name="shot", content=[TextContent(text="here"), picture]
    )
    (kept,) = sent(stray)
    assert isinstance(kept, UserMessage)
    assert "shot" in kept.text and "here" in kept.text
    assert picture in kept.content


def test_the_note_tells_apart_what_finished_failed_and_never_ended() -> None:
    failed = ToolResultMessage(
        tool_call_id="q", content=text_content("no such table"), is_error=True
    )
    out = sent(
        user("go"),
        answer(
            "t",
            server_call(),
            *(call(id_, f"tool_{id_}", caller=PROGRAM) for id_ in ("p", "q", "s")),
            stop="tool_use",
        ),
        result("p", "42 rows"),
        failed,
        user("stop"),
    )
    note = out[-2]
    assert isinstance(note, UserMessage)
    finished, _, rest = note.text.partition("failed or were stopped")
    broken, _, never = rest.partition("without a result")
    assert "tool_p" in finished and "42 rows" in finished
    assert "tool_q" in broken and "no such table" in broken
    assert "tool_s" in never


@pytest.mark.parametrize("kind", [BranchSummaryMessage, CompactionSummaryMessage])
def test_a_summary_is_sent(kind: type) -> None:
    converted = convert_message(kind(summary="the tests pass now"))
    assert isinstance(converted, UserMessage) and "the tests pass now" in converted.text


def test_a_custom_message_is_known_by_its_queue_item() -> None:
    custom = CustomMessage(content=text_content("note"), queue_item_id="q1")
    converted = convert_message(custom)
    assert isinstance(converted, UserMessage) and converted.queue_item_id == "q1"


def test_what_is_made_up_is_made_up_alike_each_time() -> None:
    """Ids and times too: a message is known by them, and what was worked out for it is kept."""
    history = [
        answer("an answer without a question"),
        user("go"),
        answer(call("a"), call("b")),
        result("b", "r"),
        answer("t", server_call(), call("p", caller=PROGRAM), stop="aborted"),
        answer("ends with an answer"),
    ]
    first, second = (
        [m.model_dump() for m in convert_to_llm(history, program_lost=True)] for _ in range(2)
    )
    assert len(first) > len(history)
    assert first == second


def test_an_id_of_an_earlier_answer_is_changed_with_its_result() -> None:
    out = sent(
        user("go"),
        answer(call("x")),
        result("x", "first"),
        answer(call("x")),
        result("x", "second"),
        answer("t ", call("x")),
        result("x", "third"),
    )
    ids = [c.id for m in out if isinstance(m, AssistantMessage) for c in m.tool_calls]
    said = {m.tool_call_id: m.text for m in out if isinstance(m, ToolResultMessage)}
    assert len(set(ids)) == 3
    assert [said[id_] for id_ in ids] == ["first", "second", "third"]


def test_arguments_are_cleaned_where_all_else_is_clean() -> None:
    (_, asked, _) = sent(
        user("go"),
        answer("ok", call("a", arguments={"text": ["half \ud83d", "nul \0"]})),
        result("a", "r"),
    )
    assert isinstance(asked, AssistantMessage)
    assert asked.tool_calls[0].arguments == {"text": ["half \ufffd", "nul \\x00"]}


@pytest.mark.parametrize("stray_at", [0, 1])
def test_a_stray_result_does_not_take_the_place_of_a_missing_one(stray_at: int) -> None:
    results = [result("a", "of a")]
    results.insert(stray_at, result("gone", "of another"))
    out = sent(user("go"), answer(call("a"), call("b")), *results, user("and?"))
    answers = {m.tool_call_id: m.is_error for m in out if isinstance(m, ToolResultMessage)}
    assert answers == {"a": False, "b": True}
    assert sum("of another" in m.text for m in out if isinstance(m, UserMessage)) == 1
