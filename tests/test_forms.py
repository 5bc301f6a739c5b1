"""A form of a server: its fields from the schema, what is typed, what it comes to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.forms import Field, Form
from agent_tui.mcp_servers import form_problem

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name", "kind", "likes"],
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "as in the passport"},
        "age": {"type": "integer", "default": 7},
        "weight": {"type": "number"},
        "fed": {"type": "boolean", "default": False},
        "kind": {"type": "string", "enum": ["ape", "bear"], "enumNames": ["an ape", "a bear"]},
        "size": {"oneOf": [{"const": "s", "title": "small"}, {"const": "l", "title": "large"}]},
        "likes": {
            "type": "array",
            "items": {"anyOf": [{"const": 1, "title": "one"}, {"const": 2, "title": "two"}]},
            "default": [2],
        },
        "level": {"type": "integer", "enum": [1, 2, 3], "default": 2},
    },
}


def form() -> dict[str, Field]:
    return {field.name: field for field in Form(SCHEMA).fields}


def test_fields_stand_in_the_order_of_the_schema_with_their_defaults() -> None:
    made = Form(SCHEMA)
    assert [f.name for f in made.fields] == [*SCHEMA["properties"]]
    kinds = [f.kind for f in made.fields]
    assert kinds == [
        "text", "integer", "number", "yes_no", "choice", "choice", "choices", "choice",
    ]  # fmt: skip
    fields = form()
    assert fields["name"].title == "Your name" and fields["name"].required
    assert fields["age"].text == "7" and not fields["age"].required
    assert fields["fed"].value() is False
    assert [label for _, label in fields["kind"].options] == ["an ape", "a bear"]
    assert fields["likes"].value() == [2] and fields["level"].value() == 2
    assert fields["size"].is_empty


def test_what_is_typed_and_chosen_becomes_the_content() -> None:
    made = Form(SCHEMA)
    fields = {f.name: f for f in made.fields}
    assert made.content() is None, "the name is missing"
    assert fields["name"].error == "must be given" == fields["kind"].error
    fields["name"].insert("Ann")
    fields["kind"].toggle()
    fields["kind"].toggle()
    fields["likes"].toggle()
    fields["weight"].insert("2.50")
    assert made.content() == {
        "name": "Ann", "age": 7, "weight": 2.5, "fed": False, "kind": "bear", "likes": [1, 2],
        "level": 2,
    }  # fmt: skip
    assert form_problem(SCHEMA, made.content() or {}) is None


@pytest.mark.parametrize(
    "name, typed, says",
    [("age", "x", "a whole number"), ("age", "1.5", "a whole number"), ("weight", "1,5", "number"),
     ("weight", "nan", "number"), ("weight", "inf", "number")],
)  # fmt: skip
def test_what_is_no_number_is_said_at_its_field(name: str, typed: str, says: str) -> None:
    made = Form(SCHEMA)
    fields = {f.name: f for f in made.fields}
    fields["name"].insert("Ann")
    fields["kind"].toggle()
    fields[name].text, fields[name].cursor = "", 0
    fields[name].insert(typed)
    assert made.content() is None
    assert says in fields[name].error
    assert [f.name for f in made.fields if f.error] == [name]


def test_a_choice_that_is_not_required_can_be_left_again() -> None:
    size = form()["size"]
    seen = []
    for _ in range(4):
        size.move(1)
        seen.append(size.options[size.chosen[0]][1] if size.chosen else None)
    assert seen == ["small", "large", None, "small"]
    size.move(-1)
    assert size.chosen == []
    size.move(-1)
    assert size.value() == "l"
    kind = form()["kind"]
    for _ in range(5):
        kind.move(1)
        assert kind.chosen != [], "one that is required is never left"


def test_editing_a_line() -> None:
    field = Field("name", "text")
    field.insert("An\tn\r\nLee")
    assert field.text == "An n Lee"
    field.move(-100)
    field.backspace()
    field.delete()
    field.insert("O")
    assert (field.text, field.cursor) == ("On n Lee", 1)
    field.move(100)
    field.backspace()
    assert field.text == "On n Le"


def test_a_problem_goes_to_the_field_that_it_names() -> None:
    made = Form(SCHEMA)
    assert made.blame("name: 'A' is too short")
    assert made.fields[0].error == "'A' is too short"
    assert not made.blame("something else is wrong")


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), st.dictionaries(
    st.sampled_from(["type", "enum", "enumNames", "oneOf", "anyOf", "const", "default", "items",
                     "title", "description"]),
    st.sampled_from(["string", "integer", "array", "boolean"]) | _ODD), max_size=4))  # fmt: skip
def test_no_schema_breaks_the_form(properties: dict[str, Any]) -> None:
    made = Form({"properties": properties, "required": [*properties][:1]})
    for field in made.fields:
        if field.options or field.is_typed:
            field.toggle() if not field.is_typed else field.insert("1")
    made.content()
