"""Pictures of a program and its container: paused, ended, narrow, light, in ASCII.
`pytest --snapshot-update` renews them; look before you do."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.agent.events import (
    AgentEndEvent,
    ContainerEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
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
    ToolResultMessage,
    UserMessage,
)
from agent_tui.conversation.events import ContainerChangedEvent, ProgramRun
from agent_tui.tui.app import AgentTuiApp
from agent_tui.tui.panels.container_panel import ContainerPanel
from tests.tui.conftest import FakeClock
from tests.tui.fake_conversation import FakeConversation

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC).timestamp()
CODE = """\
rows = await asyncio.gather(
    query_db(sql=SALES, year=2025),
    query_db(sql=SALES, year=2026))
for r in regions(rows):
    await geocode(r)
print(summary(rows))
"""
CALLER = {"type": "code_execution_20260120", "tool_id": "srv1"}
RAW = {"type": "server_tool_use", "id": "srv1", "name": "code_execution", "input": {}}
OUTPUT = "North  1.2 M\nSouth  0.9 M\nEast   0.4 M\n"


class Scene:
    """What a conversation sends while a program of SCREEN, picture 2, runs."""

    def __init__(self, conv: FakeConversation) -> None:
        self._conv = conv
        self._emit = conv.emit

    def prompt(self) -> None:
        question = UserMessage(content="where do we sell best, by region?")
        self._conv.set_status("tools")
        self._emit(MessageStartEvent(question))
        self._emit(MessageEndEvent(question))
        self._emit(MessageStartEvent(AssistantMessage(id="m")))
        text = "I'll sum up the sales in a program."
        self._stream(TextStartEvent(0))
        self._stream(TextDeltaEvent(0, text))
        self._stream(TextEndEvent(0, TextContent(text=text)))

    def write(self) -> None:
        self._stream(OpaqueEvent(1, "start", OpaqueContent(raw=RAW, complete=False)))
        for at in range(0, len(CODE), 9):
            self._stream(OpaqueEvent(1, "delta", partial=[("code", CODE[at : at + 9])]))
        self._stream(OpaqueEvent(1, "end", OpaqueContent(raw={**RAW, "input": {"code": CODE}})))
        self._stream(ContainerEvent(Container(id="container_01abcXyz789")))

    def geocode(self, failing: int = -1) -> None:
        for number in range(20):
            self._begin(f"g{number}", "geocode", place=f"Region {number}")
            error = "no such place: Region 7" if number == failing else ""
            self.end(f"g{number}", "geocode", 95, error)

    def query(self) -> None:
        for year in (2025, 2026):
            sql = "SELECT region, sum(amount) FROM sales GROUP BY region"
            self._begin(f"q{year}", "query_db", year=year, sql=sql)
        self._emit(MessageEndEvent(AssistantMessage(id="m", stop_reason="tool_use")))

    def output(self) -> None:
        content = {"type": "code_execution_result", "stdout": OUTPUT, "stderr": "",
                   "return_code": 0,
                   "content": [{"type": "code_execution_output", "file_id": "f1"}]}  # fmt: skip
        raw = {"type": "code_execution_tool_result", "tool_use_id": "srv1", "content": content}
        text = "The **north** sells best: 1.2 M."
        self._emit(MessageStartEvent(AssistantMessage(id="n")))
        for event in (
            OpaqueEvent(0, "end", OpaqueContent(raw=raw)),
            TextStartEvent(1),
            TextDeltaEvent(1, text),
            TextEndEvent(1, TextContent(text=text)),
        ):
            self._emit(MessageUpdateEvent("n", event))
        end = AssistantMessage(id="n", content=[OpaqueContent(raw=raw), TextContent(text=text)])
        self._emit(MessageEndEvent(end))
        self._emit(AgentEndEvent([]))
        self._conv.set_status("ready")

    def container(self, state: Any, **more: Any) -> None:
        first = ProgramRun("p0", 0, "done", NOW - 90, 4.2, False, 0)
        known = {
            "pending": 0, "reused": 3, "programs": 2, "calls": 22,
            "files": [{"file_id": "f0", "name": "sales.csv", "size": 18_000},
                      {"file_id": "f1", "name": "chart.png", "size": 44_100}],
            "runs": [first, ProgramRun("srv1", 1, "running", NOW - 8, calls=22)],
            "kept_out_tokens_estimate": 48_200, "round_trips_saved": 19,
        }  # fmt: skip
        self._emit(
            ContainerChangedEvent(
                "container_01abcXyz789", state, "2026-12-01T10:27:41Z", **known | more
            )
        )

    def end(self, id: str, name: str, ms: int, error: str = "") -> None:
        content = [TextContent(text=error or "52.5, 13.4")]
        result = ToolResultMessage(
            tool_call_id=id, tool_name=name, content=content, is_error=bool(error)
        )
        self._emit(ToolExecutionEndEvent(id, name, result, bool(error), ms, CALLER))

    def _begin(self, id: str, name: str, **arguments: Any) -> None:
        call = ToolCall(id=id, name=name, arguments=arguments, caller=CALLER)
        self._stream(ToolCallEndEvent(2, call))
        self._emit(ToolExecutionStartEvent(id, name, arguments, CALLER))

    def _stream(self, event: Any) -> None:
        self._emit(MessageUpdateEvent("m", event))


@pytest.fixture
def look(snap_compare: Any, monkeypatch: pytest.MonkeyPatch):
    """look(size, play, theme, ascii): play(scene, clock, settle) makes what is on the screen."""
    monkeypatch.setenv("TERM", "xterm-256color")

    def compare(
        size: tuple[int, int], play: Any, *, theme: str = "dark", ascii: bool = False,
        panel: bool = True,
    ) -> bool:  # fmt: skip
        if ascii:
            monkeypatch.setenv("NO_COLOR", "1")
        else:
            monkeypatch.delenv("NO_COLOR", raising=False)
        conv, clock = FakeConversation(), FakeClock()

        async def starter(asker: Any) -> Any:
            return conv

        app = AgentTuiApp(settings=SimpleNamespace(theme=theme), starter=starter, clock=clock)

        async def run_before(pilot: Any) -> None:
            async def settle() -> None:
                await pilot.pause(0.05)
                for _ in range(200):
                    if app.transcript.quiet:
                        break
                    await pilot.pause(0.01)

            for _ in range(200):
                if app.desk.conversation is not None:
                    break
                await pilot.pause(0.01)
            app.query_one(ContainerPanel)._clock = lambda: NOW
            if panel:
                await pilot.press("f6")
            await play(Scene(conv), clock, settle, pilot)
            await settle()
            app.transcript._tick()
            app.view.tick()
            await pilot.pause(0.1)

        return snap_compare(app, terminal_size=size, run_before=run_before)

    return compare


async def paused(scene: Scene, clock: FakeClock, settle: Any, pilot: Any) -> None:
    """SCREEN, picture 2: two calls at once wait, a loop is through, a steer is held."""
    scene.prompt()
    scene.write()
    scene.geocode()
    scene.query()
    await settle()
    clock.pass_(2.1)
    scene.container("paused", pending=2, answer_due_at=NOW + 232)
    scene._conv.queue_item("steer", "only Europe please", "held: a program is paused (2 calls)")


async def a_call_failed(scene: Scene, clock: FakeClock, settle: Any, pilot: Any) -> None:
    scene.prompt()
    scene.write()
    scene.geocode(failing=7)
    scene.query()
    await settle()
    clock.pass_(2.1)
    scene.end("q2025", "query_db", 2100)
    scene.container("paused", pending=1, answer_due_at=NOW + 42, failed=1)


async def ended(scene: Scene, clock: FakeClock, settle: Any, pilot: Any) -> None:
    await paused(scene, clock, settle, pilot)
    scene._conv.entries.clear()
    scene._conv.queue_changed()
    scene.end("q2025", "query_db", 2100)
    scene.end("q2026", "query_db", 3000)
    clock.pass_(1.5)
    scene.output()
    runs = [
        ProgramRun("p0", 0, "done", NOW - 90, 4.2, False, 0),
        ProgramRun("srv1", 1, "done", NOW - 8, 5.1, False, 0, None, 22, 0),
    ]
    scene.container("idle", runs=runs, last_output=OUTPUT, round_trips_saved=21)
    await settle()


async def opened(scene: Scene, clock: FakeClock, settle: Any, pilot: Any) -> None:
    await ended(scene, clock, settle, pilot)
    await pilot.click("#transcript", offset=(4, 4))
    await settle()


def test_a_paused_program(look: Any) -> None:
    assert look((120, 26), paused)


def test_an_ended_program_is_one_line(look: Any) -> None:
    assert look((120, 26), ended)


def test_an_ended_program_that_is_opened(look: Any) -> None:
    assert look((120, 30), opened)


def test_a_failed_call_in_the_light(look: Any) -> None:
    assert look((120, 26), a_call_failed, theme="light")


def test_a_paused_program_on_a_narrow_screen(look: Any) -> None:
    assert look((60, 24), paused, panel=False)


def test_a_paused_program_in_ascii(look: Any) -> None:
    assert look((120, 26), paused, ascii=True)


def test_its_calls_in_the_tools_panel(look: Any) -> None:
    assert look((120, 26), a_call_failed, panel=False)
