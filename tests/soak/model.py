"""What the queue and the transcript should be, by the commands given and the events heard.

Every change of the queue emits one queue_changed, and a command's answer comes before the
next command is begun; so each event must be one step from the state before it: the command
being carried out, or a step of the loop. Anything else is a Disagreement.
"""

import copy
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from .witness import Json, tokens

QUEUE_COMMANDS = {
    "steer", "follow_up", "custom", "queue_edit", "queue_move", "queue_remove", "queue_promote",
    "queue_demote", "queue_pause", "queue_resume",
}  # fmt: skip

NEEDS = {
    "steer": {"text"}, "follow_up": {"text"}, "custom": {"kind", "text"},
    "queue_edit": {"item_id", "text"}, "queue_move": {"item_id", "index"},
    "queue_remove": {"item_id"}, "queue_promote": {"item_id"}, "queue_demote": {"item_id"},
}  # fmt: skip

Kind = str
View = tuple[tuple[tuple[str, Kind, str], ...], tuple[str, ...], bool, tuple[str, ...]]


class Disagreement(AssertionError):
    """The program and the model differ."""


class Refused(Exception):
    """The model says that a command cannot be carried out now."""


@dataclass
class Item:
    id: str
    kind: Kind
    text: str


@dataclass
class Command:
    id: int
    type: str
    fields: Json
    applied: bool = False


@dataclass
class SessionModel:
    """One session: waiting and taken items, and what was said (the names, in order).

    all_paused: by queue_pause, what comes too; paused_ids: what a stop or a failure found.
    """

    id: str = ""
    waiting: dict[Kind, list[Item]] = field(default_factory=lambda: {"steer": [], "follow_up": []})
    taken: list[Item] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    all_paused: bool = False
    paused_ids: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    @property
    def paused(self) -> bool:
        return self.all_paused or bool(self.paused_ids)

    def is_paused(self, item: Item) -> bool:
        return self.all_paused or item.id in self.paused_ids

    def pause_waiting(self) -> None:
        self.paused_ids |= {i.id for i in (*self.items(), *self.taken)}

    def settle(self, had_items: bool) -> None:
        """What left is paused no more; a queue that has become empty is not paused."""
        there = {i.id for i in (*self.items(), *self.taken)}
        self.paused_ids &= there
        if had_items and not there:
            self.all_paused = False

    def next(self) -> Item | None:
        """What the loop would take: steering first, past what is paused."""
        return next((item for item in self.items() if not self.is_paused(item)), None)

    def take(self, item: Item) -> None:
        self.waiting[item.kind].remove(item)
        self.taken.append(item)

    def view(self) -> View:
        """As queue_changed and `queue` tell it: (id, kind, text) in order; taken ids; whether it
        is paused, and which that wait are."""
        items = [
            item
            for kind in ("steer", "follow_up")
            for item in (*(i for i in self.taken if i.kind == kind), *self.waiting[kind])
        ]
        shown = tuple((i.id, i.kind, i.text) for i in items)
        held_back = tuple(sorted(i.id for i in self.items() if self.is_paused(i)))
        return shown, tuple(sorted(i.id for i in self.taken)), self.paused, held_back

    def items(self) -> list[Item]:
        return [*self.waiting["steer"], *self.waiting["follow_up"]]

    def find(self, item_id: str) -> Item:
        for item in self.items():
            if item.id == item_id:
                return item
        raise Refused(item_id)

    def apply(self, command: Command, new_id: str) -> None:
        """Raises Refused. new_id: of the item that an adding command makes."""
        had_items = bool(self.items() or self.taken)
        self._apply(command, new_id)
        self.settle(had_items)

    def _apply(self, command: Command, new_id: str) -> None:
        fields = command.fields
        if command.type in NEEDS and not NEEDS[command.type] <= fields.keys():
            raise Refused("a field is missing")
        match command.type:
            case "steer" | "custom":
                self.waiting["steer"].append(Item(new_id, "steer", fields["text"]))
            case "follow_up":
                self.waiting["follow_up"].append(Item(new_id, "follow_up", fields["text"]))
            case "queue_edit":
                self.find(fields["item_id"]).text = fields["text"]
            case "queue_move":
                item = self.find(fields["item_id"])
                line = self.waiting[item.kind]
                line.remove(item)
                line.insert(max(0, min(fields["index"], len(line))), item)
            case "queue_remove":
                item = self.find(fields["item_id"])
                self.waiting[item.kind].remove(item)
                self.gone.add(item.id)
            case "queue_promote":
                item = self.find(fields["item_id"])
                if item.kind == "follow_up":
                    self.waiting["follow_up"].remove(item)
                    item.kind = "steer"
                    self.waiting["steer"].append(item)
            case "queue_demote":
                item = self.find(fields["item_id"])
                if item.kind == "steer":
                    self.waiting["steer"].remove(item)
                    item.kind = "follow_up"
                    self.waiting["follow_up"].insert(0, item)
            case "queue_pause":
                self.all_paused = True
            case "queue_resume":
                self.all_paused = False
                self.paused_ids.clear()
            case "abort" if fields.get("pause_queue"):
                self.pause_waiting()
            case _:
                pass

    def give_back(self) -> None:
        for item in reversed(self.taken):
            self.waiting[item.kind].insert(0, item)
        self.taken = []


