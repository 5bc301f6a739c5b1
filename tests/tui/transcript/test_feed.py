"""Events and stored messages become blocks: states of calls, thinking, deliveries, endings."""

from typing import Any

import pytest

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    TextEndEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    UnknownMessage,
    UserMessage,
)
from agent_tui.agent.tool_batch import _STOPPED_RUNNING
from agent_tui.agent.tool_calls import STOPPED_UNSTARTED
from agent_tui.conversation.events import (
    NoticeEvent,
    PermissionRequestEvent,
    PermissionResolvedEvent,
    QueueDeliveredEvent,
    RetryEvent,
)

from .harness import Page, copied, prompt, result, stored_answer


@pytest.fixture
def page() -> Page:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    return page


def call(name: str = "shell", id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def begun(call: ToolCall) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, caller=call.caller, complete=False)


# --- prompts and deliveries -----------------------------------------------------------


def test_a_prompt_has_its_glyph_and_hangs() -> None:
    rows = Page().apply(MessageStartEvent(prompt("first line\nsecond line")))
    assert rows == ["❯ first line", "  second line"]


def test_a_delivery_says_how_and_where_it_came() -> None:
    page = Page()
    steer = UserMessage(content="only Europe", queue_item_id="q1")
    later = UserMessage(content="then a changelog", queue_item_id="q2")
    rows = page.apply(
        QueueDeliveredEvent("q1", "steer", "only Europe", "turn 3, after 2 tool results"),
        MessageStartEvent(steer),
        MessageEndEvent(steer),
        MessageStartEvent(later),
        MessageEndEvent(later),
    )
    assert rows[0].startswith("↳ only Europe")
    assert rows[0].endswith("turn 3, after 2 tool results")
    # The other order: the message first, then what became of its queue item.
    rows = page.apply(QueueDeliveredEvent("q2", "follow_up", "then a changelog", "turn 4"))
    assert rows[2].startswith("⧗ then a changelog")
    assert rows[2].endswith("turn 4")


def test_a_note_that_does_not_fit_stands_below() -> None:
    page = Page(width=30)
    rows = page.apply(
        QueueDeliveredEvent("q", "steer", "", "turn 3, after 2 tool results"),
        MessageStartEvent(UserMessage(content="a long steering text", queue_item_id="q")),
    )
    assert rows == ["↳ a long steering text", "  turn 3, after 2 tool results"]


def test_a_very_long_line_is_copied_as_one() -> None:
    text = "word " * 3000 + "end"
    page = Page()
    page.apply(MessageStartEvent(prompt(text)), MessageStartEvent(page.message))
    assert copied(page.lines()) == text
    page = Page()
    page.modes.thinking = "open"
    page.apply(MessageStartEvent(page.message))
    for at in range(0, len(text), 1000):
        page.stream(ThinkingDeltaEvent(0, text[at : at + 1000]))
    assert copied(page.lines()[1:]) == text
    page = Page()
    page.load(BashExecutionMessage(command="x", output=text))
    assert copied(page.lines()[1:]) == text


def test_images_of_a_prompt_are_named() -> None:
    message = UserMessage(
        content=[TextContent(text="look"), ImageContent(data="AA==", media_type="image/png")]
    )
    assert Page().apply(MessageStartEvent(message)) == ["❯ look", "  [image: PNG  1 B]"]


# --- thinking -------------------------------------------------------------------------


def test_thinking_is_open_while_it_streams_and_then_one_line(page: Page) -> None:
    rows = page.stream(ThinkingStartEvent(0), ThinkingDeltaEvent(0, "Hm.\nThe ca"))
    assert rows == ["▾ thinking", "  Hm.", "  The ca"]
    rows = page.stream(ThinkingDeltaEvent(0, "rt first."))
    assert rows == ["▾ thinking", "  Hm.", "  The cart first."]
    page.clock.now += 4.2
    rows = page.stream(ThinkingEndEvent(0, ThinkingContent(thinking="x", signature="s")))
    assert rows == ["▸ thought for 4 s"]


