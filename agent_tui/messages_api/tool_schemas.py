"""Which tools a request can offer, and their schemas as the API takes them (fault A32).

One schema that the API refuses would fail every request, so a schema of another shape is
folded into a plain object: the model then sees all properties, and the tool itself still
checks what it is given. A tool that cannot be folded is left out.
"""

import re
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, cast

from agent_tui.agent.tools import AgentTool

Schema = dict[str, Any]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNIONS: Final = ("anyOf", "oneOf")
_LEVELS: Final = 20
"""So deep are references and unions at the top followed."""


class UnusableSchema(ValueError):
    """The schema is not one of an object; the text says why."""


def usable_tools(tools: Sequence[AgentTool]) -> tuple[list[AgentTool], dict[str, str]]:
    """The tools that a request can offer, in order; and why the others cannot be, by name."""
    usable: list[AgentTool] = []
    left_out: dict[str, str] = {}
    names: set[str] = set()
    for tool in tools:
        try:
            if not _NAME.fullmatch(tool.name):
                raise UnusableSchema("its name is not made of 1 to 128 letters, digits, _ or -")
            if tool.name in names:
                raise UnusableSchema("another tool has the same name")
            if tool.wire.get("type") in (None, "custom"):
                object_schema(tool.parameters)
        except UnusableSchema as problem:
            left_out[tool.name] = str(problem)
        else:
            names.add(tool.name)
            usable.append(tool)
    return usable, left_out


def object_schema(schema: Any) -> Schema:
    """The schema as input_schema takes it: of type object, without anyOf, oneOf or allOf at its
    top, with plain keys. The very same object when it is so already. Raises UnusableSchema."""
    if not isinstance(schema, dict):
        raise UnusableSchema("its schema is not that of an object")
    schema = cast(Schema, schema)
    if _is_plain(schema):
        return schema
    folded = _folded(schema, schema, _LEVELS, frozenset())
    properties: dict[str, Any] = folded.get("properties") or {}
    needed: list[Any] = folded.get("required") or []
    for key in [k for k in properties if not _KEY.fullmatch(k)]:
        if key in needed:
            raise UnusableSchema(f"it needs an argument whose name the API refuses: {key[:80]!r}")
        del properties[key]
    return {**folded, "type": "object", "properties": properties}


