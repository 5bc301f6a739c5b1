"""/container: what is known of the code-execution container, and its files."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui.agent.events import to_json
from agent_tui.agent.messages import UserMessage
from agent_tui.conversation.commands.registry import CommandRegistry, Completion, wrong_form
from agent_tui.conversation.container_files import NAMES_ASKED
from agent_tui.conversation.events import ContainerChangedEvent, ProgramRun
from agent_tui.conversation.results import CommandResult
from agent_tui.image_head import image_size, image_type
from agent_tui.messages_api.container import parse_time
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.files import MAX_BYTES, PREVIEW_BYTES, FileInfo, FilesError
from agent_tui.text import SafeText, clean, count, duration, file_size, until

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

USAGE = "/container [files | preview FILE | download FILE [PATH] | upload PATH | new]"

PREVIEW_LINES = 60
LISTED = 50
"""Other files of the service that are named."""

UNNAMED = "(name not fetched yet)"

ENTRIES_LOOKED_AT = 2000
"""Of a folder, while a path is typed."""

_FORMS = {
    "files": ("/container files", "files of the container and at the service"),
    "preview": ("/container preview FILE", "the beginning of a file; FILE: its id or name"),
    "download": ("/container download FILE [PATH]", "save a file here, or as or into PATH"),
    "upload": ("/container upload PATH", "send a file into the container with your next message"),
    "new": ("/container new", "give the container up; the next program gets a fresh one"),
}


@dataclass(frozen=True, slots=True)
class Known:
    """A file that can be named. where: container | sent | waiting | service."""

    id: str
    name: str
    where: str
    size: int | None = None
    media_type: str = ""
    downloadable: bool | None = None

    @property
    def has_name(self) -> bool:
        """What a program made is known by its id alone until the service has told its name."""
        return self.name != self.id

    def as_json(self) -> dict[str, Any]:
        return {
            "file_id": self.id, "name": self.name, "where": self.where, "size": self.size,
            "media_type": self.media_type, "downloadable": self.downloadable,
        }  # fmt: skip


async def container(conversation: "Conversation", arguments: str) -> CommandResult:
    try:
        words = shlex.split(arguments)
    except ValueError:
        return CommandResult(error="A quotation mark is not closed.")
    if not words:
        return _state(conversation)
    action, *rest = words
    if action not in _FORMS:
        return wrong_form(USAGE)
    most = {"files": 0, "new": 0, "download": 2}.get(action, 1)
    if len(rest) > most or (most and not rest):
        return wrong_form(f"{_FORMS[action][0]}. A name with spaces stands in quotation marks.")
    try:
        match action:
            case "files":
                return await _files(conversation)
            case "preview":
                return await _preview(conversation, rest[0])
            case "download":
                return await _download(conversation, *rest)
            case "upload":
                return await _upload(conversation, rest[0])
            case _:
                return _new(conversation)
    except (FilesError, ApiError) as error:
        return CommandResult(error=str(error))


# --- its state ----------------------------------------------------------------------------


def _state(conversation: "Conversation") -> CommandResult:
    event = conversation.container
    if event is None or not event.id:
        attached = conversation.files.attached
        waiting = ", ".join(_code(upload.name) for upload in attached)
        text = "There is no container yet: the first program of the model starts one."
        return CommandResult(
            text=text + (f" With your next message goes {waiting}." if waiting else ""),
            data={"container": None, "attached": [upload.model_dump() for upload in attached]},
        )
    parts = [_sentence(event), _sums(event)]
    if event.runs:
        rows = ["| program | calls | exit | time |", "|---|---|---|---|"]
        rows += [_run(run) for run in event.runs]
        parts.append("\n".join(rows))
    if event.files:
        named = [f"{_code(_name(f))}{_size(f.get('size'))}" for f in event.files]
        parts.append(f"Files: {', '.join(named)}.")
    if event.attached:
        waiting = ", ".join(_code(_name(f)) for f in event.attached)
        parts.append(f"With your next message goes {waiting}.")
    text = "\n\n".join(part for part in parts if part)
    return CommandResult(text=text, data={"container": to_json(event)})


def _sentence(event: ContainerChangedEvent) -> str:
    words = f"Container {_code(event.id)} ({event.location}): **{event.state}**"
    now = time.time()
    if event.held_until is not None and event.state == "paused":
        words += ", by a program that was given up; the service holds it for about "
        words += duration(event.held_until - now)
    elif event.state == "paused":
        words += f", waiting for {event.pending} call{'' if event.pending == 1 else 's'}"
    expiry = parse_time(event.expires_at)
    if event.state != "expired" and expiry is not None:
        words += f"; it expires in {until(expiry - now, duration)}"
    if event.answer_due_at is not None:
        words += f", an answer is due in about {duration(event.answer_due_at - now)}"
    times = f"{event.reused} time{'' if event.reused == 1 else 's'}"
    return f"{words}. Used again {times}." if event.reused else f"{words}."


def _sums(event: ContainerChangedEvent) -> str:
    saved = event.round_trips_saved
    if not event.kept_out_tokens_estimate and not saved:
        return ""
    return (
        f"Results of its programs' calls kept about {count(event.kept_out_tokens_estimate)} "
        "tokens out of the context (an estimate); "
        f"{count(saved)} round trip{'' if saved == 1 else 's'} to the model saved."
    )


def _run(run: ProgramRun) -> str:
    title = f"program {run.number}" if run.number else "bash"
    calls = f"{run.calls}" + (f", {run.failed} failed" if run.failed else "")
    ended = run.error_code or ("" if run.exit_code is None else str(run.exit_code)) or run.state
    took = "" if run.seconds is None else ("about " if run.about else "") + duration(run.seconds)
    return f"| {title} | {calls} | {_cell(ended)} | {took} |"


# --- its files ----------------------------------------------------------------------------


def known_files(conversation: "Conversation") -> list[Known]:
    """The files that this conversation knows of, the newest first; nobody is asked."""
    found: dict[str, Known] = {}
    for upload in reversed(conversation.files.attached):
        found[upload.file_id] = Known(upload.file_id, upload.name, "waiting", upload.size)
    for file in reversed(conversation.files.known()):
        id = str(file.get("file_id", ""))
        facts = (file.get("size"), str(file.get("media_type") or ""), file.get("downloadable"))
        found.setdefault(id, Known(id, _name(file), "container", *facts))
    for message in reversed(conversation.messages):
        if isinstance(message, UserMessage):
            for upload in message.uploads:
                known = Known(upload.file_id, upload.name, "sent", upload.size)
                found.setdefault(upload.file_id, known)
    return list(found.values())


async def _files(conversation: "Conversation") -> CommandResult:
    ours = known_files(conversation)
    ids = {file.id for file in ours}
    infos = await conversation.files.api.list(LISTED + len(ids))
    others = [_of_service(info) for info in infos if info.id not in ids][:LISTED]
    ours = await _named(conversation, ours, {info.id: info for info in infos})
    listed = [*ours, *others]
    data = {"files": [file.as_json() for file in listed]}
    if not listed:
        return CommandResult(text="There are no files.", data=data)
    rows = ["| file | size | | id |", "|---|---|---|---|"]
    rows += [
        f"| {_code(f.name) if f.has_name else UNNAMED} | {_size(f.size).strip()} "
        f"| {_WHERE[f.where]} | {_code(f.id)} |"
        for f in listed
    ]
    return CommandResult(text="\n".join(rows), data=data)


async def _named(
    conversation: "Conversation", files: list[Known], heard: dict[str, FileInfo]
) -> list[Known]:
    """The files with the names that were not known yet: those heard in a list, and of the
    newest others what the service says of each."""
    unknown = [f.id for f in files if not f.has_name and f.id not in heard][:NAMES_ASKED]
    asked = await conversation.files.ask_names(unknown)
    heard = heard | {info.id: info for info in asked}
    return [
        replace(_of_service(heard[f.id]), where=f.where)
        if not f.has_name and f.id in heard else f
        for f in files
    ]  # fmt: skip


_WHERE = {
    "container": "made in the container",
    "waiting": "goes with your next message",
    "sent": "sent into the container",
    "service": "kept at the service",
}


def _of_service(info: FileInfo) -> Known:
    return Known(info.id, info.name, "service", info.size, info.media_type, info.downloadable)


async def _find(conversation: "Conversation", wanted: str) -> Known:
    """By id or by name, the newest; the service is asked where this conversation does not know.

    Raises FilesError.
    """
    ours = known_files(conversation)
    if (found := _match(ours, wanted)) is not None:
        return found
    if wanted.startswith("file_"):
        return _of_service(await conversation.files.api.metadata(wanted))
    others = [_of_service(info) for info in await conversation.files.api.list()]
    if (found := _match(others, wanted)) is not None:
        return found
    raise FilesError(f"There is no file {SafeText(wanted)}. /container files lists them.")


def _match(files: Sequence[Known], wanted: str) -> Known | None:
    return next((f for f in files if f.id == wanted), None) or next(
        (f for f in files if f.name == wanted), None
    )


async def _preview(conversation: "Conversation", wanted: str) -> CommandResult:
    file = await _find(conversation, wanted)
    if file.downloadable is None:
        file = replace(
            _of_service(await conversation.files.api.metadata(file.id)), where=file.where
        )
    if not file.downloadable:
        raise FilesError(f"{clean(file.name)} was uploaded: the service does not give it back.")
    head = await conversation.files.api.head(file.id)
    data: dict[str, Any] = file.as_json() | {"kind": "binary", "text": None}
    title = f"{_code(file.name)}{_size(file.size)}"
    if kind := image_type(head):
        pixels = image_size(head)
        shape = f", {pixels[0]} × {pixels[1]} pixels" if pixels else ""
        return CommandResult(
            text=f"{title}: an image, {kind}{shape}. /container download saves it.",
            action="image",
            data=data | {"kind": "image", "media_type": kind, "pixels": pixels},
        )
    text = _as_text(head)
    if text is None:
        shown = "\n".join(_hex(head[at : at + 16], at) for at in range(0, min(len(head), 256), 16))
        return CommandResult(text=f"{title}: no text. Its beginning:\n\n{_fence(shown)}", data=data)
    lines = text.split("\n")
    more = len(lines) > PREVIEW_LINES or len(head) == PREVIEW_BYTES
    shown = "\n".join(lines[:PREVIEW_LINES])
    note = "\n\nThere is more of it: /container download saves all." if more else ""
    return CommandResult(
        text=f"{title}\n\n{_fence(shown)}{note}",
        data=data | {"kind": "text", "text": text, "whole": len(head) < PREVIEW_BYTES},
    )


def _as_text(head: bytes) -> str | None:
    """UTF-8 text, also where the last character is cut; None for anything else."""
    if b"\0" in head:
        return None
    for cut in range(4):
        try:
            return head[: len(head) - cut].decode("utf-8")
        except UnicodeDecodeError:
            if len(head) < PREVIEW_BYTES:
                return None
    return None


def _hex(row: bytes, at: int) -> str:
    letters = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
    return f"{at:04x}  {row.hex(' '):<47}  {letters}"


async def _download(conversation: "Conversation", wanted: str, path: str = "") -> CommandResult:
    file = await _find(conversation, wanted)
    target = _local(conversation, path or ".")
    if path.endswith("/") and not target.is_dir():
        raise FilesError(f"There is no folder {SafeText(target)}: make it, or name another.")
    saved, size = await conversation.files.api.download(file.id, target, limit=MAX_BYTES)
    return CommandResult(
        text=f"Saved {_code(file.name)} ({file_size(size)}) as {_code(str(saved))}.",
        data={"path": str(saved), "bytes": size, "file_id": file.id},
    )


async def _upload(conversation: "Conversation", path: str) -> CommandResult:
    info = await conversation.files.upload(_local(conversation, path))
    await conversation.recorded()
    text = f"{_code(info.name)}{_size(info.size)} goes into the container with your next message."
    if not _runs_programs(conversation):
        text += (
            " But no tool may be called by programs now, so the model cannot read it: see /tools."
        )
    return CommandResult(text=text, data={"file_id": info.id, **info.facts})


def _runs_programs(conversation: "Conversation") -> bool:
    return any(
        str(tool.wire.get("type")).startswith("code_execution_")
        for tool in conversation.toolset.tools()
    )


def _new(conversation: "Conversation") -> CommandResult:
    event = conversation.container
    if conversation.status != "ready":
        return CommandResult(error="Stop the run first (Esc), then /container new.")
    if event is None or not event.id or event.state == "expired":
        return CommandResult(text="There is no live container: the next program gets a fresh one.")
    conversation.new_container()
    return CommandResult(
        text=f"Container {_code(event.id)} is given up, with its files and variables; the next "
        "program gets a fresh one, and the model is told.",
        data={"given_up": event.id},
    )


def _local(conversation: "Conversation", path: str) -> Path:
    try:
        return Path(conversation.cwd, Path(path).expanduser())
    except RuntimeError as error:  # "~name" of nobody
        raise FilesError(f"{SafeText(path)}: {error}") from error


# --- completion ---------------------------------------------------------------------------


def complete(conversation: "Conversation", arguments: str) -> list[Completion]:
    """The action first; behind it the names of files, quoted where they need it."""
    action, space, rest = arguments.partition(" ")
    if not space:
        return [
            Completion(f"{name} " if form.count(" ") > 1 else name, about)
            for name, (form, about) in _FORMS.items()
            if name.startswith(action)
        ]
    typed = rest.lstrip("\"'")
    if action in ("preview", "download") and (" " not in rest or typed != rest):
        files = [f for f in known_files(conversation) if f.downloadable is not False]
        return [
            Completion(f"{action} {shlex.quote(name)}", f"{_WHERE[f.where]}{_size(f.size)}")
            for f in files
            if (name := f.name).startswith(typed) or f.id.startswith(typed)
        ]
    if action == "upload":
        return [Completion(f"upload {shlex.quote(p)}") for p in _paths(conversation, typed)]
    return []


def _paths(conversation: "Conversation", typed: str, most: int = 50) -> list[str]:
    """Local files and folders that begin so."""
    head, slash, last = typed.rpartition("/")
    try:
        folder = _local(conversation, head + slash or ".")
        entries = sorted(islice(folder.iterdir(), ENTRIES_LOOKED_AT))
    except (OSError, FilesError, ValueError):
        return []
    found = [
        head + slash + entry.name + ("/" if entry.is_dir() else "")
        for entry in entries
        if entry.name.startswith(last) and (last or not entry.name.startswith("."))
    ]
    return found[:most]


# --- markdown -----------------------------------------------------------------------------


def _name(file: dict[str, Any]) -> str:
    return str(file.get("name") or file.get("file_id") or "?")


def _size(size: object) -> str:
    return f" ({file_size(size)})" if isinstance(size, int) else ""


def _cell(text: str) -> str:
    return clean(text).replace("|", "\\|")


def _code(text: str) -> str:
    """A foreign name as inline code: nothing in it is markdown."""
    name = _cell(text).replace("`", "'")
    return f"`{name}`" if name.strip() else "(no name)"


def _fence(text: str) -> str:
    """A block of code that nothing in the text can end."""
    longest = max((len(run) for run in text.replace("~", " ").split() if set(run) == {"`"}),
                  default=0)  # fmt: skip
    marks = "`" * max(3, longest + 1)
    return f"{marks}text\n{SafeText(text)}\n{marks}"


def register(registry: CommandRegistry) -> None:
    registry.add("container", USAGE, "the code-execution container, its files", container, complete)
