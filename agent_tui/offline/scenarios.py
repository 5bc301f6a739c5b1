"""Scenarios: a given list of turns that the offline server plays (tests, benches, soak)."""

import copy
import difflib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui.offline.answers import Answer, Delivery
from agent_tui.offline.models import demo_models, model_info
from agent_tui.offline.rules.problem import STATUS_OF_TYPE, TYPE_OF_STATUS, ApiProblem
from agent_tui.offline.signing import is_signed, sign_thinking
from agent_tui.offline.wire import (
    ProgramStart,
    Reply,
    make_id,
    program_block,
    request_seed,
    stream_events,
)

UNSCRIPTED = "(unscripted)"
"""The text of every reply past the end of the list."""

_TURN_KEYS = {
    "thinking", "text", "blocks", "tool_calls", "program", "pause_reason", "name_container",
    "stop_reason", "stop_sequence", "stop_details", "container", "container_at", "usage",
    "in_message_start",
    "delay_ms", "first_event_delay_ms", "chunk_delay_ms", "chunk_size",
    "status", "error", "retry_after", "headers",
    "sse_error", "cut", "cut_after", "hang", "raw_sse",
    "match", "repeat",
}  # fmt: skip
_CALL_KEYS = {"id", "name", "input", "caller", "partial_json"}
_TOP_KEYS = {"turns", "no_rules", "models"}


class ScenarioError(Exception):
    """A scenario is not well formed. str() says where and what is right."""