def _is_plain(schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties", {})
    return (
        schema.get("type") == "object"
        and not any(key in schema for key in (*_UNIONS, "allOf", "$ref"))
        and isinstance(properties, dict)
        and all(_KEY.fullmatch(key) for key in cast(dict[str, Any], properties))
    )


def _folded(schema: Any, root: Mapping[str, Any], levels: int, followed: frozenset[str]) -> Schema:
    """A new object schema that takes all that this one takes (and perhaps more). followed: the
    references on the way here; one that comes back to itself would multiply without end."""
    if not isinstance(schema, Mapping) or levels <= 0:
        raise UnusableSchema("its schema is not that of an object")
    given = cast(Mapping[str, Any], schema)
    kind = given.get("type", "object")
    kinds: list[Any] = cast(list[Any], kind) if isinstance(kind, list) else [kind]
    if "object" not in kinds:
        raise UnusableSchema("its schema is not that of an object")
    properties: Any = given.get("properties") or {}
    required: Any = given.get("required") or []
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise UnusableSchema("its properties are not a list of names")
    out: Schema = {
        k: v for k, v in given.items() if k not in (*_UNIONS, "allOf", "$ref", "required")
    }
    out["properties"] = dict(cast(dict[str, Any], properties))
    names = list(cast(list[Any], required))
    if "$ref" in given:
        reference = str(given["$ref"])
        if reference in followed:
            raise UnusableSchema("its schema refers to itself")
        target = _target(given["$ref"], root)
        _merge(out, names, [_folded(target, root, levels - 1, followed | {reference})], every=True)
    for key, every in (("allOf", True), ("anyOf", False), ("oneOf", False)):
        if key in given:
            parts: Any = given[key]
            if not isinstance(parts, list) or not parts:
                raise UnusableSchema(f"its {key} is not a list of schemas")
            schemas = _parts(cast(list[Any], parts), root, levels, followed, every)
            _merge(out, names, schemas, every=every)
    if names:
        out["required"] = names
    return out


def _parts(
    parts: list[Any],
    root: Mapping[str, Any],
    levels: int,
    followed: frozenset[str],
    every: bool,
) -> list[Schema]:
    """Of alternatives those that are objects (one that is null or a text is no call)."""
    folded: list[Schema] = []
    for part in parts:
        try:
            folded.append(_folded(part, root, levels - 1, followed))
        except UnusableSchema:
            if every:
                raise
    if not folded:
        raise UnusableSchema("its schema is not that of an object")
    return folded


def _merge(out: Schema, names: list[Any], parts: list[Schema], *, every: bool) -> None:
    """All properties of the parts; required is what all of these require (every: what any does).
    What alternatives require stands in the description, since the schema no longer says it."""
    properties: dict[str, Any] = out["properties"]
    for part in parts:
        for key, value in part["properties"].items():
            known = properties.setdefault(key, value)
            if known != value:
                properties[key] = _both(known, value, "allOf" if every else "anyOf")
        for key, value in part.items():
            if key in ("$defs", "definitions"):
                out[key] = {**value, **out.get(key, {})}
    needs: list[list[Any]] = [part.get("required", []) for part in parts]
    for name in (name for need in needs for name in need):
        if name not in names and (every or all(name in need for need in needs)):
            names.append(name)
    if not every and len(parts) > 1 and any(needs):
        ways = " or ".join("(" + ", ".join(map(str, need)) + ")" for need in needs)
        said = str(out.get("description") or "")
        out["description"] = f"{said} Give one of these: {ways}.".strip()


def _both(known: Any, value: Any, how: str) -> Schema:
    """Two schemas of one property, joined (below the top the API takes anyOf and allOf)."""
    joined: list[Any] = [known]
    if isinstance(known, dict) and list(cast(Schema, known)) == [how]:
        joined = list(cast(Schema, known)[how])
    return {how: joined if value in joined else [*joined, value]}


def _target(reference: Any, root: Mapping[str, Any]) -> Any:
    """What a local reference ("#/$defs/Name") points to."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise UnusableSchema("its schema refers to another document")
    found: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            raise UnusableSchema(f"its schema refers to {reference[:80]!r}, which is not there")
        found = cast(Mapping[str, Any], found)[name]
    return found


def may_recur(schema: Any) -> bool:
    """Whether following the $refs of a schema can come back to where they began (a tool with
    such a schema is not for programs: facts). What cannot be followed counts as yes."""
    if not isinstance(schema, Mapping):
        return False
    root = cast(Mapping[str, Any], schema)
    follows: dict[str, set[str]] = {}
    todo = ["#"]
    while todo:
        place = todo.pop()
        if place in follows:
            continue
        try:
            follows[place] = _references(root if place == "#" else _target(place, root))
        except UnusableSchema:
            return True
        todo += follows[place]
    try:
        TopologicalSorter(follows).prepare()
    except CycleError:
        return True
    return False


def _references(schema: Any) -> set[str]:
    """The references anywhere in a schema, definitions included. A dynamic one is not known."""
    found: set[str] = set()
    stack: list[Any] = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            fields = cast(Mapping[str, Any], item)
            if isinstance(reference := fields.get("$ref"), str):
                found.add(reference.removesuffix("/") or "#")
            for key in ("$dynamicRef", "$recursiveRef"):
                if isinstance(fields.get(key), str):
                    raise UnusableSchema("its schema refers to what is not known before")
            stack += fields.values()
        elif isinstance(item, list):
            stack += cast(list[Any], item)
    return found
