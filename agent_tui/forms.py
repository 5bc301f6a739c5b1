"""The fields of a form that a server asks for: what is typed or chosen, and what it comes to.

Plain data, no Textual. The schema is a flat JSON Schema of an object (checked before it comes
here); text, number, yes or no, one of some, some of some.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["text", "number", "integer", "yes_no", "choice", "choices"]


@dataclass(slots=True)
class Field:
    """One field. options: (value, label) to choose from; text and cursor: of what is typed;
    chosen: indexes of options."""

    name: str
    kind: Kind
    title: str = ""
    description: str = ""
    required: bool = False
    options: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])
    text: str = ""
    cursor: int = 0
    chosen: list[int] = field(default_factory=list[int])
    at: int = 0
    """Of several that can be chosen, the one that Space marks."""
    error: str = ""

    @property
    def is_typed(self) -> bool:
        return self.kind in ("text", "number", "integer")

    @property
    def is_empty(self) -> bool:
        return not self.text if self.is_typed else not self.chosen

    # --- editing --------------------------------------------------------------------------

    def insert(self, text: str) -> None:
        """Into what is typed; line breaks and tabs become spaces."""
        line = " ".join(text.replace("\t", " ").splitlines())
        self.text = self.text[: self.cursor] + line + self.text[self.cursor :]
        self.cursor += len(line)
        self.error = ""

    def backspace(self) -> None:
        if self.cursor:
            self.text = self.text[: self.cursor - 1] + self.text[self.cursor :]
            self.cursor -= 1
        self.error = ""

    def delete(self) -> None:
        self.text = self.text[: self.cursor] + self.text[self.cursor + 1 :]
        self.error = ""

    def move(self, step: int) -> None:
        """The cursor of what is typed; of a choice, to the next option."""
        if self.is_typed:
            self.cursor = max(0, min(len(self.text), self.cursor + step))
        elif self.kind == "choices":
            self.at = (self.at + step) % len(self.options)
        else:
            self._choose(step)

    def _choose(self, step: int) -> None:
        """The next option; between the last and the first nothing, where that may be."""
        self.error = ""
        count = len(self.options)
        places = count if self.required else count + 1
        now = self.chosen[0] if self.chosen else (-1 if step > 0 else places)
        if not self.chosen and not self.required:
            now = count
        after = (now + step) % places
        self.chosen = [after] if after < count else []

    def toggle(self) -> None:
        """Space: the next option, or mark this one of several."""
        if self.kind != "choices":
            self._choose(1)
            return
        self.error = ""
        if self.at in self.chosen:
            self.chosen.remove(self.at)
        else:
            self.chosen = sorted([*self.chosen, self.at])

    # --- the value ----------------------------------------------------------------------------

    def value(self) -> Any:
        """What it comes to; not for an empty one. Raises ValueError: a sentence."""
        match self.kind:
            case "text":
                return self.text
            case "integer":
                try:
                    return int(self.text.strip())
                except ValueError:
                    raise ValueError("must be a whole number") from None
            case "number":
                return _number(self.text)
            case "choices":
                return [self.options[at][0] for at in self.chosen]
            case _:
                return self.options[self.chosen[0]][0]


def _number(text: str) -> int | float:
    try:
        number = float(text.strip())
    except ValueError:
        raise ValueError("must be a number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError("must be a number")
    return int(text) if text.strip().lstrip("+-").isdigit() else number


class Form:
    """The fields of a schema, in its order, filled with the defaults."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        required = schema.get("required")
        names = set(required) if isinstance(required, list) else set()
        properties = schema.get("properties")
        self.fields = [
            _field(str(name), made, name in names)
            for name, made in (properties.items() if isinstance(properties, dict) else ())
            if isinstance(made, dict)
        ]

    def content(self) -> dict[str, Any] | None:
        """What would be sent; None where a field cannot be: its error says why."""
        found: dict[str, Any] = {}
        for each in self.fields:
            each.error = ""
            if each.is_empty:
                if each.kind == "choices" and each.required:
                    found[each.name] = []
                elif each.required:
                    each.error = "must be given"
                continue
            try:
                found[each.name] = each.value()
            except ValueError as error:
                each.error = str(error)
        return None if any(each.error for each in self.fields) else found

    def blame(self, problem: str) -> bool:
        """Put a problem ("name: what is wrong") to its field; False if it is none's."""
        name, colon, said = problem.partition(": ")
        each = next((each for each in self.fields if each.name == name and colon), None)
        if each is not None:
            each.error = said
        return each is not None


def _field(name: str, made: dict[str, Any], required: bool) -> Field:
    field_ = Field(name, "text", _text(made.get("title")), _text(made.get("description")), required)
    default = made.get("default")
    if made.get("type") == "array":
        items = made.get("items")
        field_.kind = "choices"
        field_.options = _options(items if isinstance(items, dict) else {})
        wanted = default if isinstance(default, list) else []
        field_.chosen = [at for at, (value, _) in enumerate(field_.options) if value in wanted]
        if not field_.options:
            field_.kind = "text"
    elif options := _options(made):
        field_.kind, field_.options = "choice", options
        field_.chosen = [at for at, (value, _) in enumerate(options) if value == default][:1]
    elif made.get("type") == "boolean":
        field_.kind, field_.options = "yes_no", [(True, "yes"), (False, "no")]
        if isinstance(default, bool):
            field_.chosen = [0 if default else 1]
    else:
        if made.get("type") in ("number", "integer"):
            field_.kind = "integer" if made["type"] == "integer" else "number"
        if isinstance(default, str | int | float) and not isinstance(default, bool):
            field_.insert(str(default))
    return field_


def _options(made: dict[str, Any]) -> list[tuple[Any, str]]:
    """(value, label) of enum (with enumNames), oneOf, anyOf or const."""
    if "const" in made:
        return [(made["const"], _text(made.get("title")) or str(made["const"]))]
    values = made.get("enum")
    if isinstance(values, list):
        names: Any = made.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        return [(value, str(label)) for value, label in zip(values, labels, strict=True)]
    for key in ("oneOf", "anyOf"):
        parts = made.get(key)
        if isinstance(parts, list):
            found = [
                _options(part)[0] for part in parts if isinstance(part, dict) and "const" in part
            ]
            if found:
                return found
    return []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