@dataclass(slots=True)
class Scenario:
    """A list of turns, each the answer to one request, taken in order; past the list the text
    "(unscripted)". A request that the rules refuse takes no turn.

    Content of a turn, in this order in the reply:
      thinking: text, signed by the server · text · blocks: raw content blocks, sent verbatim
      (server_tool_use, *_tool_result, redacted_thinking, unknown kinds, ...) · tool_calls:
      [{id?, name, input?, caller?, partial_json?}]; partial_json is streamed verbatim in place
      of the input (broken or cut JSON)
    program: the code of a program that really runs in a container of this server; the request has
      to offer code_execution. Its calls of tools go out and the client answers them (those
      requests take no turn). When it is over its output comes into the message, and the next
      turn says how the message goes on. Not together with tool_calls or container.
      pause_reason: the stop_reason while it waits ("tool_use" or "pause_turn"). name_container:
      false leaves the container out of the message that its output is in.
    Message fields: stop_reason (tool_use with calls, else end_turn; null is sent as null) ·
      stop_sequence · stop_details · container (an id, or {id, expires_at}) · container_at
      ("message_delta" or "message_start") · usage (replaces the estimates, field by field) ·
      in_message_start: true (content, container and stop_reason inside message_start, as a
      program's continuation was recorded)
    Time: delay_ms (before the headers) · first_event_delay_ms (after them) · chunk_delay_ms
      (before each delta) · chunk_size (characters per delta)
    Faults: status + error (an HTTP error; error: a message, or {type, message}) with retry_after
      (seconds) and headers · sse_error (a type, or {type, message}: an error event after the
      content) · cut: true (the connection breaks off) or "clean" (the body just ends), after
      cut_after events (default: all but the last two, so before message_delta) · hang:
      "before_headers" or "mid_stream" (silent there until the client leaves; cut_after says
      after how many events, default as for cut) · raw_sse (the stream's text, or a file's path)
    Choice: match (the turn is only for a request whose last user text holds this; until then
      it is passed over) · repeat (a number of times, or true for always)

    A request without `stream` gets sse_error as an HTTP error, and of a cut or silent answer half
    the body.

    no_rules: true: requests are not held against the rules. models: the ids, or whole entries,
    that /v1/models lists (default: demo); a request may name any model.
    Raises ScenarioError for an unknown key or a value of the wrong kind.
    """

    turns: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    no_rules: bool = False
    models: list[str | dict[str, Any]] = field(default_factory=list[str | dict[str, Any]])

    def __post_init__(self) -> None:
        if not isinstance(self.turns, list):
            raise ScenarioError("turns: should be a list of objects")
        for number, turn in enumerate(self.turns):
            _check_turn(f"turns.{number}", turn)

    @classmethod
    def from_json(cls, text: str, *, folder: Path | None = None) -> "Scenario":
        """Reads {"turns": [...], "no_rules"?, "models"?}, or just the list of turns.

        folder: where relative raw_sse paths start (default: the working folder).
        """
        try:
            value = json.loads(text)
        except ValueError as error:
            raise ScenarioError(f"the scenario is not valid JSON: {error}") from error
        top: dict[str, Any] = {"turns": value} if isinstance(value, list) else value
        if not isinstance(top, dict):
            raise ScenarioError("a scenario is a list of turns, or an object with `turns`")
        _check_keys("", top, _TOP_KEYS)
        scenario = cls(**top)
        for number, turn in enumerate(scenario.turns):
            raw = turn.get("raw_sse")
            if raw is not None and not _is_sse_text(raw):
                path = (folder or Path()) / raw
                try:
                    turn["raw_sse"] = path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise ScenarioError(f"turns.{number}.raw_sse: cannot read {path}") from error
        return scenario

    @classmethod
    def from_file(cls, path: Path) -> "Scenario":
        """Reads a scenario file; relative raw_sse paths start at its folder."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"cannot read the scenario {path}: {error}") from error
        return cls.from_json(text, folder=path.parent)


class ScenarioPlayer:
    """Hands out a scenario's turns. A ReplySource."""

    any_model = True
    any_container = True

    def __init__(self, scenario: Scenario) -> None:
        self.check_rules = not scenario.no_rules
        self.models = [
            model_info(m) if isinstance(m, str) else m for m in scenario.models
        ] or demo_models()
        self._turns = [dict(turn) for turn in scenario.turns]
        self._given: set[tuple[str, str]] = set()
        self._given_turns = 0

    def knows_signature(self, thinking: str, signature: str) -> bool:
        return (thinking, signature) in self._given or is_signed(thinking, signature)

    async def answer(self, body: dict[str, Any]) -> Answer:
        turn = self._take(body)
        if turn is None:
            return Answer(reply=Reply([{"type": "text", "text": UNSCRIPTED}]))
        delivery = _delivery(turn)
        if "status" in turn:
            return Answer(problem=_problem(turn), delivery=delivery)
        if delivery.raw_sse is not None:
            self._remember(_raw_blocks(delivery.raw_sse))
            return Answer(delivery=delivery)
        self._given_turns += 1
        reply = _reply(turn, f"{request_seed(body)}.{self._given_turns}")
        self._remember(reply.content)
        if "cut_after" not in turn and (delivery.cut_after is not None or delivery.hang):
            events = stream_events(reply, message_id="", model="", chunk_size=delivery.chunk_size)
            delivery.cut_after = max(0, sum(1 for _ in events) - 2)
        return Answer(reply=reply, delivery=delivery)

    def _take(self, body: dict[str, Any]) -> dict[str, Any] | None:
        said = _last_user_text(body)
        for index, turn in enumerate(self._turns):
            if turn.get("match", "") not in said:
                continue
            repeat = turn.get("repeat", 1)
            if repeat is not True:
                turn["repeat"] = repeat - 1
                if turn["repeat"] <= 0:
                    del self._turns[index]
            return turn
        return None

    def _remember(self, blocks: list[dict[str, Any]]) -> None:
        for block in blocks:
            if block.get("type") == "thinking":
                self._given.add((str(block.get("thinking")), str(block.get("signature"))))


