"""validate_arguments: harmless coercion, and refusals that a model can act on."""

import copy
from typing import Any

import pytest

from agent_tui.conversation.validation import validate_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "ratio": {"type": "number"},
        "deep": {"type": "boolean"},
        "mode": {"enum": ["fast", "slow"]},
        "maybe": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "names": {"type": "array", "items": {"type": "string"}},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["old"],
            },
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


def validated(**arguments: Any) -> dict[str, Any]:
    return validate_arguments(SCHEMA, {"path": "a", **arguments})


def refusal(schema: dict[str, Any] = SCHEMA, **arguments: Any) -> str:
    with pytest.raises(ValueError) as caught:
        validate_arguments(schema, arguments)
    return str(caught.value)


def test_valid_arguments_come_back_as_they_are() -> None:
    given = {"path": "a", "limit": 3, "names": ["x"]}
    assert validate_arguments(SCHEMA, given) is given


@pytest.mark.parametrize(
    ("name", "sent", "used"),
    [
        ("limit", "42", 42),
        ("limit", " 42 ", 42),
        ("limit", 42.0, 42),
        ("ratio", "1.5", 1.5),
        ("ratio", "2", 2),
        ("ratio", "-1e3", -1000.0),
        ("deep", "true", True),
        ("deep", "False", False),
        ("path", 42, "42"),
        ("path", 1.5, "1.5"),
        ("names", '["a", "b"]', ["a", "b"]),
        ("names", [1, "b"], ["1", "b"]),
        ("edits", '[{"old": 7, "count": "2"}]', [{"old": "7", "count": 2}]),
        ("maybe", "7", 7),
        ("either", "7", 7),
        ("either", None, None),
        ("maybe", None, None),
    ],
)
def test_what_means_the_same_is_converted(name: str, sent: Any, used: Any) -> None:
    given = {"path": "a", name: sent}
    before = copy.deepcopy(given)
    result = validate_arguments(SCHEMA, given)[name]
    assert result == used and type(result) is type(used)
    assert given == before, "the transcript's arguments are not changed"


@pytest.mark.parametrize("name", ["limit", "deep", "names", "mode"])
def test_null_for_an_optional_property_is_left_out(name: str) -> None:
    assert validated(**{name: None}) == {"path": "a"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "a", "limit": "many"}, ["limit", "integer", '"many"']),
        ({"path": "a", "limit": "4.2"}, ["limit", "integer"]),
        ({"path": "a", "limit": True}, ["limit", "integer", "true"]),
        ({"path": "a", "limit": 0}, ["limit", "minimum"]),
        ({"path": True}, ["path", "string", "true"]),
        ({"path": ["a"]}, ["path", "string"]),
        ({"path": "a", "deep": "yes"}, ["deep", "true or false"]),
        ({"path": "a", "deep": 1}, ["deep", "true or false"]),
        ({"path": "a", "names": "a, b"}, ["names", "array"]),
        ({"path": "a", "names": '{"a": 1}'}, ["names", "array"]),
        ({"path": "a", "mode": "warp"}, ["mode", '"fast"', '"slow"', '"warp"']),
        ({"path": "a", "either": "x"}, ["either", "integer", "null"]),
        ({"path": "a", "ratio": "nan"}, ["ratio", "number"]),
        ({"path": "a", "edits": [{"old": "x"}, {"old": [1]}]}, ["edits.1.old", "string"]),
        ({"path": "a", "edits": [{}]}, ["edits.0", "'old' is missing"]),
        ({"path": "a", "pth": 1}, ["'pth'", "not known", "'path'"]),
        ({}, ["'path' is missing"]),
        ({"path": None}, ["'path' is missing"]),
    ],
)
def test_what_does_not_is_refused_with_place_and_expectation(
    arguments: dict[str, Any], words: list[str]
) -> None:
    text = refusal(**arguments)
    assert all(word in text for word in words), text
    assert "\n" not in text


def test_several_faults_are_told_at_once_but_not_all() -> None:
    text = refusal(path=[], limit="x", deep="x", ratio="x", names="x")
    assert "and 2 more" in text


def test_an_error_never_repeats_a_long_value() -> None:
    assert len(refusal(path=["x" * 10_000])) < 300


def test_references_inside_the_schema_work() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/count"}},
        "$defs": {"count": {"type": "integer"}},
    }
    assert validate_arguments(schema, {"n": "3"}) == {"n": 3}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"type": "object", "properties": {"a": {"$ref": "http://example.com/a.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}},
    ],
)
def test_a_broken_schema_of_a_server_refuses_nothing_and_fetches_nothing(
    schema: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert validate_arguments(schema, {"a": "x"}) == {"a": "x"}
    assert "unchecked" in caplog.text


def test_an_older_dialect_is_followed() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"n": {"type": "integer"}},
    }
    assert validate_arguments(schema, {"n": "3"}) == {"n": 3}
