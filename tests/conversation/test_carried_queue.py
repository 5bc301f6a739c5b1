"""What was queued behind a command that changes the session goes along with it: a crash at any
write leaves it in one of the two sessions, never in both, never in none."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_tui.agent.agent import Agent
from agent_tui.agent.loop import AgentLoopConfig
from agent_tui.conversation.session_link import SessionLink
from agent_tui.sessions.store import Session
from tests.faults.helpers import Script


def agent() -> Agent:
    return Agent(AgentLoopConfig("m", Script([])))


def link(session: Session, to: Agent) -> SessionLink:
    linked = SessionLink(session, to, lambda _: None)
    linked.attach()
    return linked


def queued(path: Path) -> list[str]:
    """What the queue holds when the session in this file is gone on with."""
    session = Session.open(path)
    to = agent()
    link(session, to)
    session.close()
    return [item.text for item in to.queue.items()]


class World:
    """An old session with two messages behind the command, and the new one it went on in."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.old = Session.create("/work", home)
        self.agent = agent()
        self.link = link(self.old, self.agent)
        for text in ("first", "second"):
            self.agent.follow_up(text)
        self.new = Session.create("/work", home)
        self.closing = self.link.switch(self.new, carry=True)
        assert self.old.flush() and self.new.flush()
        self.paths = (self.old.path, self.new.path)

    def crashed(self, to: Path, lines_of_new: int | None = None) -> list[Path]:
        """Copies of both files, the new one with its first lines only."""
        copies: list[Path] = []
        for path in self.paths:
            assert path is not None
            copies.append(to / path.relative_to(self.home))
            copies[-1].parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copies[-1])
        if lines_of_new is not None:
            lines = copies[1].read_bytes().splitlines(keepends=True)[:lines_of_new]
            copies[1].write_bytes(b"".join(lines))
        return copies


def both(copies: Sequence[Path]) -> list[str]:
    return [text for path in copies for text in queued(path)]


async def test_a_crash_between_the_two_sessions_leaves_each_message_in_one(tmp_path: Path) -> None:
    world = World(tmp_path / "home")
    assert world.paths[1] is not None
    count = len(world.paths[1].read_bytes().splitlines())
    for lines in range(1, count + 1):
        old, new = world.crashed(tmp_path / f"after{lines}", lines)
        found = sorted(both([old, new]))
        assert found == ["first", "second"], f"{lines} lines of the new session"
        assert sorted(both([old, new])) == found, "also when they are opened once more"
        assert sorted(both([new, old])) == found
    assert both([old, new]) == ["first", "second"] and queued(old) == []
    new.unlink()
    assert queued(old) == [], "once seen, the old session remembers"
    await world.closing


async def test_without_a_crash_the_old_session_needs_no_other_file(tmp_path: Path) -> None:
    world = World(tmp_path / "home")
    await world.closing
    world.new.close()
    old, new = world.crashed(tmp_path / "later")
    assert queued(new) == ["first", "second"]
    new.unlink()
    assert queued(old) == []


@pytest.mark.parametrize("text", ["", "torn", '{"type":"carried","session_id":"x'])
async def test_other_files_say_nothing(tmp_path: Path, text: str) -> None:
    """Whatever lies beside it, and sessions that took over from another one."""
    world = World(tmp_path / "home")
    old, new = world.crashed(tmp_path / "crash", 1)
    new.with_name("20990101T000000_ffffffffffffffff.jsonl").write_text(text)
    assert queued(old) == ["first", "second"]
    await world.closing


async def test_what_stays_queued_in_a_session_that_is_left_is_not_taken(tmp_path: Path) -> None:
    """/resume by hand carries nothing; the same item id elsewhere is no takeover."""
    home = tmp_path / "home"
    old = Session.create("/work", home)
    to = agent()
    linked = link(old, to)
    item = to.follow_up("stays")
    other = Session.create("/work", home)
    await linked.switch(other)
    other.record_carried(Session.create("/work", home))  # from a third one
    to.queue.add("follow_up", item.message, item.id)
    other.close()
    assert old.path is not None
    assert queued(old.path) == ["stays"]
