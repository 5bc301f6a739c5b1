"""Schemas of servers' tools: whatever comes in, what goes out is legal (facts: valid request)."""

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.mcp_servers import schemas
from agent_tui.mcp_servers.schemas import Repaired, UnusableSchema, repair
from agent_tui.offline.rules import validate_request

KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def assert_legal(schema: dict[str, Any]) -> None:
    """The rules of the page of facts, and what JSON Schema itself demands."""
    assert schema["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "$ref"} & schema.keys()
    assert all(KEY.fullmatch(key) for key in schema.get("properties", {}))
    jsonschema.Draft202012Validator.check_schema(schema)
    json.dumps(schema, allow_nan=False).encode()


def takes(schema: Any, value: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


# --- whatever comes -------------------------------------------------------------------------

WORDS = st.sampled_from([
    "type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "enum",
    "definitions", "minimum", "exclusiveMinimum", "pattern", "additionalProperties", "not", "$id",
    "description", "const", "default", "$schema", "dependentRequired", "patternProperties",
])  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=5),
    st.sampled_from(["object", "string", "#", "#/$defs/a", "#/properties/a b", "[", "a b", "null"]),
    st.sampled_from([float("nan"), "\ud800", "\x00"]),
)  # fmt: skip
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(WORDS, st.sampled_from(["a", "a b", "b/c", "$defs"])), inner,
                        max_size=4),
    ),
    max_leaves=14,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(ANYTHING)
def test_anything_becomes_legal_or_is_left_out(schema: Any):
    try:
        repaired = repair(schema)
    except UnusableSchema as problem:
        assert str(problem)
    else:
        assert_legal(repaired.schema)


# --- what it takes ----------------------------------------------------------------------------

KEYS = st.sampled_from(["a", "b", "user name", "user/name", "ü" * 70, "user_name"])
SIMPLE = st.sampled_from(
    [{"type": "string"}, {"type": "integer"}, {"type": ["string", "null"]}, {}]
)
PROPERTIES = st.dictionaries(KEYS, SIMPLE, max_size=4)
PART = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("object"),
        "properties": PROPERTIES,
        "required": st.lists(KEYS, max_size=2, unique=True),
        "additionalProperties": st.booleans(),
        "description": st.just("what it is for"),
    },
)
PARTS = st.lists(st.one_of(PART, st.just({"type": "null"})), min_size=1, max_size=3)
REAL = st.builds(
    lambda top, unions: top | unions,
    PART,
    st.fixed_dictionaries({}, optional={"anyOf": PARTS, "oneOf": PARTS, "allOf": PARTS}),
)
ARGUMENTS = st.dictionaries(
    KEYS, st.one_of(st.integers(0, 3), st.text("x", max_size=2), st.none()), max_size=4
)


@settings(max_examples=150, deadline=None)
@given(REAL, ARGUMENTS)
def test_what_the_server_takes_is_taken_and_comes_to_it_unchanged(
    schema: dict[str, Any], arguments: dict[str, Any]
):
    try:
        repaired = repair(schema)
    except UnusableSchema:
        return
    assert_legal(repaired.schema)
    # A key of no property, spelled as one of ours, cannot be told apart.
    if not takes(schema, arguments) or set(arguments) & set(repaired.renamed):
        return
    given_by_model = repaired.accept(arguments)
    assert takes(repaired.schema, given_by_model)
    assert repaired.restore(given_by_model) == arguments


@settings(max_examples=60, deadline=None)
@given(REAL)
def test_a_schema_is_repaired_once(schema: dict[str, Any]):
    try:
        once = repair(schema).schema
    except UnusableSchema:
        return
    again = repair(once)
    assert again == Repaired(once)


# --- examples -----------------------------------------------------------------------------------


