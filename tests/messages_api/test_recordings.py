"""Every recording, replayed: equal to the SDK's accumulator wherever that is right, and honest
when cut anywhere. tests/data/recordings, and each folder of AGENT_TUI_RECORDINGS."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import stream_making

from agent_tui.agent.events import (
    DoneEvent,
    ErrorEvent,
    OpaqueEvent,
    StreamEvent,
    TextDeltaEvent,
    TextEndEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ToolCallEndEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from agent_tui.agent.partial import PartialMessage
from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.sse import SSEReader, read_events
from agent_tui.messages_api.wire_blocks import sent_block

Json = dict[str, Any]

SMALL = 2500
"""Bodies up to this many bytes are cut at every byte."""

# Where the SDK's accumulator is not the judge, and why (facts, "Why not the SDK's own
# accumulator" and "Stream inventory"). Nothing else may differ.
CUT = "a broken stream raises nothing there and leaves stop_reason None"
ERROR = "an SSE error is raised there, and what came before it is gone"
HALF = "a call cut by the limit becomes a different valid call there"
INVALID = "arguments that are no JSON object are guessed or raised there"
SPLICED = "deltas of the second message go to the blocks of the first there"
UNIQUE = "ids must be unique in a request"
NAMES = "events without a name are skipped there"
USAGE = "a null count in message_delta must keep the earlier one"
SURROGATE = "a surrogate pair split over two deltas is one character"
OVERRULES: dict[str, dict[str, str]] = {
    # public ones
    "hand-eof-no-stop": {"stop_reason": CUT},
    "hand-error-midstream": {"*": ERROR},
    "sdk-incomplete_partial_json_response": {"content": HALF},
    "vercel-spliced-message-start": {"content": SPLICED, "id": SPLICED},
    # ours
    "cut-after-start": {"stop_reason": CUT},
    "cut-before-stop": {"stop_reason": CUT},
    "cut-in-a-call": {"stop_reason": CUT},
    "cut-in-thinking": {"stop_reason": CUT},
    "stop-without-reason": {"stop_reason": CUT},
    "error-first": {"*": ERROR},
    "error-midstream": {"*": ERROR},
    "tool-cut-by-limit": {"content": HALF},
    "tool-invalid-json": {"*": INVALID},
    "tool-not-an-object": {"content": INVALID},
    "duplicate-ids": {"content": UNIQUE},
    "spliced-start": {"*": SPLICED},
    "foreign-names": {"*": NAMES},
    "foreign-no-stops": {"*": NAMES},
    "surrogates-split": {"content": SURROGATE},
}


def found() -> list[Path]:
    folders = [stream_making.RECORDINGS]
    folders += [Path(p) for p in os.environ.get("AGENT_TUI_RECORDINGS", "").split(os.pathsep) if p]
    return [path for folder in folders for path in sorted(folder.glob("*.sse"))]


def each_of(paths: list[Path]) -> Callable[[Any], Any]:
    def mark(test: Any) -> Any:
        with_each = pytest.mark.parametrize("recording", paths, ids=lambda path: path.stem)
        return pytest.mark.usefixtures("counted")(with_each(test))

    return mark


every_recording = each_of(found())
every_small_recording = each_of([p for p in found() if p.stat().st_size <= SMALL])
CHANGED_ON_PURPOSE = ("duplicate-ids", "foreign-no-stops", "tool-invalid-json")
every_unchanged_recording = each_of([p for p in found() if p.stem not in CHANGED_ON_PURPOSE])


def replay(events: list[Json]) -> tuple[list[StreamEvent], AssistantMessage]:
    """(all StreamEvents, the final message) of these raw events."""
    assembler = Assembler()
    made: list[StreamEvent] = []
    for event in events:
        made += assembler.feed(event)
    made += assembler.finish()
    last = made[-1]
    assert isinstance(last, DoneEvent | ErrorEvent)
    return made, last.message


@every_recording
async def test_equals_the_sdk(
    recording: Path,
    accumulate: Callable[[bytes], Awaitable[Json]],
    record_property: Callable[[str, object], None],
) -> None:
    body = recording.read_bytes()  # noqa: ASYNC240
    ours = as_sent(replay(read_events(body))[1])
    overruled = OVERRULES.get(recording.stem, {})
    try:
        theirs = await accumulate(body)
    except Exception as error:
        assert "*" in overruled, f"the SDK raised {error!r}"
        record_property("overruled", (recording.stem, "all", overruled["*"]))
        return
    fields = (set(ours) | set(theirs)) - {"type", "role"}
    differing = {f for f in fields if full(ours.get(f)) != full(theirs.get(f))}
    if "*" in overruled:
        assert differing, "no longer differs: remove the overrule"
        record_property("overruled", (recording.stem, "all", overruled["*"]))
        return
    assert differing == set(overruled), {f: (ours.get(f), theirs.get(f)) for f in differing}
    for field, why in overruled.items():
        record_property("overruled", (recording.stem, field, why))


def as_sent(message: AssistantMessage) -> Json:
    """The message in the API's form, everything the API said about it."""
    container = message.container
    return {
        "id": message.api_id,
        "model": message.model or None,
        "content": [sent_block(b) for b in message.content],
        "stop_reason": message.stop_reason,
        "stop_sequence": message.stop_sequence,
        "stop_details": message.stop_details,
        "usage": message.usage.raw if message.usage else None,
        "container": container and {"id": container.id, "expires_at": container.expires_at},
        **(message.wire or {}),
    }


