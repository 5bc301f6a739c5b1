"""The API's own blocks: what their line says while they run and when they are done, what opens,
and that nothing foreign reaches the terminal raw, whatever shape it has."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageEndEvent,
    MessageStartEvent,
    OpaqueEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
)
from agent_tui.agent.messages import AssistantMessage, OpaqueContent, ThinkingContent
from agent_tui.tui.transcript.api_blocks import RAW_LIMIT
from agent_tui.tui.transcript.api_kinds import make_block

from .harness import Page

Json = dict[str, Any]


def begun(page: Page, index: int, raw: Json) -> list[str]:
    return page.stream(OpaqueEvent(index, "start", OpaqueContent(raw=raw, complete=False)))


def whole(page: Page, index: int, raw: Json) -> list[str]:
    return page.stream(OpaqueEvent(index, "end", OpaqueContent(raw=raw)))


def call(name: str, **arguments: Any) -> Json:
    return {"type": "server_tool_use", "id": "s1", "name": name, "input": arguments}


def answer(kind: str, content: Any, call_id: str = "s1") -> Json:
    return {"type": f"{kind}_tool_result", "tool_use_id": call_id, "content": content}


def loaded(*raws: Json, width: int = 70) -> Page:
    page = Page(width=width)
    page.load(AssistantMessage(content=[OpaqueContent(raw=raw) for raw in raws]))
    return page


def links(page: Page) -> set[tuple[str, str]]:
    return {
        (segment.text, segment.style.link)
        for line in page.lines()
        for segment in line.segments
        if segment.style and segment.style.link
    }


# --- running --------------------------------------------------------------------------


def test_a_search_shows_its_query_as_it_comes_and_the_time_it_takes() -> None:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    assert begun(page, 0, call("web_search")) == ["● web search" + " " * 53 + "0.0 s"]
    rows = page.stream(OpaqueEvent(0, "delta", partial=[("query", "textual st")]))
    assert rows[0].startswith('● web search  "textual st"')
    page.clock.now += 6.2
    rows = whole(page, 0, call("web_search", query="textual strips"))
    assert rows[0].startswith('● web search  "textual strips"') and rows[0].endswith("  6.2 s")
    assert len(page.feed.live) == 1
    found = [{"type": "web_search_result", "url": "https://a.org/", "title": "A"}]
    rows = whole(page, 1, answer("web_search", found))
    assert rows == ['✓ web search  "textual strips"   1 result' + " " * 24 + "6.2 s"]
    assert page.feed.live == []


def test_a_shell_command_is_open_while_it_is_written() -> None:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    begun(page, 0, call("bash_code_execution"))
    lines = "".join(f"echo {n}\n" for n in range(30))
    rows = page.stream(OpaqueEvent(0, "delta", partial=[("command", lines + "echo last")]))
    assert rows[0].startswith("▾ ● ▣ bash  echo 0")
    assert rows[-1] == "    echo last" and len(rows) == 13
    whole(page, 0, call("bash_code_execution", command="echo 1"))
    done = {"type": "bash_code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0}
    assert whole(page, 1, answer("bash_code_execution", done)) == ["✓ ▣ bash  echo 1   1 line"]


def test_a_result_in_the_next_answer_finds_its_call() -> None:
    """pause_turn: the call ends one answer, its result begins the next."""
    page = Page()
    page.apply(MessageStartEvent(page.message))
    whole(page, 0, call("web_search", query="x"))
    paused = page.message.model_copy(
        update={
            "content": [OpaqueContent(raw=call("web_search", query="x"))],
            "stop_reason": "pause_turn",
        }
    )
    assert page.apply(MessageEndEvent(paused))[0].startswith('● web search  "x"')
    page.message = AssistantMessage()
    page.apply(MessageStartEvent(page.message))
    whole(page, 0, answer("web_search", []))
    assert page.rows() == ['✓ web search  "x"   0 results', "", "· paused by the API; goes on"]


@pytest.mark.parametrize("stored", [False, True])
def test_a_call_without_a_result_ends_with_the_run(stored: bool) -> None:
    page = Page()
    raw = call("web_search", query="x")
    if stored:
        page.load(AssistantMessage(content=[OpaqueContent(raw=raw)]))
    else:
        page.apply(MessageStartEvent(page.message))
        whole(page, 0, raw)
        page.apply(AgentEndEvent([]))
    assert page.rows() == ['⊘ web search  "x"   stopped']


def test_a_call_of_a_program_stands_below_it() -> None:
    program = {"type": "code_execution_20260120", "tool_id": "s0"}
    [row] = loaded({**call("web_fetch", url="https://a.org"), "caller": program}).rows()
    assert row.startswith("  ├─ ")


# --- what is shown --------------------------------------------------------------------


def test_search_results_are_linked_titles_with_their_addresses() -> None:
    content = [
        {"type": "web_search_result", "url": "https://a.org/x", "title": "A\x1b[2J",
         "page_age": "1 d"},
        {"type": "web_search_result", "url": "javascript:alert(1)", "title": None},
        {"type": "web_search_result", "url": "https://bank.com@evil.org/", "title": "bank.com"},
    ]  # fmt: skip
    page = loaded(call("web_search", query="x"), answer("web_search", content))
    assert page.open() == [
        '✓ web search  "x"   3 results',
        "    A␛[2J  a.org/x  1 d",
        "    javascript:alert(1)  javascript:alert(1)",
        "    bank.com  https://bank.com@evil.org/",
    ]
    assert links(page) == {("A␛[2J", "https://a.org/x"), ("a.org/x", "https://a.org/x")}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("too_many_requests", "too many requests, try again later"),
        ("max_uses_exceeded", "it was used as often as the request allows"),
        ("url_not_in_prior_context", "only addresses that came up in the conversation may be "
                                     "fetched"),
        ("code_of\x1btomorrow", "code of␛tomorrow"),
        ("", "it failed without saying why"),
        (None, "it failed without saying why"),
    ],
)  # fmt: skip
def test_error_codes_are_sentences(code: object, words: str) -> None:
    error = {"type": "web_fetch_tool_result_error", "error_code": code}
    page = loaded(call("web_fetch", url="https://a.org/"), answer("web_fetch", error), width=200)
    assert page.rows() == [f"✗ web fetch  a.org   {words}"]
    assert page.open() == page.rows()


def test_an_error_too_long_for_its_line_is_whole_when_open() -> None:
    error = {"type": "web_fetch_tool_result_error", "error_code": "url_not_in_prior_context"}
    page = loaded(call("web_fetch", url="https://a.org/"), answer("web_fetch", error), width=40)
    assert page.open() == [
        "✗ web fetch  a.org   only addresses tha…",
        "    only addresses that came up in the",
        "    conversation may be fetched",
    ]


def test_an_edit_in_the_container_is_a_diff() -> None:
    raw = call("text_editor_code_execution", command="str_replace", path="/a.py",
               old_str="one\ntwo", new_str="three")  # fmt: skip
    done = {"type": "text_editor_code_execution_str_replace_result", "lines": None}
    page = loaded(raw, answer("text_editor_code_execution", done))
    assert page.open() == ["✓ ▣ edit  /a.py   +0 -0", "    -one", "    -two", "    +three"]
    done["lines"] = [" zero", "-one", "+three"]  # type: ignore[assignment]
    page = loaded(raw, answer("text_editor_code_execution", done))
    assert page.open() == ["✓ ▣ edit  /a.py   +1 -1", "     zero", "    -one", "    +three"]


def test_a_compaction_opens_to_its_summary() -> None:
    page = loaded({"type": "compaction", "content": "**So far:** nothing.\n"}, width=50)
    assert page.rows() == ["── ▸ the API compacted what came before ──────────"]
    assert page.open()[1:] == ["So far: nothing."]
    assert page.rows()[0].startswith("── ▾ ")


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ({"content": None}, "the API could not compact what came before; it is sent whole"),
        ({"content": None, "encrypted_content": "Ep"},
         "the API compacted what came before; its summary is encrypted"),
    ],
)  # fmt: skip
def test_a_compaction_without_a_summary_says_so(raw: Json, label: str) -> None:
    page = loaded({"type": "compaction", **raw}, width=100)
    assert label in page.rows()[0]
    assert "▸" not in page.rows()[0]


def test_a_compaction_that_streams_says_that_it_goes_on() -> None:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    rows = begun(page, 0, {"type": "compaction", "content": None})
    assert "the API is compacting what came before" in rows[0]
    rows = whole(page, 0, {"type": "compaction", "content": "So far."})
    assert rows[0].startswith("── ▸ the API compacted what came before ─")


def test_a_fallback_says_which_model_answers_and_why() -> None:
    raw = {"type": "fallback", "from": {"model": "a\x1b"}, "to": {"model": "b"},
           "trigger": {"type": "refusal", "category": "cyber"}}  # fmt: skip
    assert loaded(raw).rows() == ["· b answers from here: a␛ declined (cyber)"]
    raw["trigger"] = {"type": "overload"}
    assert loaded(raw).rows() == ["· b answers from here: a␛ overload"]
    assert loaded({"type": "fallback"}).rows() == ["· a model answers from here: a model declined"]


def test_an_unknown_block_opens_to_all_of_it() -> None:
    page = loaded({"type": "hologram", "beams": [1], "deep": {"er": None}})
    assert page.rows() == ["· hologram   a block of a kind that is not known here"]
    assert page.open()[1:4] == ["    {", '      "type": "hologram",', '      "beams": [']
    page = loaded({"type": "hologram", "x": "y" * (RAW_LIMIT + 100)})
    assert "more characters" in page.open()[-1]


def test_an_unknown_server_tool_shows_its_name_arguments_and_result() -> None:
    page = loaded(call("teleport", to="Mars"), answer("teleport", {"type": "teleport_result"}))
    assert page.rows() == ["✓ teleport  to=Mars"]
    assert any('"teleport_result"' in row for row in page.open())
    error = {"type": "teleport_tool_result_error", "error_code": "too_far"}
    assert loaded(call("teleport", to="Mars"), answer("teleport", error)).rows() == [
        "✗ teleport  to=Mars   too far"
    ]


def test_a_result_whose_call_is_not_known_stands_alone() -> None:
    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    assert loaded(answer("web_search", error)).rows() == [
        "✗ web search   the tool is not available now"
    ]
    found = {"type": "tool_search_tool_search_result", "tool_references": []}
    assert loaded(answer("tool_search", found)).rows() == ["✓ tool search   no tool"]
    text = {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": True, "content": "no\nway"}
    assert loaded(text).rows() == ["✗ an MCP server   no"]


def test_what_is_copied_of_a_search_is_its_text() -> None:
    found = [{"type": "web_search_result", "url": "https://a.org/", "title": "A"}]
    page = loaded(call("web_search", query="x"), answer("web_search", found))
    assert page.layout.blocks[0].source() == 'web search  "x"\nA  a.org'


# --- thinking -------------------------------------------------------------------------


def test_hidden_thinking_counts_its_tokens_while_it_goes_on() -> None:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    rows = page.stream(ThinkingStartEvent(0), ThinkingDeltaEvent(0, "", 500))
    assert rows == ["▸ thinking  ≈ 500 tokens"]
    page.clock.now += 3
    rows = page.stream(ThinkingDeltaEvent(0, "", 1000))
    assert rows == ["▸ thinking  3 s  ≈ 1,500 tokens"]
    rows = page.stream(ThinkingEndEvent(0, ThinkingContent(signature="s")))
    assert rows == ["· thought for 3 s"]


# --- any shape ------------------------------------------------------------------------

EVIL = st.sampled_from(
    ["\x1b]2;PWNED\x07", "\x1b[2J", "\x9b31m", "\u202egnp", "a\u200bb", "\ud83d", "[/red]", "\x00",
     "[link=https://evil.org]x[/]", "😀👨‍👩‍👧🇩🇪", "line\nline\rline\ttab", "", " ", "x" * 300]
)  # fmt: skip
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | EVIL | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(EVIL, inner, max_size=3),
    max_leaves=5,
)
TYPES = st.sampled_from(
    [
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "mcp_tool_listing",
        "container_upload",
        "compaction",
        "fallback",
        "hologram",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "advisor_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "tool_search_tool_result",
        "text_editor_code_execution_tool_result",
    ]
)
NAMES = st.sampled_from(
    [
        "web_search",
        "web_fetch",
        "code_execution",
        "bash_code_execution",
        "text_editor_code_execution",
        "advisor",
        "tool_search_tool_regex",
        "tool_search_tool_bm25",
        "teleport",
    ]
)
INNER = st.dictionaries(
    st.sampled_from([
    "type", "error_code", "error_message", "stdout", "stderr", "return_code", "content", "text",
    "file_id", "url", "title", "retrieved_at", "source", "data", "media_type", "lines",
    "num_lines", "start_line", "total_lines", "file_type", "tool_references", "tool_name",
    "stop_reason", "is_file_update", "page_age", "encrypted_stdout",
]),
    ANY
    | TYPES.map(lambda kind: f"{kind}_error")
    | st.sampled_from(
        ["text_editor_code_execution_view_result", "text_editor_code_execution_create_result",
         "text_editor_code_execution_str_replace_result", "web_fetch_result", "base64", "text"]
    ),
    max_size=6,
)  # fmt: skip
INPUT = st.dictionaries(
    st.sampled_from([
    "query", "url", "command", "path", "file_text", "old_str", "new_str", "pattern", "code",
]), ANY,
    max_size=4,
)  # fmt: skip


def block(fields: Json, kind: str, name: object) -> Json:
    return {"type": kind, "id": "s1", "tool_use_id": "s1", "name": name} | fields


BLOCKS = st.builds(
    block,
    st.fixed_dictionaries(
        {},
        optional={
            "input": INPUT | ANY,
            "content": INNER | st.lists(INNER, max_size=3) | ANY,
            "tools": st.lists(INNER | ANY, max_size=2) | ANY,
            "server_name": ANY,
            "mcp_server_name": ANY,
            "from": INNER | ANY,
            "to": ANY,
            "trigger": INNER | ANY,
            "caller": ANY,
            "is_error": ANY,
            "file_id": ANY,
            "encrypted_content": ANY,
            "id": ANY,
            "tool_use_id": ANY,
        },
    ),
    TYPES | EVIL,
    NAMES | ANY,
)
_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@settings(max_examples=100, deadline=None)
@given(st.lists(BLOCKS, min_size=1, max_size=3), st.booleans(), st.integers(8, 90))
def test_hostile_blocks_of_any_shape_are_shown_and_safe(
    raws: list[Json], opened: bool, width: int
) -> None:
    """No control character, no exception, never a silent block, never a row too wide."""
    streamed, stored = Page(width=width), Page(width=width)
    streamed.modes.tools_open = stored.modes.tools_open = opened
    streamed.apply(MessageStartEvent(streamed.message))
    for index, raw in enumerate(raws):
        begun(streamed, index, raw)
        streamed.stream(OpaqueEvent(index, "delta", partial=[("query", "\x1b[2J"), ("x", "y")]))
        whole(streamed, index, raw)
    stored.load(AssistantMessage(content=[OpaqueContent(raw=raw) for raw in raws]))
    for page in (streamed, stored):
        assert any(row.strip() for row in page.rows())
        for shown in page.layout.blocks:
            assert _RAW.search(shown.source()) is None
            assert "could not be shown" not in shown.source()
        for line in page.lines():
            assert _RAW.search(line.shown) is None
            assert _RAW.search(line.copied().replace("\t", "")) is None
            assert sum(segment.cell_length for segment in line.segments) <= max(width, 12)
            for segment in line.segments:
                link = segment.style.link if segment.style else None
                assert link is None or all("!" <= char <= "~" for char in link)


@given(TYPES, NAMES)
def test_every_kind_says_its_name(kind: str, name: str) -> None:
    made = make_block({"type": kind, "name": name, "server_name": "wiki"})
    made.close(made.raw)
    page = Page(width=100)
    page.feed.add(made)
    assert any(char.isalpha() for char in page.rows()[0])
