"""Input schemas of servers' tools, made legal for the Messages API, and the way back.

The API wants type object, no anyOf, oneOf or allOf at the top, property keys of
`^[a-zA-Z0-9_.-]{1,64}$`, and JSON Schema 2020-12 (facts: valid request); one schema that breaks
a rule fails every request. So each is repaired: what only says which properties go together is
folded into a description, every other shape becomes the value of one property "input", bad keys
get other names. `Repaired.restore` undoes both before the server is called. What cannot be
repaired raises UnusableSchema: that one tool is left out.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from agent_tui.text import clean, cut, sendable

Schema = dict[str, Any]

MAX_CHARS = 200_000
MAX_DEPTH = 64
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNIONS = ("anyOf", "oneOf", "allOf")
_DEFINITIONS = ("$defs", "definitions")
_MAPS_OF_SCHEMAS = ("properties", "patternProperties", "dependentSchemas", *_DEFINITIONS)
_LISTS_OF_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
            "contains", "not", "if", "then", "else", "propertyNames")  # fmt: skip
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_SAYS_NOTHING = frozenset({"required", "type", "title", "description", "$comment"})
"""Keys of an alternative that adds no property of its own."""
_ROUNDS = 12
_MAX_NOTES = 20


class UnusableSchema(ValueError):
    """The schema cannot be made legal; str() says why, as a clause."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A legal schema. notes: what was changed, a clause each. renamed: new key → the server's.
    wrapper: the one property whose value the arguments are, "" if there is none."""

    schema: Schema
    notes: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    wrapper: str = ""

    @property
    def changes_arguments(self) -> bool:
        """Whether restore() does anything."""
        return bool(self.wrapper or self.renamed)

    def restore(self, arguments: dict[str, Any]) -> Any:
        """The arguments as the server's own schema has them. The given ones are not changed."""
        if self.wrapper:
            return arguments.get(self.wrapper, {})
        if not self.renamed:
            return arguments
        return {self.renamed.get(key, key): value for key, value in arguments.items()}

    def accept(self, arguments: Any) -> Any:
        """What a model meant that left the wrapper out or wrote the server's own key."""
        if not isinstance(arguments, dict):
            return arguments
        given = cast(dict[str, Any], arguments)
        if self.wrapper:
            return given if set(given) == {self.wrapper} else {self.wrapper: given}
        ours = {old: new for new, old in self.renamed.items()}
        return {ours.get(key, key): value for key, value in given.items()} if ours else given


def repair(schema: Any) -> Repaired:
    """See module docstring. Takes some ms for a large schema: call it in a thread for many.

    Raises UnusableSchema.
    """
    if schema is None or schema is True:
        schema = {}
    if not isinstance(schema, dict):
        raise UnusableSchema("its schema is not that of an object")
    work = _Work(_own_copy(cast(Schema, schema)))
    work.top()
    work.keys()
    work.everywhere()
    work.check()
    return Repaired(work.root, tuple(work.notes), work.renamed, work.wrapper)


def _own_copy(schema: Schema) -> Schema:
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        raise UnusableSchema("its schema is not JSON, or is nested too deeply") from None
    if len(text) > MAX_CHARS:
        raise UnusableSchema(f"its schema has {len(text):,} characters, more than {MAX_CHARS:,}")
    copy = cast(Schema, json.loads(sendable(text)))
    if _depth(copy) > MAX_DEPTH:
        raise UnusableSchema(f"its schema is nested more than {MAX_DEPTH} levels deep")
    return copy


def _depth(value: Any) -> int:
    deepest = 0
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(item, dict):
            stack += [(v, depth + 1) for v in cast(Schema, item).values()]
        elif isinstance(item, list):
            stack += [(v, depth + 1) for v in cast(list[Any], item)]
    return deepest


