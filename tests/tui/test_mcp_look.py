"""Pictures of MCP servers: the panel with each state, and a form that is being filled."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.tui.app import AgentTuiApp
from tests.test_forms import SCHEMA
from tests.tui.conftest import FakeClock
from tests.tui.fake_conversation import FakeConversation
from tests.tui.test_mcp_panel import ALL


@pytest.mark.parametrize("ascii_only", [False, True], ids=["unicode", "ascii"])
def test_the_panel_and_a_form(
    snap_compare: Any, monkeypatch: pytest.MonkeyPatch, ascii_only: bool
) -> None:
    monkeypatch.setenv("TERM", "dumb" if ascii_only else "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    conv = FakeConversation()
    conv.mcp.known = {server.name: server for server in ALL}

    async def starter(asker: Any) -> Any:
        return conv

    app = AgentTuiApp(settings=SimpleNamespace(theme="dark"), starter=starter, clock=FakeClock())

    async def run_before(pilot: Any) -> None:
        while app.desk.conversation is None:
            await pilot.pause()
        app.panel.show_panel("mcp")
        conv.question("form", message="Who comes to feed the animals?", schema=SCHEMA)
        await pilot.pause(0.2)
        await pilot.press("f4", "A", "n", "n", "down", "down", "x")
        await pilot.press(*["down"] * 6, "enter")
        await pilot.pause(0.2)

    assert snap_compare(app, terminal_size=(120, 34), run_before=run_before)
