"""The container's state: from recorded programs, and over any order of events."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import stream_making as making
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_making import end, start, text

from agent_tui.agent.events import (
    ContainerEvent,
    DoneEvent,
    OpaqueEvent,
    StartEvent,
    TextDeltaEvent,
    ToolCallEndEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    Container,
    OpaqueContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.container import ANSWER_WITHIN_S, ContainerState
from agent_tui.messages_api.sse import read_events

RECORDINGS = making.recordings()
EXPIRES = "2026-11-30T16:00:00Z"


def feed(state: ContainerState, body: bytes, now: float) -> None:
    assembler = Assembler()
    for event in read_events(body):
        for made in assembler.feed(event):
            state.feed(made, now)
    for made in assembler.finish():
        state.feed(made, now)


# --- short makers -----------------------------------------------------------------------


def code(id: str = "p1", phase: str = "end", name: str = "code_execution") -> OpaqueEvent:
    raw = {"type": "server_tool_use", "id": id, "name": name, "input": {"code": "pass"}}
    return OpaqueEvent(0, phase, OpaqueContent(raw=raw))  # type: ignore[arg-type]


def call(id: str, program: str = "p1") -> ToolCallEndEvent:
    caller = {"type": "code_execution_20260120", "tool_id": program}
    return ToolCallEndEvent(1, ToolCall(id=id, name="query", caller=caller))


def output(program: str = "p1", **fields: Any) -> OpaqueEvent:
    content = {"type": "code_execution_result", "stdout": "", "stderr": "", "return_code": 0}
    raw = {
        "type": "code_execution_tool_result",
        "tool_use_id": program,
        "content": content | fields,
    }
    return OpaqueEvent(0, "end", OpaqueContent(raw=raw))


def named(id: str = "c1", expires_at: str | None = EXPIRES) -> ContainerEvent:
    return ContainerEvent(Container(id=id, expires_at=expires_at))


def done(stop_reason: str = "end_turn") -> DoneEvent:
    return DoneEvent(AssistantMessage(stop_reason=stop_reason))


def said(state: ContainerState, *events: Any, now: float = 0.0) -> ContainerState:
    for event in events:
        state.feed(event, now)
    return state


# --- recorded programs --------------------------------------------------------------------


def test_a_program_pauses_goes_on_and_ends() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["program-pauses"], 100.0)
    assert (state.id, state.state, len(state.programs)) == ("container_01", "paused", 1)
    assert state.pending == ["toolu_01"]
    assert (state.created_at, state.expires_at, state.reused) == (100.0, EXPIRES, 0)
    state.answered("toolu_01")
    assert (state.state, state.pending, state.awaited) == ("paused", [], 1), "not sent yet"
    feed(state, RECORDINGS["program-goes-on"], 110.0)
    assert (state.state, state.pending, state.reused) == ("paused", ["toolu_02"], 1)
    assert state.awaited == 1
    state.answered("toolu_02")
    feed(state, RECORDINGS["program-ends"], 120.0)
    assert (state.state, state.pending, state.last_output) == ("idle", [], "2\n")
    assert (state.id, state.created_at, state.seen_at) == ("container_01", 100.0, 110.0)
    (program,) = state.programs.values()
    assert (program.state, program.seconds, program.exit_code) == ("done", 20.0, 0)
    assert (program.calls, program.results, program.failed) == (2, 2, 0)
    assert state.round_trips_saved == 1


def test_another_container_starts_anew_and_what_was_saved_stays() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["program-pauses"], 1.0)
    state.answered("toolu_01", text="x" * 400)
    feed(state, RECORDINGS["program-ends"], 1.0)
    before = state.kept_out
    body = making.sse([start(container={"id": "other"}), *text(0, "x"), *end("end_turn")])
    feed(state, body, 2.0)
    assert (state.id, state.created_at, state.reused) == ("other", 2.0, 0)
    assert (state.state, state.programs, state.files) == ("created", {}, [])
    assert state.expires_at is None
    assert state.kept_out == before == 100


def test_files_and_output_of_other_programs() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["server-tools"], 1.0)
    assert {"type": "bash_code_execution_output", "file_id": "file_01"} in state.files
    by_number = [p.number for p in state.programs.values()]
    assert by_number == [1, 0], "a command line is a program too, but cannot call: no number"


def test_what_the_naming_response_made_is_the_containers() -> None:
    made = {"type": "code_execution_output", "file_id": "file_1"}
    state = said(ContainerState(), named("a"), code(), output(stdout="old"), done())
    said(state, code("p2"), output("p2", stdout="new", content=[made]), named("b"), done())
    assert (state.id, state.files, state.last_output) == ("b", [made], "new")
    said(state, named("c"), done())
    assert (state.files, state.last_output) == ([], "")


def test_an_expired_container_is_dropped() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["program-pauses"], 1.0)
    content = {"type": "code_execution_tool_result_error", "error_code": "container_expired"}
    result = making.server_result(0, "code_execution", "srvtoolu_01", content)
    feed(state, making.sse([start(), *result, *end("end_turn")]), 2.0)
    assert (state.id, state.last_id, state.state) == (None, "container_01", "expired")
    assert state.pending == []
    (program,) = state.programs.values()
    assert (program.state, program.error_code) == ("failed", "container_expired")


def test_the_recorded_run_of_fifteen_responses() -> None:
    """One program, fourteen calls one by one; the last response names no container."""
    name = "vercel-programmatic-tool-calling.1-{}.sse"
    folders = filter(None, os.environ.get("AGENT_TUI_RECORDINGS", "").split(os.pathsep))
    bodies = [
        path.read_bytes()
        for folder in folders
        for number in range(1, 16)
        if (path := Path(folder, name.format(number))).is_file()
    ]
    if len(bodies) != 15:
        pytest.skip("AGENT_TUI_RECORDINGS holds no programmatic run")
    state = ContainerState()
    for at, body in enumerate(bodies):
        feed(state, body, float(at))
        assert state.state == ("paused" if at < 14 else "idle")
        for call_id in state.pending:
            state.answered(call_id, text="6")
    (program,) = state.programs.values()
    assert (program.calls, program.results, program.exit_code) == (14, 14, 0)
    assert (state.reused, state.round_trips_saved) == (13, 13)
    assert state.expires_at == "2025-12-20T05:33:58.450677Z", "the last one told"
    assert "Player 2 wins the game! (3-2)" in state.last_output


# --- states --------------------------------------------------------------------------------


def test_a_container_without_a_program_is_created() -> None:
    state = said(ContainerState(), named(), done())
    assert state.state == "created"
    said(state, code(phase="start"))
    assert state.state == "idle", "code that is still written does not run"
    said(state, code(phase="end"))
    assert state.state == "busy"
    said(state, output(), done())
    assert state.state == "idle"


def test_the_program_belongs_to_the_container_that_the_end_of_its_response_names() -> None:
    state = said(ContainerState(), named("a"), code("p1"), output("p1"), done())
    said(state, code("p2"), call("t1", "p2"), named("b"), done("tool_use"))
    assert (state.id, list(state.programs), state.pending) == ("b", ["p2"], ["t1"])
    assert state.past.programs == 1
    assert state.programs["p2"].number == 2, "numbers count in the conversation"


def test_a_pause_turn_lets_the_program_run_on() -> None:
    state = said(ContainerState(), named(), code(), done("pause_turn"))
    assert state.state == "busy"
    said(state, output(), done())
    assert state.state == "idle"


def test_a_program_that_the_model_left_behind_runs_no_more() -> None:
    state = said(ContainerState(), named(), code(phase="start"), done("max_tokens"))
    assert (state.state, state.programs["p1"].state) == ("idle", "stopped")


def test_the_answer_is_due_about_four_minutes_after_the_pause() -> None:
    state = said(ContainerState(), code(), now=5.0)
    assert state.answer_due_at is None
    said(state, call("t1"), now=10.0)
    said(state, call("t2"), named(), done("tool_use"), now=12.0)
    assert state.answer_due_at == 10.0 + ANSWER_WITHIN_S
    state.answered("t1")
    assert state.answer_due_at == 10.0 + ANSWER_WITHIN_S, "the other one is still waited for"
    state.answered("t2")
    assert (state.state, state.awaited) == ("paused", 2)
    assert state.answer_due_at == 10.0 + ANSWER_WITHIN_S, "the results have not gone out"
    said(state, StartEvent("msg_2", "demo"), now=20.0)
    assert (state.state, state.awaited, state.answer_due_at) == ("busy", 0, None)
    said(state, call("t3"), done("tool_use"), now=30.0)
    assert state.answer_due_at == 30.0 + ANSWER_WITHIN_S


@pytest.mark.parametrize("stop_reason", ["error", "aborted"])
def test_a_request_that_never_began_brings_the_program_nothing(stop_reason: str) -> None:
    state = said(ContainerState(), named(), code(), call("t1"), done("tool_use"), now=10.0)
    state.answered("t1", text="y" * 40)
    said(state, done(stop_reason), now=20.0)
    assert (state.state, state.awaited, state.kept_out) == ("paused", 1, 0)
    state.struck()
    assert state.awaited == 1 and list(state.programs) == ["p1"]
    state.interrupted(20.0)
    assert (state.state, state.awaited) == ("paused", 0)
    assert state.held_until == 10.0 + ANSWER_WITHIN_S, "the service knows nothing of it"


def test_stopping_ends_the_waiting() -> None:
    state = said(ContainerState(), named(), code(), call("t1"), call("t2"), done("tool_use"))
    state.answered("t1", text="y" * 40)
    state.interrupted(9.0)
    assert (state.state, state.pending, state.id) == ("paused", [], "c1"), "there it still is"
    program = state.programs["p1"]
    assert (program.state, program.calls, program.results) == ("stopped", 2, 0)
    assert state.answer_due_at is None, "nobody answers any more"
    said(state, TextDeltaEvent(0, "on"), done())
    assert state.kept_out == 0, "what never reached the program was not kept out by it"
    assert state.state == "idle", "an answer came: the service has gone on without it"


def test_a_program_that_was_given_up_is_held_by_the_service_for_about_four_minutes() -> None:
    def stopped(*results: str) -> ContainerState:
        state = ContainerState()
        said(state, named(), code(), call("t1"), done("tool_use"), now=10.0)
        for id in results:
            state.answered(id)
        state.interrupted(20.0)
        return state

    for state in (stopped(), stopped("t1")):  # also when only its answer was not sent
        assert state.held_until == 10.0 + ANSWER_WITHIN_S
        assert state.state_at(state.held_until - 1) == "paused"
        assert state.state_at(10.0 + ANSWER_WITHIN_S) == "idle" and state.held_until is None
    for over in (ContainerState.gone, ContainerState.forgotten):
        state = stopped()
        over(state, 21.0)
        assert state.held_until is None and state.state != "paused"
    state = said(ContainerState(), named(), code(), call("t1"), done("tool_use"))
    state.answered("t1")
    said(state, output(), done())
    state.interrupted(30.0)
    assert state.held_until is None and state.state == "idle", "this one had its answer"


def test_results_count_once_the_program_has_them() -> None:
    state = said(ContainerState(), named(), code(), call("t1"), call("t2"), done("tool_use"))
    state.answered("t1", text="y" * 40)
    state.answered("t2", text="z" * 60, failed=True)
    assert (state.kept_out, state.round_trips_saved) == (0, 0)
    said(state, output(stdout="a, b"), done())
    assert (state.kept_out, state.round_trips_saved) == (25, 1)
    assert (state.totals.calls, state.totals.failed) == (2, 1)


def test_each_program_saves_one_less_than_it_called() -> None:
    state = ContainerState()
    for program in ("p1", "p2"):
        said(state, named(), code(program), done("pause_turn"))
        for number in range(5):
            said(state, call(f"{program}-{number}", program), done("tool_use"))
            state.answered(f"{program}-{number}")
        said(state, output(program), done())
    assert state.round_trips_saved == 2 * (5 - 1)


def test_a_broken_sample_leaves_nothing_once_it_is_struck() -> None:
    state = said(ContainerState(), named(), code("p1"), output("p1"), done())
    said(state, code("p2"), call("t9", "p2"), done("error"))
    assert (state.pending, state.programs["p2"].state) == ([], "stopped")
    state.struck()
    assert list(state.programs) == ["p1"] and state.state == "idle"
    said(state, code("p3"), output("p3"), done())
    assert state.programs["p3"].number == 2


def test_a_continuation_that_broke_does_not_end_the_program() -> None:
    state = said(ContainerState(), named(), code(), call("t1"), done("tool_use"))
    state.answered("t1")
    said(state, call("t2"), done("error"))
    state.struck()
    assert (state.state, state.pending) == ("busy", [])
    said(state, call("t2"), done("tool_use"))
    assert (state.pending, state.programs["p1"].calls) == (["t2"], 2)


def test_the_users_wish_for_a_new_one_forgets_the_id() -> None:
    state = said(ContainerState(), named(), code(), output(), done())
    state.forgotten(1.0)
    assert (state.id, state.last_id, state.programs) == (None, None, {})
    assert state.past.programs == 1


def test_time_expires_it_whatever_was_said() -> None:
    state = said(ContainerState(), named(), code(), call("t1"), done("tool_use"))
    over = datetime(2026, 11, 30, 16, tzinfo=UTC).timestamp()
    assert state.state_at(over - 1) == "paused"
    assert state.state_at(over) == "expired"
    state.answered("t1")
    said(state, StartEvent("msg_2", "demo"))
    assert state.state_at(over + 60) == "busy", "no container expires under a program that runs"
    said(state, call("t2"), named("c1", "2026-11-30T17:00:00Z"))
    assert state.state_at(over) == "paused", "the service's word counts more than our clock"


def test_seconds_left() -> None:
    state = ContainerState()
    assert state.seconds_left(0) is None
    at = datetime(2026, 11, 30, 15, 59, tzinfo=UTC).timestamp()
    for sent, left in (
        (EXPIRES, 60.0),
        ("2026-11-30T16:00:00", 60.0),
        ("2026-11-30T16:00:00.5+00:00", 60.5),
        ("soon", None),
    ):
        state.expires_at = sent
        assert state.seconds_left(at) == left


# --- a stored history ---------------------------------------------------------------------


def history() -> list[Any]:
    """A program with two calls and its end, then one that was paused when the run stopped."""

    def answer(at: float, stop: str, *blocks: Any) -> AssistantMessage:
        container = Container(id="c1", expires_at=EXPIRES)
        return AssistantMessage(
            content=list(blocks), stop_reason=stop, container=container, timestamp=at
        )

    def result(id: str, text: str, **more: Any) -> ToolResultMessage:
        return ToolResultMessage(tool_call_id=id, content=[{"type": "text", "text": text}], **more)

    one, two = code("p1").block, code("p2").block
    return [
        UserMessage(content="count"),
        answer(10.0, "tool_use", one, call("t1").block, call("t2").block),
        result("t1", "y" * 40),
        result("t2", "no", is_error=True),
        answer(14.0, "end_turn", output("p1", stdout="42\n").block),
        UserMessage(content="again"),
        answer(20.0, "tool_use", two, call("t3", "p2").block),
        result("t3", "Interrupted: the user stopped this call.", is_error=True),
    ]


def test_a_stored_history_tells_the_same() -> None:
    state = ContainerState()
    state.replay(history(), Container(id="c1", expires_at=EXPIRES))
    assert (state.id, state.state, state.pending, state.reused) == ("c1", "idle", [], 2)
    first, second = state.programs.values()
    assert (first.state, first.exit_code, first.seconds, first.about) == ("done", 0, 4.0, True)
    assert (first.calls, first.failed, first.results) == (2, 1, 2)
    assert (second.state, second.results, second.seconds) == ("stopped", 0, None)
    assert (state.kept_out, state.round_trips_saved, state.last_output) == (10, 1, "42\n")


def test_a_history_whose_container_is_gone_says_so() -> None:
    state = ContainerState()
    state.replay(history(), None)
    assert (state.id, state.last_id, state.state) == (None, "c1", "expired")
    state = ContainerState()
    state.replay(history(), Container(id="c2"))
    assert (state.id, state.state, state.past.programs) == ("c2", "created", 2)


def test_a_long_history_costs_a_bounded_estimate() -> None:
    estimated: list[int] = []

    def estimate(text: str) -> int:
        estimated.append(len(text))
        return len(text) // 4

    state = ContainerState(estimate)
    messages: list[Any] = []
    for number in range(300):
        id = f"t{number}"
        messages += [
            AssistantMessage(content=[call(id).block], stop_reason="tool_use"),
            ToolResultMessage(tool_call_id=id, content=[{"type": "text", "text": "y" * 4000}]),
        ]
    messages.append(AssistantMessage(content=[output().block]))
    state.replay(messages, Container(id="c1"))
    assert sum(estimated) <= 110_000
    assert state.kept_out == 300 * 1000


# --- any order of events --------------------------------------------------------------------

IDS = st.sampled_from(["p1", "p2", "p3"])
CALLS = st.sampled_from([f"t{n}" for n in range(6)])
STEPS = st.one_of(
    st.builds(lambda id, at: ("feed", named(id, at)), st.sampled_from("ab"),
              st.sampled_from([None, EXPIRES, "?"])),
    st.builds(lambda id, phase: ("feed", code(id, phase)), IDS, st.sampled_from(["start", "end"])),
    st.builds(lambda id, of: ("feed", call(id, of)), CALLS, IDS),
    st.builds(lambda id, rc: ("feed", output(id, return_code=rc)), IDS, st.integers(0, 1)),
    st.builds(lambda id: ("feed", output(
        id, type="code_execution_tool_result_error", error_code="container_expired")), IDS),
    st.builds(lambda reason: ("feed", done(reason)), st.sampled_from(
        ["end_turn", "tool_use", "pause_turn", "max_tokens", "aborted", "error", "new"])),
    st.builds(lambda id, failed: ("answer", id, failed), CALLS, st.booleans()),
    st.sampled_from([("interrupted",), ("gone",), ("struck",), ("forgotten",)]),
)  # fmt: skip


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_order_of_events_leaves_a_valid_state(steps: list[Any]) -> None:
    state = ContainerState()
    saved = kept = 0
    for now, step in enumerate(steps):
        match step:
            case ("feed", event):
                state.feed(event, float(now))
            case ("answer", id, failed):
                waited = id in state.pending
                assert state.answered(id, failed=failed, text="words " * 4) is waited
            case (name,):
                method = getattr(state, name)
                method() if name == "struck" else method(float(now))
        at = state.state
        given_up = state.held_until is not None
        assert (at == "paused") == ((bool(state.awaited) or given_up) and not state.lost)
        assert not (given_up and state.awaited)
        assert state.awaited >= len(state.pending)
        assert state.lost == (at == "expired")
        assert (state.answer_due_at is not None) == bool(state.awaited)
        running = [p for p in state.programs.values() if p.state == "running"]
        assert at != "busy" or running
        assert at not in ("created", "idle") or not running
        assert (at == "created") <= (not state.programs)
        for id, program in state.programs.items():
            assert program.id == id
            assert 0 <= program.pending <= program.calls
            assert 0 <= program.results <= program.calls
            assert 0 <= program.failed <= program.calls
            assert (program.state in ("done", "failed", "stopped")) == (
                program.ended_at is not None
            )
        assert sum(p.pending for p in state.programs.values()) == len(state.pending)
        numbers = [p.number for p in state.programs.values()]
        assert len(set(numbers)) == len(numbers) and all(n <= state.numbered for n in numbers)
        if step != ("struck",):
            assert state.round_trips_saved >= saved and state.kept_out >= kept, "never taken back"
        saved, kept = state.round_trips_saved, state.kept_out
    state.interrupted(99.0)
    assert state.pending == []
    assert state.state_at(99.0 + ANSWER_WITHIN_S) in ("created", "idle", "expired")
