"""Rules about the tools a request offers and how they may be called."""

import re
from collections.abc import Iterator
from typing import Any

from agent_tui.offline.rules.registry import Request, rule

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_CALLERS = {
    "direct", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521",
}  # fmt: skip


def _custom(request: Request) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, tool in enumerate(request.tools):
        if tool.get("type") in (None, "custom"):
            yield f"tools.{index}.custom", tool


def for_programs(tool: dict[str, Any]) -> bool:
    """Whether a program in a container may call the tool."""
    callers = tool.get("allowed_callers")
    return isinstance(callers, list) and any(str(c).startswith("code_execution_") for c in callers)


@rule("tool_name", "A tool's name is 1 to 128 letters, digits, _ or -.")
def tool_name(request: Request) -> Iterator[str]:
    for path, tool in _custom(request):
        if not _NAME.fullmatch(tool["name"]):
            yield f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"


@rule("tool_names_unique", "No two tools have one name.")
def tool_names_unique(request: Request) -> Iterator[str]:
    names = [tool["name"] for tool in request.tools if isinstance(tool.get("name"), str)]
    if len(names) != len(set(names)):
        yield "tools: Tool names must be unique."


@rule("tool_schema_object", "input_schema is of type object.")
def tool_schema_object(request: Request) -> Iterator[str]:
    for path, tool in _custom(request):
        schema = tool["input_schema"]
        if schema.get("type") != "object":
            problem = "Field required" if "type" not in schema else "Input should be 'object'"
            yield f"{path}.input_schema.type: {problem}"


@rule("tool_schema_top", "input_schema has no oneOf, allOf or anyOf at its top.")
def tool_schema_top(request: Request) -> Iterator[str]:
    for path, tool in _custom(request):
        if {"oneOf", "allOf", "anyOf"} & set(tool["input_schema"]):
            yield (
                f"{path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at "
                "the top level"
            )


@rule("tool_property_keys", "The keys of a schema's properties are plain and short.")
def tool_property_keys(request: Request) -> Iterator[str]:
    for path, tool in _custom(request):
        properties = tool["input_schema"].get("properties")
        if properties is None:
            continue
        if not isinstance(properties, dict):
            yield f"{path}.input_schema.properties: Input should be a valid dictionary"
        elif not all(_KEY.fullmatch(key) for key in properties):
            yield (
                f"{path}.input_schema.properties: Property keys should match pattern "
                "'^[a-zA-Z0-9_.-]{1,64}$'"
            )


@rule("tool_callers", "allowed_callers names direct or a version of code execution.")
def tool_callers(request: Request) -> Iterator[str]:
    for path, tool in _custom(request):
        for index, caller in enumerate(tool.get("allowed_callers") or []):
            if not isinstance(caller, str) or caller not in _CALLERS:
                names = ", ".join(f"'{name}'" for name in sorted(_CALLERS))
                yield f"{path}.allowed_callers.{index}: Input should be one of {names}"


@rule("tool_choice", "tool_choice is auto, any, none, or a tool of the request by name.")
def tool_choice(request: Request) -> Iterator[str]:
    choice = request.body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type")
    if kind not in ("auto", "any", "none", "tool"):
        yield (
            f"tool_choice: Input tag {kind!r} found using 'type' does not match any of the "
            "expected tags: 'auto', 'any', 'tool', 'none'"
        )
    elif not request.tools and kind != "none":
        yield "tool_choice: tool_choice may only be specified while providing tools"
    elif kind == "tool" and choice.get("name") not in [t.get("name") for t in request.tools]:
        yield f"tool_choice.tool.name: Tool '{choice.get('name')}' not found in provided tools"


@rule("tool_choice_thinking", "A forced call does not go together with thinking.")
def tool_choice_thinking(request: Request) -> Iterator[str]:
    thinking = (request.body.get("thinking") or {}).get("type")
    forced = (request.body.get("tool_choice") or {}).get("type") in ("any", "tool")
    if forced and thinking in ("adaptive", "enabled"):
        yield "Thinking may not be enabled when tool_choice forces tool use."


# --- tools that programs may call -------------------------------------------------


@rule("upload_tool", "A file for the container comes with the code execution tool.")
def upload_tool(request: Request) -> Iterator[str]:
    if any(str(tool.get("type")).startswith("code_execution_") for tool in request.tools):
        return
    for path, block in request.blocks():
        if block["type"] == "container_upload":
            yield f"{path}: `container_upload` blocks require the code execution tool in `tools`"


@rule("program_choice", "Tools for programs allow neither a forced nor a single call.")
def program_choice(request: Request) -> Iterator[str]:
    choice = request.body.get("tool_choice") or {}
    if not any(for_programs(tool) for tool in request.tools):
        return
    if choice.get("type") in ("any", "tool"):
        yield "tool_choice: forced tool use is not supported with programmatic tool calling"
    if choice.get("disable_parallel_tool_use"):
        yield (
            "tool_choice.disable_parallel_tool_use: not supported with programmatic tool calling"
        )


@rule("program_strict", "A tool for programs is not strict.")
def program_strict(request: Request) -> Iterator[str]:
    for path, tool in _custom(request):
        if tool.get("strict") and for_programs(tool):
            yield f"{path}.strict: not supported for tools that code execution may call"


@rule("program_connector", "A connector's tools are not for programs.")
def program_connector(request: Request) -> Iterator[str]:
    for index, tool in enumerate(request.tools):
        default = tool.get("default_config")
        nested = isinstance(default, dict) and for_programs(default)
        if tool.get("type") == "mcp_toolset" and (for_programs(tool) or nested):
            yield (
                f"tools.{index}.mcp_toolset.allowed_callers: MCP connector tools cannot be called "
                "programmatically"
            )


@rule("program_recursion", "The schema of a tool for programs does not refer to itself.")
def program_recursion(request: Request) -> Iterator[str]:
    for path, tool in _custom(request):
        if for_programs(tool) and _is_recursive(tool["input_schema"]):
            yield f"{path}.input_schema: recursive $ref is not supported for programmatic calling"


def _is_recursive(schema: dict[str, Any]) -> bool:
    """Whether following the local $ref of a schema can come back to where it was."""
    edges: dict[str, set[str]] = {}
    todo = ["#"]
    while todo:
        ref = todo.pop()
        if ref not in edges:
            edges[ref] = _refs(_resolve(schema, ref))
            todo += edges[ref]
    # What refers to nothing is taken away until nothing changes; a circle stays.
    while leaves := {ref for ref, targets in edges.items() if not targets}:
        edges = {ref: targets - leaves for ref, targets in edges.items() if ref not in leaves}
    return bool(edges)


def _refs(schema: Any) -> set[str]:
    """The $ref values of a schema; its definitions count where they are referred to."""
    found: set[str] = set()
    stack = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if isinstance(item.get("$ref"), str):
                found.add(item["$ref"].rstrip("/"))
            stack += [v for k, v in item.items() if k not in ("$defs", "definitions")]
        elif isinstance(item, list):
            stack += item
    return found


def _resolve(schema: dict[str, Any], ref: str) -> Any:
    value: Any = schema
    for part in ref.removeprefix("#").split("/")[1:]:
        value = value.get(part) if isinstance(value, dict) else None
    return value
