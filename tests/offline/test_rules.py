"""The request rules: each refuses what breaks it, and nothing that is one step away."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_cases import ALSO, CASES
from rule_making import (
    ASKED,
    CALLED,
    DONE,
    FOUND,
    PROGRAM,
    QUERY,
    SEARCH,
    SEARCHED,
    Case,
    assistant,
    call,
    image,
    png,
    program,
    program_call,
    program_request,
    request,
    result,
    text,
    thinking,
    user,
)  # fmt: skip

from agent_tui.offline.rules import RULES, validate_request
from agent_tui.offline.rules.images import image_size


def signed(words: str, signature: str) -> bool:
    return (words, signature) == ("hm", "signed")


def check(body: Any, **more: Any) -> list[str]:
    return [p.rule for p in validate_request(body, knows_signature=signed, **more)]


def case_id(case: Case) -> str:
    return f"{case.rule}-{CASES.index(case)}"


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_breach_is_refused_in_the_services_words(case: Case) -> None:
    problems = validate_request(case.bad, version=case.version, knows_signature=signed)
    found = [p for p in problems if p.rule == case.rule]
    assert found, f"not refused; found {problems}"
    assert case.says in found[0].message
    for problem in problems:
        assert (problem.status, problem.type) == (400, "invalid_request_error")
    assert {p.rule for p in problems} - {case.rule} <= ALSO.get(case.rule, set())


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_its_nearest_neighbour_is_accepted(case: Case) -> None:
    assert validate_request(case.good, version=case.version, knows_signature=signed) == []


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == set(RULES)


def test_every_rule_says_what_it_is() -> None:
    for name, rule in RULES.items():
        assert rule.name == name and rule.about.endswith(".")


def test_the_first_breach_is_what_the_service_would_name_first() -> None:
    """Shape comes before meaning: an unknown field hides that a result is missing."""
    assert check(request(ASKED, CALLED, surprise=1)) == ["known_fields"]


class TestWhatIsAccepted:
    """Histories that the service accepts, and that a client may well send."""

    def test_steering_after_the_results_of_two_calls(self) -> None:
        two = assistant(call("a"), call("b"))
        assert check(request(ASKED, two, user(result("b"), result("a"), text("also this")))) == []

    def test_messages_of_one_role_in_a_row(self) -> None:
        rows = [
            user("one"),
            user("two"),
            assistant("a"),
            assistant(text("b"), call()),
            user(result()),
        ]
        assert check(request(*rows, user("three"))) == []

    def test_results_spread_over_two_messages_in_a_row(self) -> None:
        two = assistant(call("a"), call("b"))
        assert check(request(ASKED, two, user(result("a")), user(result("b"), text()))) == []

    def test_thinking_between_calls(self) -> None:
        blocks = [thinking(), text(), call("a"), thinking(), call("b")]
        assert check(request(ASKED, assistant(*blocks), user(result("a"), result("b")))) == []

    def test_a_paused_turn_sent_back_unchanged(self) -> None:
        assert check(request(ASKED, assistant(text(), SEARCHED))) == []

    def test_a_paused_turn_and_its_continuation(self) -> None:
        rows = [ASKED, assistant(SEARCHED), assistant(FOUND, text()), user("on")]
        assert check(request(*rows)) == []

    def test_blocks_of_the_service_with_fields_of_their_own(self) -> None:
        found = FOUND | {"content": [{"type": "web_search_result", "encrypted_content": "x"}]}
        cited = text(citations=[{"type": "web_search_result_location", "url": "x"}])
        unknown = {"type": "hologram", "data": [1, None]}
        rows = [ASKED, assistant(SEARCHED, found, unknown, cited), user("on")]
        assert check(request(*rows)) == []

    def test_a_program_over_several_requests(self) -> None:
        history = [
            *program(),
            user(result("toolu_p")),
            assistant(program_call("toolu_q"), program_call("toolu_r")),
            user(result("toolu_q"), result("toolu_r")),
        ]
        assert check(program_request(*history)) == []
        done = [*history, assistant(DONE, text("7 in all")), user("thanks")]
        assert check(program_request(*done, container=None, tools=[SEARCH])) == []

    def test_a_direct_call_needs_no_container(self) -> None:
        assert check(request(ASKED, CALLED, user(result()), tools=[PROGRAM, QUERY, SEARCH])) == []

    def test_an_empty_result(self) -> None:
        bare = {"type": "tool_result", "tool_use_id": "toolu_1"}
        assert check(request(ASKED, CALLED, user(bare))) == []
        assert check(request(ASKED, CALLED, user(result(content="")))) == []

    def test_thinking_without_words_but_with_a_signature(self) -> None:
        body = request(ASKED, assistant(thinking("", "sig"), text()), user("on"))
        assert validate_request(body, knows_signature=lambda words, sig: sig == "sig") == []

    def test_sampling_under_an_older_version(self) -> None:
        assert check(request(temperature=0.5), version="2023-06-01") == []

    def test_counting_needs_no_max_tokens(self) -> None:
        body = {k: v for k, v in request().items() if k != "max_tokens"}
        assert check(body, counting=True) == []
        assert check(body) == ["required_fields"]


@pytest.mark.parametrize(
    ("model", "accepted"),
    [
        ("demo", "adaptive between_tools disabled enabled"),
        ("claude-fable-5-2", "adaptive"),
        ("claude-opus-5-5", "adaptive"),
        ("claude-sonnet-5-5", "adaptive between_tools"),
        ("claude-haiku-5-5", "adaptive disabled"),
        ("claude-opus-4-6", "adaptive disabled enabled"),
        ("claude-sonnet-4-5-20250929", "disabled enabled"),
        ("claude-3-5-sonnet-20240620", "disabled"),
        ("qwen3:8b", "adaptive between_tools disabled enabled"),
    ],
)
def test_which_thinking_a_model_accepts(model: str, accepted: str) -> None:
    passed = []
    for kind in ("adaptive", "between_tools", "disabled", "enabled"):
        budget = {"budget_tokens": 2000} if kind == "enabled" else {}
        if check(request(model=model, thinking={"type": kind} | budget)) == []:
            passed.append(kind)
    assert " ".join(passed) == accepted


class TestPrograms:
    def test_steering_is_refused_also_when_it_is_a_message_of_its_own(self) -> None:
        rows = [*program(), user(result("toolu_p")), user("use EUR")]
        assert "program_results_only" in check(program_request(*rows))

    def test_both_calls_of_a_program_are_answered(self) -> None:
        prompt, asked = program()
        asked["content"].append(program_call("toolu_q"))
        body = program_request(prompt, asked, user(result("toolu_p")))
        assert check(body) == ["results_missing"]

    def test_a_program_cut_short_stays_without_result(self) -> None:
        """Cut at its server_tool_use, as an interrupted run is sent: text, then the user."""
        prompt, asked = program()
        cut = assistant(asked["content"][0])
        assert check(request(prompt, cut, user("the program was interrupted"))) == []
        uncut = assistant(*asked["content"][:2])
        assert check(request(prompt, uncut, user("go on"))) == ["server_results_missing"]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(640, 480), (640, 480)),
        (b"GIF89a" + (300).to_bytes(2, "little") + (7).to_bytes(2, "little"), (300, 7)),
        (
            b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc4\x00\x02\xff\xc2\x00\x0b\x08"
            + (9000).to_bytes(2, "big") + (12).to_bytes(2, "big") + b"\x01\x00",
            (12, 9000),
        ),
        (b"RIFF....WEBPVP8X" + bytes(8) + b"\x0f\x00\x00\x07\x00\x00", (16, 8)),
        (b"RIFF....WEBPVP8L" + bytes(4) + b"/" + (99 | 49 << 14).to_bytes(4, "little"), (100, 50)),
        (b"RIFF....WEBPVP8 " + bytes(4) + bytes(6) + b"\x2c\x01\xc8\x00", (300, 200)),
        (b"\xff\xd8\xff", None),
        (b"", None),
    ],
)  # fmt: skip
def test_image_sizes(data: bytes, size: tuple[int, int] | None) -> None:
    assert image_size(data) == size


# --- what must always hold ------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(json_values)
def test_any_json_is_judged_without_a_crash(body: Any) -> None:
    validate_request(body)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = (
        value.keys()
        if isinstance(value, dict)
        else range(len(value) if isinstance(value, list) else 0)
    )
    return [path, *(p for k in keys for p in _places(value[k], (*path, k)))]


RICH = program_request(
    user(text(cache_control={"type": "ephemeral"}), image(png())),
    assistant(thinking(), SEARCHED, FOUND, call()),
    user(result(content=[text(), image(png())]), text("and")),
    *program()[1:],
    user(result("toolu_p", [text()])),
    system=[text()],
    tools=[PROGRAM, QUERY, SEARCH],
    tool_choice={"type": "auto"},
    thinking={"type": "adaptive", "display": "summarized"},
    output_config={"effort": "high"},
    stop_sequences=["END"],
    metadata={"user_id": "u"},
)
PLACES = _places(RICH)


def test_the_rich_request_is_valid() -> None:
    assert check(RICH) == []


ANYTHING: list[Any] = [
    None, True, -1, 10**30, 0.5, "", " ", "x", "direct", "tool_use", "\ud800", [], [[]], [{}], {},
    {"type": "tool_use"}, {"type": {}}, {"type": []}, {"type": "text", "text": {}}, SEARCH, CALLED,
]  # fmt: skip


@pytest.mark.parametrize("value", ANYTHING, ids=repr)
def test_a_valid_request_with_anything_anywhere_is_judged_without_a_crash(value: Any) -> None:
    for *path, last in PLACES[1:]:
        body = copy.deepcopy(RICH)
        holder = body
        for key in path:
            holder = holder[key]
        holder[last] = value
        for problem in validate_request(body, knows_signature=signed):
            assert problem.message and problem.rule in RULES