def test_thinking_shows_elapsed_whole_seconds(page: Page) -> None:
    page.stream(ThinkingStartEvent(0))
    page.clock.now += 3.9
    page.feed.live[0].parts[0].touch()
    assert page.rows() == ["▸ thinking  3 s"]


@pytest.mark.parametrize(
    ("mode", "rows"),
    [
        ("folded", ["▸ thought for 2 s", "answer"]),
        ("open", ["▾ thought for 2 s", "  Hm.", "answer"]),
        ("hidden", ["answer"]),
    ],
)
def test_thinking_modes(page: Page, mode: Any, rows: list[str]) -> None:
    page.modes.thinking = mode
    page.stream(ThinkingStartEvent(0), ThinkingDeltaEvent(0, "Hm."))
    page.clock.now += 2
    page.stream(ThinkingEndEvent(0, ThinkingContent(thinking="Hm.", signature="s")))
    assert page.stream(TextDeltaEvent(1, "answer")) == rows


def test_long_thinking_streams_whole(page: Page) -> None:
    text = "\n".join(f"thought {n} " + "x" * 50 for n in range(300))
    for at in range(0, len(text), 777):
        page.stream(ThinkingDeltaEvent(0, text[at : at + 777]))
    assert [row.strip() for row in page.rows()[1:]] == text.split("\n")


def test_redacted_thinking_is_named() -> None:
    message = AssistantMessage(content=[ThinkingContent(redacted="EmABC==")])
    assert Page().load(message) == ["· thinking, redacted by the provider"]


# --- calls ----------------------------------------------------------------------------


def test_a_call_from_first_argument_to_result(page: Page) -> None:
    shell = call(command="pytest -q")
    rows = page.stream(ToolCallStartEvent(0, begun(shell)))
    assert rows == ["● shell" + " " * 44 + "arguments streaming"]
    rows = page.stream(ToolCallDeltaEvent(0, "", [("command", "pytest")]))
    assert rows[0].startswith("● shell  pytest ")
    rows = page.stream(ToolCallDeltaEvent(0, "", [("command", " -q")]))
    assert rows[0].startswith("● shell  pytest -q ")
    assert page.stream(ToolCallEndEvent(0, shell)) == ["● shell  pytest -q"]
    rows = page.apply(ToolExecutionStartEvent("c1", "shell", shell.arguments))
    assert rows[0].endswith("0.0 s")
    page.clock.now += 6.2
    rows = page.apply(ToolExecutionUpdateEvent("c1", "shell", "....F\n"))
    assert rows[0].startswith("▾ ● shell  pytest -q")
    assert rows[0].endswith("6.2 s")
    assert rows[1] == "    ....F"
    done = result("c1", "shell", "....F\n1 failed", details={"exit_code": 1})
    rows = page.apply(ToolExecutionEndEvent("c1", "shell", done, False, 6200))
    assert rows == ["✓ shell  pytest -q   exit 1" + " " * 38 + "6.2 s"]


def test_live_output_is_a_window_on_its_end(page: Page) -> None:
    page.apply(ToolExecutionStartEvent("c1", "shell", {"command": "x"}))
    for number in range(100):
        page.apply(ToolExecutionUpdateEvent("c1", "shell", f"line {number}\n"))
    rows = page.rows()
    assert rows[1:] == [f"    line {number}" for number in range(92, 100)]


def test_an_edit_shows_its_lines_while_they_stream(page: Page) -> None:
    edit = call("edit", path="cart.py")
    page.stream(ToolCallStartEvent(0, begun(edit)))
    rows = page.stream(
        ToolCallDeltaEvent(0, "", [("path", "cart.py"), ("edits.0.old", "a\nb")]),
        ToolCallDeltaEvent(0, "", [("edits.0.new", "a\nc")]),
        ToolCallDeltaEvent(0, "", [("edits.0.new", "d")]),
    )
    assert rows[0].startswith("▾ ● edit  cart.py ")
    assert rows[1:] == ["    -a", "    -b", "    +a", "    +cd"]


