"""The incremental reader against json.loads: the same leaves, whatever the pieces."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.messages_api.partial_json import MAX_KEY, MAX_PATH_DEPTH, PartialJson
from agent_tui.text import whole_surrogates

texts = st.text(st.characters() | st.sampled_from('\ud83d\ude00"\\'), max_size=12)
keys = st.text(st.characters(codec="utf-8", exclude_characters="."), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}.{i}" if path else str(i))
    else:
        yield path, whole_surrogates(value) if isinstance(value, str) else json.dumps(value)


def read(pieces: list[str]) -> tuple[list[tuple[str, str]], PartialJson]:
    """Additions joined per value, in order of first appearance."""
    reader = PartialJson()
    found: list[tuple[str, str]] = []
    for path, text in [a for p in pieces for a in reader.feed(p)] + reader.close():
        if found and found[-1][0] == path:
            found[-1] = (path, found[-1][1] + text)
        else:
            found.append((path, text))
    return found, reader


def cut(text: str, at: list[int]) -> list[str]:
    edges = [0, *sorted(i % (len(text) + 1) for i in at), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges)]


@settings(deadline=None)
@given(st.dictionaries(keys.filter(bool), values, max_size=5), st.data())
def test_leaves_are_those_of_json_loads(value: dict[str, Any], data: st.DataObject) -> None:
    indent = data.draw(st.sampled_from([None, 1]))
    text = json.dumps(value, indent=indent)
    if data.draw(st.booleans()):
        # raw surrogates are joined before this reader (wire_text.SurrogateJoiner)
        value = json.loads(whole_surrogates(json.dumps(value, ensure_ascii=False)))
        text = json.dumps(value, ensure_ascii=False, indent=indent)
    pieces = cut(text, data.draw(st.lists(st.integers(0, 10_000), max_size=20)))
    found, reader = read(pieces)
    assert reader.complete and not reader.broken
    assert found == merged(leaves(json.loads(text)))


def merged(pairs: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbours of one path joined, as `read` must (two keys can come to one path)."""
    out: list[tuple[str, str]] = []
    for path, text in pairs:
        if out and out[-1][0] == path:
            out[-1] = (path, out[-1][1] + text)
        else:
            out.append((path, text))
    return out


@settings(deadline=None)
@given(st.text(alphabet='{}[]",:\\ud8e3 \n1-.truefalsnl', max_size=60), st.data())
def test_invalid_json_never_raises_and_is_told_from_valid(text: str, data: st.DataObject) -> None:
    pieces = cut(text, data.draw(st.lists(st.integers(0, 100), max_size=5)))
    _, reader = read(pieces)
    try:
        json.loads(text, strict=False)
        valid = True
    except ValueError:
        valid = False
    assert reader.complete == valid


def test_a_string_grows_and_a_number_comes_whole() -> None:
    reader = PartialJson()
    assert reader.feed('{"path": "a/') == [("path", "a/")]
    assert reader.feed('b", "n": 1') == [("path", "b")]
    assert reader.feed("2") == []
    assert reader.feed(', "edits": [{"old": "') == [("n", "12")]
    assert reader.feed('x"}, {"old": ""') == [("edits.0.old", "x"), ("edits.1.old", "")]
    assert reader.feed("}]}") == []
    assert reader.complete


def test_escapes_split_over_pieces() -> None:
    found, reader = read(list(r'{"a": "\n\u00e9\ud83d\ude00\ud83dx\""}'))
    assert reader.complete
    assert found == [("a", "\né😀\ufffdx" + '"')]


def test_half_a_surrogate_pair_keeps_its_place() -> None:
    for text in (r'"\ud83d\n"', r'"\ud83d\ud83d\ude00"', r'"\ude00\ud83d"'):
        [(_, whole)], _ = read([text])
        assert whole == whole_surrogates(json.loads(text))
        assert read(list(text))[0] == [("", whole)]


@pytest.mark.parametrize("text", ['{"a" 1}', "{,}", "[1,]x", '{"a": }', "}", '{"a": tru}', '"\\x"'])
def test_after_invalid_json_it_is_silent(text: str) -> None:
    reader = PartialJson()
    reader.feed(text)
    assert reader.broken
    assert reader.feed('{"b": "c"}') == []


def test_deep_and_long_paths_cost_no_more_than_their_text() -> None:
    deep = PartialJson()
    depth = 50_000
    assert deep.feed("[" * depth + '"x"' + "]" * depth) == []
    assert deep.complete
    shown, _ = read(["[" * MAX_PATH_DEPTH + '"x"' + "]" * MAX_PATH_DEPTH])
    assert shown == [(".".join("0" * MAX_PATH_DEPTH), "x")]
    [(path, text)], _ = read(['{"' + "k" * 100_000 + '": "v"}'])
    assert (len(path), text) == (MAX_KEY, "v")