def _reply(turn: dict[str, Any], seed: str) -> Reply:
    content: list[dict[str, Any]] = []
    if "thinking" in turn:
        thinking = turn["thinking"]
        content.append(
            {"type": "thinking", "thinking": thinking, "signature": sign_thinking(thinking)}
        )
    if "text" in turn:
        content.append({"type": "text", "text": turn["text"]})
    content += copy.deepcopy(turn.get("blocks", []))
    partial_json: dict[int, str] = {}
    for number, call in enumerate(turn.get("tool_calls", [])):
        if "partial_json" in call:
            partial_json[len(content)] = call["partial_json"]
        content.append(
            {
                "type": "tool_use",
                "id": call.get("id") or make_id("toolu_", seed, number),
                "name": call["name"],
                "input": copy.deepcopy(call.get("input", {})),
                "caller": call.get("caller", {"type": "direct"}),
            }
        )
    program = None
    if "program" in turn:
        program = ProgramStart(
            turn.get("pause_reason", "tool_use"), turn.get("name_container", True)
        )
        content.append(program_block(make_id("srvtoolu_", seed), turn["program"]))
    calls = any(block.get("type") == "tool_use" for block in content)
    container = turn.get("container")
    return Reply(
        content=content,
        stop_reason=turn.get("stop_reason", "tool_use" if calls else "end_turn"),
        stop_sequence=turn.get("stop_sequence"),
        stop_details=turn.get("stop_details"),
        container={"id": container, "expires_at": "2099-01-01T00:00:00Z"}
        if isinstance(container, str)
        else container,
        container_at=turn.get("container_at", "message_delta"),
        usage=dict(turn.get("usage", {})),
        in_message_start=bool(turn.get("in_message_start")),
        partial_json=partial_json,
        program=program,
    )


def _delivery(turn: dict[str, Any]) -> Delivery:
    error = turn.get("sse_error")
    if isinstance(error, str):
        error = {"type": error, "message": error.removesuffix("_error").replace("_", " ").title()}
    cut = turn.get("cut")
    chunk_delay = turn.get("chunk_delay_ms")
    return Delivery(
        headers_delay=turn.get("delay_ms", 0) / 1000,
        first_event_delay=turn.get("first_event_delay_ms", 0) / 1000,
        chunk_delay=None if chunk_delay is None else chunk_delay / 1000,
        chunk_size=turn.get("chunk_size"),
        cut_after=turn.get("cut_after", 0) if cut or turn.get("hang") == "mid_stream" else None,
        cut_cleanly=cut == "clean",
        hang=turn.get("hang"),
        sse_error=error,
        raw_sse=turn.get("raw_sse"),
    )


def _problem(turn: dict[str, Any]) -> ApiProblem:
    status = turn["status"]
    error = turn.get("error")
    error = {"message": error} if isinstance(error, str) else dict(error or {})
    type_ = error.get("type") or TYPE_OF_STATUS.get(status)
    headers = {str(k).lower(): str(v) for k, v in turn.get("headers", {}).items()}
    if "retry_after" in turn:
        headers["retry-after"] = str(turn["retry_after"])
    message = error.get("message") or f"scripted error {status}"
    return ApiProblem(message, type_ or "api_error", status, headers=headers)


def _last_user_text(body: dict[str, Any]) -> str:
    """The text of the last message of the user that has any (tool results do not count)."""
    for message in reversed(body.get("messages") or []):
        if not isinstance(message, dict) or message.get("role") != "user":
            continue
        content = message.get("content")
        if isinstance(content, str):
            return content
        texts = [
            str(b.get("text"))
            for b in content or []
            if isinstance(b, dict) and b.get("type") == "text"
        ]
        if texts:
            return "\n".join(texts)
    return ""


