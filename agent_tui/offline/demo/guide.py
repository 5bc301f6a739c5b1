"""The driver of the demo: from a request to the reply that the current script gives."""

from dataclasses import replace
from typing import Any

from agent_tui.offline.answers import Answer
from agent_tui.offline.demo.intents import find_script
from agent_tui.offline.demo.scene import Call, Say, Scene, Script
from agent_tui.offline.demo.search import search_blocks
from agent_tui.offline.demo.talk import nothing_open, picture, unknown
from agent_tui.offline.demo.turn import Outcome, Turn, current_turn
from agent_tui.offline.demo.words import code, headline, report_all
from agent_tui.offline.demo.work import sample_arguments
from agent_tui.offline.models import demo_models
from agent_tui.offline.rules.tools import for_programs
from agent_tui.offline.signing import is_signed, sign_thinking
from agent_tui.offline.wire import (
    ProgramStart,
    Reply,
    apply_limits,
    make_id,
    program_block,
    request_seed,
)


class DemoGuide:
    """The demo as a ReplySource."""

    any_model = False
    any_container = False
    check_rules = True

    def __init__(self) -> None:
        self.models = demo_models()

    def knows_signature(self, thinking: str, signature: str) -> bool:
        return is_signed(thinking, signature)

    async def answer(self, body: dict[str, Any]) -> Answer:
        return Answer(reply=demo_reply(body))


def demo_reply(body: dict[str, Any]) -> Reply:
    """The demo's reply to a valid request (the rules have been held against it)."""
    turn = current_turn(body, lambda text: find_script(text) is not None)
    scene = _scene(body, turn)
    say, said = _next_say(scene, parallel_ok=_parallel_ok(body))
    if (forced := _forced_call(body, scene, say)) is not None:
        say = forced
    text = _acknowledged(turn, said) + say.text
    content: list[dict[str, Any]] = []
    mode = _thinking_mode(body)
    if say.thinking and (mode == "on" or (mode == "between_tools" and turn.steps)):
        shown = "" if _display(body) == "omitted" else say.thinking
        content.append({"type": "thinking", "thinking": shown, "signature": sign_thinking(shown)})
    if text.strip():
        content.append({"type": "text", "text": text.rstrip()})
    seed = request_seed(body)
    for number, call in enumerate(say.calls):
        content += search_blocks(call.name, body, content, seed)
        content.append(
            {
                "type": "tool_use",
                "id": make_id("toolu_", seed, number),
                "name": call.name,
                "input": call.input,
                "caller": {"type": "direct"},
            }
        )
    if say.program:
        content.append(program_block(make_id("srvtoolu_", seed), say.program))
    reply = Reply(content, say.stop_reason or ("tool_use" if say.calls else "end_turn"))
    reply.stop_details = say.stop_details
    apply_limits(reply, body)
    if say.program and reply.content and reply.content[-1]["type"] == "server_tool_use":
        reply.program = ProgramStart()
    return reply


def _next_say(scene: Scene, *, parallel_ok: bool) -> tuple[Say, list[str]]:
    """Runs the turn's script up to now: what it says next, and what the user said meanwhile."""
    script = _script_of(scene)
    say = next(script)
    steps = list(scene.turn.steps)
    said: list[str] = []
    while steps:
        # Without parallel calls, the calls of one message go out in as many requests.
        outcomes: list[Outcome] = []
        wanted = len(say.calls) if not parallel_ok else 1
        for issued in range(max(1, wanted)):
            if not steps:
                return Say("", say.calls[issued:][:1]), said
            step = steps.pop(0)
            outcomes += step.outcomes
            said = step.said
        try:
            say = script.send(outcomes)
        except StopIteration:
            # The history holds other calls than this script makes (the tools have changed).
            say = Say(report_all(outcomes))
    if not parallel_ok:
        say = replace(say, calls=say.calls[:1])
    return say, said


def _script_of(scene: Scene) -> Script:
    turn = scene.turn
    if turn.open_end:
        return nothing_open()
    found = find_script(turn.prompt)
    if found is not None:
        script, match = found
        return script(scene, match)
    if turn.images:
        return picture(scene)
    return unknown(scene, turn.prompt)


def _acknowledged(turn: Turn, said: list[str]) -> str:
    """Words about texts that came besides the prompt, and about calls they interrupted."""
    out = ""
    if not turn.steps and turn.before:
        ended = "; ".join(f"`{o.name}`: {headline(o)}" for o in turn.before)
        out += (
            f"You also said: {code(turn.prompt)}. I turn to that now. What ran before: {ended}.\n\n"
        )
    for text in said if turn.steps else turn.also:
        out += f"You also said: {code(text)}. "
    if out and not out.endswith("\n\n"):
        out += (
            "A script can only take note of that; the rest goes on as planned.\n\n"
            if turn.steps
            else "I have read it.\n\n"
        )
    return out


def _scene(body: dict[str, Any], turn: Turn) -> Scene:
    tools: list[dict[str, Any]] = [t for t in body.get("tools") or [] if isinstance(t, dict)]
    callable_ = {
        t["name"]: t
        for t in tools
        if isinstance(t.get("input_schema"), dict)
        and "direct" in (t.get("allowed_callers") or ["direct"])
    }
    programs = _program_tools(tools)
    why = ""
    if (body.get("tool_choice") or {}).get("type") == "none":
        callable_, why = {}, "this request says `tool_choice: none`, so I may call nothing"
        programs = None
    return Scene(
        turn=turn,
        tools=callable_,
        all_tools=tools,
        messages=body.get("messages") or [],
        thinking=_thinking_mode(body) == "on",
        why_no_tools=why,
        program_tools=programs,
    )


def _program_tools(tools: list[dict[str, Any]]) -> dict[str, dict[str, Any]] | None:
    if not any(str(tool.get("type")).startswith("code_execution_") for tool in tools):
        return None
    return {
        tool["name"]: tool
        for tool in tools
        if isinstance(tool.get("input_schema"), dict) and for_programs(tool)
    }


def _thinking_mode(body: dict[str, Any]) -> str:
    """on, between_tools or off. A request that does not say gets none."""
    kind = (body.get("thinking") or {}).get("type")
    return {"adaptive": "on", "enabled": "on", "between_tools": "between_tools"}.get(
        str(kind), "off"
    )


def _display(body: dict[str, Any]) -> str:
    return (body.get("thinking") or {}).get("display") or "summarized"


def _parallel_ok(body: dict[str, Any]) -> bool:
    return not (body.get("tool_choice") or {}).get("disable_parallel_tool_use")


def _forced_call(body: dict[str, Any], scene: Scene, say: Say) -> Say | None:
    """A call of the tool that tool_choice demands, when the script would not make one."""
    choice = body.get("tool_choice") or {}
    names = [c.name for c in say.calls]
    if choice.get("type") == "tool":
        name = choice.get("name")
    elif choice.get("type") == "any":
        name = next(iter(scene.tools), None)
    else:
        return None
    if name not in scene.tools or (names and (choice["type"] == "any" or names == [name])):
        return None
    schema = scene.tools[name].get("input_schema") or {}
    return Say("", [Call(name, sample_arguments(schema))])