def test_A32_alternatives_that_only_say_what_is_required_are_folded():
    schema = {
        "type": "object",
        "description": "Finds.",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    repaired = repair(schema)
    assert repaired.schema["properties"] == schema["properties"]
    assert repaired.schema["description"] == "Finds. Give one of: (a) or (b)."
    assert not repaired.changes_arguments


def test_alternatives_with_properties_of_their_own_keep_them_in_one_argument():
    by_kind = [
        {"type": "object", "properties": {"kind": {"const": kind}, "to": {"$ref": "#/$defs/to"}},
         "required": ["kind"]}
        for kind in ("mail", "fax")
    ]  # fmt: skip
    repaired = repair({"oneOf": by_kind, "$defs": {"to": {"type": "string"}}})
    assert repaired.wrapper == "input" and repaired.schema["required"] == ["input"]
    good, bad = {"kind": "fax", "to": "x"}, {"kind": "fax", "to": 3}
    assert takes(repaired.schema, {"input": good}) and not takes(repaired.schema, {"input": bad})
    assert repaired.restore({"input": good}) == good
    # A model that does not see the point of it is understood all the same.
    assert repaired.accept(good) == {"input": good} == repaired.accept({"input": good})


def test_a_wrapped_schema_that_refers_to_itself_means_what_it_meant():
    step = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}
    stop = {"type": "object", "required": ["stop"], "properties": {"stop": {"const": 1}}}
    schema = {"anyOf": [step, stop]}
    repaired = repair(schema)
    for arguments in ({"stop": 1}, {"next": {"next": {"stop": 1}}}, {"next": {"stop": 2}}, {}):
        assert takes(repaired.schema, {"input": arguments}) == takes(schema, arguments)


def test_bad_keys_get_names_that_lead_back():
    repaired = repair({
        "type": "object",
        "properties": {"user name": {"type": "string", "description": "Who."}, "x" * 80: {}},
        "required": ["user name"],
    })  # fmt: skip
    short, long = repaired.schema["properties"]
    assert short == "user_name" and repaired.schema["required"] == ["user_name"]
    assert repaired.restore({short: "Ann", long: 1, "other": 2}) == {
        "user name": "Ann", "x" * 80: 1, "other": 2,
    }  # fmt: skip
    assert repaired.schema["properties"][short]["description"] == (
        'Who. (The server calls it "user name".)'
    )
    assert repaired.accept({"user name": "Ann"}) == {"user_name": "Ann"}


def test_two_bad_keys_that_would_meet_stay_apart_whatever_their_order():
    keys = ["user name", "user/name", "user_name"]
    for order in (keys, keys[::-1]):
        repaired = repair({"type": "object", "properties": {key: {} for key in order}})
        assert repaired.restore(repaired.accept(dict.fromkeys(keys, 1))) == dict.fromkeys(keys, 1)
        assert repaired.schema["properties"].keys() >= {"user_name", "user_name_7935f403"}


def test_a_recursive_schema_stays_what_it_is():
    tree = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            }
        },
    }
    repaired = repair(tree)
    assert_legal(repaired.schema)
    assert takes(repaired.schema, {"children": [{"children": []}]})
    assert not takes(repaired.schema, {"children": [{"children": 3}]})


@pytest.mark.parametrize(
    "reference",
    ["https://example.org/schema.json", "#/nowhere", "#/$defs/loop", "other.json#/x", "#anchor"],
)
def test_a_reference_that_leads_nowhere_does_not_break_the_check_of_arguments(reference: str):
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": reference}},
        "$defs": {"loop": {"$ref": "#/$defs/loop"}},
    }
    repaired = repair(schema)
    assert takes(repaired.schema, {"a": 1})
    assert any("leads nowhere" in note for note in repaired.notes)


@pytest.mark.parametrize(
    ("older", "good", "bad"),
    [
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, ["x"], [1]),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, [], ["x", 1]),
        ({"type": "string", "required": True}, "x", 1),
        ({"type": "string", "pattern": r"^\p{L}+$"}, "x", 1),
    ],
)
def test_words_of_older_drafts_keep_their_meaning(older: dict[str, Any], good: Any, bad: Any):
    repaired = repair({"type": "object", "properties": {"a": older}})
    assert_legal(repaired.schema)
    assert takes(repaired.schema, {"a": good}) and not takes(repaired.schema, {"a": bad})


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("text", "object"),
        ({"type": "string"}, "object"),
        ({"$ref": "#"}, "refers"),
        ({"type": "object", "properties": []}, "properties"),
        ({"type": "object", "description": "x" * schemas.MAX_CHARS}, "characters"),
    ],
)
def test_what_cannot_be_legal_is_named(schema: Any, says: str):
    with pytest.raises(UnusableSchema, match=says):
        repair(schema)


def test_depth_is_bounded():
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(UnusableSchema, match="deep"):
        repair({"type": "object", "properties": {"a": schema}})


def test_the_offline_server_takes_what_was_repaired():
    """A second opinion, of rules that were written apart from this room."""
    wild = {
        "properties": {"user name": {"$ref": "#/x"}, "n": {"exclusiveMinimum": True}},
        "oneOf": [{"properties": {"a": {}}}, {"required": ["n"]}],
        "required": [3],
    }
    body = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "t", "input_schema": repair(wild).schema}],
    }
    assert validate_request(body) == []
