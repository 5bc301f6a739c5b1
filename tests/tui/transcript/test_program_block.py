"""Programs in the transcript: code that streams, marks, the tree of calls, the output."""

import re
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.events import (
    AgentEndEvent,
    ContainerEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    ToolCallEndEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    Container,
    OpaqueContent,
    TextContent,
    ToolCall,
)
from agent_tui.agent.tool_calls import STOPPED_UNSTARTED
from agent_tui.conversation.events import (
    ContainerChangedEvent,
    PermissionRequestEvent,
    PermissionResolvedEvent,
    RetryEvent,
)
from agent_tui.tui.transcript.code import highlighter
from agent_tui.tui.transcript.program_block import ProgramBlock
from agent_tui.tui.transcript.program_code import ProgramCode

from .harness import result
from .test_feed import Page

CODE = """\
rows = await asyncio.gather(
    query_db(sql=SALES, year=2025),
    query_db(sql=SALES, year=2026))
for r in regions(rows):
    await geocode(r)
print(summary(rows))
"""
RAW = {"type": "server_tool_use", "id": "srv1", "name": "code_execution", "input": {}}
CALLER = {"type": "code_execution_20260120", "tool_id": "srv1"}


class Program(Page):
    """A page on which a program is written, called and answered."""

    def write(self, code: str = CODE, id: str = "srv1", size: int = 7) -> list[str]:
        raw = {**RAW, "id": id}
        self.stream(OpaqueEvent(0, "start", OpaqueContent(raw=raw, complete=False)))
        for at in range(0, len(code), size):
            self.stream(OpaqueEvent(0, "delta", partial=[("code", code[at : at + size])]))
        whole = {**raw, "input": {"code": code}}
        return self.stream(OpaqueEvent(0, "end", OpaqueContent(raw=whole)))

    def call(self, id: str, name: str = "geocode", **arguments: Any) -> list[str]:
        call = ToolCall(id=id, name=name, arguments=arguments, caller=CALLER)
        return self.stream(ToolCallEndEvent(1, call))

    def start(self, id: str, name: str = "geocode", **arguments: Any) -> list[str]:
        self.call(id, name, **arguments)
        return self.apply(ToolExecutionStartEvent(id, name, arguments, CALLER))

    def end(
        self, id: str, name: str = "geocode", ms: int = 100, error: str = ""
    ) -> list[str]:  # fmt: skip
        made = result(id, name, error or "ok", is_error=bool(error))
        return self.apply(ToolExecutionEndEvent(id, name, made, bool(error), ms, CALLER))

    def answer(self, stdout: str = "42\n", id: str = "srv1", **more: Any) -> list[str]:
        content = {"type": "code_execution_result", "stdout": stdout, "return_code": 0} | more
        raw = {"type": "code_execution_tool_result", "tool_use_id": id, "content": content}
        return self.stream(OpaqueEvent(9, "end", OpaqueContent(raw=raw)))

    def open(self) -> list[str]:
        """As a click on the program's line does."""
        for block in self.layout.blocks:
            if isinstance(block, ProgramBlock):
                block.expanded = True
                for changed in (block, *block.dependents()):
                    changed.make(self.modes)
                    self.layout.changed(changed)
        return self.rows()


@pytest.fixture
def program() -> Program:
    page = Program()
    page.apply(MessageStartEvent(page.message))
    return page


# --- the code -----------------------------------------------------------------------------


def test_code_has_numbers_while_it_streams(program: Program) -> None:
    program.stream(OpaqueEvent(0, "start", OpaqueContent(raw=RAW, complete=False)))
    rows = program.stream(OpaqueEvent(0, "delta", partial=[("code", "x = 1\nprint(")]))
    assert rows[0].startswith("▾ ▣ program 1") and rows[0].endswith("being written")
    assert rows[1:] == ["     1  x = 1", "     2  print("]
    rows = program.stream(OpaqueEvent(0, "delta", partial=[("code", "x)\n")]))
    assert rows[1:] == ["     1  x = 1", "     2  print(x)"]


