"""Names of servers' tools: legal, unique, stable (facts: Names and schemas)."""

import random
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.mcp_servers import names
from agent_tui.mcp_servers.names import MAX_ALIAS, Names, alias, server_prefix

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# Characters that sanitising changes, the separator, and hex digits, which a hash is made of.
NAME = st.one_of(
    st.text(st.sampled_from("ab_-. /é0123456789"), max_size=12),
    st.text(max_size=6),
    st.sampled_from(["a", "b", "a__b", "b__c", "c", "a_", "_b", "x" * 200, "y" * 120, ""]),
    st.builds(lambda a, b: f"{a}_{b}", st.sampled_from(["a", "read_file"]),
              st.text(st.sampled_from("0123456789abcdef"), min_size=8, max_size=8)),
)  # fmt: skip
PAIRS = st.lists(st.tuples(NAME, NAME), min_size=1, max_size=12, unique=True)


@given(PAIRS)
def test_every_alias_is_legal_and_leads_back_to_its_own_pair(pairs: list[tuple[str, str]]):
    known = filled(pairs)
    for server, tool in pairs:
        name = known.alias(server, tool)
        assert LEGAL.fullmatch(name)
        assert known.pair(name) == (server, tool)
    assert len(known.aliases()) == len(pairs)


@given(PAIRS, st.randoms(use_true_random=False))
def test_an_alias_depends_on_its_own_pair_only(pairs: list[tuple[str, str]], rng: random.Random):
    before = {pair: filled(pairs).alias(*pair) for pair in pairs}
    some = rng.sample(pairs, rng.randint(1, len(pairs)))
    after = filled(some)
    assert {pair: after.alias(*pair) for pair in some} == {pair: before[pair] for pair in some}
    # Also of a tool that is not there now (an old session's call).
    assert {pair: after.alias(*pair) for pair in pairs} == before


@given(NAME, NAME)
def test_the_aliases_of_a_server_begin_with_its_prefix_and_no_other_s(server: str, tool: str):
    name = alias(server, tool)
    assert name.startswith(server_prefix(server))
    # What approvals by `server__*` look at: the part before the first "__".
    assert name.split("__", 1)[0] + "__" == server_prefix(server)


@given(NAME, NAME)
def test_no_two_servers_have_one_prefix(one: str, other: str):
    assert (one == other) == (server_prefix(one) == server_prefix(other))


@pytest.mark.parametrize(
    ("server", "tool"),
    [("files", "read_file"), ("files", "read-file"), ("a", "b__c"), ("a", "_b"), ("s", "T" * 125)],
)
def test_a_legal_name_that_reads_back_is_kept(server: str, tool: str):
    assert alias(server, tool) == f"{server}__{tool}"


@pytest.mark.parametrize(
    "pairs",
    [
        [("f", "read.file"), ("f", "read_file"), ("f", "read file"), ("f", "read/file")],
        [("a__b", "c"), ("a", "b__c"), ("a_", "_b__c")],
        [("s", "t" * 200), ("s", "t" * 199 + "u"), ("s" * 200, "t" * 200)],
        [("f", "read_file"), ("f", "read.file"), ("f", alias("f", "read.file")[3:])],
    ],
    ids=["sanitised", "separator", "cut", "looks like another's alias"],
)
def test_names_that_would_meet_stay_apart(pairs: list[tuple[str, str]]):
    known = filled(pairs)
    assert len(known.aliases()) == len(pairs)
    assert {known.pair(known.alias(*pair)) for pair in pairs} == set(pairs)


def test_a_name_that_looks_like_another_s_alias_gets_one_of_its_own():
    taken = alias("f", "read.file")
    assert alias("f", taken.removeprefix("f__")) != taken
    prefix = server_prefix("my server")
    assert server_prefix(prefix.removesuffix("__")) != prefix


def test_of_two_that_would_meet_the_unchanged_one_keeps_its_name():
    for pairs in ([("f", "a.b"), ("f", "a_b")], [("f", "a_b"), ("f", "a.b")]):
        known = filled(pairs)
        assert known.pair("f__a_b") == ("f", "a_b")
        assert re.fullmatch(r"f__a_b_[0-9a-f]{8}", known.alias("f", "a.b"))


def test_a_built_in_name_is_not_taken():
    assert alias("my", "tool", {"my__tool"}) != "my__tool"
    known = Names({"my__tool"})
    known.set_server("my", ["tool"])
    assert known.pair("my__tool") is None
    assert known.pair(known.alias("my", "tool")) == ("my", "tool")


def test_one_hash_for_two_names_is_no_wrong_call(monkeypatch: pytest.MonkeyPatch):
    real = names._hashed

    def short(name: str, nameless: str, room: int, digits: int = 8) -> str:
        found = real(name, nameless, room, digits)
        return found if digits != 8 else found[:-8] + "0" * 8

    monkeypatch.setattr(names, "_hashed", short)
    pairs = [("f", "a.b"), ("f", "a/b"), ("f", "c"), ("g.", "c"), ("g/", "c")]
    known = filled(pairs)
    assert len(known.aliases()) == len(pairs)
    assert known.alias("f", "a.b").startswith("f__")
    assert all(known.pair(known.alias(*pair)) == pair for pair in pairs)
    assert all(LEGAL.fullmatch(name) and len(name) <= MAX_ALIAS for name in known.aliases())


def test_another_process_gives_the_same_alias():
    pairs = [("my server", "read.file"), ("ü", "t" * 300)]
    code = (
        "import sys; from agent_tui.mcp_servers.names import alias\n"
        f"print(*[alias(*pair) for pair in {pairs!r}], sep='\\n')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert ran.stdout.splitlines() == [alias(*pair) for pair in pairs]


def filled(pairs: list[tuple[str, str]]) -> Names:
    known = Names()
    for server in {server for server, _ in pairs}:
        known.set_server(server, [tool for name, tool in pairs if name == server])
    return known
