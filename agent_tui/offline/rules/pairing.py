"""Rules about the order of messages: calls and their results, turns that go on, programs."""

import itertools
from collections.abc import Iterator

from agent_tui.offline.rules.model_facts import model_facts
from agent_tui.offline.rules.registry import Block, Group, Request, is_program_call, rule
from agent_tui.offline.rules.tools import for_programs

_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")


def _calls(group: Group | None) -> list[tuple[str, Block]]:
    return group.of_type("tool_use") if group and group.role == "assistant" else []


def _pairs(request: Request) -> Iterator[tuple[Group | None, Group | None]]:
    """(a group, the one after it), with None before the first and after the last."""
    yield from itertools.pairwise([None, *request.groups, None])


@rule("results_missing", "Every call is answered in the next message.")
def results_missing(request: Request) -> Iterator[str]:
    for group, after in _pairs(request):
        given: set[str] = set()
        if after and after.role == "user":
            given = {block["tool_use_id"] for _, block in after.of_type("tool_result")}
        lost = [block["id"] for _, block in _calls(group) if block["id"] not in given]
        if lost and group:
            yield (
                f"{group.path}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {', '.join(lost)}. Each `tool_use` block must have a corresponding "
                "`tool_result` block in the next message."
            )


@rule("results_unexpected", "Every result answers a call of the message before.")
def results_unexpected(request: Request) -> Iterator[str]:
    for before, group in _pairs(request):
        if group is None or group.role != "user":
            continue
        known = {block["id"] for _, block in _calls(before)}
        for path, block in group.of_type("tool_result"):
            if block["tool_use_id"] not in known:
                yield (
                    f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{block['tool_use_id']}. Each `tool_result` block must have a corresponding "
                    "`tool_use` block in the previous message."
                )


@rule("results_once", "A call has a single result.")
def results_once(request: Request) -> Iterator[str]:
    for group in request.groups:
        seen: set[str] = set()
        for path, block in group.of_type("tool_result"):
            if block["tool_use_id"] in seen:
                yield (
                    f"{path}: each tool_use must have a single result. Found multiple "
                    f"`tool_result` blocks with id: {block['tool_use_id']}"
                )
            seen.add(block["tool_use_id"])


@rule("results_first", "Results stand together at the start of their message; text comes after.")
def results_first(request: Request) -> Iterator[str]:
    for before, group in _pairs(request):
        if group is None or group.role != "user" or not _calls(before):
            continue
        kinds = [block["type"] == "tool_result" for _, block in group.blocks]
        if True in kinds and False in kinds[: len(kinds) - kinds[::-1].index(True)]:
            late = [
                block["tool_use_id"]
                for (_, block), index in zip(group.blocks, range(len(kinds)), strict=True)
                if kinds[index] and False in kinds[:index]
            ]
            yield (
                f"{before.path if before else group.path}: `tool_use` ids were found without "
                f"`tool_result` blocks immediately after: {', '.join(late)}. The results must come "
                f"first in {group.path}, before any other block."
            )


# Before the rule on the service's calls, which the same message breaks: this one says why.
def _program_pairs(request: Request) -> Iterator[tuple[list[tuple[str, Block]], Group | None]]:
    """(a message's calls that a program made, the message that answers them)."""
    for group, after in _pairs(request):
        calls = [(path, block) for path, block in _calls(group) if is_program_call(block)]
        if calls:
            yield calls, after if after and after.role == "user" else None


@rule("program_results_only", "The answer to a program's calls holds results and nothing else.")
def program_results_only(request: Request) -> Iterator[str]:
    for _, answer in _program_pairs(request):
        for path, block in answer.blocks if answer else []:
            if block["type"] != "tool_result":
                yield (
                    f"{path}: when responding to programmatic tool calls, the user message may "
                    f"only contain `tool_result` blocks; found `{block['type']}`"
                )


# --- the service's own tools ------------------------------------------------------


def _turns(request: Request) -> Iterator[tuple[list[tuple[str, Block]], bool]]:
    """(the assistant's blocks, whether it is still going on) of each of the assistant's turns.

    A turn goes on over user messages that hold nothing but results, and while it comes last.
    """
    blocks: list[tuple[str, Block]] = []
    for group in request.groups:
        if group.role == "assistant":
            blocks += group.blocks
        elif group.role == "user" and len(group.of_type("tool_result")) < len(group.blocks):
            if blocks:
                yield blocks, False
            blocks = []
    if blocks:
        yield blocks, True


