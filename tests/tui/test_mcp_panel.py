"""The MCP panel: each server's state, the chosen one's trouble and log, and its keys."""

from typing import Any

from agent_tui.agent.events import ToolExecutionStartEvent, ToolExecutionUpdateEvent
from agent_tui.conversation.events import McpServerChangedEvent
from agent_tui.mcp_servers.types import ServerSnapshot, ToolInfo
from agent_tui.tui.panels.mcp_panel import McpPanel
from tests.tui.conftest import Drive, Driven
from tests.tui.fake_conversation import FakeConversation


def server(name: str, state: Any = "connected", tools: int = 2, **more: Any) -> ServerSnapshot:
    infos = [ToolInfo(f"{name}__t{n}", f"t{n}", name) for n in range(tools)]
    fields: dict[str, Any] = {"scope": "user", "source": "", "transport": "stdio"}
    return ServerSnapshot(name, target=f"{name}-server", state=state, tools=infos, **fields | more)


def conversation(*servers: ServerSnapshot) -> FakeConversation:
    conv = FakeConversation()
    conv.mcp.known = {s.name: s for s in servers}
    return conv


def panel(d: Driven) -> str:
    lines = d.screen.split("\n")
    at = lines[0].find("│")
    return "\n".join(line[at + 1 :] for line in lines)


def changed(d: Driven, snapshot: ServerSnapshot) -> None:
    d.conv.mcp.known[snapshot.name] = snapshot
    d.conv.emit(McpServerChangedEvent(snapshot.name, snapshot.state))


ALL = (
    server("connecting", "connecting", 0),
    server("failing", "failed", 0, error="it ended with exit code 7. It said: no key",
           retry_in_s=12.0, log_tail=["stderr: no key", "stderr:   indented \x1b[2J"]),
    server("login", "needs_auth", 0),
    server("off", "disabled", 0),
    server("ours", "awaiting_approval", 0, approval_text="Runs: ours-server"),
    server("zoo", latency_ms=12.4, left_out={"bad": "its schema is not that of an object"}),
)  # fmt: skip


async def test_each_state_is_one_line(drive: Drive):
    async with drive(conv=conversation(*ALL)) as d:
        await d.press("f7")
        await d.until(lambda: "● connecting" in panel(d))
        shown = panel(d)
        for line in (
            r"✗ failing", "⏸ login", "⊘ off", "⏸ ours", "✓ zoo", "wants a login",
            "asks for approval", "2 tools +1 left out  12 ms",
        ):  # fmt: skip
            assert line in shown, line


async def test_the_chosen_one_shows_its_trouble_and_its_log(drive: Drive):
    async with drive(conv=conversation(*ALL)) as d:
        await d.press("f7")
        await d.until(lambda: "tries again in 12 s" in panel(d))
        assert "it ended with exit code 7. It said: no key" in panel(d).replace("\n ", " ").replace(
            "  ", " "
        )
        assert "stderr: no key" in panel(d) and "\x1b" not in d.screen
        await d.press("down")
        await d.until(lambda: "/mcp login login" in panel(d))
        await d.press("down", "down")
        await d.until(lambda: "Runs: ours-server" in panel(d))


async def test_a_panel_without_servers_says_how_to_attach_one(drive: Drive):
    async with drive() as d:
        await d.press("f7")
        await d.until(lambda: "/mcp add NAME -- COMMAND" in panel(d))
        changed(d, server("zoo"))
        await d.until(lambda: "✓ zoo" in panel(d))
        del d.conv.mcp.known["zoo"]
        d.conv.emit(McpServerChangedEvent("zoo", "removed"))
        await d.until(lambda: "no MCP servers" in panel(d))


async def test_keys_act_on_the_chosen_server_and_leave_the_draft_alone(drive: Drive):
    async with drive(conv=conversation(server("a b"), server("off", "disabled"))) as d:
        await d.type("half a")
        await d.press("f7")
        for key in ("e", "r", "l", "enter"):
            await d.press(key)
        await d.press("down", "e")
        await d.until(lambda: len(d.conv.called("submit")) == 5)
        assert [line for (line,) in d.conv.called("submit")] == [
            "/mcp disable 'a b'", "/mcp reconnect 'a b'", "/mcp login 'a b'", "/mcp get 'a b'",
            "/mcp enable off",
        ]  # fmt: skip
        assert d.draft == "half a"
        await d.press("escape")
        await d.type(" word")
        assert d.draft == "half a word"


async def test_a_panel_that_was_hidden_is_shown_for_the_servers_only(drive: Drive):
    async with drive(conv=conversation(server("zoo"))) as d:
        await d.press("f2")
        assert not d.app.panel.display
        await d.press("f7")
        await d.until(lambda: "✓ zoo" in panel(d))
        await d.press("f5")
        await d.until(lambda: d.app.tools_panel.has_focus)
        await d.press("f5")
        await d.until(lambda: not d.app.panel.display and d.app.composer.has_focus)


async def test_progress_of_a_running_call_is_seen_in_both_panels(drive: Drive):
    async with drive(conv=conversation(server("zoo", running_calls=1))) as d:
        d.conv.emit(ToolExecutionStartEvent("c", "zoo__slow", {"steps": 3}))
        partial = {"progress": 2, "total": 3, "message": "feeding\x1b[2J"}
        d.conv.emit(ToolExecutionUpdateEvent("c", "zoo__slow", partial))
        await d.until(lambda: "2 of 3 feeding" in panel(d))
        await d.press("f7")
        await d.until(lambda: "● slow 2 of 3 feeding" in panel(d))
        assert "1 call running" in panel(d) and "\x1b" not in d.screen


async def test_time_passes_only_while_the_panel_is_seen(drive: Drive):
    async with drive(conv=conversation(server("zoo"))) as d:
        found = d.app.query_one(McpPanel)
        assert not found.ticking
        await d.press("f7")
        await d.until(lambda: found.ticking)
        await d.press("f6")
        await d.until(lambda: not found.ticking)
    async with drive(conv=conversation(server("off", "disabled"))) as d:
        await d.press("f7")
        assert not d.app.query_one(McpPanel).ticking, "nothing of it moves"


async def test_what_an_event_names_is_drawn_anew(drive: Drive):
    async with drive(conv=conversation(server("a"), server("b"))) as d:
        await d.press("f7")
        await d.until(lambda: "✓ b" in panel(d))
        changed(d, server("b", "failed", 0, error="it is gone"))
        await d.until(lambda: "✗ b" in panel(d))
        assert "✓ a" in panel(d)


async def test_a_servers_name_is_not_cut_for_what_stands_beside_it(drive: Drive):
    shop = server("shop-of-animals", running_calls=1, tools=13, latency_ms=12.4)
    async with drive(conv=conversation(shop), size=(100, 30)) as d:
        await d.press("f7")
        await d.until(lambda: "shop-of-animals" in panel(d).split("\n")[2])
        assert "1 call running" in panel(d).split("\n")[2]


async def test_the_chosen_one_is_marked_while_the_panel_has_the_keys_and_no_longer(drive: Drive):
    async with drive(conv=conversation(server("zoo"))) as d:
        await d.press("f7")
        await d.until(lambda: "✓ zoo" in panel(d))
        servers = d.app.mcp_panel
        await d.until(lambda: servers.ticking)
        servers._ticker.stop()  # type: ignore[union-attr]  # not a second later: at once
        await d.until(lambda: servers._text.focused)
        await d.press("escape")
        await d.until(lambda: not servers._text.focused)
        await d.press("f7")
        await d.until(lambda: servers._text.focused)
