"""The API's own tools as the installed SDK knows them; schemas that programs cannot call."""

import re
from pathlib import Path
from typing import Any

import pytest

from agent_tui.messages_api.server_tools import (
    CODE_EXECUTION_TYPE,
    CONNECTOR_BETA,
    MEMORY_TYPE,
    SERVER_TOOLS,
    connector_tool,
    for_programs,
    is_server_run,
    needed_betas,
    server_tool,
)
from agent_tui.messages_api.tool_schemas import may_recur


@pytest.fixture(scope="module")
def types() -> list[str]:
    """Every tool type that the SDK names, such as web_search_20260318."""
    import anthropic.types.beta

    (folder,) = anthropic.types.beta.__path__
    source = "\n".join(path.read_text() for path in Path(folder).glob("beta_*tool_20*_param.py"))
    source += "\n".join(path.read_text() for path in Path(folder).glob("beta_*tool_2*_param.py"))
    return re.findall(r'type: Required\[Literal\["([a-z_]+_\d{8})"\]\]', source)


@pytest.mark.parametrize("type_", [*(t.type for t in SERVER_TOOLS), MEMORY_TYPE])
def test_types_are_the_newest_that_the_sdk_knows(type_: str, types: list[str]) -> None:
    stem = type_[:-9]
    known = sorted(t for t in types if t[:-9] == stem)
    assert type_ in known
    if type_ != CODE_EXECUTION_TYPE:  # facts: the version that programs are named by
        assert type_ == known[-1]


def test_callers_are_those_of_the_sdk(types: list[str]) -> None:
    from anthropic.types.beta import BetaToolParam

    assert CODE_EXECUTION_TYPE in str(BetaToolParam.__annotations__["allowed_callers"])


def test_who_runs_a_tool_and_what_it_needs() -> None:
    docs = connector_tool("docs", "https://example.com/mcp")
    search = server_tool(SERVER_TOOLS[1])
    assert is_server_run(docs) and is_server_run(search)
    assert not for_programs(search)
    assert needed_betas([search]) == []
    assert needed_betas([search, docs]) == [CONNECTOR_BETA]
    assert "secret" not in repr(connector_tool("docs", "https://example.com", "secret"))


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
TREES: dict[str, tuple[Any, bool]] = {
    "plain": ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
    "shared": (
        {
            "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}},
            "$defs": {"x": {"items": {"$ref": "#/$defs/y"}}, "y": {"type": "string"}},
        },
        False,
    ),
    "itself": ({"properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}}, True),
    "root": ({"type": "object", "properties": {"child": {"$ref": "#"}}}, True),
    "two": (
        {
            "properties": {"a": {"$ref": "#/definitions/a"}},
            "definitions": {
                "a": {"properties": {"b": {"$ref": "#/definitions/b"}}},
                "b": {"items": {"$ref": "#/definitions/a"}},
            },
        },
        True,
    ),
    "inner": (
        {"properties": {"a": {"properties": {"b": {"$ref": "#/properties/a"}}}}},
        True,
    ),
    "dynamic": ({"properties": {"a": {"$dynamicRef": "#node"}}}, True),
    "elsewhere": ({"properties": {"a": {"$ref": "https://example.com/x.json"}}}, True),
    "nowhere": ({"properties": {"a": {"$ref": "#/$defs/missing"}}}, True),
    "a property named so": ({"properties": {"$ref": {"type": "string"}}}, False),
}


@pytest.mark.parametrize("name", TREES)
def test_a_schema_that_may_come_back_to_itself(name: str) -> None:
    schema, recurs = TREES[name]
    assert may_recur(schema) is recurs


def test_a_deep_schema_does_not_exhaust_the_stack() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "object", "properties": {"a": schema}}
    assert may_recur(schema) is False