def test_what_streamed_stays_where_it_is(program: Program) -> None:
    code = "".join(f"line_{n} = {n}\n" for n in range(200))
    before: list[str] = []
    program.stream(OpaqueEvent(0, "start", OpaqueContent(raw=RAW, complete=False)))
    for at in range(0, len(code), 97):
        rows = program.stream(OpaqueEvent(0, "delta", partial=[("code", code[at : at + 97])]))
        assert rows[1 : len(before)] == before[1:], "what stands above does not move"
        before = rows[:-1]
    assert before[-1] == "    99  line_98 = 98" or len(before) > 99
    whole = {**RAW, "input": {"code": code}}
    rows = program.stream(OpaqueEvent(0, "end", OpaqueContent(raw=whole)))
    assert len(rows) == 201 and rows[200] == "    200  line_199 = 199"


def test_a_delta_costs_what_it_brings() -> None:
    """The parts that are full are never made or laid out again."""
    page = Program()
    page.apply(MessageStartEvent(page.message))
    page.stream(OpaqueEvent(0, "start", OpaqueContent(raw=RAW, complete=False)))
    page.stream(OpaqueEvent(0, "delta", partial=[("code", "a = 1\n" * 500)]))
    block = page.layout.blocks[0]
    full = block.parts[1:-1]
    laid_out = [part.lines for part in full]
    assert len(full) == 7 and all(laid_out)
    page.stream(OpaqueEvent(0, "delta", partial=[("code", "b = 2\n")]))
    assert block.parts[1:-1] == full
    assert [part.lines for part in full] == laid_out
    assert all(a is b for a, b in zip([p.lines for p in full], laid_out, strict=True))


def test_the_final_code_wins_over_what_streamed(program: Program) -> None:
    program.stream(OpaqueEvent(0, "start", OpaqueContent(raw=RAW, complete=False)))
    program.stream(OpaqueEvent(0, "delta", partial=[("code", "half")]))
    whole = {**RAW, "input": {"code": "other = 1\nend\n\n"}}
    rows = program.stream(OpaqueEvent(0, "end", OpaqueContent(raw=whole)))
    assert rows[1:] == ["     1  other = 1", "     2  end"]


