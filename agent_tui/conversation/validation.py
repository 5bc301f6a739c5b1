"""Validation of tool arguments against a JSON Schema, with harmless coercion first.

The loop is handed validate_arguments (agent/ knows no schema library). A model often sends
"42" for 42; refusing that costs a round trip, so what means the same is converted, and only
where the schema refuses the value as it is.
"""

import copy
import json
import logging
import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

log = logging.getLogger(__name__)

_MAX_ERRORS = 3
_MAX_ROUNDS = 32
"""Rounds of coercion: each repairs every error it can, deeper ones may appear after."""

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,3})?")
_NAMES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def validate_arguments(schema: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments to use: the given ones, or a coerced copy. The given dict is not changed.

    Coerced: "42" and 42.0 → 42, "1.5" → 1.5, "true" → true, 42 → "42", JSON text of an array
    or object → that, and null for an optional property → left out. Raises ValueError with
    one sentence for the model. A schema that is itself broken validates nothing (logged).
    """
    validator = _validator(schema)
    if validator is None:
        return arguments
    try:
        errors = list(validator.iter_errors(arguments))
        if not errors:
            return arguments
        coerced = copy.deepcopy(arguments)
        for _ in range(_MAX_ROUNDS):
            errors = list(validator.iter_errors(coerced))
            repaired = [_coerce(coerced, error) for error in errors]
            if not any(repaired):
                break
    except Exception as error:
        # An unresolvable $ref or a bad pattern shows only when it is reached.
        log.warning("a tool's schema cannot be applied; its arguments go unchecked: %s", error)
        return arguments
    if errors:
        raise ValueError(_sentence(errors))
    return coerced


def _validator(schema: dict[str, Any]) -> Any:
    try:
        return _validator_for(json.dumps(schema))
    except TypeError:
        log.warning("a tool's schema is no JSON; its arguments go unchecked")
        return None


@lru_cache(maxsize=256)
def _validator_for(schema_text: str) -> Any:
    import jsonschema
    import referencing
    from jsonschema import validators

    schema = json.loads(schema_text)
    kind = validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        log.warning("a tool's schema is not valid; its arguments go unchecked: %s", error.message)
        return None
    # 42.0 is an integer to JSON Schema, but not to a tool that wants an int.
    types = kind.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    # An empty registry: a $ref of a foreign schema must not make a request.
    return validators.extend(kind, type_checker=types)(schema, registry=referencing.Registry())


def _coerce(root: Any, error: Any) -> bool:
    """Repair what this error complains of, if it means the same in another type."""
    path = list(error.absolute_path)
    wanted = _wanted_types(error)
    if not path or not (wanted or error.validator == "enum"):
        return False
    parent = root
    for step in path[:-1]:
        parent = parent[step]
    key = path[-1]
    value = parent[key]
    if value is None and isinstance(parent, dict):
        del parent[key]  # if it is required, the next round says that it is missing
        return True
    for kind in wanted:
        new = _as(kind, value)
        if new is not None:
            parent[key] = new
            return True
    return False


def _wanted_types(error: Any) -> list[str]:
    if error.validator == "type":
        wanted = error.validator_value
        return [wanted] if isinstance(wanted, str) else list(wanted)
    if error.validator in ("anyOf", "oneOf"):
        kinds = [branch.get("type") for branch in error.validator_value if isinstance(branch, dict)]
        # A value that has one of the types already fails for another reason.
        if any(_type_of(error.instance) == kind for kind in kinds):
            return []
        return [kind for kind in kinds if isinstance(kind, str)]
    return []


def _as(kind: str, value: Any) -> Any:
    """The same value in this type, or None when it would not be the same."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "integer" if isinstance(value, float) and value.is_integer():
            return int(value)
        case "integer" if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
            return int(value)
        case "number" if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            number = float(value)
            if not math.isfinite(number):
                return None
            return int(value) if _INTEGER.fullmatch(value.strip()) else number
        case "boolean" if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        case "string" if is_number:
            return json.dumps(value)
        case "array" | "object" if isinstance(value, str):
            try:
                parsed = json.loads(value)
            except (ValueError, RecursionError):
                return None
            return parsed if _type_of(parsed) == kind else None
        case _:
            return None


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _sentence(errors: Sequence[Any]) -> str:
    """One sentence: where, what was expected, what came."""
    ordered = sorted(errors, key=lambda error: [str(step) for step in error.absolute_path])
    parts = [_complaint(error) for error in ordered[:_MAX_ERRORS]]
    if len(errors) > _MAX_ERRORS:
        parts.append(f"and {len(errors) - _MAX_ERRORS} more")
    return f"The arguments do not fit the tool: {'; '.join(parts)}."


def _complaint(error: Any) -> str:
    path = ".".join(str(step) for step in error.absolute_path)
    where = f"at {path}" if path else "at the top"
    match error.validator:
        case "type" | "anyOf" | "oneOf" if _wanted_types(error):
            kinds = [_NAMES.get(kind, kind) for kind in _wanted_types(error)]
            return f"{where}: expected {' or '.join(kinds)}, got {_shown(error.instance)}"
        case "required":
            missing = [n for n in error.validator_value if n not in error.instance]
            named = next((n for n in missing if error.message.startswith(repr(n))), missing[0])
            return f"{where}: {named!r} is missing"
        case "additionalProperties" if isinstance(error.schema.get("properties"), dict):
            known = error.schema["properties"]
            extra = [name for name in error.instance if name not in known]
            return (
                f"{where}: {_listed(extra)} not known; "
                f"expected only {', '.join(map(repr, known)) or 'nothing'}"
            )
        case "enum":
            values = ", ".join(json.dumps(v, ensure_ascii=False) for v in error.validator_value)
            return f"{where}: expected one of {values[:300]}, got {_shown(error.instance)}"
        case _:
            return f"{where}: {error.message[:300]}"


def _listed(names: Iterable[str]) -> str:
    quoted = [repr(name) for name in names]
    return f"{', '.join(quoted)} {'is' if len(quoted) == 1 else 'are'}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:80]}…"