class Model:
    """Fed with every command as it is sent (sent) and every line as it is read (heard)."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionModel] = {}
        self.session = SessionModel()
        self.status = "ready"
        self.requests: list[Json] = []
        """Open permission requests."""
        self.running_calls: list[str] = []
        self._commands: deque[Command] = deque()
        self._landed: set[str] = set()
        self._failed = False
        self._between = False
        """The session was changed, and begin() has not said yet to which."""

    def sent(self, ident: int, kind: str, fields: Json) -> None:
        self._commands.append(Command(ident, kind, fields))

    def heard(self, line: Json) -> None:
        match line["type"]:
            case "status":
                self.status = line["status"]
            case "queue_changed":
                self._queue_changed(line)
            case "message_end":
                self._message(line["message"])
            case "permission_request":
                self.requests.append(line)
            case "permission_resolved":
                self.requests = [r for r in self.requests if r["request_id"] != line["request_id"]]
            case "tool_execution_start":
                self.running_calls.append(line["tool_call_id"])
            case "tool_execution_end":
                self.running_calls.remove(line["tool_call_id"])
            case "response":
                self._answered(line)
            case _:
                pass

    # --- the transcript ------------------------------------------------------------------

    def _message(self, message: Json) -> None:
        if message["role"] in ("user", "custom"):
            self.session.said += names_of(message)
            if message.get("queue_item_id"):
                self._landed.add(message["queue_item_id"])
        elif message["role"] == "assistant":
            self._failed = message["stop_reason"] == "error"

    # --- the queue -----------------------------------------------------------------------

    def _queue_changed(self, line: Json) -> None:
        if self._between or (self._commands and _switches(self._commands[0])):
            return  # the queue is emptied and filled item by item
        seen = view_of(line)
        self._check_states(line)
        known = {i.id for i in (*self.session.items(), *self.session.taken)}
        new_ids = [id_ for id_, _, _ in seen[0] if id_ not in known]
        for candidate, command in self._steps(new_ids[0] if new_ids else ""):
            if candidate.view() == seen:
                self.session = candidate
                if candidate.id:
                    self.sessions[candidate.id] = candidate
                if command is not None:
                    command.applied = True
                return
        raise Disagreement(
            f"the queue went from {self.session.view()} to {seen}; under way: "
            f"{self._commands[0] if self._commands else None}"
        )

    @staticmethod
    def _check_states(line: Json) -> None:
        """Of what waits and is not paused: steering alone, and all of it, may be held."""
        states = {
            kind: {i["state"] for i in line["items"] if i["kind"] == kind} - {"taken", "paused"}
            for kind in ("steer", "follow_up")
        }
        if states["steer"] not in ({"queued"}, {"held"}, set()) or states["follow_up"] - {"queued"}:
            raise Disagreement(f"wrong states: {line}")

    def _steps(self, new_id: str) -> Iterator[tuple[SessionModel, Command | None]]:
        """Each state that may follow the present one."""
        now = self.session
        yield now, None
        command = self._commands[0] if self._commands else None
        if command is not None and not command.applied:
            after = copy.deepcopy(now)
            try:
                after.apply(command, new_id)
                yield after, command
            except Refused:
                pass
        after = copy.deepcopy(now)
        if (item := after.next()) is not None:
            after.take(item)
            yield after, None
        for item in now.taken:
            if item.id in self._landed:
                after = copy.deepcopy(now)
                after.taken = [i for i in after.taken if i.id != item.id]
                after.gone.add(item.id)
                after.settle(had_items=True)
                yield after, None
        if now.taken:
            after = copy.deepcopy(now)
            after.give_back()
            yield after, None
        if self._failed and now.next() is not None:
            after = copy.deepcopy(now)
            after.pause_waiting()
            yield after, None

    def _answered(self, line: Json) -> None:
        command = self._commands.popleft()
        if command.id != line["id"]:
            raise Disagreement(f"the answer to {command} was expected, not {line}")
        if _switches(command) and line["ok"]:
            self.sessions[self.session.id] = self.session
            self._between = True
        if command.type in ("queue", "state") and line["ok"]:
            self._compare(line["data"], command.type)
        if command.type not in QUEUE_COMMANDS:
            return
        if command.applied:
            if not line["ok"]:
                raise Disagreement(f"{command} was carried out, and refused: {line}")
            return
        after = copy.deepcopy(self.session)
        try:
            after.apply(command, (line.get("data") or {}).get("item_id", ""))
        except Refused:
            if line["ok"]:
                raise Disagreement(f"{command} cannot have been carried out: {line}") from None
            return
        if not line["ok"]:
            raise Disagreement(f"{command} was refused without a reason: {line}")
        if after.view() != self.session.view():
            raise Disagreement(f"{command} was answered before its change was told: {line}")
        self.session = after  # what cannot be seen of it yet: what comes is paused, too
        if after.id:
            self.sessions[after.id] = after

    def _compare(self, data: Json, kind: str) -> None:
        if self._between:
            return
        items = data["items"] if kind == "queue" else data["queue"]
        paused = data["paused"] if kind == "queue" else self.session.paused
        seen = view_of({"items": items, "paused": paused})
        if seen != self.session.view():
            raise Disagreement(f"`{kind}` says {seen}, not {self.session.view()}")

    # --- sessions ------------------------------------------------------------------------

    def begin(self, session_id: str) -> None:
        """The program is in this session now: a new one, or one that it was in before."""
        self._between = False
        self.session = self.sessions.setdefault(session_id, SessionModel(id=session_id))

    def restarted(self, messages: list[Json], queue: Json) -> None:
        """After a kill: what the program says it holds must follow from what was heard, plus
        what it was doing when it was killed."""
        said = [name for message in messages for name in names_of(message)]
        before = self.session
        if said[: len(before.said)] != before.said:
            raise Disagreement(f"after the restart {said} were said, not {before.said}")
        under_way = [command for command in self._commands if not command.applied]
        self._commands.clear()
        self._forget_run()
        extra = said[len(before.said) :]
        sayable = [
            *(name for i in (*before.items(), *before.taken) for name in tokens(i.text)),
            *(name for c in under_way for name in tokens(c.fields.get("text", ""))),
        ]
        if len(set(said)) != len(said) or any(name not in sayable for name in extra):
            raise Disagreement(f"after the restart {extra} were said too, of {sayable}")
        seen = [(i["kind"], i["text"]) for i in queue["items"]], queue["paused"]
        for candidate in _after_kill(before, under_way, set(said)):
            if ([(i.kind, i.text) for i in candidate.items()], candidate.paused) == seen:
                for item, told in zip(candidate.items(), queue["items"], strict=True):
                    item.id = told["id"]
                candidate.said = said
                candidate.all_paused = False
                candidate.paused_ids = (
                    {item.id for item in candidate.items()} if queue["paused"] else set()
                )
                self.session = self.sessions[before.id] = candidate
                return
        raise Disagreement(
            f"after the restart the queue is {seen}; it was {before.view()} and these were "
            f"under way: {under_way}; said since: {extra}"
        )

    def _forget_run(self) -> None:
        self.status = "ready"
        self.requests, self.running_calls = [], []
        self._failed = False


def _switches(command: Command) -> bool:
    text = str(command.fields.get("text"))
    return command.type == "command" and text.startswith(("/clear", "/resume"))


def _after_kill(
    before: SessionModel, under_way: list[Command], said: set[str]
) -> Iterator[SessionModel]:
    """Each prefix of the commands under way may have been carried out, with or without the
    loop having taken the next item first; and a failed run may have paused the queue."""
    for count in range(len(under_way) + 1):
        for take in (False, True):
            for pause in (False, True):
                after = copy.deepcopy(before)
                if take and (item := after.next()) is not None:
                    after.take(item)
                for command in under_way[:count]:
                    with suppress(Refused):
                        after.apply(command, f"new {command.id}")
                after.give_back()
                for line in after.waiting.values():
                    line[:] = [i for i in line if not said.intersection(tokens(i.text))]
                after.settle(had_items=True)
                if pause:
                    after.pause_waiting()
                # What was paused by hand on an empty queue is not kept.
                after.all_paused &= bool(after.items())
                yield after


def view_of(line: Json) -> View:
    shown = tuple((i["id"], i["kind"], i["text"]) for i in line["items"])
    taken = tuple(sorted(i["id"] for i in line["items"] if i["state"] == "taken"))
    held_back = tuple(sorted(i["id"] for i in line["items"] if i["state"] == "paused"))
    return shown, taken, line["paused"], held_back


def names_of(message: Json) -> list[str]:
    if message["role"] not in ("user", "custom"):
        return []
    return [name for block in message["content"] for name in tokens(block.get("text") or "")]