def full(value: Any) -> Any:
    """Without nulls: the SDK fills in fields that were not sent with None."""
    if isinstance(value, dict):
        return {k: full(v) for k, v in value.items() if v is not None}
    return [full(v) for v in value] if isinstance(value, list) else value


@every_unchanged_recording
def test_blocks_go_back_as_they_were_sent(recording: Path) -> None:
    """Key order and every field of the start block, in the block that goes back."""
    events = read_events(recording.read_bytes())
    begun = [b for e in events if e["type"] == "message_start" for b in e["message"]["content"]]
    begun += [e["content_block"] for e in events if e["type"] == "content_block_start"]
    _, message = replay(events)
    assert len(begun) == len(message.content)
    for start, block in zip(begun, message.content, strict=True):
        sent = sent_block(block)
        assert list(sent)[: len(start)] == list(start)
        for key, value in start.items():
            streamed = key in ("text", "thinking", "signature", "input", "citations", "content",
                               "encrypted_content") or value in ("", {}, None)  # fmt: skip
            assert streamed or sent[key] == value


@every_recording
def test_events_tell_the_message(recording: Path) -> None:
    """Deltas joined are the blocks, every end holds its block, and the loop's own partial
    message comes to the same."""
    made, message = replay(read_events(recording.read_bytes()))
    texts: dict[int, str] = {}
    partial = PartialMessage()
    for event in made[:-1]:
        partial.apply(event)
        match event:
            case TextDeltaEvent() | ThinkingDeltaEvent():
                texts[event.index] = texts.get(event.index, "") + event.delta
            case TextEndEvent() | ThinkingEndEvent() | ToolCallEndEvent():
                assert event.block == uncut(message.content[event.index], event.block)
            case OpaqueEvent(phase="end"):
                assert event.block == message.content[event.index]
            case _:
                pass
    for index, block in enumerate(message.content):
        if isinstance(block, TextContent):
            assert block.text == texts.get(index, "")
        elif isinstance(block, ThinkingContent):
            assert block.thinking == texts.get(index, "")
    assert len(partial.snapshot().content) == len(message.content)
    assert partial.usage == message.usage
    assert partial.container == message.container


def uncut(block: object, like: object) -> object:
    """The block as it was before a second message_start made its call count as cut."""
    if isinstance(block, ToolCall) and isinstance(like, ToolCall) and not block.complete:
        return block.model_copy(update={"complete": like.complete})
    return block


@every_recording
def test_cut_at_every_event(recording: Path) -> None:
    events = read_events(recording.read_bytes())
    _, final = replay(events)
    for n in range(len(events)):
        check_cut(events[:n], final)


@every_small_recording
def test_cut_at_every_byte(recording: Path) -> None:
    """What is read is whole events: those before the cut, and never an error."""
    body = recording.read_bytes()
    _, final = replay(read_events(body))
    before: list[Json] | None = None
    for n in range(len(body)):
        reader = SSEReader()
        events = [*reader.feed(body[:n]), *reader.close()]
        assert reader.error is None
        if events != before:
            check_cut(events, final)
        before = events


def check_cut(events: list[Json], final: AssistantMessage) -> None:
    """A message with an honest stop_reason, never more than came, never a made-up call."""
    _, message = replay(events)
    kinds = [e["type"] for e in events]
    if "message_stop" in kinds and any(map(stop_reason_in, events)) and "error" not in kinds:
        assert message.stop_reason not in ("error", "aborted")
    else:
        assert message.stop_reason == "error"
        assert message.error_type == ("overloaded_error" if "error" in kinds else "stream_cut")
        assert message.error_message
    for block, whole in zip(message.content, final.content, strict=False):
        match block, whole:
            case TextContent(), TextContent():
                assert whole.text.startswith(block.text.rstrip("\ufffd"))
            case ThinkingContent(), ThinkingContent():
                assert whole.thinking.startswith(block.thinking)
                assert block.signature in (None, whole.signature)
            case ToolCall(), ToolCall():
                # whole as it was sent, or empty; a later message_start may still strike it
                assert block.arguments in ({}, whole.arguments)
                assert block == uncut(whole, block) or not block.complete
            case OpaqueContent(), OpaqueContent():
                assert block == whole or not block.complete
            case _:
                raise AssertionError(f"another kind: {block} {whole}")


def stop_reason_in(event: Json) -> str | None:
    part = event.get("delta") or event.get("message") or {}
    return part.get("stop_reason")


def test_recordings_of_this_repository_are_as_written() -> None:
    """tests/messages_api/stream_making.py is their source."""
    made = stream_making.recordings()
    stored = {p.stem: p.read_bytes() for p in stream_making.RECORDINGS.glob("*.sse")}
    assert stored == made
