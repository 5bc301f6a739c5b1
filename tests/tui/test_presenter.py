from typing import Any

import pytest

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    TextDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import AssistantMessage, OpaqueContent, ToolCall, ToolResultMessage
from agent_tui.conversation.events import (
    ContainerChangedEvent,
    PermissionRequestEvent,
    PermissionResolvedEvent,
    RetryEvent,
    StatusChangedEvent,
    UsageChangedEvent,
)
from agent_tui.tui.presenter import Presenter
from agent_tui.tui.tools_state import MAX_ROWS, short_argument
from tests.tui.conftest import FakeClock

PROGRAM = {"type": "code_execution_20250825", "tool_id": "srv1"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def presenter(clock: FakeClock) -> Presenter:
    return Presenter(clock)


def update(event: Any) -> MessageUpdateEvent:
    return MessageUpdateEvent("m", event)


def end(call_id: str, *, is_error: bool = False, text: str = "", ms: int = 250) -> Any:
    result = ToolResultMessage(
        tool_call_id=call_id, content=[{"type": "text", "text": text}], is_error=is_error
    )
    return ToolExecutionEndEvent(call_id, "shell", result, is_error, ms)


def states(presenter: Presenter) -> list[tuple[str, str]]:
    return [(row.id, row.state) for row in presenter.tools.ordered()]


def test_a_call_goes_from_its_arguments_to_its_end(presenter: Presenter, clock: FakeClock):
    call = ToolCall(id="c1", name="shell")
    presenter.apply(update(ToolCallStartEvent(0, call)))
    assert states(presenter) == [("c1", "arguments")]
    done = ToolCall(id="c1", name="shell", arguments={"command": "ls -l"})
    presenter.apply(update(ToolCallEndEvent(0, done)))
    assert states(presenter) == [("c1", "waiting")]
    presenter.apply(ToolExecutionStartEvent("c1", "shell", {"command": "ls -l"}))
    row = presenter.tools.rows["c1"]
    assert (row.state, row.argument, row.started) == ("running", "ls -l", clock.now)
    presenter.apply(end("c1"))
    assert (row.state, row.seconds) == ("done", 0.25)


def test_a_call_that_asks_has_no_elapsed_time_until_it_may_run(
    presenter: Presenter, clock: FakeClock
):
    presenter.apply(ToolExecutionStartEvent("c1", "shell", {"command": "ls"}))
    presenter.apply(PermissionRequestEvent("r1", "c1", "shell", {"command": "ls"}))
    clock.pass_(30)
    row = presenter.tools.rows["c1"]
    assert (row.state, row.started, presenter.moving) == ("asking", None, False)
    presenter.apply(PermissionResolvedEvent("r1", "c1", "allow"))
    assert (row.state, row.started) == ("running", clock.now)


def test_failed_and_stopped_calls_differ(presenter: Presenter):
    for call_id in ("bad", "stopped", "never"):
        presenter.apply(ToolExecutionStartEvent(call_id, "shell", {}))
    presenter.apply(end("bad", is_error=True, text="exit code 1"))
    presenter.apply(end("stopped", is_error=True, text="Interrupted: the user stopped this call."))
    presenter.apply(AgentEndEvent([]))
    assert states(presenter) == [("bad", "failed"), ("stopped", "stopped"), ("never", "stopped")]


def test_the_last_line_of_live_output_is_kept(presenter: Presenter):
    presenter.apply(ToolExecutionStartEvent("c1", "shell", {}))
    for piece in ("one\ntwo\n", "thr\x1b[31mee\n"):
        presenter.apply(ToolExecutionUpdateEvent("c1", "shell", piece))
    row = presenter.tools.rows["c1"]
    assert row.lines == 3
    assert "thr" in row.tail and "\x1b" not in row.tail


def test_a_programs_calls_stand_below_it(presenter: Presenter):
    use = OpaqueContent(raw={"type": "server_tool_use", "id": "srv1", "name": "code_execution"})
    presenter.apply(ToolExecutionStartEvent("direct", "read", {"path": "a"}))
    presenter.apply(update(OpaqueEvent(1, "start", use)))
    presenter.apply(ToolExecutionStartEvent("later", "grep", {"pattern": "x"}))
    presenter.apply(ToolExecutionStartEvent("inner", "query", {"sql": "1"}, PROGRAM))
    rows = presenter.tools.ordered()
    assert [(r.id, r.depth) for r in rows] == [
        ("direct", 0), ("srv1", 0), ("inner", 1), ("later", 0),
    ]  # fmt: skip
    assert rows[1].name == "program 1" and rows[1].program


@pytest.mark.parametrize(
    ("content", "state"),
    [
        ({"type": "code_execution_result", "return_code": 0}, "done"),
        ({"type": "code_execution_result", "return_code": 1}, "failed"),
        ({"type": "code_execution_tool_result_error", "error_code": "unavailable"}, "failed"),
    ],
)
def test_a_program_ends_with_its_result(presenter: Presenter, content: Any, state: str):
    use = OpaqueContent(raw={"type": "server_tool_use", "id": "srv1", "name": "code_execution"})
    presenter.apply(update(OpaqueEvent(0, "start", use)))
    result = {"type": "code_execution_tool_result", "tool_use_id": "srv1", "content": content}
    presenter.apply(update(OpaqueEvent(1, "end", OpaqueContent(raw=result))))
    assert states(presenter) == [("srv1", state)]


def test_the_timeline_is_bounded_and_says_what_it_left_out(presenter: Presenter):
    for at in range(MAX_ROWS + 7):
        presenter.apply(ToolExecutionStartEvent(f"c{at}", "read", {}))
        presenter.apply(end(f"c{at}"))
    assert len(presenter.tools.rows) == MAX_ROWS and presenter.tools.dropped == 7


def test_rate_is_of_the_last_seconds(presenter: Presenter, clock: FakeClock):
    presenter.apply(MessageStartEvent(AssistantMessage()))
    presenter.apply(StatusChangedEvent("streaming"))
    for _ in range(20):
        presenter.apply(update(TextDeltaEvent(0, "x" * 40)))
        clock.pass_(0.1)
    presenter.tick()
    assert presenter.status.rate == pytest.approx(100, rel=0.1)
    presenter.apply(StatusChangedEvent("tools"))
    assert presenter.status.rate is None


def test_deltas_change_no_panel(presenter: Presenter):
    assert presenter.apply(update(TextDeltaEvent(0, "x"))) is False


def test_usage_gives_percent_and_an_unknown_price_stays_unknown(presenter: Presenter):
    presenter.apply(UsageChangedEvent(1, 2, 3, 4, None, 36_000, 200_000))
    assert presenter.status.context_percent == 18
    assert presenter.status.cost is None


def test_a_retry_ends_when_something_comes_or_the_run_ends(presenter: Presenter):
    presenter.apply(RetryEvent(1, 5.0, "overloaded"))
    assert presenter.retry.attempt == 1
    presenter.apply(StatusChangedEvent("waiting"))
    assert presenter.retry.attempt == 1, "the wait itself is a phase of waiting"
    presenter.apply(update(TextDeltaEvent(0, "x")))
    assert presenter.retry.attempt == 0
    presenter.apply(RetryEvent(2, 5.0, "overloaded"))
    presenter.apply(StatusChangedEvent("ready"))
    assert presenter.retry.attempt == 0


def test_nothing_moves_when_nothing_runs(presenter: Presenter):
    assert presenter.moving is False
    presenter.apply(ToolExecutionStartEvent("c1", "shell", {}))
    assert presenter.moving is True
    presenter.apply(end("c1"))
    assert presenter.moving is False


def test_the_container_is_what_was_told_last(presenter: Presenter):
    event = ContainerChangedEvent("c", "idle", "2026-01-01T00:01:00Z")
    presenter.apply(event)
    assert presenter.container is event
    assert presenter.moving is False, "its panel counts down by itself, while it is seen"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"timeout": 5, "command": "ls\n -l"}, "ls -l"),
        ({"pattern": "x", "path": "src"}, "src"),
        ({"year": 2025}, "year=2025"),
        ({"deep": {"a": 1}}, ""),
        ({}, ""),
    ],
)
def test_the_argument_that_says_most(arguments: dict[str, Any], shown: str):
    assert short_argument(arguments) == shown


