"""The MCP servers: the state of each, and of the one that is chosen its error and its log.

It is drawn from snapshots. What an event names is looked at anew; once a second, and only while
the panel is seen, so is what changes without one (a countdown, the log, running calls).
"""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer

from agent_tui.conversation.mcp.lists import latency, middle_cut
from agent_tui.mcp_servers.names import server_prefix
from agent_tui.mcp_servers.types import McpError, ServerSnapshot
from agent_tui.text import counted
from agent_tui.tui import messages as m
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.keys import bindings
from agent_tui.tui.lines import elapsed, fit, left_right, one_line
from agent_tui.tui.plain import Drawn
from agent_tui.tui.tools_state import ToolRow

LOG_LINES = 12
ERROR_LINES = 4
NAME_ROOM = 20
"""Cells a server's name has before anything beside it; a shorter one takes what it needs."""

CALLS = 4
NOTES = 3
_WORDS = {
    "connecting": "connecting",
    "connected": "connected",
    "failed": "failed",
    "needs_auth": "wants a login",
    "awaiting_approval": "asks for approval",
    "disabled": "off",
}
_STYLES = {
    "connecting": "$accent",
    "connected": "$done",
    "failed": "$failed",
    "needs_auth": "$waiting",
    "awaiting_approval": "$waiting",
    "disabled": "$muted",
}


class Servers(Protocol):
    """What the panel asks (conversation/mcp/link.py)."""

    def servers(self) -> list[str]: ...
    def snapshot(self, name: str) -> ServerSnapshot: ...