def _raw_blocks(text: str) -> list[dict[str, Any]]:
    """The thinking blocks of a raw stream, so that a client may send them back."""
    blocks: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        if not line.startswith("data:"):
            continue
        try:
            event = json.loads(line[5:])
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        index, delta = event.get("index"), event.get("delta")
        if event.get("type") == "content_block_start" and isinstance(index, int):
            blocks[index] = dict(event.get("content_block") or {})
        elif isinstance(delta, dict) and isinstance(index, int) and index in blocks:
            if delta.get("type") == "thinking_delta":
                blocks[index]["thinking"] = blocks[index].get("thinking", "") + delta["thinking"]
            elif delta.get("type") == "signature_delta":
                blocks[index]["signature"] = delta.get("signature")
    return list(blocks.values())


def _is_sse_text(raw: str) -> bool:
    return "\n" in raw or raw.startswith(("event:", "data:"))


# --- checks -----------------------------------------------------------------------


def _check_keys(where: str, value: dict[str, Any], known: set[str]) -> None:
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = (
                f", did you mean `{near[0]}`?"
                if near
                else f"; known are {', '.join(sorted(known))}"
            )
            raise ScenarioError(f"{where}{'.' if where else ''}{key}: unknown key{hint}")


_KINDS: dict[str, tuple[type, ...]] = {
    "thinking": (str,), "text": (str,), "program": (str,), "match": (str,), "raw_sse": (str,),
    "blocks": (list,), "tool_calls": (list,), "usage": (dict,), "headers": (dict,),
    "delay_ms": (int, float), "first_event_delay_ms": (int, float), "chunk_delay_ms": (int, float),
    "retry_after": (int, float), "chunk_size": (int,), "cut_after": (int,), "status": (int,),
    "container": (str, dict), "sse_error": (str, dict), "error": (str, dict),
}  # fmt: skip
_CHOICES: dict[str, tuple[Any, ...]] = {
    "cut": (True, False, "clean"),
    "hang": ("before_headers", "mid_stream"),
    "container_at": ("message_start", "message_delta"),
    "pause_reason": ("tool_use", "pause_turn"),
    "name_container": (True, False),
}


def _check_turn(where: str, turn: Any) -> None:
    if not isinstance(turn, dict):
        raise ScenarioError(f"{where}: a turn is an object")
    _check_keys(where, turn, _TURN_KEYS)
    for key, value in turn.items():
        kinds = _KINDS.get(key)
        if kinds and (not isinstance(value, kinds) or isinstance(value, bool)):
            names = " or ".join(k.__name__ for k in kinds)
            raise ScenarioError(f"{where}.{key}: should be {names}, not {value!r}")
        if isinstance(value, int | float) and value < 0:
            raise ScenarioError(f"{where}.{key}: should not be negative")
        if key in _CHOICES and value not in _CHOICES[key]:
            raise ScenarioError(f"{where}.{key}: should be one of {_CHOICES[key]}, not {value!r}")
    if turn.get("chunk_size") == 0:
        raise ScenarioError(f"{where}.chunk_size: should be at least 1")
    for key in ("tool_calls", "container", "in_message_start"):
        if "program" in turn and key in turn:
            raise ScenarioError(f"{where}.{key}: not together with a program")
    for key in ("pause_reason", "name_container"):
        if key in turn and "program" not in turn:
            raise ScenarioError(f"{where}.{key}: only for a turn with a program")
    if "error" in turn and "status" not in turn:
        type_ = turn["error"].get("type") if isinstance(turn["error"], dict) else None
        if type_ not in STATUS_OF_TYPE:
            raise ScenarioError(f"{where}.error: needs a `status`")
        turn["status"] = STATUS_OF_TYPE[type_]
    for number, block in enumerate(turn.get("blocks", [])):
        if not isinstance(block, dict) or "type" not in block:
            raise ScenarioError(
                f"{where}.blocks.{number}: a content block is an object with `type`"
            )
    for number, call in enumerate(turn.get("tool_calls", [])):
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise ScenarioError(f"{where}.tool_calls.{number}: a call is an object with a `name`")
        _check_keys(f"{where}.tool_calls.{number}", call, _CALL_KEYS)
