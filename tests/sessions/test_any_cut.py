"""Any sequence of operations cut at any byte, and any damage: what must always hold."""

import copy
import hashlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from session_making import assistant, every_kind, lines_of, quick_session, result, user

from agent_tui.agent.messages import AgentMessage, ToolResultMessage
from agent_tui.drafts import Draft
from agent_tui.sessions import Session, SessionDamagedError

NAME = "20260101T000000_0123456789abcdef.jsonl"


@dataclass
class Expected:
    """What a session must be, kept in the plainest way. ended: results of the open batch
    that have no message yet. queue: (kind, id, text)."""

    messages: list[AgentMessage] = field(default_factory=list)
    ended: list[ToolResultMessage] = field(default_factory=list)
    queue: list[tuple[str, str, str]] = field(default_factory=list)
    paused: bool = False
    draft: str = ""
    model: str | None = None


class Play:
    """Does operations on a session and on Expected alike; states: the size of the file after
    each operation and what must be in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session = quick_session(path)
        self.now = Expected()
        self.running: list[str] = []
        self.count = 0
        self.states: list[tuple[int, Expected]] = [(0, Expected())]

    def do(self, name: str, number: int) -> None:
        self.count += 1
        getattr(self, name)(number)
        assert self.session.flush(10)
        self.states.append((self.size(), copy.deepcopy(self.now)))

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def at(self, size: int) -> Expected:
        """A record is whole when only its newline is missing."""
        return [expected for end, expected in self.states if end - 1 <= size][-1]

    def append(self, message: AgentMessage) -> None:
        self.session.append_message(message)
        self.now.messages.append(message)

    @property
    def open_batch(self) -> bool:
        return bool(self.running or self.now.ended)

    def user(self, number: int) -> None:
        if not self.open_batch:
            self.append(user(f"user {number} é 🎉\n"))

    def kind(self, number: int) -> None:
        if not self.open_batch:
            kinds = [m for m in every_kind() if m.role not in ("user", "toolResult")]
            message = kinds[number % len(kinds)]
            self.append(message.model_copy(update={"id": f"kind-{self.count}"}))

    def call(self, number: int) -> None:
        """The ids of calls are the same in every batch."""
        if not self.open_batch:
            self.running = [f"t{n}" for n in range(1 + number % 3)]
            self.append(assistant(f"assistant {number}", *self.running))

    def end_tool(self, number: int) -> None:
        if self.running:
            call_id = self.running.pop(number % len(self.running))
            ended = result(call_id, f"result {self.count} of {call_id}")
            self.session.record_tool_outcome(ended)
            self.now.ended.append(ended)
            self.now.ended.sort(key=lambda r: r.tool_call_id)

    def give_result(self, number: int) -> None:
        """In call order, when the whole batch has ended."""
        if self.now.ended and not self.running:
            self.append(self.now.ended.pop(0))

    def add(self, number: int) -> None:
        kind = "steer" if number % 2 else "follow_up"
        item, text = f"q{self.count}", f"queued {number}"
        self.session.record_queue("add", item, kind=kind, message=user(text))
        self.now.queue.append((kind, item, text))

    def edit(self, number: int) -> None:
        if self.now.queue:
            at = number % len(self.now.queue)
            kind, item, _ = self.now.queue[at]
            self.session.record_queue("edit", item, message=user(f"edited {number}"))
            self.now.queue[at] = (kind, item, f"edited {number}")

    def withdraw(self, number: int) -> None:
        if self.now.queue:
            _, item, _ = self.now.queue.pop(number % len(self.now.queue))
            self.session.record_queue("withdraw", item)

    def order(self, number: int) -> None:
        """Turned around, and one item changes its kind."""
        if self.now.queue:
            queue = self.now.queue[::-1]
            at = number % len(queue)
            kind, item, text = queue[at]
            queue[at] = ("follow_up" if kind == "steer" else "steer", item, text)
            self.now.queue = queue
            steer = [item for kind, item, _ in queue if kind == "steer"]
            follow_up = [item for kind, item, _ in queue if kind == "follow_up"]
            self.session.record_queue("order", steer=steer, follow_up=follow_up)

    def pause(self, number: int) -> None:
        if self.path.exists():
            self.now.paused = bool(number % 2)
            self.session.record_queue("pause" if self.now.paused else "resume")

    def deliver(self, number: int) -> None:
        if self.now.queue and not self.open_batch:
            _, item, text = self.now.queue.pop(number % len(self.now.queue))
            self.append(user(text, queue_item_id=item))

    def retry(self, number: int) -> None:
        messages = self.now.messages
        if messages and not self.open_batch and messages[-1].role != "toolResult":
            self.session.set_aside(messages.pop().id)

    def move(self, number: int) -> None:
        """Not into the midst of a batch: its ended tools would rightly show up again."""
        messages = self.now.messages
        if messages and not self.open_batch:
            at = number % len(messages)
            if not any(m.role == "toolResult" for m in messages[at : at + 2]):
                self.session.move_leaf(messages[at].id)
                del messages[at + 1 :]

    def draft(self, number: int) -> None:
        pastes = {"[paste]": f"paste {number % 3}"} if number % 2 else {}
        draft = Draft(f"draft {number}" + " [paste]" * bool(pastes), pastes)
        self.now.draft = draft.whole
        self.session.record_draft(draft)

    def send(self, number: int) -> None:
        """The draft goes out: at once, or into the queue."""
        if not self.now.draft or self.open_batch:
            return
        text, self.now.draft = self.now.draft, ""
        if number % 2:
            self.append(user(text))
        else:
            item = f"q{self.count}"
            self.session.record_queue("add", item, kind="steer", message=user(text))
            self.now.queue.append(("steer", item, text))

    def model(self, number: int) -> None:
        if self.path.exists():
            self.now.model = f"model {number}"
            self.session.record_model(self.now.model)


OPERATIONS = (
    "user", "kind", "call", "end_tool", "give_result", "add", "edit", "withdraw", "order",
    "pause", "deliver", "retry", "move", "draft", "send", "model",
)  # fmt: skip


def check(session: Session, expected: Expected) -> None:
    assert session.messages() == [*expected.messages, *expected.ended]
    queue = [(i.kind, i.id, i.message.text) for i in session.queue_items()]  # type: ignore
    assert queue == sorted(expected.queue, key=lambda item: item[0] == "follow_up")
    assert session.queue_paused == expected.paused
    assert (session.draft.whole, session.model) == (expected.draft, expected.model)


@settings(max_examples=60, deadline=None)
@given(
    operations=st.lists(
        st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 99)), min_size=1, max_size=25
    ),
    places=st.lists(st.integers(0, 10**6), max_size=4),
    near=st.integers(-2, 1),
)
def test_cut_at_any_byte_everything_before_the_cut_is_there(
    operations: list[tuple[str, int]], places: list[int], near: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        play = Play(Path(folder, NAME))
        for name, number in operations:
            play.do(name, number)
        check(play.session, play.now)
        assert play.session.close()
        if not play.path.exists():
            return
        whole = play.path.read_bytes()
        header = whole.index(b"\n")
        ends = [min(max(end + near, 0), len(whole)) for end, _ in play.states]
        for size in sorted({*ends, *(place % (len(whole) + 1) for place in places)}):
            cut = Path(folder, f"{size}_{NAME}")
            cut.write_bytes(whole[:size])
            if size < header:
                with pytest.raises(SessionDamagedError):
                    Session.open(cut)
                continue
            expected = copy.deepcopy(play.at(size))
            session = Session.open(cut)
            check(session, expected)
            torn = size not in (0, len(whole)) and whole[size - 1 : size + 1].find(b"\n") < 0
            assert len(session.notices) == torn, "a notice if and only if a line was cut"
            goes_on = user("goes on")
            session.append_message(goes_on)
            assert session.close()
            assert cut.read_bytes().startswith(whole[:size]), "nothing is rewritten"
            again = Session.open(cut, read_only=True)
            expected.messages += [*expected.ended, goes_on]
            expected.ended = []
            check(again, expected)


# --- damage ---------------------------------------------------------------------------


@dataclass
class Sound:
    """A file without damage. messages: per line number (from 0) the id of the message that
    is in the transcript if these lines are untouched."""

    data: bytes
    starts: list[int]
    messages: list[tuple[set[int], str]]
    items: list[tuple[set[int], str]]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sound]:
    path = tmp_path_factory.mktemp("sound") / NAME
    session = quick_session(path)
    for n in range(3):
        session.append_message(user(f"question {n}"))
        session.append_message(assistant(f"answer {n}", "t1", "t2"))
        results = [result("t1", "one\n" * 5), result("t2", '{"type":"message","id":"')]
        for ended in reversed(results):
            session.record_tool_outcome(ended)
        for message in results:
            session.append_message(message)
        for m in range(2):
            session.record_queue("add", f"q{n}{m}", kind="steer", message=user("queued"))
        session.record_queue("edit", f"q{n}1", message=user("edited"))
        session.append_message(user("queued", queue_item_id=f"q{n}0"))
    assert session.close()
    path.write_bytes(_same_in_each_run(path.read_bytes()))
    lines = lines_of(path)
    number_of = {line["id"]: number for number, line in enumerate(lines)}
    messages = [
        ({number} | ({number_of[line["outcome"]]} if "outcome" in line else set()), line["id"])
        for number, line in enumerate(lines)
        if line["type"] == "message"
    ]
    items = [
        ({n for n, line in enumerate(lines) if line.get("item_id") == item}, item)
        for item in ("q01", "q11", "q21")
    ]
    data = path.read_bytes()
    starts = [0] + [at + 1 for at, byte in enumerate(data) if byte == 10]
    yield Sound(data, starts, messages, items)


def _same_in_each_run(data: bytes) -> bytes:
    """Ids and times replaced, so that a failing example fails again."""
    ids: dict[bytes, bytes] = {}

    def fixed_id(found: re.Match[bytes]) -> bytes:
        number = str(len(ids)).encode()
        return ids.setdefault(found[0], hashlib.sha256(number).hexdigest()[:16].encode())

    data = re.sub(rb"(?<=\")[0-9a-f]{16}(?=\")", fixed_id, data)
    return re.sub(rb'(?<=time":|tamp":)[0-9.]+', b"1700000000.25", data)


blobs = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"",
            b"\n",
            b"\x00" * 64,
            b'"',
            b"\\",
            b"{",
            b"[",
            b"1",
            b'{"type":"',
            b'{"type":',
            b"}\n{",
        ]
    ),
)


@settings(max_examples=400, deadline=None)
@example(place=0, length=1, blob=b"?", boundary=4)
@example(place=0, length=1, blob=b"", boundary=4)
@given(
    place=st.integers(0, 10**6),
    length=st.one_of(st.integers(0, 3), st.integers(0, 1500)),
    blob=blobs,
    boundary=st.none() | st.integers(0, 100),
)
def test_damage_costs_only_the_lines_it_touches(
    sound: Sound, place: int, length: int, blob: bytes, boundary: int | None
) -> None:
    """Bytes replaced, removed or put in anywhere behind the header."""
    size = len(sound.data)
    if boundary is not None:
        start = sound.starts[1 + boundary % (len(sound.starts) - 1)] - 1
    else:
        start = sound.starts[1] + place % (size - sound.starts[1])
    end = min(start + length, size)
    touched = {
        number
        for number, (first, behind) in enumerate(zip(sound.starts, sound.starts[1:], strict=False))
        if max(first, start) < min(behind, end) or (start == end and first < start < behind)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, NAME)
        path.write_bytes(sound.data[:start] + blob + sound.data[end:])
        session = Session.open(path, read_only=True)
    got = [message.id for message in session.messages()]
    kept = [message_id for lines, message_id in sound.messages if not lines & touched]
    assert [i for i in got if i in kept] == kept
    waiting = [item.id for item in session.queue_items()]
    kept_items = [item for lines, item in sound.items if not lines & touched]
    assert [i for i in waiting if i in kept_items] == kept_items
    if not touched and blob.strip():
        assert got == [message_id for _, message_id in sound.messages]