class McpPanel(VerticalScroll, can_focus=True):
    """show(servers) for another conversation, changed(server) after an event. With the focus (F7)
    one is chosen; keys switch it, connect it anew, log in."""

    BINDINGS = bindings("mcp")  # pyright: ignore[reportAssignmentType]

    FOCUS_ON_CLICK = False  # a letter typed after a click is meant for the draft

    chosen: reactive[str] = reactive("")

    def __init__(
        self,
        glyphs: Glyphs = UNICODE,
        *,
        id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(id=id)
        self._text = McpText(glyphs, clock)
        self._servers: Servers | None = None
        self._calls_now: Callable[[], Sequence[ToolRow]] = tuple
        self._seen = False
        self._ticker: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._text

    # --- what is shown --------------------------------------------------------------------

    def show(
        self, servers: Servers | None, running: Callable[[], Sequence[ToolRow]] = tuple
    ) -> None:
        """The servers of another conversation. running: the calls of tools that run now."""
        self._servers, self._calls_now = servers, running
        self._text.snapshots = {}
        self.look()

    def look(self) -> None:
        """At all of them anew."""
        names = self._servers.servers() if self._servers is not None else []
        self._text.snapshots = {
            name: found for name in names if (found := self._snapshot(name)) is not None
        }
        self._draw()

    def changed(self, server: str) -> None:
        """An event named this one."""
        found = self._snapshot(server)
        known = self._text.snapshots
        if found is None:
            known.pop(server, None)
        else:
            known[server] = found
        self._text.snapshots = dict(sorted(known.items()))
        self._draw()

    def _snapshot(self, name: str) -> ServerSnapshot | None:
        try:
            return self._servers.snapshot(name) if self._servers is not None else None
        except McpError:
            return None  # it has been removed

    def _draw(self) -> None:
        known = self._text.snapshots
        if self.chosen not in known:
            trouble = (name for name, s in known.items() if s.state in ("failed", "needs_auth"))
            self.chosen = next(trouble, next(iter(known), ""))
        self._text.chosen, self._text.focused = self.chosen, self.has_focus
        prefix = server_prefix(self.chosen) if self.chosen else ""
        self._text.running = [r for r in self._calls_now() if prefix and r.name.startswith(prefix)]
        self._text.drawn_at()
        self._text.refresh(layout=True)
        self._keep_time()

    # --- time -------------------------------------------------------------------------------

    def on_show(self) -> None:
        self._seen = True
        self.look()

    def on_hide(self) -> None:
        self._seen = False
        self._keep_time()

    @property
    def ticking(self) -> bool:
        """Its timer runs."""
        return self._ticker is not None

    def _keep_time(self) -> None:
        wanted = self._seen and any(s.state != "disabled" for s in self._text.snapshots.values())
        if wanted and self._ticker is None:
            self._ticker = self.set_interval(1.0, self._tick)
        elif not wanted and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _tick(self) -> None:
        """Only those that move: looking at a server with hundreds of tools takes a moment."""
        known = self._text.snapshots
        moving = [
            name
            for name, s in known.items()
            if name == self.chosen or s.running_calls or s.state in ("connecting", "failed")
        ]
        for name in moving:
            if (found := self._snapshot(name)) is not None:
                known[name] = found
        self._draw()

    # --- keys -------------------------------------------------------------------------------

    def watch_has_focus(self, has_focus: bool) -> None:
        """on_focus and on_blur come before it has changed."""
        super().watch_has_focus(has_focus)
        self._draw()

    def watch_chosen(self) -> None:
        self._text.chosen = self.chosen
        self._text.refresh(layout=True)

    def _move(self, step: int) -> None:
        names = list(self._text.snapshots)
        if names:
            at = names.index(self.chosen) if self.chosen in names else 0
            self.chosen = names[max(0, min(len(names) - 1, at + step))]
            self._tick()
            self.scroll_to(y=max(0, names.index(self.chosen) - 2), animate=False)

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_switch(self) -> None:
        if (server := self._text.snapshots.get(self.chosen)) is not None:
            off = server.state in ("disabled", "awaiting_approval")
            self._act("enable" if off else "disable")

    def action_reconnect(self) -> None:
        self._act("reconnect")

    def action_log_in(self) -> None:
        self._act("login")

    def action_details(self) -> None:
        self._act("get")

    def action_back(self) -> None:
        self.post_message(m.PanelLeft())

    def _act(self, action: str) -> None:
        if self.chosen:
            self.post_message(m.ServerAction(action, self.chosen))


class McpText(Drawn):
    """The lines of the panel."""

    def __init__(self, glyphs: Glyphs, clock: Callable[[], float]) -> None:
        super().__init__(glyphs)
        self._clock = clock
        self._at = clock()
        self.snapshots: dict[str, ServerSnapshot] = {}
        self.chosen = ""
        self.running: list[ToolRow] = []
        """Calls of the chosen one."""
        self.focused = False

    def drawn_at(self) -> None:
        """The snapshots are of now."""
        self._at = self._clock()

    def render(self) -> Content:
        if not self.snapshots:
            return Content("\n").join(
                [
                    Content.styled(" no MCP servers", "$muted"),
                    Content.styled(" /mcp add NAME -- COMMAND", "$muted"),
                    Content.styled(" /mcp add NAME URL", "$muted"),
                ]
            )
        lines = [self._line(server) for server in self.snapshots.values()]
        if (chosen := self.snapshots.get(self.chosen)) is not None:
            lines += [Content.styled(self.glyphs.rule * self.size.width, "$rule")]
            lines += self._details(chosen)
        return Content("\n").join(lines)

    @property
    def _width(self) -> int:
        return max(12, self.size.width - 2)

    def _glyph(self, server: ServerSnapshot) -> str:
        glyphs = self.glyphs
        return {
            "connecting": glyphs.running,
            "connected": glyphs.done,
            "failed": glyphs.failed,
            "needs_auth": glyphs.paused,
            "awaiting_approval": glyphs.paused,
            "disabled": glyphs.stopped,
        }[server.state]

    def _line(self, server: ServerSnapshot) -> Content:
        style = _STYLES[server.state]
        here = self.focused and server.name == self.chosen
        name = one_line(server.name, 60, self.glyphs.ellipsis)
        right: list[tuple[str, str]] = []
        if server.state == "connected":
            usable = sum(tool.enabled for tool in server.tools)
            if server.running_calls:
                right.append((f"{counted(server.running_calls, 'call')} running  ", "$accent"))
            right.append((counted(usable, "tool"), "$muted"))
            if server.left_out:
                right.append((f" +{len(server.left_out)} left out", "$waiting"))
            if server.latency_ms is not None:
                right.append((f"  {latency(server.latency_ms)}", "$muted"))
        else:
            right.append((_WORDS[server.state], style))
        left = Content.assemble(
            " ", (f"{self._glyph(server)} ", style), (name, "reverse" if here else "")
        )
        room = self._width - min(left.cell_length, 3 + NAME_ROOM)
        while len(right) > 1 and sum(cell_len(text) for text, _ in right) > room:
            right.pop()  # the name, and what runs, say more than how many tools there are
        return left_right(
            left, Content.assemble(*right), self._width + 1, ellipsis=self.glyphs.ellipsis
        )

    # --- the chosen one ---------------------------------------------------------------------

    def _details(self, server: ServerSnapshot) -> list[Content]:
        target = middle_cut(server.target, max(8, self._width - len(server.name) - 1))
        lines = [self._muted(f"{server.name}  {target}")]
        about = [server.server_title, server.protocol, server.scope]
        if server.resources:
            about.append(counted(server.resources, "resource"))
        if server.prompts:
            about.append(counted(server.prompts, "prompt"))
        lines.append(self._muted(f" {self.glyphs.info} ".join(part for part in about if part)))
        lines += self._trouble(server)
        lines += [self._call(row) for row in self.running[:CALLS]]
        for note in server.warnings[-NOTES:]:
            lines.append(self._styled(f"{self.glyphs.warning} {note}", "$waiting"))
        if server.log_tail:
            lines.append(Content.styled(" log", "$muted"))
            lines += [self._styled(f"  {line}", "") for line in server.log_tail[-LOG_LINES:]]
        return lines

    def _trouble(self, server: ServerSnapshot) -> list[Content]:
        lines: list[Content] = []
        if server.error:
            style = "$failed" if server.state == "failed" else "$waiting"
            lines += [Content.styled(" " + line, style) for line in self._wrapped(server.error)]
        if server.retry_in_s is not None:
            left = server.retry_in_s - (self._clock() - self._at)
            lines.append(self._muted(f"tries again in {elapsed(max(0.0, left))}"))
        if server.state == "needs_auth":
            lines.append(self._styled(f"/mcp login {server.name}", "$accent"))
        if server.state == "awaiting_approval":
            text = server.approval_text.split("\n")
            lines += [self._styled(line, "$waiting") for line in text]
        return lines

    def _call(self, row: ToolRow) -> Content:
        name = row.name.partition("__")[2]
        since = "" if row.started is None else elapsed(self._clock() - row.started)
        words = "  ".join(part for part in (name, row.tail, since) if part)
        return self._styled(f"{self.glyphs.running} {words}", "$accent")

    def _wrapped(self, text: str) -> list[str]:
        """Up to some lines; whoever wants more asks for the details."""
        words, lines = one_line(text).split(" "), [""]
        for word in words:
            if lines[-1] and len(lines[-1]) + 1 + len(word) > self._width:
                lines.append("")
            lines[-1] += (" " if lines[-1] else "") + word
        shown = lines[:ERROR_LINES]
        if len(lines) > len(shown):
            shown[-1] += " " + self.glyphs.ellipsis
        return [fit(line, self._width, self.glyphs.ellipsis) for line in shown]

    def _muted(self, text: str) -> Content:
        return self._styled(text, "$muted")

    def _styled(self, text: str, style: str) -> Content:
        # Lines of a log keep their indent.
        indent = " " * (len(text) - len(text.lstrip(" ")))
        line = indent + one_line(text)
        return Content.styled(" " + fit(line, self._width, self.glyphs.ellipsis), style)
