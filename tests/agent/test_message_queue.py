"""MessageQueue: each item goes out once, in order, whatever is done to it meanwhile."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from agent_tui.agent.message_queue import HISTORY_ITEMS, MessageQueue, QueueError, QueueItem
from agent_tui.agent.messages import (
    BashExecutionMessage,
    CustomMessage,
    ImageContent,
    TextContent,
    UserMessage,
    text_content,
)


def message(text: str) -> UserMessage:
    return UserMessage(content=text_content(text))


def texts(items: list[QueueItem]) -> list[str]:
    return [item.text for item in items]


@pytest.fixture
def queue() -> MessageQueue:
    return MessageQueue()


def test_items_are_steering_first_then_follow_ups(queue: MessageQueue) -> None:
    queue.add("follow_up", message("f1"))
    queue.add("steer", message("s1"))
    queue.add("steer", message("s2"))
    assert texts(queue.items()) == ["s1", "s2", "f1"]


def test_the_message_carries_the_id_of_its_item(queue: MessageQueue) -> None:
    item = queue.add("steer", message("s"), "i1")
    custom = queue.add("follow_up", CustomMessage(content=text_content("c")))
    assert item.id == item.message.queue_item_id == "i1"  # type: ignore[union-attr]
    assert custom.message.queue_item_id == custom.id  # type: ignore[union-attr]


def test_one_at_a_time_or_all(queue: MessageQueue) -> None:
    for text in ("s1", "s2", "s3"):
        queue.add("steer", message(text))
    assert texts(queue.take("steer")) == ["s1"]
    queue.steering_mode = "all"
    assert texts(queue.take("steer")) == ["s2", "s3"]
    assert queue.take("steer") == []


def test_locked_items_are_skipped(queue: MessageQueue) -> None:
    first = queue.add("steer", message("s1"))
    queue.add("steer", message("s2"))
    queue.lock(first.id)
    assert texts(queue.take("steer")) == ["s2"]
    assert queue.take("steer") == []
    queue.unlock(first.id)
    assert texts(queue.take("steer")) == ["s1"]


def test_paused_gives_nothing_and_says_so(queue: MessageQueue) -> None:
    item = queue.add("steer", message("s1"))
    queue.pause()
    later = queue.add("follow_up", message("f1"))
    assert queue.take("steer") == queue.take("follow_up") == []
    assert item.state == later.state == "paused"
    queue.resume()
    assert item.state == later.state == "queued"
    assert texts(queue.take("steer")) == ["s1"]


def test_what_comes_behind_a_stop_is_not_paused(queue: MessageQueue) -> None:
    """A message typed after the abort belongs to the next turn; what was there waits."""
    old = queue.add("steer", message("old"))
    later = queue.add("follow_up", message("later"), local=True)
    queue.pause_waiting()
    new = queue.add("steer", message("new"))
    then = queue.add("follow_up", message("then"))
    assert [i.state for i in (old, later, new, then)] == ["paused", "paused", "queued", "queued"]
    assert queue.paused and queue.next_local() is None
    assert texts(queue.take("steer")) == ["new"] and queue.take("steer") == []
    assert texts(queue.take("follow_up")) == ["then"]
    queue.resume()
    assert texts(queue.take("steer")) == ["old"]
    assert queue.next_local() is later


def test_what_was_on_its_way_at_a_stop_and_comes_back_is_paused(queue: MessageQueue) -> None:
    queue.add("steer", message("on its way"))
    taken = queue.take("steer")
    queue.pause_waiting()
    queue.give_back(taken)
    assert [i.state for i in queue.items()] == ["paused"]


@pytest.mark.parametrize("pause", [MessageQueue.pause, MessageQueue.pause_waiting])
def test_an_emptied_queue_is_not_paused(queue: MessageQueue, pause: Any) -> None:
    """Nothing would show it, and the next message would never go out."""
    withdrawn, landed = queue.add("steer", message("a")), queue.add("steer", message("b"))
    queue.lock(withdrawn.id)
    queue.take("steer")
    pause(queue)
    queue.commit(landed.id)
    assert queue.paused
    queue.unlock(withdrawn.id)
    queue.withdraw(withdrawn.id)
    assert not queue.paused
    queue.add("steer", message("c"))
    assert texts(queue.take("steer")) == ["c"]


def test_a_queue_paused_by_hand_before_anything_is_in_it_pauses_what_comes(
    queue: MessageQueue,
) -> None:
    queue.pause()
    assert queue.add("steer", message("a")).state == "paused"
    assert queue.take("steer") == []


def test_held_keeps_steering_only(queue: MessageQueue) -> None:
    steer = queue.add("steer", message("s1"))
    follow_up = queue.add("follow_up", message("f1"))
    queue.hold("a program is paused (2 calls)")
    assert (steer.state, follow_up.state) == ("held", "queued")
    assert queue.take("steer") == []
    queue.hold(None)
    assert steer.state == "queued"
    assert texts(queue.take("steer")) == ["s1"]


def test_given_back_items_are_first_again_in_order(queue: MessageQueue) -> None:
    queue.steering_mode = "all"
    for text in ("s1", "s2"):
        queue.add("steer", message(text))
    taken = queue.take("steer")
    queue.add("steer", message("s3"))
    assert [item.state for item in taken] == ["taken", "taken"]
    queue.commit(taken[0].id, "turn 2, after the answer")
    queue.give_back(taken)
    assert texts(queue.items()) == ["s2", "s3"]
    assert texts(queue.history()) == ["s1"]
    assert taken[0].landed == "turn 2, after the answer"
    queue.give_back(taken)
    assert texts(queue.items()) == ["s2", "s3"], "giving back twice adds nothing"


def test_a_taken_item_is_out_of_reach(queue: MessageQueue) -> None:
    item = queue.add("steer", message("s1"))
    queue.take("steer")
    for change in (queue.withdraw, queue.promote, queue.demote, queue.lock, queue.unlock):
        with pytest.raises(QueueError, match="being delivered"):
            change(item.id)
    with pytest.raises(QueueError):
        queue.edit(item.id, "other")
    with pytest.raises(QueueError):
        queue.move(item.id, 0)


def test_only_taken_items_are_committed_and_once(queue: MessageQueue) -> None:
    item = queue.add("steer", message("s1"))
    with pytest.raises(QueueError):
        queue.commit(item.id)
    queue.take("steer")
    queue.commit(item.id)
    with pytest.raises(QueueError):
        queue.commit(item.id)
    assert item.state == "delivered"


def test_editing_replaces_the_text_and_keeps_images(queue: MessageQueue) -> None:
    """B16: editing never adds a second copy."""
    picture = ImageContent(data="AAAA", media_type="image/png")
    item = queue.add("steer", UserMessage(content=[picture, TextContent(text="fooo")]))
    queue.lock(item.id)
    queue.edit(item.id, "foo")
    assert texts(queue.items()) == ["foo"]
    assert not item.locked
    assert item.message.content == [TextContent(text="foo"), picture]  # type: ignore[union-attr]
    assert item.message.queue_item_id == item.id  # type: ignore[union-attr]
    queue.edit(item.id, "")
    assert item.message.content == [picture]  # type: ignore[union-attr]


def test_an_edit_that_leaves_nothing_is_refused(queue: MessageQueue) -> None:
    item = queue.add("steer", message("s1"))
    with pytest.raises(QueueError, match="remove"):
        queue.edit(item.id, "  ")
    command = queue.add("steer", BashExecutionMessage(command="ls"))
    with pytest.raises(QueueError, match="no text"):
        queue.edit(command.id, "x")
    assert len(queue.items()) == 2


@pytest.mark.parametrize(("index", "order"), [(0, "cab"), (1, "acb"), (9, "abc"), (-4, "cab")])
def test_moving_is_clamped(queue: MessageQueue, index: int, order: str) -> None:
    for text in "abc":
        queue.add("steer", message(text), text)
    queue.move("c", index)
    assert "".join(texts(queue.items())) == order


def test_promoted_is_last_and_demoted_first(queue: MessageQueue) -> None:
    for kind, text in (("steer", "s1"), ("follow_up", "f1"), ("follow_up", "f2")):
        queue.add(kind, message(text), text)  # type: ignore[arg-type]
    queue.promote("f2")
    assert texts(queue.waiting("steer")) == ["s1", "f2"]
    queue.demote("s1")
    assert texts(queue.waiting("follow_up")) == ["s1", "f1"]
    assert queue.promote("f2").kind == "steer", "promoting twice changes nothing"


def test_unknown_and_finished_items_are_named(queue: MessageQueue) -> None:
    with pytest.raises(QueueError, match="nope"):
        queue.get("nope")
    item = queue.add("steer", message("s1"))
    queue.withdraw(item.id)
    with pytest.raises(QueueError, match="withdrawn"):
        queue.edit(item.id, "x")
    with pytest.raises(QueueError, match="before"):
        queue.add("steer", message("again"), item.id)


def test_restored_items_wait_again_and_only_once(queue: MessageQueue) -> None:
    old = MessageQueue()
    for text in ("s1", "s2", "s3"):
        old.add("steer", message(text), text)
    old.add("follow_up", message("f1"), "f1")
    old.commit(old.take("steer")[0].id)
    taken = old.take("steer")
    queue.add("steer", message("new"))
    queue.restore([*old.items(), *old.history()])
    queue.restore(old.items())
    assert texts(queue.items()) == ["new", "s2", "s3", "f1"]
    assert {item.state for item in queue.items()} == {"queued"}
    assert taken[0].state == "taken", "the other queue is left alone"


def test_subscribers_hear_every_change_and_a_bad_one_hurts_nobody(
    queue: MessageQueue, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[int] = []

    def bad() -> None:
        raise RuntimeError("trouble")

    queue.subscribe(bad)
    unsubscribe = queue.subscribe(lambda: heard.append(len(queue.items())))
    queue.add("steer", message("s1"))
    queue.commit(queue.take("steer")[0].id)
    queue.pause()
    assert heard == [1, 1, 0, 0]
    unsubscribe()
    unsubscribe()
    queue.resume()
    assert len(heard) == 4
    assert "trouble" in caplog.text


def test_the_history_is_bounded(queue: MessageQueue) -> None:
    for number in range(HISTORY_ITEMS + 5):
        queue.withdraw(queue.add("steer", message(str(number))).id)
    assert len(queue.history()) == HISTORY_ITEMS
    assert queue.history()[-1].text == str(HISTORY_ITEMS + 4)


class QueueMachine(RuleBasedStateMachine):
    """Against a plain model: two lists, a set of taken ids, and what was delivered."""

    ids: Bundle[str] = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.queue = MessageQueue()
        self.model: dict[str, list[str]] = {"steer": [], "follow_up": []}
        self.taken: list[tuple[str, str]] = []
        self.locked: set[str] = set()
        self.delivered: list[str] = []
        self.withdrawn: list[str] = []
        self.added = 0
        self.all_paused = False
        self.paused: set[str] = set()

    def pending(self) -> set[str]:
        waiting = (i for ids in self.model.values() for i in ids)
        return {*waiting, *(i for i, _ in self.taken)}

    def left(self) -> None:
        """Something has left: the pause of what is empty is over."""
        self.paused &= self.pending()
        self.all_paused = self.all_paused and bool(self.pending())

    def waits(self, item_id: str) -> bool:
        return any(item_id in ids for ids in self.model.values())

    def attempt(self, item_id: str, change: Any, *args: Any) -> bool:
        """Do it; an item that does not wait must be refused."""
        if self.waits(item_id):
            change(item_id, *args)
            return True
        with pytest.raises(QueueError):
            change(item_id, *args)
        return False

    @rule(target=ids, kind=st.sampled_from(["steer", "follow_up"]))
    def add(self, kind: Any) -> str:
        self.added += 1
        item = self.queue.add(kind, message(f"m{self.added}"), f"i{self.added}")
        self.model[kind].append(item.id)
        return item.id

    @rule(kind=st.sampled_from(["steer", "follow_up"]))
    def take(self, kind: Any) -> None:
        mode = self.queue.steering_mode if kind == "steer" else self.queue.follow_up_mode
        free = [i for i in self.model[kind] if i not in self.locked | self.paused]
        expected = free if mode == "all" else free[:1]
        if self.all_paused or (kind == "steer" and self.queue.held):
            expected = []
        got = [item.id for item in self.queue.take(kind)]
        assert got == expected
        self.model[kind] = [i for i in self.model[kind] if i not in got]
        self.taken += [(i, kind) for i in got]

    @rule(mode=st.sampled_from(["one-at-a-time", "all"]))
    def change_mode(self, mode: Any) -> None:
        self.queue.steering_mode = self.queue.follow_up_mode = mode

    @rule()
    def commit_first(self) -> None:
        if self.taken:
            item_id, _ = self.taken.pop(0)
            self.queue.commit(item_id)
            self.delivered.append(item_id)
            self.left()

    @rule()
    def give_back_all(self) -> None:
        self.queue.give_back(self.queue.taken())
        for item_id, kind in reversed(self.taken):
            self.model[kind].insert(0, item_id)
        self.taken = []

    @rule(item_id=ids, index=st.integers(-1, 4))
    def move(self, item_id: str, index: int) -> None:
        if self.attempt(item_id, self.queue.move, index):
            ids = next(ids for ids in self.model.values() if item_id in ids)
            ids.remove(item_id)
            ids.insert(max(0, min(index, len(ids))), item_id)

    @rule(item_id=ids)
    def promote(self, item_id: str) -> None:
        if self.attempt(item_id, self.queue.promote) and item_id in self.model["follow_up"]:
            self.model["follow_up"].remove(item_id)
            self.model["steer"].append(item_id)

    @rule(item_id=ids)
    def demote(self, item_id: str) -> None:
        if self.attempt(item_id, self.queue.demote) and item_id in self.model["steer"]:
            self.model["steer"].remove(item_id)
            self.model["follow_up"].insert(0, item_id)

    @rule(item_id=ids)
    def lock(self, item_id: str) -> None:
        if self.attempt(item_id, self.queue.lock):
            self.locked.add(item_id)

    @rule(item_id=ids)
    def edit(self, item_id: str) -> None:
        if self.attempt(item_id, self.queue.edit, f"edited {item_id}"):
            self.locked.discard(item_id)

    @rule(item_id=consumes(ids))
    def withdraw(self, item_id: str) -> None:
        if self.attempt(item_id, self.queue.withdraw):
            next(ids for ids in self.model.values() if item_id in ids).remove(item_id)
            self.withdrawn.append(item_id)
            self.left()

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        (self.queue.pause if paused else self.queue.resume)()
        self.all_paused = paused
        self.paused = self.paused if paused else set()

    @rule()
    def stop(self) -> None:
        self.queue.pause_waiting()
        self.paused |= self.pending()

    @rule(reason=st.sampled_from([None, "a program is paused (1 call)"]))
    def hold(self, reason: str | None) -> None:
        self.queue.hold(reason)

    @invariant()
    def same_items_in_the_same_order(self) -> None:
        for kind, ids in self.model.items():
            assert [i.id for i in self.queue.waiting(kind)] == ids  # type: ignore[arg-type]
        assert [i.id for i in self.queue.taken()] == [i for i, _ in self.taken]
        states = {i.id: i.state for i in self.queue.history()}
        assert {i for i, s in states.items() if s == "delivered"} == set(self.delivered)
        assert {i for i, s in states.items() if s == "withdrawn"} == set(self.withdrawn)

    @invariant()
    def no_item_is_lost_or_doubled(self) -> None:
        everywhere = [i.id for i in (*self.queue.items(), *self.queue.history())]
        assert len(everywhere) == len(set(everywhere)) == self.added

    @invariant()
    def states_tell_the_truth(self) -> None:
        for item in self.queue.items():
            if item.state == "taken":
                continue
            held = item.kind == "steer" and self.queue.held is not None
            paused = self.all_paused or item.id in self.paused
            assert item.state == ("paused" if paused else "held" if held else "queued")
        assert self.queue.paused == (self.all_paused or bool(self.paused))


QueueMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
TestQueueMachine = QueueMachine.TestCase


# --- what the queue's owner does itself ---------------------------------------------------------


def test_nothing_is_taken_from_behind_a_local_item(queue: MessageQueue) -> None:
    queue.follow_up_mode = "all"
    queue.add("follow_up", message("before"))
    command = queue.add("follow_up", message("/clear"), local=True)
    queue.add("follow_up", message("behind"))
    queue.add("steer", message("now"))
    assert queue.next_local() is None, "steering goes out first"
    assert [i.text for i in queue.take("steer")] == ["now"]
    assert queue.next_local() is None
    assert [i.text for i in queue.take("follow_up")] == ["before"]
    assert queue.take("follow_up") == []
    assert queue.next_local() is command
    queue.add("steer", message("once more"))
    assert queue.next_local() is None
    queue.take("steer")
    assert queue.next_local() is command
    queue.withdraw(command.id)
    assert queue.next_local() is None
    assert [i.text for i in queue.take("follow_up")] == ["behind"]


def test_a_local_item_that_is_paused_or_edited_is_not_next_and_still_in_the_way(
    queue: MessageQueue,
) -> None:
    command = queue.add("follow_up", message("/clear"), local=True)
    queue.add("follow_up", message("behind"))
    queue.pause()
    assert queue.next_local() is None
    queue.resume()
    queue.lock(command.id)
    assert queue.next_local() is None and queue.take("follow_up") == []
    queue.unlock(command.id)
    assert queue.next_local() is command


def test_a_local_item_does_not_steer(queue: MessageQueue) -> None:
    with pytest.raises(QueueError, match="cannot steer"):
        queue.add("steer", message("/clear"), local=True)
    command = queue.add("follow_up", message("/clear"), local=True)
    with pytest.raises(QueueError, match="cannot steer"):
        queue.promote(command.id)
    assert queue.items() == [command]
