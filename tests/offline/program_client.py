"""A small client of the Messages API for programs: no SDK, plain HTTP, answers calls as asked."""

import copy
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_tui.offline import OfflineServer

CODE = {"type": "code_execution_20260120", "name": "code_execution"}
CALLERS = ["code_execution_20260120"]
HEADERS = {"content-type": "application/json", "anthropic-version": "2026-10-21"}


def tool(name: str, *properties: str, callers: list[str] | None = None) -> dict[str, Any]:
    """A tool with text properties; who may call it: by default programs only."""
    return {
        "name": name,
        "input_schema": {
            "type": "object",
            "properties": {p: {"type": "string"} for p in properties},
        },
        "allowed_callers": CALLERS if callers is None else callers,
    }


READ = tool("read", "path")


@dataclass
class Refused(Exception):
    """An HTTP error of the API."""

    status: int
    type: str
    message: str


def call_api(server: OfflineServer, path: str, body: Any = None, method: str = "") -> bytes:
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(server.url + path, data, HEADERS, method=method or None)
    try:
        with urllib.request.urlopen(sent, timeout=20) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        said = json.loads(error.read())["error"]
        raise Refused(error.code, said["type"], said["message"]) from None


def parse_events(raw: str) -> list[dict[str, Any]]:
    return [
        json.loads(line.removeprefix("data: "))
        for line in raw.splitlines()
        if line.startswith("data: ")
    ]


def assembled(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message of a stream. An error event raises Refused with status 200."""
    message: dict[str, Any] = {}
    partial: dict[int, str] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                message = copy.deepcopy(event["message"])
            case "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append(dict(event["content_block"]))
            case "content_block_delta":
                block, delta = message["content"][event["index"]], event["delta"]
                if delta["type"] == "text_delta":
                    block["text"] += delta["text"]
                elif delta["type"] == "input_json_delta":
                    text = partial.get(event["index"], "") + delta["partial_json"]
                    partial[event["index"]] = text
            case "content_block_stop" if event["index"] in partial:
                message["content"][event["index"]]["input"] = json.loads(
                    partial[event["index"]] or "{}"
                )
            case "message_delta":
                message |= event["delta"] | {"usage": message["usage"] | event["usage"]}
            case "error":
                raise Refused(200, event["error"]["type"], event["error"]["message"])
            case _:
                pass
    return message


Answerer = Callable[[dict[str, Any]], Any]
"""From a tool_use block to the content of its result; an Exception makes an error result."""


def echo(call: dict[str, Any]) -> str:
    return str(call["input"].get("path", ""))


@dataclass
class Client:
    """One conversation. `messages` grows as the API's history; container follows the answers."""

    server: OfflineServer
    tools: list[dict[str, Any]] = field(default_factory=lambda: [CODE, READ])
    stream: bool = False
    container: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    def body(self, **more: Any) -> dict[str, Any]:
        body = {
            "model": "demo",
            "max_tokens": 8000,
            "messages": self.messages,
            "tools": self.tools,
            "stream": self.stream,
        }
        if self.container:
            body["container"] = self.container
        return body | more

    def send(self, **more: Any) -> dict[str, Any]:
        """One request as the conversation stands; the answer joins the history."""
        raw = call_api(self.server, "/v1/messages", self.body(**more)).decode()
        self.events = parse_events(raw) if self.stream else []
        self.last = assembled(self.events) if self.stream else json.loads(raw)
        self.container = (self.last.get("container") or {}).get("id", self.container)
        self.messages.append({"role": "assistant", "content": self.last["content"]})
        return self.last

    def say(self, content: Any = "go") -> dict[str, Any]:
        self.messages.append({"role": "user", "content": content})
        return self.send()

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [b for b in self.last["content"] if b["type"] == "tool_use"]

    def results(self, answerer: Answerer = echo) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for call in self.calls:
            answer = answerer(call)
            failed = isinstance(answer, Exception)
            out.append(
                {
                    "type": "tool_result",
                    "tool_use_id": call["id"],
                    "content": str(answer) if failed else answer,
                    "is_error": failed,
                }
            )
        return out

    def answer(self, answerer: Answerer = echo) -> dict[str, Any]:
        return self.say(self.results(answerer))

    def run(self, content: Any = "go", answerer: Answerer = echo) -> list[dict[str, Any]]:
        """Says it and answers every call until the turn ends; all the responses."""
        responses = [self.say(content)]
        while responses[-1]["stop_reason"] in ("tool_use", "pause_turn"):
            assert len(responses) < 100
            responses.append(self.answer(answerer))
        return responses

    @property
    def outcome(self) -> dict[str, Any]:
        """The content of the last message's code_execution_tool_result."""
        (block,) = (b for b in self.last["content"] if b["type"] == "code_execution_tool_result")
        return block["content"]

    def state(self) -> dict[str, Any]:
        """What the server says now of this conversation's container."""
        listed = json.loads(call_api(self.server, "/_containers"))
        (state,) = (c for c in listed if c["id"] == self.container)
        return state