def test_calls_that_the_api_makes_are_lines_too(presenter: Presenter, clock: FakeClock):
    """A search and a server of the connector: named as in the transcript, never to be stopped
    alone, failed where the API says so."""

    def block(index: int, raw: dict[str, Any], *phases: str) -> None:
        for phase in phases:
            event = OpaqueEvent(index, phase, OpaqueContent(raw=raw))  # type: ignore[arg-type]
            assert presenter.apply(update(event))

    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    block(0, search, "start")
    block(0, {**search, "input": {"query": "textual strips"}}, "end")
    [row] = presenter.tools.ordered()
    assert (row.name, row.argument, row.state) == ("web search", '"textual strips"', "running")
    assert not presenter.tools.under_way
    clock.now += 2
    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    block(1, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": error},
          "start", "end")  # fmt: skip
    assert (row.state, row.seconds) == ("failed", 2)

    mcp = {"type": "mcp_tool_use", "id": "m1", "name": "ask", "server_name": "wiki", "input": {}}
    block(2, mcp, "start", "end")
    block(3, {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": "x"},
          "start", "end")  # fmt: skip
    assert [(r.name, r.state) for r in presenter.tools.ordered()] == [
        ("web search", "failed"),
        ("wiki: ask", "done"),
    ]


def test_a_command_in_the_container_says_what_it_runs(presenter: Presenter):
    raw = {"type": "server_tool_use", "id": "b1", "name": "bash_code_execution", "input": {}}
    presenter.apply(update(OpaqueEvent(0, "start", OpaqueContent(raw=raw))))
    raw["input"] = {"command": "ls -la\x1b[2J"}
    presenter.apply(update(OpaqueEvent(0, "end", OpaqueContent(raw=raw))))
    [row] = presenter.tools.ordered()
    assert (row.name, row.argument) == ("bash", "ls -la␛[2J")


def test_a_block_that_is_no_call_is_no_line(presenter: Presenter):
    event = OpaqueEvent(0, "end", OpaqueContent(raw={"type": "compaction", "content": "x"}))
    assert not presenter.apply(update(event))
    assert presenter.tools.ordered() == []