def test_a_write_shows_the_growing_content(page: Page) -> None:
    page.stream(ToolCallStartEvent(0, begun(call("write"))))
    rows = page.stream(
        ToolCallDeltaEvent(0, "", [("path", "a.py"), ("content", "x = 1\ny")]),
        ToolCallDeltaEvent(0, "", [("content", " = 2")]),
    )
    assert rows[0].startswith("▾ ● write  a.py ")
    assert rows[1:] == ["    +x = 1", "    +y = 2"]


def test_other_tools_show_key_and_value(page: Page) -> None:
    page.stream(ToolCallStartEvent(0, begun(call("db__query"))))
    rows = page.stream(ToolCallDeltaEvent(0, "", [("sql", "select"), ("year", "2025")]))
    assert rows[1:] == ["    sql   select", "    year  2025"]


def test_megabytes_of_arguments_are_a_bounded_window(page: Page) -> None:
    page.stream(ToolCallStartEvent(0, begun(call("write"))))
    for number in range(3000):
        page.feed.apply(
            MessageUpdateEvent(
                page.message.id, ToolCallDeltaEvent(0, "", [("content", f"{number} {'x' * 300}\n")])
            )
        )
    page.feed.flush()
    rows = page.rows()
    assert len(rows) < 80
    assert "2999 xxx" in "".join(rows)
    kept = sum(len(text) for text in page.layout.blocks[-1].parts[1].source().split())
    assert kept < 20_000


def test_a_call_that_asks_waits_and_goes_on(page: Page) -> None:
    push = call(command="git push")
    page.stream(ToolCallEndEvent(0, push))
    rows = page.apply(PermissionRequestEvent("r", "c1", "shell", push.arguments))
    assert rows[0].startswith("⏸ shell  git push")
    assert rows[0].endswith("waiting for approval")
    rows = page.apply(
        PermissionResolvedEvent("r", "c1", "allow"),
        ToolExecutionStartEvent("c1", "shell", push.arguments),
    )
    assert rows[0].startswith("● shell  git push")


def test_waiting_wins_over_a_start_that_came_before(page: Page) -> None:
    rows = page.apply(
        ToolExecutionStartEvent("c1", "shell", {"command": "x"}),
        PermissionRequestEvent("r", "c1", "shell", {"command": "x"}),
    )
    assert rows[0].endswith("waiting for approval")
    page.clock.now += 60
    rows = page.apply(PermissionResolvedEvent("r", "c1", "allow"))
    assert rows[0].endswith("0.0 s"), "waiting is not running"


def test_a_failed_call_says_why(page: Page) -> None:
    failed = result("c1", "read", "no such file: a.py\nmore", is_error=True)
    rows = page.apply(
        ToolExecutionStartEvent("c1", "read", {"path": "a.py"}),
        ToolExecutionEndEvent("c1", "read", failed, True, 5),
    )
    assert rows == ["✗ read  a.py   no such file: a.py"]


@pytest.mark.parametrize("words", STOPPED_UNSTARTED.values())
def test_a_call_that_was_stopped_before_it_started_did_not_run(page: Page, words: str) -> None:
    done = result("c1", "shell", words, is_error=True)
    rows = page.apply(
        ToolExecutionStartEvent("c1", "shell", {"command": "x"}),
        ToolExecutionEndEvent("c1", "shell", done, True, 0),
    )
    assert rows == ["⊘ shell  x   not run"]


@pytest.mark.parametrize("words", _STOPPED_RUNNING.values())
def test_a_call_that_was_stopped_while_it_ran(page: Page, words: str) -> None:
    done = result("c1", "shell", words, is_error=True)
    rows = page.apply(
        ToolExecutionStartEvent("c1", "shell", {"command": "x"}),
        ToolExecutionEndEvent("c1", "shell", done, True, 0),
    )
    assert rows == ["⊘ shell  x   stopped"]


