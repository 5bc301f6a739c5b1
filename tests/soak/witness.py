"""What the server was sent: the journal of its requests, and what must hold of them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_TOKEN = re.compile(r"<(\w+-\d+)>")


def tokens(text: str) -> list[str]:
    """The names of the messages in a text: each of ours says <kind-number> once."""
    return _TOKEN.findall(text)


@dataclass
class Request:
    """One request to /v1/messages, and how the server ended it."""

    n: int
    messages: list[Json]
    status: int | None
    error: Json | None

    def said(self) -> list[str]:
        """The names of the user's messages in it, in order."""
        return [
            token
            for message in self.messages
            if message["role"] == "user"
            for block in _blocks(message)
            if block["type"] == "text"
            for token in tokens(block["text"])
        ]

    def calls(self) -> dict[str, Json]:
        """Every tool_use block by its id."""
        return {
            block["id"]: block
            for message in self.messages
            for block in _blocks(message)
            if block["type"] == "tool_use"
        }

    def results(self) -> dict[str, list[str]]:
        """The texts of the results of each call."""
        found: dict[str, list[str]] = {}
        for message in self.messages:
            for block in _blocks(message):
                if block["type"] == "tool_result":
                    text = json.dumps(block.get("content", ""))
                    found.setdefault(block["tool_use_id"], []).append(text)
        return found


def requests(journal: list[Json]) -> list[Request]:
    return [
        Request(entry["n"], entry["body"]["messages"], entry["status"], entry["error"])
        for entry in journal
        if entry["body"] is not None
    ]


def read_log(path: Path) -> list[Json]:
    """The journal as the server's log file has it."""
    entries: dict[int, Json] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        kind = record.pop("event")
        if kind == "start":
            entries[record["n"]] = record | {"status": None, "error": None}
        else:
            entries[record["n"]] |= {"status": record["status"], "error": record["error"]}
    return [entries[n] for n in sorted(entries)]


def check_grows(earlier: Request, later: Request) -> None:
    """What the model was sent stays as it was in all later requests: only more is added."""
    old = [_plain(m) for m in earlier.messages]
    new = [_plain(m) for m in later.messages]
    where = f"between requests {earlier.n} and {later.n}"
    assert len(new) >= len(old), f"{where} messages were lost"
    for index, message in enumerate(old):
        kept = new[index]["content"]
        if index == len(old) - 1:
            kept = kept[: len(message["content"])]
        assert kept == message["content"], f"{where} message {index} changed"


def _plain(message: Json) -> Json:
    blocks = [{k: v for k, v in b.items() if k != "cache_control"} for b in _blocks(message)]
    return {"role": message["role"], "content": blocks}


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
