"""The state a session file describes. Records are applied one by one, read or new.

The tree: each record names its parent; message records and those after them make
branches. The active leaf is the last message record unless a leaf record moved it.
"""

from dataclasses import dataclass, replace

from agent_tui.agent.message_queue import QueueKind
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    Container,
    ContainerUpload,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.drafts import Draft
from agent_tui.sessions.records import (
    AnswerRecord,
    BesideRecord,
    ContainerRecord,
    DraftRecord,
    FaceRecord,
    LeafRecord,
    MendRecord,
    MessageRecord,
    ModelRecord,
    PasteRecord,
    QueueRecord,
    RanRecord,
    Record,
    StashedDraft,
    ThinkingRecord,
    ToolOutcomeRecord,
    ToolsRecord,
    UploadsRecord,
)
from agent_tui.text import clean


@dataclass(slots=True)
class QueuedMessage:
    """A queue item on disk, accepted and not delivered. message is as it will go out:
    it is not expanded again. local: see QueueItem."""

    id: str
    kind: QueueKind
    message: AgentMessage
    local: bool = False


@dataclass(frozen=True, slots=True)
class Delivered:
    """How a queue item went out. landed: where, in words; "" when that was not recorded."""

    kind: QueueKind
    landed: str


@dataclass(slots=True)
class Node:
    """A record's place. message: None for records that hold none, or a message lost with
    a bad line. readable: False for a line of which only the place is known."""

    id: str
    parent_id: str | None
    message: AgentMessage | None = None
    readable: bool = True


class QueueState:
    """The queue as recorded: pending items of both kinds in order, and whether it is paused."""

    def __init__(self) -> None:
        self.paused = False
        self.delivered: set[str] = set()
        self._items: dict[str, QueuedMessage] = {}

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._items

    def items(self) -> list[QueuedMessage]:
        """Steering first, then follow-ups, each in its order of delivery."""
        return [*self.of_kind("steer"), *self.of_kind("follow_up")]

    def of_kind(self, kind: QueueKind) -> list[QueuedMessage]:
        return [item for item in self._items.values() if item.kind == kind]

    def deliver(self, message: AgentMessage) -> tuple[str, QueueKind | None] | None:
        """The message is recorded. Kinds that cannot carry a queue_item_id are known by the
        id of the queued message itself. Gives the item's id and its kind, where that is known;
        None for a message that was never queued."""
        item_id = getattr(message, "queue_item_id", None)
        if not isinstance(item_id, str):
            same = (item.id for item in self._items.values() if item.message.id == message.id)
            item_id = next(same, None)
        if item_id is None:
            return None
        item = self._items.pop(item_id, None)
        self.delivered.add(item_id)
        return item_id, None if item is None else item.kind

    def apply(self, record: QueueRecord) -> str | None:
        """Returns what is wrong with the record, None if nothing is."""
        item_id = record.item_id or ""
        match record.op:
            case "add" if item_id and record.kind and record.message is not None:
                if item_id not in self.delivered and item_id not in self._items:
                    local = bool(record.local)
                    self._items[item_id] = QueuedMessage(
                        item_id, record.kind, record.message, local
                    )
            case "edit" if item_id and record.message is not None:
                if item_id in self._items:
                    self._items[item_id].message = record.message
            case "withdraw" if item_id:
                self._items.pop(item_id, None)
            case "order" if record.steer is not None and record.follow_up is not None:
                self._reorder(record.steer, record.follow_up)
            case "pause":
                self.paused = True
            case "resume":
                self.paused = False
            case _:
                op = clean(record.op[:40])
                return f"does something to the queue that this version does not know ({op})"
        return None

    def _reorder(self, steer: list[str], follow_up: list[str]) -> None:
        """Items it does not name (their order was never told) keep their order, at the end."""
        rest = dict(self._items)
        ordered: dict[str, QueuedMessage] = {}
        kinds: list[tuple[QueueKind, list[str]]] = [("steer", steer), ("follow_up", follow_up)]
        for kind, ids in kinds:
            for item_id in ids:
                item = rest.pop(item_id, None)
                if item is not None:
                    item.kind = kind
                    ordered[item_id] = item
        self._items = {**ordered, **rest}