class _Work:
    """One schema under repair; root is a copy of our own."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.notes: list[str] = []
        self.renamed: dict[str, str] = {}
        self.wrapper = ""

    def note(self, text: str) -> None:
        if text not in self.notes and len(self.notes) < _MAX_NOTES:
            self.notes.append(text)

    # --- the top ------------------------------------------------------------------------

    def top(self) -> None:
        """type object and no union at the top, by following, folding or wrapping."""
        self._follow()
        folded = self._fold_all()
        folded = folded and self._fold_alternatives("anyOf")
        folded = folded and self._fold_alternatives("oneOf")
        if not folded or not self._is_object():
            self._wrap()
            return
        if self.root.get("type") != "object":
            if self.root:
                self.note('it had no type "object"')
            self.root["type"] = "object"
        self.root.setdefault("properties", {})
        if not isinstance(self.root["properties"], dict):
            raise UnusableSchema("its properties are not a table")

    def _is_object(self) -> bool:
        kind = self.root.get("type")
        kinds = cast(list[Any], kind) if isinstance(kind, list) else [kind]
        if kind is None:
            others = {"items", "prefixItems", "enum", "const", "pattern", "minimum", "maximum"}
            return "properties" in self.root or not others & self.root.keys()
        return "object" in kinds

    def _follow(self) -> None:
        """Put the target of a $ref at the top in its place."""
        seen: set[str] = set()
        while isinstance(reference := self.root.get("$ref"), str):
            target = self.target(reference)
            if not isinstance(target, dict) or reference in seen:
                raise UnusableSchema(f"its schema refers to {cut(reference, 60)!r} only")
            seen.add(reference)
            rest = {key: value for key, value in self.root.items() if key != "$ref"}
            self.root = {**json.loads(json.dumps(target)), **rest}
            self.note("a reference at the top was followed")

    def target(self, reference: str) -> Any:
        """What a local reference points to; None if nothing."""
        if reference != "#" and not reference.startswith("#/"):
            return None
        found: Any = self.root
        for step in _steps(reference):
            if isinstance(found, dict):
                found = cast(Schema, found).get(step)
            elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            else:
                return None
        return found

    def _part(self, part: Any) -> Schema | None:
        """An alternative or a part as an object schema of its own; None if it is none."""
        for _ in range(MAX_DEPTH):
            if not isinstance(part, dict):
                return None
            if "$ref" not in part:
                return cast(Schema, json.loads(json.dumps(part)))
            rest = {key: value for key, value in part.items() if key != "$ref"}
            target = self.target(str(part["$ref"]))
            part = {**target, **rest} if isinstance(target, dict) else None
        return None

    def _fold_all(self) -> bool:
        """allOf: all properties of all parts. False if that is not the same."""
        if "allOf" not in self.root:
            return True
        given = self.root["allOf"]
        parts = [self._part(part) for part in given] if isinstance(given, list) else [None]
        plain = {"properties", "additionalProperties", *_SAYS_NOTHING, *_DEFINITIONS}
        known: Any = self.root.setdefault("properties", {})
        if not isinstance(known, dict):
            return False
        for part in parts:
            if part is None or part.get("type", "object") != "object" or not part.keys() <= plain:
                return False
            if part.get("additionalProperties", True) is False and len(parts) > 1:
                # It would forbid what the other parts ask for.
                return False
        for part in parts:
            self._take(cast(Schema, part), known)
        del self.root["allOf"]
        self.note("allOf at the top was folded")
        return True

    def _take(self, part: Schema, known: Schema) -> None:
        properties: Any = part.get("properties") or {}
        for key, value in cast(Schema, properties if isinstance(properties, dict) else {}).items():
            known[key] = value if known.get(key, value) == value else {"allOf": [known[key], value]}
        required: Any = part.get("required")
        if isinstance(required, list) and required:
            before: list[Any] = self.root.setdefault("required", [])
            before += [name for name in cast(list[Any], required) if name not in before]
        for key in _DEFINITIONS:
            if isinstance(part.get(key), dict):
                self.root[key] = {**part[key], **self.root.get(key, {})}
        for key in ("title", "description"):
            if isinstance(part.get(key), str):
                self.root.setdefault(key, part[key])

    def _fold_alternatives(self, key: str) -> bool:
        """Alternatives that only say what is needed together, told in words. False: they say
        more."""
        if key not in self.root:
            return True
        given = self.root[key]
        if not isinstance(given, list):
            return False
        parts = [self._part(part) for part in cast(list[Any], given)]
        objects = [p for p in parts if p is not None and p.get("type", "object") == "object"]
        if len(objects) == 1 and objects[0].keys() <= {"properties", *_SAYS_NOTHING}:
            # The others are null and such, which no call can be.
            del self.root[key]
            self._take(objects[0], self.root.setdefault("properties", {}))
        elif len(objects) == len(parts) and all(p.keys() <= _SAYS_NOTHING for p in objects):
            needs = [p.get("required") or [] for p in objects]
            if not all(isinstance(need, list) for need in needs):
                return False
            del self.root[key]
            ways = " or ".join("(" + ", ".join(map(str, need)) + ")" for need in needs if need)
            if ways:
                said = f"{self.root.get('description') or ''} Give one of: {ways}."
                self.root["description"] = said.strip()
        else:
            return False
        self.note(f"{key} at the top was folded")
        return True

    def _wrap(self) -> None:
        """The whole as the value of one property; what its references mean stays."""
        inner = self.root
        kind = inner.get("type", "object")
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            raise UnusableSchema("its schema is not that of an object")
        # Another word where the tool itself has such a key, so that the two are never confused.
        word = "tool_input" if '"input"' in json.dumps(inner) else "input"
        outer: Schema = {"type": "object", "properties": {word: inner}, "required": [word]}
        for key in _DEFINITIONS:
            if key in inner:
                outer[key] = inner.pop(key)
        for schema in _schemas(outer):
            reference = schema.get("$ref")
            if isinstance(reference, str) and reference.startswith("#"):
                steps = _steps(reference)
                if not steps or steps[0] not in _DEFINITIONS:
                    schema["$ref"] = f"#/properties/{word}{reference.removeprefix('#')}"
        self.root = outer
        self.wrapper = word
        self.note(f'its arguments go into "{word}"')

    # --- keys -----------------------------------------------------------------------------

    def keys(self) -> None:
        """Other names for the keys that the API refuses."""
        properties = cast(Schema, self.root["properties"])
        wanted = {key: _legal_key(key) for key in properties if not _KEY.fullmatch(key)}
        if wanted:
            taken = [*properties, *wanted.values()]
            new = {
                key: name if taken.count(name) == 1 else _legal_key(key, hashed=True)
                for key, name in wanted.items()
            }
            self.root["properties"] = {
                new.get(key, key): _named(value, key) if key in new else value
                for key, value in properties.items()
            }
            self.renamed = {name: key for key, name in new.items()}
            self._rename_elsewhere(new)
            self.note(f"{len(new)} of its arguments got other names")
        required: Any = self.root.get("required")
        if required is not None:
            names = cast(list[Any], required) if isinstance(required, list) else []
            self.root["required"] = list(dict.fromkeys(n for n in names if isinstance(n, str)))
            if not self.root["required"]:
                del self.root["required"]

    def _rename_elsewhere(self, new: dict[str, str]) -> None:
        names: Any = self.root.get("required")
        if isinstance(names, list):
            self.root["required"] = [
                new.get(n, n) if isinstance(n, str) else n for n in cast(list[Any], names)
            ]
        depend: Any = self.root.get("dependentRequired")
        if isinstance(depend, dict):
            self.root["dependentRequired"] = {
                new.get(key, key): [new.get(n, n) for n in value if isinstance(n, str)]
                for key, value in cast(Schema, depend).items()
                if isinstance(value, list)
            }
        for schema in _schemas(self.root):
            reference = schema.get("$ref")
            steps = _steps(reference) if isinstance(reference, str) else []
            if len(steps) > 1 and steps[0] == "properties" and steps[1] in new:
                steps[1] = new[steps[1]]
                schema["$ref"] = "#/" + "/".join(map(_escaped, steps))

    # --- everywhere -----------------------------------------------------------------------

    def everywhere(self) -> None:
        """References that lead nowhere, patterns that are none, words of older drafts."""
        for schema in list(_schemas(self.root)):
            for key in ("$schema", "$id", "$recursiveRef", "$dynamicRef", "$anchor",
                        "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"):  # fmt: skip
                schema.pop(key, None)
            self._reference(schema)
            self._pattern(schema)
            _modern(schema)

    def _reference(self, schema: Schema) -> None:
        if "$ref" not in schema:
            return
        reference: Any = schema["$ref"]
        seen: set[str] = set()
        while isinstance(reference, str) and reference not in seen:
            seen.add(reference)
            target = self.target(reference)
            if not isinstance(target, dict | bool):
                break
            if isinstance(target, bool) or "$ref" not in target:
                return
            reference = cast(Schema, target)["$ref"]
        del schema["$ref"]
        self.note(f"a reference that leads nowhere was dropped: {clean(cut(str(reference), 60))}")

    def _pattern(self, schema: Schema) -> None:
        patterns: list[tuple[Schema, str]] = []
        if isinstance(schema.get("pattern"), str):
            patterns.append((schema, "pattern"))
        if isinstance(schema.get("patternProperties"), dict):
            table = cast(Schema, schema["patternProperties"])
            patterns += [(table, key) for key in list(table)]
        for table, key in patterns:
            text = table["pattern"] if table is schema else key
            try:
                re.compile(text)
            except (re.error, RecursionError, OverflowError):
                # Of JavaScript's dialect; the server itself checks it.
                del table[key]
                self.note("a pattern in another dialect was dropped")

    # --- the last word ----------------------------------------------------------------------

    def check(self) -> None:
        """What JSON Schema 2020-12 refuses is dropped where it stands."""
        from jsonschema import Draft202012Validator

        judge = Draft202012Validator(Draft202012Validator.META_SCHEMA)
        for _ in range(_ROUNDS):
            try:
                places = {tuple(e.absolute_path) for e in judge.iter_errors(self.root)}  # pyright: ignore[reportUnknownMemberType]
            except RecursionError:
                raise UnusableSchema("its schema is nested too deeply") from None
            if not places:
                break
            for place in sorted(places, key=len, reverse=True):
                self._drop(place)
        else:
            raise UnusableSchema("its schema is not valid JSON Schema")
        if self.root.get("type") != "object" or any(key in self.root for key in _UNIONS):
            raise UnusableSchema("its schema is not valid JSON Schema")

    def _drop(self, place: tuple[Any, ...]) -> None:
        holders: list[Any] = [self.root]
        for step in place:
            try:
                holders.append(holders[-1][step])
            except (KeyError, IndexError, TypeError):
                return  # dropped with what held it
        for holder, step in zip(reversed(holders[:-1]), reversed(place), strict=True):
            if isinstance(holder, dict):
                table = cast(Schema, holder)
                self.note(f"not valid, dropped: {clean(cut('.'.join(map(str, place)), 60))}")
                if isinstance(table[step], dict) or _holds_schemas(place):
                    table[step] = {}
                else:
                    del table[step]
                return
        raise UnusableSchema("its schema is not valid JSON Schema")


def _holds_schemas(place: tuple[Any, ...]) -> bool:
    return len(place) > 1 and place[-2] in _MAPS_OF_SCHEMAS


def _schemas(schema: Any) -> Iterator[Schema]:
    """Every subschema, itself first; values of enum, default and such are none."""
    stack: list[Any] = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += cast(list[Any], item)
        if not isinstance(item, dict):
            continue
        item = cast(Schema, item)
        yield item
        for key in _MAPS_OF_SCHEMAS:
            if isinstance(item.get(key), dict):
                stack += item[key].values()
        stack += [item[key] for key in (*_LISTS_OF_SCHEMAS, *_SCHEMAS) if key in item]


def _steps(reference: str) -> list[str]:
    import urllib.parse

    pointer = urllib.parse.unquote(reference.removeprefix("#"))
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _escaped(step: str) -> str:
    import urllib.parse

    return urllib.parse.quote(step.replace("~", "~0").replace("/", "~1"), safe="$~")


def _legal_key(key: str, *, hashed: bool = False) -> str:
    legal = re.sub(r"[^a-zA-Z0-9_.-]+", "_", key)
    if not hashed and len(legal) <= 64 and legal.strip("_"):
        return legal
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{legal[:55].strip('_') or 'key'}_{digest}"


def _named(value: Any, key: str) -> Any:
    """A property's schema that says what the server calls it."""
    if not isinstance(value, dict):
        return value
    schema = cast(Schema, value)
    said = schema.get("description")
    own = f"(The server calls it {json.dumps(cut(key, 200), ensure_ascii=False)}.)"
    return {**schema, "description": f"{said} {own}" if isinstance(said, str) and said else own}


def _modern(schema: Schema) -> None:
    """Words of older drafts of JSON Schema that mean something: in today's."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if not isinstance(schema.get(exclusive), bool):
            continue
        if schema.pop(exclusive) and limit in schema:
            schema[exclusive] = schema.pop(limit)
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")
        if not schema["prefixItems"]:
            del schema["prefixItems"]
    if isinstance(schema.get("required"), bool):
        del schema["required"]
    kind: Any = schema.get("type")
    if isinstance(kind, list):
        kinds = list(dict.fromkeys(k for k in cast(list[Any], kind) if k in _TYPES))
        if kinds:
            schema["type"] = kinds
        else:
            del schema["type"]
    elif kind is not None and kind not in _TYPES:
        # "any", or a type of another language.
        del schema["type"]
