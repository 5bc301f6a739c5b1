"""Session: one conversation on disk, an append-only JSONL tree (DESIGN: On disk).

What a message or a queue change is to the session is decided here; the state is in
tree.py, the lines in records.py, the disk in reader.py and writer.py.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from agent_tui.agent.message_queue import QueueKind
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    Container,
    ContainerUpload,
    ToolResultMessage,
    new_id,
)
from agent_tui.drafts import Draft
from agent_tui.paths import folder_slug
from agent_tui.sessions.carried import carried_from
from agent_tui.sessions.errors import (
    SessionClosedError,
    SessionNotFoundError,
    SessionUnreadableError,
)
from agent_tui.sessions.lock import SessionLock
from agent_tui.sessions.reader import load_session
from agent_tui.sessions.records import (
    AnswerRecord,
    BesideRecord,
    CarriedRecord,
    ContainerRecord,
    DraftRecord,
    FaceRecord,
    Header,
    LeafRecord,
    Mask,
    MendRecord,
    MessageRecord,
    ModelRecord,
    PasteRecord,
    QueueOp,
    QueueRecord,
    RanRecord,
    Record,
    StashedDraft,
    ThinkingRecord,
    ToolOutcomeRecord,
    ToolsRecord,
    UploadsRecord,
    encode,
)
from agent_tui.sessions.tree import Delivered, QueuedMessage, SessionTree
from agent_tui.sessions.writer import Line, SessionWriter, Ticket

log = logging.getLogger(__name__)

SUFFIX = ".jsonl"

CUT_OFF = (
    "The program ended in the middle of an answer; what had come of it is lost. /retry asks again."
)
"""Told when a session is opened; a message that follows makes it true no more."""

ACTIVE_LEAF = ""
"""Stands for the active leaf where a record's id is asked for; no record has this id."""


