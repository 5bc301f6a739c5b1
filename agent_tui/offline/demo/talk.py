"""Scripts that make no call: the demo speaks about itself, the request, or at length."""

import re
from collections import Counter
from typing import Any

from agent_tui.offline.demo.scene import Say, Scene, Script
from agent_tui.offline.demo.texts import CAN_DO, HELP, long_answer, thinking_about
from agent_tui.offline.demo.words import code, plural
from agent_tui.offline.models import DEMO_NAME


def who(scene: Scene, match: re.Match[str]) -> Script:
    yield Say(
        f"{DEMO_NAME}.\n\nThis is the offline server of agent-tui. Everything around me is real: "
        "the protocol, the streaming, the tools, the queue. My words are not: they follow a "
        "script. `help` lists what it knows; with a key or a server of your own a model answers."
    )


def help_(scene: Scene, match: re.Match[str]) -> Script:
    yield Say(HELP)


def hello(scene: Scene, match: re.Match[str]) -> Script:
    yield Say(f"Hello. This is the demo ({DEMO_NAME}). Try one of these:\n\n{CAN_DO}")


def stop(scene: Scene, match: re.Match[str]) -> Script:
    yield Say("I stop here. Nothing of that is going on any more.")


def tools(scene: Scene, match: re.Match[str]) -> Script:
    rows: list[str] = []
    for tool in scene.all_tools:
        described = str(tool.get("description") or tool.get("type") or "").strip()
        first = described.splitlines()[0] if described else "(no description)"
        rows.append(f"- {code(str(tool.get('name')))} {first[:100]}")
    if not rows:
        yield Say("This request offers no tools.")
        return
    servers = sorted(
        {t["name"].split("__")[0] for t in scene.all_tools if "__" in t.get("name", "")}
    )
    by_mcp = f", from the MCP servers {', '.join(servers)} too" if servers else ""
    yield Say(f"This request offers {plural(len(rows), 'tool')}{by_mcp}:\n\n" + "\n".join(rows))


def think(scene: Scene, match: re.Match[str]) -> Script:
    topic = match["topic"].strip()
    if not scene.thinking:
        yield Say(
            f"Thinking is off in this request, so there is none to show about {code(topic)}. Turn "
            "it on and ask again."
        )
        return
    text = "\n\n".join(thinking_about(topic))
    yield Say(
        f"I spent {len(text.split())} words of scripted thinking on {code(topic)}. What a script "
        "can honestly conclude: the question is yours, the answer needs a model.",
        thinking=text,
    )


def long(scene: Scene, match: re.Match[str]) -> Script:
    words = int(match["words"] or 0) or (4000 if match["very"] else 700)
    yield Say(
        long_answer(min(words, 200_000)),
        thinking="A long text with tables, code, lists and several scripts.",
    )


def echo(scene: Scene, match: re.Match[str]) -> Script:
    yield Say(match["text"].strip())


def refusal(scene: Scene, match: re.Match[str]) -> Script:
    yield Say(
        stop_reason="refusal",
        stop_details={
            "type": "refusal",
            "category": None,
            "explanation": "Scripted: you asked to see a refusal.",
        },
    )


def summarize(scene: Scene, match: re.Match[str]) -> Script:
    said: list[str] = []
    calls: Counter[str] = Counter()
    for message in scene.messages:
        content = message.get("content")
        blocks: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks or []:
            if block.get("type") == "tool_use":
                calls[block.get("name", "")] += 1
            elif block.get("type") == "text" and message.get("role") == "user":
                said.append(str(block.get("text", "")))
    quotes = "\n".join(f"- {code(text)}" for text in said[:-1][-20:]) or "- (nothing yet)"
    used = ", ".join(f"`{name}` {n}×" for name, n in calls.most_common()) or "none"
    yield Say(
        f"So far this conversation has {plural(len(scene.messages), 'message')}. Tools called: "
        f"{used}. You said:\n\n{quotes}"
    )


def picture(scene: Scene) -> Script:
    kinds: list[str] = []
    for image in scene.turn.images:
        source = image.get("source") or {}
        data = source.get("data") or ""
        size = len(data) * 3 // 4 - data[-2:].count("=")
        kinds.append(f"{source.get('media_type', source.get('type'))}, {size:,} bytes")
    listed = "\n".join(f"- {kind}" for kind in kinds)
    yield Say(
        f"{plural(len(kinds), 'image')} arrived:\n\n{listed}\n\nA script cannot look at pictures; "
        "a model could."
    )


def unknown(scene: Scene, prompt: str) -> Script:
    asked = f"I have no script for {code(prompt)}. " if prompt else "I got no text to answer. "
    yield Say(f"{asked}This is the demo ({DEMO_NAME}). It can do this:\n\n{CAN_DO}")


def nothing_open() -> Script:
    yield Say("Nothing was left open in that message, so there is nothing to go on with.")