@given(st.text(alphabet="ab \n\t\r\x1b\u202e😀", max_size=120), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_code_streams_to_what_it_is_whole(code: str, size: int) -> None:
    streamed, whole = ProgramCode("python"), ProgramCode("python")
    for at in range(0, len(code), size):
        streamed.feed(code[at : at + size])
    streamed.finish(code)
    whole.finish(code)
    assert streamed.lines == whole.lines and streamed.starts == whole.starts
    assert not {"\x1b", "\u202e", "\r"} & set("".join(streamed.lines))


def test_a_line_longer_than_a_part_is_one_numbered_line(program: Program) -> None:
    rows = program.write("x = '" + "a" * 9000 + "'\ny = 2\n", size=500)
    numbers = [row[:7].strip() for row in rows[1:] if row[:7].strip()]
    assert numbers == ["1", "2"]
    assert rows[-1] == "     2  y = 2"


# --- calls and their lines ------------------------------------------------------------------


def test_the_line_that_made_a_call_is_marked(program: Program) -> None:
    program.write()
    program.start("q1", "query_db", sql="s", year=2025)
    rows = program.start("q2", "query_db", sql="s", year=2026)
    assert rows[0].endswith("paused for 2")
    assert rows[2].startswith("  ●  2      query_db(sql=SALES, year=2025),")
    assert rows[3].startswith("  ●  3      query_db")
    rows = program.end("q1", "query_db")
    assert rows[2].startswith("  ✓  2") and rows[3].startswith("  ●  3")
    rows = program.end("q2", "query_db", error="no such table")
    assert rows[3].startswith("  ✗  3")
    assert rows[0].split()[-3:] == ["running", "0", "s"]


def test_a_loop_is_one_mark_with_its_sum(program: Program) -> None:
    program.write()
    for number in range(20):
        program.start(f"g{number}", place=f"p{number}")
        rows = program.end(f"g{number}", ms=95, error="no" if number == 3 else "")
    assert rows[5].startswith("  ✗  5      await geocode(r)")
    assert rows[5].endswith("20 calls, 1 failed  1.9 s")


def test_calls_at_once_take_the_time_of_the_longest(program: Program) -> None:
    program.write("await gather(*[geocode(r) for r in rows])\n")
    for number in range(4):
        program.start(f"g{number}")
    for number in range(4):
        rows = program.end(f"g{number}", ms=1000 + 100 * number)
    assert rows[1].endswith("4 calls  1.3 s")


def test_an_ambiguous_line_is_left_unmarked(program: Program) -> None:
    program.write("geocode(a)\ngeocode(b)\n")
    rows = program.start("g1", place="x")
    assert rows[1:3] == ["     1  geocode(a)", "     2  geocode(b)"]


def test_a_call_that_asks_says_so(program: Program) -> None:
    program.write()
    program.call("g1", place="x")
    program.apply(ToolExecutionStartEvent("g1", "geocode", {"place": "x"}, CALLER))
    rows = program.apply(PermissionRequestEvent("r", "g1", "geocode", {"place": "x"}, CALLER))
    assert rows[0].endswith("waiting for you")
    assert rows[5].startswith("  ⏸  5")
    tree = next(row for row in rows if "└─" in row)
    assert "⏸ geocode" in tree and tree.endswith("waiting for you")
    rows = program.apply(PermissionResolvedEvent("r", "g1", "allow"))
    assert rows[5].startswith("  ●  5") and rows[0].endswith("paused for 1")


def tree_of(rows: list[str]) -> list[tuple[str, str, str]]:
    """What stands left of the bar, the bar, the time; of the rows below CODE."""
    found = [re.fullmatch(r" *(.*?) *(▕.*▏) *(.*)", row) for row in rows[7:]]
    return [(match[1], match[2], match[3]) for match in found if match]


def test_the_line_of_a_call_is_told_to_who_asks(program: Program) -> None:
    program.write()
    lines = program.feed.line_of_call
    assert lines(CALLER, "geocode", {"place": "x"}) == 5
    assert lines(CALLER, "query_db", {"sql": "s", "year": 2026}) == 3
    assert lines(CALLER, "query_db", {"sql": "s"}) is None
    assert lines({"type": "direct"}, "geocode", {}) is None
    assert lines(None, "geocode", {}) is None


def test_code_too_long_to_be_read_at_once_is_read_in_a_thread(program: Program) -> None:
    program.write("x = 1\n" * 2000 + "geocode(1)\n", size=4000)
    program.start("g0")
    submitted = threading.Event()
    highlighter.submit(submitted.set)
    assert submitted.wait(20)
    program.start("g1")
    assert program.layout.blocks[0].calls.lines[2001].total == 2


# --- the tree -------------------------------------------------------------------------------


def test_calls_stand_below_the_code_with_bars_of_their_times(program: Program) -> None:
    program.write()
    program.start("q1", "query_db", sql="s", year=2025)
    program.start("q2", "query_db", sql="s", year=2026)
    program.clock.now += 1.0
    program.end("q1", "query_db", ms=1000)
    rows = program.end("q2", "query_db", ms=500)
    assert tree_of(rows) == [
        ("├─ ✓ query_db  sql=s, year=2025", "▕████████████▏", "1.0 s"),
        ("└─ ✓ query_db  sql=s, year=2026", "▕██████      ▏", "0.5 s"),
    ]
    program.start("g1", place="x")
    rows = program.end("g1", ms=900)
    assert tree_of(rows) == [
        ("├─ ✓ query_db  sql=s, year=2025", "▕██████      ▏", "1.0 s"),
        ("├─ ✓ query_db  sql=s, year=2026", "▕███         ▏", "0.5 s"),
        ("└─ ✓ geocode  place=x", "▕      █████ ▏", "0.9 s"),
    ], "a bar that would end behind the edge makes all of them stand for more"


def test_a_bar_that_runs_past_its_end_changes_the_others_with_time(program: Program) -> None:
    program.write()
    program.start("q1", "query_db", sql="s", year=2025)
    program.start("q2", "query_db", sql="s", year=2026)
    rows = program.end("q1", "query_db", ms=500)
    block = program.layout.blocks[0]
    assert tree_of(rows)[0][1] == "▕██████      ▏" and list(block.ticked()) == []
    program.clock.now += 3.0
    for live in program.feed.live:  # as a tick does
        live.parts[0].touch()
    program.rows()
    for other in block.ticked():
        other.parts[0].touch()
    assert [row[1] for row in tree_of(program.rows())] == ["▕█           ▏", "▕███████     ▏"]
    assert list(block.ticked()) == []


def test_many_calls_that_went_well_are_one_line_that_opens(program: Program) -> None:
    program.write()
    for number in range(12):
        program.start(f"g{number}", place=f"p{number}")
        program.end(f"g{number}", ms=100, error="no such place" if number == 5 else "")
    program.start("q1", "query_db", sql="s", year=2025)
    rows = program.end("q1", "query_db", ms=100)
    rows = program.start("last", place="end")
    tree = [row.strip() for row in rows[7:]]
    assert tree[0].startswith("├─ ▸ ✓ 11 geocode, 1 query_db")
    assert "✗ geocode  place=p5   no such place" in tree[1]
    assert tree[2].startswith("└─ ● geocode  place=end")
    assert len(tree) == 3
    group = program.layout.blocks[1]
    group.expanded = True
    for changed in (group, *group.dependents()):
        changed.make(program.modes)
        program.layout.changed(changed)
    tree = [row.strip() for row in program.rows()[7:]]
    assert len(tree) == 15 and tree[0].startswith("├─ ▾ ✓ 11 geocode")


def test_the_last_line_ends_the_tree(program: Program) -> None:
    program.write()
    for number in range(10):
        rows = program.start(f"g{number}")
    assert [row.strip()[:2] for row in rows[7:]] == ["├─"] * 9 + ["└─"]
    for number in reversed(range(1, 10)):
        rows = program.end(f"g{number}")
        tree = [row.strip()[:2] for row in rows[7:]]
        assert tree == ["├─"] * (len(tree) - 1) + ["└─"]
    rows = program.end("g0")
    assert [row.strip()[:2] for row in rows[7:]] == ["└─"], "only the sum is left"


def test_a_call_that_is_opened_shows_its_result_beside_the_stem(program: Program) -> None:
    program.write()
    for id, year in (("q1", 2025), ("q2", 2026)):
        program.start(id, "query_db", sql="s", year=year)
        program.end(id, "query_db")
    for block in program.layout.blocks[2:]:
        block.expanded = True
        block.make(program.modes)
        program.layout.changed(block)
    rows = program.rows()[7:]
    assert rows[1:4] == ["   │     sql   s", "   │     year  2025", "   │     ok"]
    assert rows[5:] == ["         sql   s", "         year  2026", "         ok"]


# --- the end --------------------------------------------------------------------------------


def test_an_ended_program_folds_and_opens_with_its_output(program: Program) -> None:
    program.write()
    program.start("g1", place="x")
    program.end("g1")
    program.clock.now += 4.2
    rows = program.answer("North  1.2M\nSouth  0.9M\n")
    assert len(rows) == 1
    assert rows[0].startswith("✓ ▣ program 1  6 lines, 1 call   North  1.2M")
    assert rows[0].endswith("4.2 s")
    rows = program.open()
    assert rows[7].strip().startswith("└─ ✓ geocode")
    assert rows[8:] == ["   North  1.2M", "   South  0.9M"]


@pytest.mark.parametrize(
    ("content", "status", "below"),
    [
        ({"return_code": 3, "stderr": "boom"}, "exit 3", ["boom"]),
        (
            {"type": "code_execution_tool_result_error", "error_code": "container_expired"},
            "container expired",
            ["it ended with the error container expired"],
        ),
    ],
)
def test_a_failed_program_says_how(
    program: Program, content: dict[str, Any], status: str, below: list[str]
) -> None:
    program.write("x\n")
    rows = program.answer("", **content)
    assert rows[0].startswith("✗ ▣ program 1") and rows[0].endswith(status)
    assert [row.strip() for row in program.open()[2:]] == below


def test_encrypted_output_is_said_to_be_so(program: Program) -> None:
    program.write("x\n")
    program.answer("", type="encrypted_code_execution_result", encrypted_stdout="Eo8B")
    assert program.open()[2:] == ["   its output is encrypted: only the model reads it"]


def test_files_are_named_when_their_names_are_known(program: Program) -> None:
    program.write("x\n")
    program.answer("", content=[{"type": "code_execution_output", "file_id": "file_1"}])
    assert program.open()[2:] == ["   made file_1"]
    files = [{"file_id": "file_1", "name": "chart\x1b.png", "size": 44_000}]
    rows = program.apply(ContainerChangedEvent("c", "idle", files=files))
    assert rows[2:] == ["   made chart␛.png 44 kB"]


def test_a_stopped_run_leaves_nothing_going_on(program: Program) -> None:
    program.write()
    program.start("g1", place="x")
    program.call("g2", place="y")
    rows = program.apply(AgentEndEvent([]))
    assert rows[0].startswith("⊘ ▣ program 1") and rows[0].endswith("stopped")
    assert len(rows) == 1, "it folds"
    rows = program.open()
    assert rows[5].startswith("  ⊘  5")


def test_a_struck_sample_takes_its_program_with_it(program: Program) -> None:
    program.write()
    program.start("g1", place="x")
    rows = program.apply(RetryEvent(1, 1.0, "overloaded", strikes=program.message.id))
    assert rows == ["! overloaded; trying again in 1 s (try 2)"]
    program.message = AssistantMessage()
    program.apply(MessageStartEvent(program.message))
    rows = program.write()
    assert rows[2].startswith("▾ ▣ program 1"), "its number is free again"


def test_a_struck_continuation_takes_back_its_calls_only(program: Program) -> None:
    program.write()
    program.start("g1", place="x")
    program.end("g1")
    program.message = AssistantMessage()
    program.apply(MessageStartEvent(program.message))
    program.call("g2", place="y")
    rows = program.apply(RetryEvent(1, 1.0, "cut", strikes=program.message.id))
    assert rows[5].startswith("  ✓  5")
    assert sum("geocode  place" in row for row in rows) == 1


# --- where and which --------------------------------------------------------------------------


def test_programs_are_numbered_and_say_their_container(program: Program) -> None:
    program.write("x\n")
    rows = program.stream(ContainerEvent(Container(id="container_01yz789")))
    assert "in container …yz789" in rows[0]
    program.answer()
    program.message = AssistantMessage()
    program.apply(MessageStartEvent(program.message))
    rows = program.write("y\n", id="srv2")
    assert any("program 2" in row for row in rows)


def stored() -> list[Any]:
    call = ToolCall(id="g1", name="geocode", arguments={"place": "x"}, caller=CALLER)
    raw = {**RAW, "input": {"code": CODE}}
    content = {"type": "code_execution_result", "stdout": "42\n", "return_code": 0}
    answer = {"type": "code_execution_tool_result", "tool_use_id": "srv1", "content": content}
    container = Container(id="container_01yz789")
    return [
        AssistantMessage(content=[OpaqueContent(raw=raw), call], container=container),
        result("g1", "geocode", "ok"),
        AssistantMessage(content=[OpaqueContent(raw=answer), TextContent(text="Done.")]),
    ]


def test_a_stored_program_looks_the_same() -> None:
    page = Program()
    rows = page.load(*stored())
    assert rows == ["✓ ▣ program 1  6 lines, 1 call   42", "", "Done."]
    rows = page.open()
    assert "in container …yz789" in rows[0]
    assert rows[5].startswith("  ✓  5")
    assert rows[7:9] == ["   └─ ✓ geocode  place=x", "   42"]


def test_of_calls_whose_begin_was_not_seen_no_sum_of_times_is_told(program: Program) -> None:
    """They ran at once, for all that is known: one after the other they would take 2 s."""
    program.write("await gather(*[geocode(n) for n in rows])\n")
    for n in range(20):
        program.call(f"g{n}", n=n)
    for n in range(20):
        program.end(f"g{n}", ms=100)
    rows = program.open()
    assert next(row for row in rows if "gather" in row).endswith("20 calls")
    assert next(row for row in rows if "20 geocode" in row).endswith("20 geocode")


def test_a_message_that_comes_whole_is_shown_as_one(program: Program) -> None:
    for message in stored():
        program.apply(MessageStartEvent(message), MessageEndEvent(message))
    rows = program.rows()
    assert rows[0].startswith("✓ ▣ program 1  6 lines, 1 call   42")


def test_calls_of_an_unknown_program_are_shown_all_the_same(program: Program) -> None:
    rows = program.start("g1", place="x")
    assert "geocode" in rows[0]
    stopped = result("g1", "geocode", STOPPED_UNSTARTED["stopped"], is_error=True)
    rows = program.apply(ToolExecutionEndEvent("g1", "geocode", stopped, True, 0, CALLER))
    assert "not run" in rows[0]


@pytest.mark.parametrize("width", [12, 30, 44, 60, 120])
def test_any_width_holds_it(width: int) -> None:
    page = Program(width)
    page.apply(MessageStartEvent(page.message))
    page.write()
    for number in range(12):
        page.start(f"g{number}", place="a place with a long name " * 3)
        page.end(f"g{number}", ms=95)
    page.start("last", place="end")
    for row in page.rows():
        assert len(row) <= width


def test_foreign_code_and_output_are_shown_safe(program: Program) -> None:
    program.write("x = '\x1b]2;t\x07'\n\u202e\n")
    program.start("g1", "geo\x1bcode", pl="\x1b[31m[/]")
    program.end("g1", "geo\x1bcode")
    program.answer("[/bold]\x1b]52;c;x\x07", stderr="\x9b31m")
    program.open()
    shown = "\n".join(program.rows())
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    assert "[/bold]" in shown


def test_copying_gives_the_code_without_its_gutter(program: Program) -> None:
    program.write()
    program.start("g1", place="x")
    lines = program.lines()[1:7]
    assert "\n".join(line.copied() for line in lines) == CODE.rstrip("\n")


def test_the_update_of_a_call_reaches_only_its_own_rows(program: Program) -> None:
    """A call of a program of many lines lays out its line's part, not the others."""
    program.write("".join(f"x{n} = {n}\n" for n in range(300)) + "geocode(1)\n", size=400)
    program.rows()
    block = program.layout.blocks[0]
    others = [part.lines for part in block.parts[1:-1]]
    program.message = AssistantMessage()
    program.apply(MessageStartEvent(program.message))
    program.apply(
        MessageUpdateEvent(
            program.message.id,
            ToolCallEndEvent(0, ToolCall(id="g1", name="geocode", caller=CALLER)),
        )
    )
    program.apply(ToolExecutionStartEvent("g1", "geocode", {}, CALLER))
    assert all(part.lines is lines for part, lines in zip(block.parts[1:-1], others, strict=True))