class Session:
    """One session. Made by create(), open() or in_memory().

    Every change is applied at once and its line handed to a writer thread; the Ticket
    returned tells when it is on disk (True) or could not be written (False: the change
    stays in memory, is tried again, and warnings() says so). Not thread-safe: one event
    loop. No method waits for a disk but open(), flush() and close().
    """

    def __init__(
        self,
        header: Header,
        *,
        tree: SessionTree | None = None,
        path: Path | None = None,
        writer: SessionWriter | None = None,
        mask: Mask | None = None,
        notices: Sequence[str] = (),
        new: bool = False,
        read_only: bool = False,
    ) -> None:
        self._header = header
        self._tree = tree or SessionTree()
        self._writer = writer
        self._mask = mask
        self._new = new
        self._read_only = read_only
        self._closed = False
        self._held: list[Line] = []
        self._on_branch = self._branch_ids()
        self._written_outcomes: dict[str, tuple[str, AgentMessage | None]] = {}
        self.path = path
        self.notices = list(notices)
        """What was damaged when the file was read, a sentence each, for the user."""
        self.carried: set[str] = set()
        """Items of the queue that another session has taken over; a crash left them here too."""
        self.greeting = ""
        """Which session this is, a sentence from whoever opened it."""

    # --- making ---------------------------------------------------------------------

    @classmethod
    def create(
        cls, cwd: str, home: Path, *, mask: Mask | None = None, face: str | None = None
    ) -> "Session":
        """A new session of the folder `cwd`, under home/sessions. The file is made with the
        first message, queue item or draft, so that looking around leaves no empty ones.

        face: see Header. mask: applied to every string before it is written; it takes the
        secrets out. It runs in the writer's thread. A message is final once it is recorded: do
        not change it.
        """
        header = _new_header(cwd, face)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(header.created))
        path = folder_of(cwd, home) / f"{stamp}_{header.id}{SUFFIX}"
        return cls(header, path=path, writer=SessionWriter(path), mask=mask, new=True)

    @classmethod
    def in_memory(cls, cwd: str) -> "Session":
        """A session that is never written (--no-session): the same interface."""
        return cls(_new_header(cwd))

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        read_only: bool = False,
        repair: bool = False,
        mask: Mask | None = None,
    ) -> "Session":
        """Reads the file and takes its lock. Blocking: about 0.1 s for 5 MB; call it in a
        thread. Nothing is written by opening.

        read_only: no lock, and what is recorded from here on stays in memory. repair: if the
        header cannot be read, take the id from the file's name and write a new header at the
        end (the old bytes stay). Raises SessionNotFoundError, SessionLockedError,
        SessionDamagedError, SessionTooNewError, SessionUnreadableError.
        """
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise SessionNotFoundError(str(path)) from None
        except OSError as error:
            raise SessionUnreadableError(path, error.strerror or str(error)) from error
        fallback = Header(id=id_in_name(path), created=0.0) if repair else None
        lock = None if read_only else SessionLock.acquire(path)
        try:
            loaded = load_session(path, fallback_header=fallback)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        writer = None
        if not read_only:
            writer = SessionWriter(path, at_line_start=loaded.at_line_start, lock=lock, exists=True)
        session = cls(
            loaded.header,
            tree=loaded.tree,
            path=path,
            writer=writer,
            mask=mask,
            notices=[*loaded.notices, *([CUT_OFF] if loaded.tree.answering else [])],
            read_only=read_only,
        )
        items = [item.id for item in loaded.tree.queue.items()]
        session.carried = carried_from(path, session.id, items, SUFFIX)
        if writer is not None and loaded.header is fallback:
            writer.put(encode(loaded.header))
        return session

    # --- what it holds ----------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._header.id

    @property
    def cwd(self) -> str:
        """The folder it belongs to; "" when its header was lost."""
        return self._header.cwd

    @property
    def created(self) -> float:
        """Seconds since 1970."""
        return self._header.created

    @property
    def face(self) -> str | None:
        """What made it (Header), or the last other face that went on in it."""
        return self._tree.faces[-1] if self._tree.faces else self._header.face

    @property
    def read_only(self) -> bool:
        return self._read_only

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def leaf(self) -> str | None:
        """Id of the active leaf's record (for messages: the message's id); None: empty."""
        return self._tree.leaf

    @property
    def model(self) -> str | None:
        """The last one recorded, as for thinking, container and draft."""
        return self._tree.model

    @property
    def thinking(self) -> str | None:
        return self._tree.thinking

    @property
    def tools(self) -> dict[str, str]:
        """What was chosen of the tools (ToolsRecord)."""
        return dict(self._tree.tools)

    @property
    def container(self) -> Container | None:
        return self._tree.container

    @property
    def uploads(self) -> list[ContainerUpload]:
        """Files that wait for the user's next message."""
        return list(self._tree.uploads)

    def commands_waiting(self) -> list[BashExecutionMessage]:
        """Commands of the user that ended and that the transcript does not hold yet."""
        return self._tree.commands_waiting()

    def commands_along(self) -> dict[str, BashExecutionMessage]:
        """Those that go along with a queued message, by their ids."""
        return self._tree.commands_along()

    @property
    def draft(self) -> Draft:
        """What was typed and not sent. A message that holds the same text ends it."""
        return self._tree.draft

    @property
    def mends(self) -> list[MendRecord]:
        """What requests leave out or add, in the order in which it was found out."""
        return list(self._tree.mends)

    @property
    def queue_paused(self) -> bool:
        return self._tree.queue.paused

    @property
    def durations(self) -> dict[str, int]:
        """Milliseconds that each ended tool ran, by tool_call_id."""
        return dict(self._tree.durations)

    def messages(self) -> list[AgentMessage]:
        """The active branch, oldest first; unknown kinds included. The real result of a tool
        that ended before a crash is in it, though its message was never written."""
        return self._tree.messages()

    def answers(self) -> list[AssistantMessage]:
        """The model's, of dead branches too (tried again, asked again) and beside the
        conversation: all were paid for. Each once, in the order in which they were written."""
        return self._tree.answers()

    def queue_items(self) -> list[QueuedMessage]:
        """Accepted and not delivered: steering first, each kind in order."""
        return self._tree.queue.items()

    def was_delivered(self, item_id: str) -> bool:
        """True when the message of this queue item is recorded."""
        return item_id in self._tree.queue.delivered

    def deliveries(self) -> dict[str, Delivered]:
        """How the queue's items went out and where they landed, by their ids."""
        return dict(self._tree.deliveries)

    def parent_of(self, record_id: str) -> str | None:
        """The record before it on its branch. Raises KeyError."""
        return self._tree.parent_of(record_id)

    # --- what is recorded ---------------------------------------------------------------

    def append_message(
        self,
        message: AgentMessage,
        *,
        after: str | None = ACTIVE_LEAF,
        delivered: Delivered | None = None,
    ) -> Ticket:
        """The message becomes the active leaf, behind `after` (a record's id; None: it begins
        a branch of its own; by default the active leaf). delivered: of one from the queue.
        Synced.

        A message already on the active branch is not written again. Raises KeyError for an
        unknown `after`, SessionClosedError.
        """
        if after == ACTIVE_LEAF:
            after = self._tree.leaf
        elif after is not None and after not in self._tree:
            raise KeyError(after)
        if message.id in self._on_branch and after == self._tree.leaf:
            return _done(True)
        moved = after != self._tree.leaf
        record = MessageRecord(
            # The same message on a second branch needs a record of its own.
            id=new_id() if message.id in self._tree else message.id,
            parent_id=after,
            message=message,
            delivered=delivered.kind if delivered else None,
            landed=delivered.landed if delivered else None,
        )
        lines = record
        written = self._written_outcomes.pop(message.id, None)
        if written is not None and written[1] == message:
            lines = record.model_copy(update={"message": None, "outcome": written[0]})
        ticket = self._record(record, lines, sync=True, begins=True)
        if moved:
            self._on_branch = self._branch_ids()
        else:
            self._on_branch.add(message.id)
        return ticket

    def record_answer_began(self, message_id: str) -> Ticket:
        """The model begins to answer. Until a message is recorded, a session that is opened says
        that this answer was cut off."""
        return self._record(AnswerRecord(parent_id=self._tree.leaf, message_id=message_id))

    def record_tool_outcome(self, result: ToolResultMessage, *, duration_ms: int = 0) -> Ticket:
        """A tool ended; result is what the model will see. The result message, when it
        follows unchanged, refers to this record. Synced."""
        record = ToolOutcomeRecord(
            parent_id=self._tree.leaf, message=result, duration_ms=duration_ms
        )
        self._written_outcomes[result.id] = (record.id, _copy(result))
        return self._record(record, sync=True, begins=True)

    def record_queue(
        self,
        op: QueueOp,
        item_id: str | None = None,
        *,
        kind: QueueKind | None = None,
        local: bool = False,
        message: AgentMessage | None = None,
        steer: list[str] | None = None,
        follow_up: list[str] | None = None,
    ) -> Ticket:
        """A change of the queue (see QueueRecord for what each op needs). A delivery is not
        recorded: it is append_message of the message whose queue_item_id is the item's.
        Raises ValueError when something is missing."""
        record = QueueRecord(
            parent_id=self._tree.leaf,
            op=op,
            item_id=item_id,
            kind=kind,
            local=local or None,
            # The queue may edit its message in place; what was recorded must not follow.
            message=None if message is None else message.model_copy(deep=True),
            steer=steer,
            follow_up=follow_up,
        )
        return self._record(record, begins=op == "add")

    def record_carried(self, old: "Session") -> Ticket:
        """What is queued next was queued in that session, and is withdrawn there after this."""
        return self._record(CarriedRecord(parent_id=self._tree.leaf, session_id=old.id), held=True)

    def record_model(self, model: str) -> Ticket:
        if model == self._tree.model:
            return _done(True)
        return self._record(ModelRecord(parent_id=self._tree.leaf, model=model))

    def record_thinking(self, level: str) -> Ticket:
        if level == self._tree.thinking:
            return _done(True)
        return self._record(ThinkingRecord(parent_id=self._tree.leaf, level=level))

    def record_tools(self, choices: Mapping[str, str]) -> Ticket:
        """All that is chosen now (ToolsRecord); another order is another choice."""
        if list(choices.items()) == list(self._tree.tools.items()):
            return _done(True)
        return self._record(ToolsRecord(parent_id=self._tree.leaf, choices=dict(choices)))

    def record_container(self, container: Container | None) -> Ticket:
        """The live container; None when it is gone."""
        if container == self._tree.container:
            return _done(True)
        return self._record(ContainerRecord(parent_id=self._tree.leaf, container=container))

    def record_uploads(self, uploads: Sequence[ContainerUpload]) -> Ticket:
        """The files that wait for the user's next message: all of them. A message that holds
        one needs no other record."""
        if list(uploads) == self._tree.uploads:
            return _done(True)
        record = UploadsRecord(parent_id=self._tree.leaf, uploads=list(uploads))
        return self._record(record, begins=bool(uploads))

    def record_ran(self, message: BashExecutionMessage) -> Ticket:
        """A command of the user has begun, or has ended and waits for the end of a run; the later
        record of one counts. The message that says it, or brings it along, needs no other."""
        return self._record(RanRecord(parent_id=self._tree.leaf, message=message), begins=True)

    def record_beside(self, answer: AssistantMessage) -> Ticket:
        """An answer that is no part of the conversation, but was paid for."""
        kept = answer.model_copy(update={"content": []})
        return self._record(BesideRecord(parent_id=self._tree.leaf, message=kept))

    def record_mend(self, what: str, ids: list[str], text: str = "") -> Ticket:
        """See MendRecord. A message is sent so from here on, also by later versions of us."""
        return self._record(
            MendRecord(parent_id=self._tree.leaf, what=what, ids=ids, text=text), sync=True
        )

    def enter(self, face: str) -> None:
        """This face goes on in the session. Written with what it records first: looking in
        changes nothing."""
        if face != self.face:
            self._record(FaceRecord(parent_id=self._tree.leaf, face=face), held=True)

    def record_draft(self, draft: Draft) -> Ticket:
        """The composer's text, to be there again after a crash. Call it at rest, not per key.
        Each paste is written once, however often the text around it changes."""
        if draft == self._tree.draft:
            return _done(True)
        stash = [
            StashedDraft(text=away.text, pastes=self._recorded_pastes(away)) for away in draft.stash
        ]
        record = DraftRecord(
            parent_id=self._tree.leaf,
            text=draft.text,
            pastes=self._recorded_pastes(draft),
            stash=stash or None,
        )
        return self._record(record, begins=bool(draft))

    def _recorded_pastes(self, draft: Draft) -> dict[str, str] | None:
        """The ids of their records, by placeholder; those not yet written are written."""
        pastes: dict[str, str] = {}
        for name, text in draft.pastes.items():
            if text not in self._tree.pastes:
                self._record(PasteRecord(parent_id=self._tree.leaf, text=text), begins=True)
            pastes[name] = self._tree.pastes[text]
        return pastes or None

    def move_leaf(self, record_id: str | None) -> Ticket:
        """The next message follows this record; None: it begins anew. Raises KeyError."""
        if record_id is not None and record_id not in self._tree:
            raise KeyError(record_id)
        if record_id == self._tree.leaf:
            return _done(True)
        ticket = self._record(LeafRecord(parent_id=self._tree.leaf, target=record_id))
        self._on_branch = self._branch_ids()
        return ticket

    def set_aside(self, message_id: str) -> Ticket:
        """Leave this message and what follows it on a dead branch: the next one has the same
        parent (a broken sample and its retry). Raises KeyError."""
        return self.move_leaf(self._tree.parent_of(message_id))

    # --- disk -----------------------------------------------------------------------------

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until all is written and synced. False: something could not be written, see
        warnings(). Raises TimeoutError. Blocking: not for an event loop."""
        return self._writer.flush(timeout) if self._writer is not None else True

    def warnings(self) -> list[str]:
        """What went wrong (or right again) with writing since the last call, for the user."""
        return self._writer.warnings() if self._writer is not None else []

    @property
    def unsaved(self) -> int:
        """How many records are only in memory because they could not be written."""
        return self._writer.unsaved if self._writer is not None else 0

    def close(self, timeout: float = 3.0) -> bool:
        """Writes what is left and gives the lock back; False if not all could be written.
        Idempotent. Blocking, at most `timeout` seconds."""
        self._closed = True
        return self._writer.close(timeout) if self._writer is not None else True

    def _record(
        self,
        record: Record,
        written: Record | None = None,
        *,
        sync: bool = False,
        begins: bool = False,
        held: bool = False,
    ) -> Ticket:
        """Apply a record and hand its line to the writer. written: what the line holds, if
        not all of the record. begins: worth a file of its own (see create). held: not worth a
        line by itself; it goes before the next record."""
        if self._closed:
            raise SessionClosedError
        problem = self._tree.apply(record)
        if problem:
            raise ValueError(f"a {record.type} record {problem}")
        if self._writer is None:
            return _done(True)
        line = partial(encode, written or record, self._mask)
        if held or (self._new and not begins):
            self._held.append(line)
            return _done(True)
        if self._new:
            self._new = False
            self._writer.put(encode(self._header))
        for waiting in self._held:
            self._writer.put(waiting)
        self._held.clear()
        return self._writer.put(line, sync=sync)

    def _branch_ids(self) -> set[str]:
        return {node.message.id for node in self._tree.branch() if node.message is not None}


def _copy(message: ToolResultMessage) -> ToolResultMessage | None:
    """To see whether the message is still the same later; None: its details forbid it."""
    try:
        return message.model_copy(deep=True)
    except Exception as error:
        log.debug("a result is written twice: %s", error)
        return None


def _new_header(cwd: str, face: str | None = None) -> Header:
    return Header(id=new_id(), cwd=cwd, created=round(time.time(), 3), face=face)


def _done(ok: bool) -> Ticket:
    ticket: Ticket = Ticket()
    ticket.set_result(ok)
    return ticket


def folder_of(cwd: str, home: Path) -> Path:
    """Where the sessions of a folder are; not made here."""
    return sessions_folder(home) / folder_slug(cwd)


def sessions_folder(home: Path) -> Path:
    return home / "sessions"


def id_in_name(path: Path) -> str:
    """The session's id by its file's name (<time>_<id>.jsonl)."""
    return path.name.removesuffix(SUFFIX).rpartition("_")[2]