def test_opened_output_keeps_its_colours(page: Page) -> None:
    page.modes.tools_open = True
    details = {"exit_code": 1, "ending": "exited", "styled": "ok \x1b[31mred\x1b[0m\n"}
    page.apply(
        ToolExecutionStartEvent("c1", "shell", {"command": "x"}),
        ToolExecutionEndEvent(
            "c1", "shell", result("c1", "shell", "ok red", is_error=True, details=details), True, 5
        ),
    )
    block = page.layout.blocks[-1]
    assert page.rows()[1:] == ["    ok red"]
    [line] = page.layout.lines(block, 1)
    assert [s.style.color.name for s in line.segments if s.style and s.style.color] == ["color(1)"]


def test_a_call_cut_while_its_arguments_streamed_never_ran(page: Page) -> None:
    page.stream(ToolCallStartEvent(0, begun(call())), ToolCallDeltaEvent(0, "", [("command", "r")]))
    cut = page.message.model_copy(update={"content": [begun(call())], "stop_reason": "aborted"})
    rows = page.apply(MessageEndEvent(cut))
    assert rows == ["⊘ shell   not run", "", "⊘ interrupted"]


def test_the_end_of_a_run_leaves_nothing_running(page: Page) -> None:
    page.apply(ToolExecutionStartEvent("c1", "shell", {"command": "x"}), AgentEndEvent([]))
    assert page.rows() == ["⊘ shell  x   stopped"]
    assert page.feed.live == []


@pytest.mark.parametrize(
    ("name", "arguments", "details", "row"),
    [
        ("grep", {"pattern": "def total"}, {"count": 3}, '✓ grep  "def total"   3 matches'),
        ("grep", {"pattern": "x"}, {"count": 1}, '✓ grep  "x"   1 match'),
        ("read", {"path": "a.py"}, {"first_line": 1, "last_line": 80}, "✓ read  a.py   lines 1-80"),
        ("list", {"path": "src"}, {"count": 2}, "✓ list  src   2 entries"),
        ("edit", {"path": "a"}, {"diff": "@@\n-x\n+y\n+z"}, "✓ edit  a   +2 -1"),
        ("db", {"year": 2025}, None, "✓ db  year=2025   2 lines"),
    ],
)
def test_results_in_a_few_words(
    page: Page, name: str, arguments: dict[str, Any], details: Any, row: str
) -> None:
    done = result("c1", name, "a\nb", details=details)
    rows = page.apply(
        ToolExecutionStartEvent("c1", name, arguments),
        ToolExecutionEndEvent("c1", name, done, False, 10),
    )
    assert rows == [row]


def test_a_long_argument_gives_way_to_the_outcome() -> None:
    page = Page(width=50)
    rows = page.apply(
        ToolExecutionStartEvent("c1", "shell", {"command": "find . " + "-name x " * 20}),
        ToolExecutionEndEvent("c1", "shell", result("c1", "shell", "a\nb"), False, 2500),
    )
    assert rows == ["✓ shell  find . -name x -name x …   2 lines  2.5 s"]
    failed = result("c2", "read", "the file is much too large to be read at once", is_error=True)
    rows = page.apply(
        ToolExecutionStartEvent("c2", "read", {"path": "some/folder/with/a/long/name.txt"}),
        ToolExecutionEndEvent("c2", "read", failed, True, 5),
    )
    assert rows[1] == "✗ read  some/folder/w…   the file is much too lar…"


def test_calls_of_a_program_stand_below_it(page: Page) -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srv1"}
    rows = page.apply(
        ToolExecutionStartEvent("c1", "query_db", {"year": 2025}, caller),
        ToolExecutionEndEvent("c1", "query_db", result("c1", "query_db", "x"), False, 10, caller),
    )
    assert rows == ["  ├─ ✓ query_db  year=2025   1 line"]