@rule(
    "server_results_missing", "A call of the service's tools has its result, or the turn goes on."
)
def server_results_missing(request: Request) -> Iterator[str]:
    for blocks, going_on in _turns(request):
        given = {b["tool_use_id"] for _, b in blocks if b["type"].endswith("_tool_result")}
        for path, block in blocks:
            if block["type"] in _SERVER_CALLS and block["id"] not in given and not going_on:
                name = "mcp" if block["type"] == "mcp_tool_use" else block["name"]
                yield (
                    f"{path}: `{block['name']}` tool use with id `{block['id']}` was found "
                    f"without a corresponding `{name}_tool_result` block"
                )


@rule("server_results_unexpected", "A result of the service's tools comes after its call.")
def server_results_unexpected(request: Request) -> Iterator[str]:
    for blocks, _ in _turns(request):
        known: set[str] = set()
        for path, block in blocks:
            kind = block["type"]
            if kind in _SERVER_CALLS:
                known.add(block["id"])
            elif kind.endswith("_tool_result") and block["tool_use_id"] not in known:
                use = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
                yield (
                    f"{path}: unexpected `tool_use_id` found in `{kind}` blocks: "
                    f"{block['tool_use_id']}. Each `{kind}` block must have a corresponding "
                    f"`{use}` block before it."
                )


@rule("prefill", "The last message is the user's, or a turn of the service that goes on.")
def prefill(request: Request) -> Iterator[str]:
    if not request.groups or request.groups[-1].role != "assistant" or request.goes_on:
        return
    turn = list(_turns(request))[-1][0]
    model = request.body["model"]
    if model_facts(model).prefill or any(
        block["type"] in (*_SERVER_CALLS, "compaction") for _, block in turn
    ):
        return
    yield (
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message."
    )


# --- programs in a container ------------------------------------------------------


def _pending(request: Request) -> list[tuple[str, Block]]:
    """The calls that the end of this request answers, of programs that are still running."""
    if not request.groups or request.groups[-1].role != "user":
        return []
    finished = {
        block["tool_use_id"]
        for _, block in request.blocks()
        if block["type"].endswith("_tool_result")
    }
    last = request.groups[-2] if len(request.groups) > 1 else None
    return [
        (path, block)
        for path, block in _calls(last)
        if is_program_call(block) and block["caller"].get("tool_id") not in finished
    ]


@rule("program_caller", "A program's call names the program, which comes before it.")
def program_caller(request: Request) -> Iterator[str]:
    for blocks, _ in _turns(request):
        programs: set[str] = set()
        for path, block in blocks:
            if block["type"] == "server_tool_use":
                programs.add(block["id"])
            elif is_program_call(block) and block["caller"]["tool_id"] not in programs:
                yield (
                    f"{path}.tool_use.caller.tool_id: no `server_tool_use` block with id "
                    f"`{block['caller']['tool_id']}` comes before it in this turn"
                )


@rule("program_result_text", "A program's call is answered by text.")
def program_result_text(request: Request) -> Iterator[str]:
    for calls, answer in _program_pairs(request):
        ids = {block["id"] for _, block in calls}
        for path, block in answer.of_type("tool_result") if answer else []:
            content = block.get("content")
            if block["tool_use_id"] in ids and isinstance(content, list):
                for index, inner in enumerate(content):
                    if inner["type"] != "text":
                        yield (
                            f"{path}.tool_result.content.{index}: results of programmatic tool "
                            f"calls may only contain text; found `{inner['type']}`"
                        )


@rule("program_container", "Answering a program's calls names its container.")
def program_container(request: Request) -> Iterator[str]:
    container = request.body.get("container")
    named = container.get("id") if isinstance(container, dict) else container
    if _pending(request) and not named:
        yield (
            "container_id is required when there are pending tool uses generated by code execution "
            "with tools."
        )


@rule("program_tools", "While a program runs, the tools it was given stay on offer.")
def program_tools(request: Request) -> Iterator[str]:
    pending = _pending(request)
    if not pending:
        return
    if not any(str(tool.get("type")).startswith("code_execution_") for tool in request.tools):
        yield "tools: the `code_execution` tool is required while its program waits for results"
    offered = [tool.get("name") for tool in request.tools if for_programs(tool)]
    for path, block in pending:
        if block["name"] not in offered:
            yield (
                f"{path}.tool_use.name: the tool `{block['name']}` of a pending programmatic call "
                "must be in `tools` with its `allowed_callers` unchanged"
            )