class SessionTree:
    """See module docstring. Not thread-safe."""

    def __init__(self) -> None:
        self.leaf: str | None = None
        self.answering: str | None = None
        """The id of an answer that began and of which nothing is recorded yet."""
        self.queue = QueueState()
        self.model: str | None = None
        self.thinking: str | None = None
        self.tools: dict[str, str] = {}
        """As ToolsRecord has them."""
        self.container: Container | None = None
        self.uploads: list[ContainerUpload] = []
        self.ran: dict[str, BashExecutionMessage] = {}
        """Commands of the user that waited for the end of a run, by their ids."""
        self.faces: list[str] = []
        self.draft = Draft()
        self.pastes: dict[str, str] = {}
        """Ids of paste records, by their text."""
        self.deliveries: dict[str, Delivered] = {}
        """How queue items went out, by their ids."""
        self.mends: list[MendRecord] = []
        self._beside: dict[str, AssistantMessage] = {}
        """By the ids of their records."""
        self.durations: dict[str, int] = {}
        self._nodes: dict[str, Node] = {}
        self._outcomes: dict[str, ToolResultMessage] = {}
        self._outcomes_of: dict[str, dict[str, ToolResultMessage]] = {}

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._nodes

    def parent_of(self, record_id: str) -> str | None:
        """Raises KeyError."""
        return self._nodes[record_id].parent_id

    def apply(self, record: Record) -> str | None:
        """Returns what is wrong with the record, in words that follow "line 7 ..."; None if
        nothing is. A record applied before (written twice after an error) changes nothing."""
        known = self._nodes.get(record.id)
        if known is not None and known.readable:
            return None
        node = self.place(record.id, record.parent_id)
        node.readable = True
        match record:
            case MessageRecord():
                return self._apply_message(record, node)
            case AnswerRecord():
                self.answering = record.message_id
            case ToolOutcomeRecord():
                return self._apply_outcome(record, node)
            case QueueRecord():
                if record.op == "add":
                    self._draft_was_sent(record.message)
                return self.queue.apply(record)
            case ModelRecord():
                self.model = record.model
            case ThinkingRecord():
                self.thinking = record.level
            case ToolsRecord():
                self.tools = record.choices
            case ContainerRecord():
                self.container = record.container
            case UploadsRecord():
                self.uploads = list(record.uploads)
            case RanRecord():
                self.ran[record.message.id] = record.message
            case FaceRecord():
                self.faces.append(record.face)
            case PasteRecord():
                self.pastes[record.text] = record.id
            case DraftRecord():
                return self._apply_draft(record)
            case MendRecord():
                self.mends.append(record)
            case BesideRecord():
                self._beside[record.id] = record.message
            case LeafRecord():
                if record.target is not None and record.target not in self._nodes:
                    return "goes to a message that could not be read"
                self.leaf = record.target
        return None

    def place(self, record_id: str, parent_id: str | None) -> Node:
        """Give a record its place without its content (that was lost, or is not known).

        A parent that was lost with its line is replaced by the leaf of that moment: what
        was written next continues what was active. Parents are always older, so no cycles.
        """
        node = self._nodes.get(record_id)
        if node is None:
            if parent_id is not None and parent_id not in self._nodes:
                parent_id = self.leaf
            node = self._nodes[record_id] = Node(record_id, parent_id, readable=False)
        return node

    def commands_along(self) -> dict[str, BashExecutionMessage]:
        """Of the user's commands those that a queued message brings along, by their ids."""
        named = {name for item in self.queue.items() for name in _brought_along(item.message)}
        return {ident: ran for ident, ran in self.ran.items() if ident in named}

    def commands_waiting(self) -> list[BashExecutionMessage]:
        """Of the user's commands those that no message says or brings along, in their order."""
        said: set[str] = set(self.commands_along())
        for node in self._nodes.values():
            if node.message is not None:
                said.add(node.message.id)
                said.update(_brought_along(node.message))
        return [ran for ident, ran in self.ran.items() if ident not in said]

    def _apply_message(self, record: MessageRecord, node: Node) -> str | None:
        message = record.message
        if message is None and record.outcome is not None:
            message = self._outcomes.get(record.outcome)
        if message is None:
            if record.outcome is None:
                return "does not hold what its kind should"
            return "refers to a tool result that could not be read"
        node.message = message
        self.leaf = record.id
        self.answering = None
        self._draft_was_sent(message)
        if (item := self.queue.deliver(message)) is not None:
            kind = record.delivered or item[1]
            if kind is not None:
                self.deliveries[item[0]] = Delivered(kind, record.landed or "")
        return None

    def _apply_draft(self, record: DraftRecord) -> str | None:
        held = {record_id: text for text, record_id in self.pastes.items()}
        whole = True

        def with_pastes(draft: DraftRecord | StashedDraft) -> Draft:
            nonlocal whole
            named = draft.pastes or {}
            known = {name: held[of] for name, of in named.items() if of in held}
            whole = whole and len(known) == len(named)
            return Draft(draft.text, known)

        stash = tuple(with_pastes(away) for away in record.stash or ())
        self.draft = replace(with_pastes(record), stash=stash)
        return None if whole else "names a paste that could not be read"

    def _draft_was_sent(self, message: AgentMessage | None) -> None:
        """What is sent is a draft no more, by the very record that holds it: a crash leaves the
        one or the other, never both and never none."""
        if not isinstance(message, UserMessage):
            return
        if self.draft.text and message.text == self.draft.whole:
            self.draft = self.draft.sent()
        if message.uploads:
            sent = {upload.file_id for upload in message.uploads}
            self.uploads = [upload for upload in self.uploads if upload.file_id not in sent]

    def _apply_outcome(self, record: ToolOutcomeRecord, node: Node) -> str | None:
        message = record.message
        if not isinstance(message, ToolResultMessage):
            return "holds no tool result"
        self._outcomes[record.id] = message
        self.durations[message.tool_call_id] = record.duration_ms
        owner = self._caller_of(message.tool_call_id, node.parent_id)
        if owner is not None:
            self._outcomes_of.setdefault(owner, {})[message.tool_call_id] = message
        return None

    def _caller_of(self, tool_call_id: str, from_id: str | None) -> str | None:
        """The nearest assistant message up the branch, if the call is one of its calls.
        (Ids of calls may repeat in a session; this one is of the batch that just ran.)"""
        while from_id is not None:
            node = self._nodes[from_id]
            if isinstance(node.message, AssistantMessage):
                calls = (call.id for call in node.message.tool_calls)
                return node.id if tool_call_id in calls else None
            from_id = node.parent_id
        return None

    def branch(self) -> list[Node]:
        """The active branch, oldest first: records that hold messages."""
        nodes: list[Node] = []
        node_id = self.leaf
        while node_id is not None:
            node = self._nodes[node_id]
            if node.message is not None:
                nodes.append(node)
            node_id = node.parent_id
        nodes.reverse()
        return nodes

    def answers(self) -> list[AssistantMessage]:
        """Of all branches and beside them, each once, in the order in which they were written."""
        of_id: dict[str, AssistantMessage] = {}
        for node in self._nodes.values():
            message = node.message or self._beside.get(node.id)
            if isinstance(message, AssistantMessage):
                of_id.setdefault(message.id, message)
        return list(of_id.values())

    def messages(self) -> list[AgentMessage]:
        """The active branch. A tool that ended but whose result message was not written any
        more (the process died) gets it here, in its place in call order."""
        nodes = self.branch()
        out: list[AgentMessage] = []
        at = 0
        while at < len(nodes):
            node = nodes[at]
            at += 1
            out.append(_message(node))
            outcomes = self._outcomes_of.get(node.id)
            if not outcomes or not isinstance(node.message, AssistantMessage):
                continue
            results: list[ToolResultMessage] = []
            while at < len(nodes) and isinstance(nodes[at].message, ToolResultMessage):
                results.append(nodes[at].message)  # pyright: ignore[reportArgumentType]
                at += 1
            out.extend(_complete(node.message, results, outcomes))
        return out


def _message(node: Node) -> AgentMessage:
    assert node.message is not None  # branch() gives no other
    return node.message


def _complete(
    assistant: AssistantMessage,
    results: list[ToolResultMessage],
    outcomes: dict[str, ToolResultMessage],
) -> list[ToolResultMessage]:
    """The batch's results with those of `outcomes` that are missing, each before the first
    result of a later call."""
    have = {result.tool_call_id for result in results}
    place = {call.id: index for index, call in enumerate(assistant.tool_calls)}
    missing = [call_id for call_id in place if call_id in outcomes and call_id not in have]
    out = list(results)
    for call_id in missing:
        later = (
            index
            for index, result in enumerate(out)
            if place.get(result.tool_call_id, -1) > place[call_id]
        )
        out.insert(next(later, len(out)), outcomes[call_id])
    return out


def _brought_along(message: AgentMessage) -> list[str]:
    """Ids of the user's commands whose output goes with this message."""
    if not isinstance(message, UserMessage):
        return []
    return [a.mention[1:] for a in message.attachments if a.mention.startswith("!")]
