"""From a program's call, f(1, b=2), to a tool's input, {"a": 1, "b": 2}."""

import json
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_DEEPEST = 100


class ArgumentsError(Exception):
    """The call cannot be an input of the tool. str() is Python's wording, for a TypeError."""


def function_names(tools: Iterable[str]) -> dict[str, str]:
    """The names by which programs call tools, each with the tool's own name.

    A tool's name may hold `-` or begin with a digit, which a name of Python may not: `get-time`
    is called `get_time`, unless a tool has that very name.
    """
    listed = list(tools)
    out = {name: name for name in listed if _is_name(name)}
    for name in listed:
        if not _is_name(name):
            plain = re.sub(r"\W", "_", name, flags=re.ASCII)
            plain = plain if _is_name(plain) else f"_{plain}"
            out.setdefault(plain, name)
    return out


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def bind_arguments(
    name: str, parameters: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The input of a tool from a call's arguments.

    parameters: its JSON Schema; positional arguments take the order of its properties. A single
    positional dict whose keys are properties is the input itself: models call tools both ways.
    What is missing, or of a wrong kind, is left to the tool: its error says more.
    Raises ArgumentsError for too many arguments, one given twice, and values that are not JSON.
    """
    listed = parameters.get("properties")
    properties: list[str] = list(listed) if isinstance(listed, Mapping) else []
    if len(args) == 1 and not kwargs and _is_whole_input(args[0], parameters, properties):
        return _as_json(name, args[0])
    if len(args) > len(properties):
        takes = f"{len(properties)} positional argument{'' if len(properties) == 1 else 's'}"
        given = f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
        raise ArgumentsError(f"{name}() takes {takes} but {given}")
    bound = dict(zip(properties, args, strict=False))
    for key, value in kwargs.items():
        if key in bound:
            raise ArgumentsError(f"{name}() got multiple values for argument '{key}'")
        bound[key] = value
    return _as_json(name, bound)


def _is_whole_input(value: Any, parameters: Mapping[str, Any], properties: Sequence[str]) -> bool:
    """Whether a lone positional argument is the input and not the first property's value."""
    if not isinstance(value, dict):
        return False
    if not properties:
        return True
    first = parameters["properties"][properties[0]]
    takes_object = isinstance(first, Mapping) and first.get("type") == "object"
    if takes_object and properties[0] not in value:
        return False
    return all(key in properties for key in value)


def _as_json(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """A copy that JSON can hold: tuples become lists. Keys must be texts, numbers finite."""
    return {_key(name, k): _json_value(name, v, _DEEPEST) for k, v in value.items()}


def _key(name: str, key: Any) -> str:
    if not isinstance(key, str):
        raise ArgumentsError(f"{name}() keys must be str, not {type(key).__name__}")
    return key


def _json_value(name: str, value: Any, depth: int) -> Any:
    if depth == 0:
        raise ArgumentsError(f"{name}() arguments are nested too deeply")
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            raise ArgumentsError(f"{name}() argument {value} is not a JSON number") from None
        return value
    if isinstance(value, list | tuple):
        return [_json_value(name, item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {_key(name, k): _json_value(name, v, depth - 1) for k, v in value.items()}
    kind = type(value).__name__
    raise ArgumentsError(f"{name}() argument of type {kind} is not JSON serializable")
