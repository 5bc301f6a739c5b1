"""The recorded programmatic run, played by our own server: the same code, results and wire."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from offline_helpers import Serve
from program_client import CODE, Client, assembled, parse_events, tool

RECORDINGS = os.environ.get("AGENT_TUI_RECORDINGS", "")
NAME = "vercel-programmatic-tool-calling.1-{}.sse"


def recorded(number: int) -> list[dict[str, Any]]:
    return parse_events((Path(RECORDINGS) / NAME.format(number)).read_text(encoding="utf-8"))


def shape(events: list[dict[str, Any]]) -> list[Any]:
    """Events without what differs by run: ids, times, tokens; how text is cut into deltas."""
    out: list[Any] = []
    for event in events:
        if event["type"] == "ping":
            continue
        text = json.dumps(event)
        text = re.sub(r'"(msg|toolu|srvtoolu|container)_\w+"', r'"\1"', text)
        text = re.sub(r"code_execution_\d{8}", "code_execution", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "time", text)
        plain = json.loads(text)
        for holder in (plain, plain.get("message", {})):
            for key in ("usage", "model", "stop_details"):
                holder.pop(key, None)
        plain.get("delta", {}).pop("stop_details", None)
        if event["type"] == "content_block_delta":
            plain["delta"] = {"type": plain["delta"]["type"]}
            if out and out[-1] == plain:
                continue
        out.append(plain)
    return out


@pytest.mark.skipif(not RECORDINGS, reason="AGENT_TUI_RECORDINGS names no folder")
def test_the_recorded_run_again_on_our_server(serve: Serve) -> None:
    first, last = assembled(recorded(1)), assembled(recorded(15))
    text, program, call = first["content"]
    printed = last["content"][0]["content"]["stdout"]
    rolls = iter(re.findall(r"Player \d rolls: (\d)", printed))
    turn = {
        "text": text["text"],
        "program": program["input"]["code"],
        "name_container": False,
    }
    answer = {"text": last["content"][1]["text"]}
    die = tool("rollDie", "player", callers=["code_execution_20260120"])
    client = Client(serve(turn, answer), [CODE, die], stream=True)
    client.say("who wins?")
    assert [c["input"] for c in client.calls] == [call["input"]]
    for number in range(1, 16):
        assert shape(client.events) == shape(recorded(number)), f"response {number}"
        if number < 15:
            assert [c["input"] for c in client.calls] == [
                b["input"]
                for b in assembled(recorded(number))["content"]
                if b["type"] == "tool_use"
            ]
            client.answer(lambda _: next(rolls))
    assert client.outcome["stdout"] == printed and next(rolls, None) is None
