"""The tour goes on for what has really happened, and for nothing else."""

from types import SimpleNamespace
from typing import Any

from agent_tui.agent.events import AgentEndEvent
from agent_tui.agent.messages import AssistantMessage, UserMessage
from agent_tui.conversation.events import (
    ContainerChangedEvent,
    McpServerChangedEvent,
    PermissionRequestEvent,
    PermissionResolvedEvent,
    ProgramRun,
    QueueChangedEvent,
    QueueDeliveredEvent,
    QueueEntry,
    StatusChangedEvent,
)
from agent_tui.tui.keys import KEYS
from agent_tui.tui.tour.progress import Progress
from agent_tui.tui.tour.steps import END, STEPS


def queue(*items: tuple[str, str, str]) -> QueueChangedEvent:
    """(id, text, state) of follow-ups."""
    return QueueChangedEvent([QueueEntry(i, "follow_up", t, s, "") for i, t, s in items], False)


def test_a_message_that_is_withdrawn_or_edited_counts_one_that_goes_out_does_not() -> None:
    progress = Progress()
    progress.apply(queue(("1", "a", "queued")))
    assert progress.times("queued") == 1 and progress.waiting
    progress.apply(queue(("1", "a", "taken")))
    progress.apply(QueueDeliveredEvent("1", "follow_up", "a", "turn 2"))
    progress.apply(queue())
    progress.apply(queue(("1b", "a", "queued")))
    progress.apply(QueueDeliveredEvent("1b", "follow_up", "a", "turn 3"))
    progress.apply(queue())
    assert progress.times("requeued") == 0 and not progress.waiting
    progress.apply(queue(("2", "b", "queued")))
    progress.apply(queue(("2", "b", "paused")))
    assert progress.times("requeued") == 0
    progress.apply(queue(("2", "c", "paused")))
    assert progress.times("requeued") == 1
    progress.apply(queue())
    assert progress.times("requeued") == 2


def test_a_follow_up_that_is_delivered_is_no_steering() -> None:
    progress = Progress()
    progress.apply(QueueDeliveredEvent("1", "follow_up", "a", "turn 2"))
    assert progress.times("steered") == 0
    progress.apply(QueueDeliveredEvent("2", "steer", "a", "turn 2"))
    assert progress.times("steered") == 1


def test_an_approval_is_decided_by_an_answer_not_by_a_stop() -> None:
    progress = Progress()
    progress.apply(PermissionRequestEvent("r", "c", "shell", {}))
    assert progress.asked
    progress.apply(PermissionResolvedEvent("r", "c", "withdrawn"))
    assert not progress.asked and progress.times("decided") == 0
    for decision in ("allow", "deny", "allow_always"):
        progress.apply(PermissionRequestEvent("r", "c", "shell", {}))
        progress.apply(PermissionResolvedEvent("r", "c", decision))
    assert progress.times("decided") == 3


def test_a_run_without_an_answer_is_none_and_a_program_counts_when_it_has_ended() -> None:
    progress = Progress()
    progress.apply(AgentEndEvent([UserMessage()]))
    assert progress.times("answered") == 0
    progress.apply(AgentEndEvent([UserMessage(), AssistantMessage()]))
    assert progress.times("answered") == 1
    for state, times in (("written", 0), ("running", 0), ("done", 1)):
        run = ProgramRun("p", 1, state)
        progress.apply(ContainerChangedEvent("c", "busy", runs=[run]))
        assert progress.times("program") == times


def test_servers_tools_and_sessions() -> None:
    progress = Progress()
    for state in ("connecting", "failed", "connected"):
        progress.apply(McpServerChangedEvent("tour", state))
    assert progress.times("attached") == 1
    own: Any = SimpleNamespace(type="tool_execution_end", tool_name="shell", is_error=False)
    failed: Any = SimpleNamespace(type="tool_execution_end", tool_name="t__d", is_error=True)
    good: Any = SimpleNamespace(type="tool_execution_end", tool_name="t__d", is_error=False)
    for event in (own, failed, good):
        progress.apply(event)
    assert progress.times("called") == 1
    for id in ("first", "first", "second", "first", "third"):
        progress.in_session(id)
    assert (progress.times("cleared"), progress.times("resumed")) == (2, 1)
    for status in ("streaming", "tools", "stopping"):
        progress.apply(StatusChangedEvent(status))  # type: ignore[arg-type]
        assert progress.running
    progress.apply(StatusChangedEvent("ready"))
    assert not progress.running


def test_every_key_that_is_named_is_one() -> None:
    known = {key.id for key in KEYS} | {"server"}
    for text in (END, *(step.say for step in STEPS), *(step.instead for step in STEPS)):
        named = [part.partition("}")[0] for part in text.split("{")[1:]]
        assert set(named) <= known, text
    assert all((step.unless is None) == (not step.instead) for step in STEPS)