def test_a_diff_is_shown_in_its_colours(page: Page) -> None:
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same"
    page.apply(
        ToolExecutionStartEvent("c1", "edit", {"path": "a"}),
        ToolExecutionEndEvent("c1", "edit", result("c1", "edit", "ok", details={"diff": diff}),
                              False, 10),
    )  # fmt: skip
    block = page.layout.blocks[-1]
    block.expanded = True
    block.compose(page.modes)
    page.layout.changed(block)
    assert page.rows()[1:] == ["    @@ -1 +1 @@", "    -old", "    +new", "     same"]


# --- programs and other blocks --------------------------------------------------------


def test_an_unknown_block_is_one_line_by_its_name() -> None:
    rows = Page().load(AssistantMessage(content=[OpaqueContent(raw={"type": "hologram", "x": 1})]))
    assert rows == ["· hologram   a block of a kind that is not known here"]


# --- endings and notices --------------------------------------------------------------


def test_an_error_keeps_the_text_and_says_what_happened(page: Page) -> None:
    page.stream(TextDeltaEvent(0, "The three"))
    final = page.message.model_copy(
        update={
            "content": [TextContent(text="The three")],
            "stop_reason": "error",
            "error_message": "overloaded",
        }
    )
    assert page.apply(MessageEndEvent(final)) == ["The three", "", "✗ overloaded"]


def test_a_broken_sample_leaves_when_it_is_tried_again(page: Page) -> None:
    page.apply(MessageStartEvent(prompt("question")))
    page.apply(MessageStartEvent(page.message))
    page.stream(TextDeltaEvent(0, "half an"))
    rows = page.apply(RetryEvent(2, 1.5, "overloaded", strikes=page.message.id))
    assert rows == ["❯ question", "", "! overloaded; trying again in 2 s (try 3)"]


def test_a_call_that_comes_again_after_a_retry_is_shown(page: Page) -> None:
    page.stream(ToolCallStartEvent(0, begun(call("read", path="a"))))
    page.apply(RetryEvent(2, 1.5, "overloaded", strikes=page.message.id))
    again = AssistantMessage()
    page.message = again
    page.apply(MessageStartEvent(again))
    rows = page.stream(ToolCallEndEvent(0, call("read", path="a")))
    assert rows[-1] == "● read  a"


def test_a_shape_that_nobody_expected_costs_its_own_block_only(page: Page) -> None:
    odd = result("c1", "edit", "x", details={"diff": "d", "count": object()})
    odd.content = [object()]  # type: ignore[list-item]
    page.modes.tools_open = True
    rows = page.apply(
        ToolExecutionStartEvent("c1", "edit", {"edits": "none", "path": 7}),
        ToolExecutionEndEvent("c1", "edit", odd, False, 1),
        NoticeEvent("info", "on it goes"),
    )
    assert rows[-1] == "· on it goes"


def test_an_answer_that_did_not_stream_is_shown_once() -> None:
    page = Page()
    message = stored_answer("whole answer")
    assert page.apply(MessageStartEvent(message), MessageEndEvent(message)) == ["whole answer"]


def test_text_that_came_only_with_its_end_is_shown(page: Page) -> None:
    assert page.stream(TextEndEvent(0, TextContent(text="at once"))) == ["at once"]
    page.stream(TextDeltaEvent(1, "some"))
    assert page.stream(TextEndEvent(1, TextContent(text="some more")))[-1] == "some more"


def test_unknown_events_are_ignored(page: Page) -> None:
    class Weather:
        type = "weather_report"

    assert page.apply(Weather()) == []


# --- stored histories -----------------------------------------------------------------


def test_a_stored_history_looks_as_it_did_live() -> None:
    shell = call(command="ls")
    rows = Page().load(
        prompt("look around"),
        AssistantMessage(
            content=[ThinkingContent(thinking="hm", signature="s"), TextContent(text="**Yes.**"),
                     shell],
            stop_reason="tool_use",
        ),
        result("c1", "shell", "a\nb\nc"),
        stored_answer("done"),
    )  # fmt: skip
    assert rows == [
        "❯ look around", "", "▸ thought", "Yes.", "", "✓ shell  ls   3 lines", "", "done",
    ]  # fmt: skip


