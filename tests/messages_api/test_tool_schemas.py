"""Schemas as the API takes them (facts: rules of a valid request; fault A32)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.messages_api.tool_schemas import UnusableSchema, object_schema, usable_tools

TEXT = {"type": "string"}


def test_a_plain_schema_is_the_very_same() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    assert object_schema(schema) is schema


def test_alternatives_keep_all_properties_and_what_all_of_them_need() -> None:
    schema = {
        "type": "object",
        "description": "Finds.",
        "properties": {"where": TEXT},
        "required": ["where"],
        "anyOf": [
            {"properties": {"a": TEXT, "n": TEXT}, "required": ["a", "n"]},
            {"properties": {"b": TEXT, "n": {"type": "integer"}}, "required": ["b", "n"]},
        ],
    }
    folded = object_schema(schema)
    assert folded["required"] == ["where", "n"]
    assert set(folded["properties"]) == {"where", "a", "b", "n"}
    assert folded["properties"]["n"] == {"anyOf": [TEXT, {"type": "integer"}]}
    assert (
        folded["description"].startswith("Finds.") and "(a, n) or (b, n)" in (folded["description"])
    )
    assert "anyOf" in schema, "what was given is not changed"


def test_all_of_needs_what_any_part_needs() -> None:
    schema = {"allOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"required": ["b"]}]}
    assert object_schema(schema)["required"] == ["a", "b"]


def test_a_reference_at_the_top_is_followed() -> None:
    target = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    folded = object_schema({"$ref": "#/$defs/Args", "$defs": {"Args": target}})
    assert folded["properties"] == {"a": TEXT} and folded["required"] == ["a"]
    assert "$defs" in folded and "$ref" not in folded


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "#"},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"properties": ["a"]},
        {"type": "object", "properties": {"a b": TEXT}, "required": ["a b"]},
    ],
)
def test_what_is_no_object_is_unusable(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchema):
        object_schema(schema)


def tool(name: str, parameters: Any = None) -> AgentTool:
    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult.text("")

    return AgentTool(name, "", {"type": "object"} if parameters is None else parameters, execute)


def test_names_are_legal_and_stand_once() -> None:
    usable, left_out = usable_tools([tool("a"), tool("b c"), tool("a"), tool("d" * 129), tool("e")])
    assert [t.name for t in usable] == ["a", "e"]
    assert "name" in left_out["b c"] and "same name" in left_out["a"]


_schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "string", ["object", "null"], 7, None]),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "a b", "é"]), st.just(TEXT)),
            "required": st.lists(st.sampled_from(["a", "b", "a b"])),
            "$ref": st.sampled_from(["#", "#/x", "", "other", 3]),
        },
    )
    | st.sampled_from([True, None, "text"]),
    lambda inner: st.fixed_dictionaries(
        {"anyOf": st.lists(inner, max_size=3)},
        optional={"allOf": st.lists(inner, max_size=2), "oneOf": inner, "type": st.just("object")},
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(_schemas)
def test_any_schema_is_folded_into_a_legal_one_or_left_out(schema: Any) -> None:
    usable, left_out = usable_tools([tool("t", schema)])
    assert bool(usable) != bool(left_out)
    if usable:
        folded = object_schema(usable[0].parameters)
        assert folded["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(folded)
        assert all(key in ("a", "b") for key in folded.get("properties", {}))


def test_references_in_a_circle_cost_nothing() -> None:
    """Followed as deep as the limit, these would be 8 ** 10 schemas."""
    circle = {"type": "object", "anyOf": [{"$ref": "#"}] * 8}
    with pytest.raises(UnusableSchema):
        object_schema(circle)
    usable = {"type": "object", "anyOf": [{"$ref": "#"}] * 8 + [{"properties": {"a": TEXT}}]}
    assert set(object_schema(usable)["properties"]) == {"a"}
