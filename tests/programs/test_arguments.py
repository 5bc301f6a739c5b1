"""From a program's call to a tool's input, as Python binds arguments."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.programs import ArgumentsError, bind_arguments, function_names

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {}, "deep": {}}}


def bound(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return bind_arguments("read", SCHEMA, args, kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs", "right"),
    [
        (("a",), {}, {"path": "a"}),
        (("a", 3), {}, {"path": "a", "limit": 3}),
        (("a",), {"deep": True}, {"path": "a", "deep": True}),
        ((), {"limit": 1, "path": "a"}, {"limit": 1, "path": "a"}),
        ((), {}, {}),
        (({"path": "a", "limit": 2},), {}, {"path": "a", "limit": 2}),
        (({},), {}, {}),
        # Not all keys are properties: a dict as the first property's value.
        (({"x": 1},), {}, {"path": {"x": 1}}),
        ((("a", (1, 2)),), {}, {"path": ["a", [1, 2]]}),
        # What the schema does not know is the tool's to refuse.
        ((), {"surprise": None}, {"surprise": None}),
    ],
)
def test_how_a_call_is_bound(args: Any, kwargs: Any, right: dict[str, Any]) -> None:
    assert bind_arguments("read", SCHEMA, args, kwargs) == right


def test_a_tool_whose_first_property_is_an_object_takes_a_dict_for_it() -> None:
    schema = {"type": "object", "properties": {"filter": {"type": "object"}, "page": {}}}
    assert bind_arguments("find", schema, [{"page": 2}], {}) == {"filter": {"page": 2}}
    assert bind_arguments("find", schema, [{"filter": {}, "page": 2}], {}) == {
        "filter": {},
        "page": 2,
    }


def test_a_tool_without_properties_takes_one_dict() -> None:
    assert bind_arguments("any", {"type": "object"}, [{"a": 1}], {}) == {"a": 1}


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        (("a", 1, 2, 3), {}, "read() takes 3 positional arguments but 4 were given"),
        (("a",), {"path": "b"}, "read() got multiple values for argument 'path'"),
        (({1, 2},), {}, "type set is not JSON serializable"),
        ((b"x",), {}, "type bytes is not JSON serializable"),
        ((float("nan"),), {}, "nan is not a JSON number"),
        ((float("inf"),), {}, "inf is not a JSON number"),
        (("a", {1: 2}), {}, "keys must be str, not int"),
    ],
)
def test_what_cannot_be_an_input(args: Any, kwargs: Any, says: str) -> None:
    with pytest.raises(ArgumentsError) as error:
        bind_arguments("read", SCHEMA, args, kwargs)
    assert says in str(error.value)


def test_an_endless_nesting_is_refused() -> None:
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(ArgumentsError, match="nested too deeply"):
        bound(deep)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=3), st.dictionaries(st.sampled_from("xyz"), VALUES))
def test_what_is_bound_is_json_and_loses_nothing(args: list[Any], more: dict[str, Any]) -> None:
    """Whatever JSON values a call has: all of them are in the input, under their names."""
    try:
        bound = bind_arguments("read", SCHEMA, args, more)
    except ArgumentsError as error:
        assert "not a JSON number" in str(error)
        return
    assert json.loads(json.dumps(bound)) == bound
    if len(args) == 1 and not more and isinstance(args[0], dict):
        assert bound in (args[0], {"path": args[0]})
    else:
        assert bound == dict(zip(SCHEMA["properties"], args, strict=False)) | more


def test_names_that_python_does_not_allow_get_one_that_it_does() -> None:
    names = function_names(["get-time", "read", "2nd", "class", "github__search"])
    assert names == {
        "get_time": "get-time",
        "read": "read",
        "_2nd": "2nd",
        "_class": "class",
        "github__search": "github__search",
    }


def test_a_tool_of_that_very_name_keeps_it() -> None:
    assert function_names(["get-time", "get_time"]) == {"get_time": "get_time"}