def test_a_stored_delivery_shows_where_it_landed() -> None:
    rows = Page().load(
        UserMessage(content="hurry", queue_item_id="q"),
        deliveries={"q": ("follow_up", "turn 2")},
    )
    assert rows[0].startswith("⧗ hurry") and rows[0].endswith("turn 2")


def test_a_stored_call_without_result_may_have_run() -> None:
    """As after a kill while it ran: nothing says whether it did."""
    rows = Page().load(AssistantMessage(content=[call(command="ls")], stop_reason="tool_use"))
    assert rows == ["⊘ shell  ls   no result"]


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_a_stored_call_of_an_answer_that_broke_off_did_not_run(reason: str) -> None:
    rows = Page().load(AssistantMessage(content=[call(command="ls")], stop_reason=reason))
    assert rows[0] == "⊘ shell  ls   not run"


def test_other_messages_have_their_form() -> None:
    rows = Page(width=40).load(
        BashExecutionMessage(command="make", output="ok\n", exit_code=2),
        CompactionSummaryMessage(summary="what was said"),
        CustomMessage(kind="review", content="please"),
        UnknownMessage(role="hologram"),
    )
    assert rows == [
        "! make   exit 2",
        "    ok",
        "",
        "── ▸ earlier turns were compacted ──────",
        "",
        "❯ please" + " " * 26 + "review",
        "",
        "· a message of a kind unknown here:",
        "  hologram",
    ]


# --- foreign text ---------------------------------------------------------------------

EVIL = "\x1b]52;c;UFdO\x07\x1b[2J\x9b31m\x00\u202e[/x] [/]"


def test_no_sequence_of_anyone_reaches_a_row() -> None:
    page = Page()
    page.modes.tools_open = True
    page.modes.thinking = "open"
    evil_call = ToolCall(id="c1", name=EVIL, arguments={EVIL: EVIL, "command": EVIL})
    page.apply(
        NoticeEvent("error", EVIL),
        QueueDeliveredEvent("q", "steer", EVIL, EVIL),
        MessageStartEvent(UserMessage(content=EVIL, queue_item_id="q")),
        MessageStartEvent(page.message),
    )
    page.stream(
        ThinkingDeltaEvent(0, EVIL),
        TextDeltaEvent(1, EVIL + "\n```py\n" + EVIL + "\n```\n"),
        ToolCallStartEvent(2, ToolCall(id="c1", name=EVIL, complete=False)),
        ToolCallDeltaEvent(2, "", [(EVIL, EVIL), ("command", EVIL)]),
    )
    assert_clean(page.rows())
    page.stream(ToolCallEndEvent(2, evil_call))
    page.apply(
        PermissionRequestEvent("r", "c1", EVIL, evil_call.arguments),
        PermissionResolvedEvent("r", "c1", "allow"),
        ToolExecutionStartEvent("c1", EVIL, evil_call.arguments),
        ToolExecutionUpdateEvent("c1", EVIL, EVIL),
        ToolExecutionUpdateEvent("c1", EVIL, {"progress": 1, "total": 2, "message": EVIL}),
    )
    assert_clean(page.rows())
    page.apply(
        ToolExecutionEndEvent("c1", EVIL, result("c1", EVIL, EVIL, is_error=True), True, 1),
        RetryEvent(1, 1.0, EVIL),
    )
    page.load(
        AssistantMessage(
            content=[OpaqueContent(raw={"type": EVIL, "name": EVIL, "input": {EVIL: EVIL}})],
            stop_reason=EVIL,
            error_message=EVIL,
        ),
        BashExecutionMessage(command=EVIL, output=EVIL),
        CompactionSummaryMessage(summary=EVIL),
        CustomMessage(kind=EVIL, content=EVIL),
        UnknownMessage(role=EVIL),
    )
    assert_clean(page.rows())
    assert any("[/x] [/]" in row for row in page.rows())


def assert_clean(rows: list[str]) -> None:
    for row in rows:
        bad = [c for c in row if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]
        assert not bad, row
