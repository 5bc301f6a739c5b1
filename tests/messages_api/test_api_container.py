"""The container's state, from the events of recorded programs."""

from datetime import UTC, datetime

import stream_making as making
from stream_making import end, start, text

from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.container import ContainerState
from agent_tui.messages_api.sse import read_events


def feed(state: ContainerState, body: bytes, now: float) -> None:
    assembler = Assembler()
    for event in read_events(body):
        for made in assembler.feed(event):
            state.feed(made, now)
    for made in assembler.finish():
        state.feed(made, now)


RECORDINGS = making.recordings()


def test_a_program_pauses_goes_on_and_ends() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["program-pauses"], 100.0)
    assert (state.id, state.state, state.programs) == ("container_01", "paused", 1)
    assert state.pending == ["toolu_01"]
    assert (state.created_at, state.expires_at, state.reused) == (100.0, "2026-11-30T16:00:00Z", 0)
    state.answered("toolu_01")
    assert (state.state, state.pending) == ("busy", [])
    feed(state, RECORDINGS["program-goes-on"], 110.0)
    assert (state.state, state.pending, state.reused) == ("paused", ["toolu_02"], 1)
    state.answered("toolu_02")
    feed(state, RECORDINGS["program-ends"], 120.0)
    assert (state.state, state.pending, state.last_output) == ("idle", [], "2\n")
    assert (state.id, state.created_at, state.seen_at) == ("container_01", 100.0, 110.0)


def test_another_container_starts_anew() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["program-pauses"], 1.0)
    body = making.sse([start(container={"id": "other"}), *text(0, "x"), *end("end_turn")])
    feed(state, body, 2.0)
    assert (state.id, state.created_at, state.reused, state.programs) == ("other", 2.0, 0, 0)
    assert state.expires_at is None


def test_files_and_output_of_other_programs() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["server-tools"], 1.0)
    assert state.last_output == ""
    assert {"type": "bash_code_execution_output", "file_id": "file_01"} in state.files


def test_an_expired_container_is_dropped() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["program-pauses"], 1.0)
    content = {"type": "code_execution_tool_result_error", "error_code": "container_expired"}
    result = making.server_result(0, "code_execution", "srvtoolu_01", content)
    feed(state, making.sse([start(), *result, *end("end_turn")]), 2.0)
    assert (state.id, state.state, state.pending) == (None, "expired", [])


def test_stopping_ends_the_waiting() -> None:
    state = ContainerState()
    feed(state, RECORDINGS["program-pauses"], 1.0)
    state.interrupted()
    assert (state.state, state.pending, state.id) == ("idle", [], "container_01")


def test_seconds_left() -> None:
    state = ContainerState(expires_at="2026-11-30T16:00:00Z")
    at = datetime(2026, 11, 30, 15, 59, tzinfo=UTC).timestamp()
    assert state.seconds_left(at) == 60.0
    assert ContainerState(expires_at="2026-11-30T16:00:00").seconds_left(at) == 60.0
    assert ContainerState(expires_at="soon").seconds_left(at) is None
    assert ContainerState().seconds_left(at) is None
