"""The app as it runs, at a server of its own, driven by keys; what a picture needs to be the
same every time.

A state is a function that gets a User, who has a keyboard, eyes and a clock and nothing else.
The app, its starter, the conversation, its tools and the offline server are the real ones, over
HTTP on loopback. Fixed are: clocks, how long a tool took, the folder's name, retries' jitter.
"""

import asyncio
import datetime
import difflib
import html
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from pytest_textual_snapshot import normalize_svg
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

import agent_tui.tui
from agent_tui import heap
from agent_tui.agent import tool_batch
from agent_tui.conversation import (
    container_watch,
    conversation,
    endpoint,
    mending,
    retry,
    system_prompt,
    usage,
)
from agent_tui.conversation.commands import container as container_command
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.mcp_servers import connection, lenient
from agent_tui.offline import (
    ContainerOptions,
    OfflineServer,
    Scenario,
    containers,
    file_store,
    server,
)
from agent_tui.offline.scenarios import _reply
from agent_tui.offline.wire import stream_events
from agent_tui.sessions import store
from agent_tui.settings import load_settings
from agent_tui.tui import clipboard
from agent_tui.tui.app import AgentTuiApp
from agent_tui.tui.panels.container_panel import ContainerPanel
from agent_tui.tui.starter import Starter
from agent_tui.tui.status_line import StatusLine
from tests.mcp_servers.zoo_auth import gated

NOW = 1_796_119_200.0
"""2026-12-01 10:00 UTC, when every picture is taken."""

TOOK_MS = 120
"""What each tool took."""

BOUND_S = 30.0
"""Nothing takes so long unless it never comes."""
AT_REST = 6
"""So many looks, 20 ms apart, must see the same; where one knows what is to be seen, two."""
LATE_S = 10.0
"""So long what is at rest, and is not yet what was expected, may still change to it."""

Turn = dict[str, Any]
Play = Callable[["User"], Awaitable[None]]

ZOO = str(Path(__file__).parents[2] / "mcp_servers" / "zoo.py")

FILES = {
    ".git/HEAD": "ref: refs/heads/main\n",
    "shop/cart.py": (
        "from shop import db\n\n\ndef total(items):\n"
        "    return sum(db.price(item) for item in items)\n"
    ),
    "shop/db.py": "def price(item):\n    return PRICES[item]\n\n\ndef prices(items):\n    ...\n",
    "tests/test_cart.py": "def test_total():\n    assert total([]) == 0\n",
    "tests.sh": "echo '....................F....'\necho FAILED tests/test_cart.py; exit 1\n",
    "wait.sh": "echo collecting ...\necho '....................F....'\nexec sleep 600\n",
    "zoo.sh": 'exec {python} -S -E -u {zoo} "$1"\n',
    "README.md": "# shop\n\nA small shop.\n",
}
"""The working folder, ~/src/shop."""


@dataclass(frozen=True, slots=True)
class State:
    """One thing a person can meet.

    turns: what the server answers, in order (Scenario); None: the demo answers. flags: settings.
    allow: tools that need no approval. files: more of them in the folder. key: whether there is
    a key at all. servers: MCP servers by name, as in mcp.json. wish: which session (SessionWish).
    patient: False waits no time between tries. before: played in an app that was closed before
    this one opened. gated: MCP servers over HTTP that want a login.
    """

    name: str
    play: Play
    turns: tuple[Turn, ...] | None = ()
    size: tuple[int, int] = (100, 30)
    flags: dict[str, Any] = field(default_factory=dict[str, Any])
    allow: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict[str, str])
    key: bool = True
    demo: bool = False
    wish: dict[str, Any] = field(default_factory=dict[str, Any])
    patient: bool = True
    no_rules: bool = False
    before: Play | None = None
    servers: dict[str, Any] = field(default_factory=dict[str, Any])
    gated: tuple[str, ...] = ()


STATES: dict[str, State] = {}


def state(*turns: Turn, **more: Any) -> Callable[[Play], Play]:
    """Makes a function a state; its name is that of its module and its own."""

    def register(play: Play) -> Play:
        name = f"{play.__module__.rpartition('.')[2]}-{play.__name__}"
        assert name not in STATES, name
        STATES[name] = State(name, play, more.pop("answers", turns), **more)
        return play

    return register


def held(turn: Turn, *, short_of: int = 3) -> Turn:
    """This turn, and then silence before its last block closes (short_of: events before the
    end at which it falls silent)."""
    turn = {"chunk_size": 12, **turn}
    events_ = stream_events(_reply(turn, ""), message_id="", model="",
                            chunk_size=turn["chunk_size"])  # fmt: skip
    return turn | {"hang": "mid_stream", "cut_after": sum(1 for _ in events_) - short_of}


def recorded(name: str) -> Turn:
    """An answer as it was recorded at the service."""
    path = Path(__file__).parents[2] / "data" / "recordings" / f"{name}.sse"
    return {"raw_sse": path.read_text("utf-8")}


def zoo(animal: str, **more: Any) -> dict[str, Any]:
    """An MCP server of tests/mcp_servers/zoo.py, as an entry of mcp.json."""
    return {"command": "sh", "args": ["zoo.sh", animal], **more}


class Clock:
    """Seconds that pass only when the user waits."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return 1000.0 + self.passed

    def wall(self) -> float:
        return NOW + self.passed


class User:
    """Keys, eyes, and a clock; that is all a state has."""

    def __init__(
        self, app: "PicturedApp", pilot: Pilot[Any], clock: Clock, *, looks: int = AT_REST
    ) -> None:
        self._app, self._pilot, self._clock, self._looks = app, pilot, clock, looks

    @property
    def columns(self) -> int:
        """Of the screen."""
        return self._app.size.width

    async def press(self, *keys: str) -> None:
        """Keys by Textual's names, each handled before the next one comes."""
        for key in keys:
            self._send(events.Key(key, key if len(key) == 1 else None))
            await self._handled()

    async def type(self, text: str) -> None:
        for character in text:
            self._send(events.Key(_character_to_key(character), character))
        await self._handled()

    async def paste(self, text: str) -> None:
        self._send(events.Paste(text))
        await self._handled()

    async def say(self, text: str) -> None:
        """Type it and press Enter."""
        await self.type(text)
        await self.press("enter")

    async def ask(self, text: str, *then: str) -> None:
        """say, and wait until the run has ended and `then` stands on the screen."""
        await self.say(text)
        await self.sees(*then)
        await self.ready()

    async def sees(self, *texts: str) -> None:
        """Until all of these stand on the screen."""
        for text in texts:
            await self._until(lambda text=text: text in self._screen, f"{text!r} on the screen")

    async def sees_no(self, text: str) -> None:
        await self._until(lambda: text not in self._screen, f"no {text!r} on the screen")

    async def ready(self) -> None:
        """Until nothing runs."""
        await self._until(lambda: not self._app.desk.running, "an end of the run")

    async def waits(self, seconds: float) -> None:
        """So long, by every clock the app has."""
        await self._handled()
        self._clock.passed += seconds
        await self.settles()

    async def settles(self) -> None:
        """Until all that has come is drawn, and elapsed times are those of now."""
        app = self._app
        before, same = "", 0
        for _ in range(400):
            await self._handled()
            if app.grown and not before:
                app.transcript._tick()
                app.view.tick()
                app.mcp_panel.look()
            now = self._screen
            same = same + 1 if now == before and (not app.grown or app.transcript.quiet) else 0
            if same == self._looks:
                return
            before = now
            await asyncio.sleep(0.02)
        raise AssertionError(f"it never comes to rest:\n{self._screen}")

    # --- inside ------------------------------------------------------------------------------

    def _send(self, event: events.Event) -> None:
        """As the pilot does, without its naps between keys."""
        event.set_sender(self._app)
        driver = self._app._driver
        assert driver is not None
        driver.send_message(event)

    async def _handled(self) -> None:
        for _ in range(3):
            await self._pilot._wait_for_screen()
        self._app.screen._on_timer_update()

    async def _until(self, condition: Callable[[], Any], what: str) -> None:
        until = time.monotonic() + BOUND_S
        while not condition():
            if time.monotonic() > until:
                raise AssertionError(f"never came: {what}\n{self._screen}")
            await asyncio.sleep(0.02)

    @property
    def _screen(self) -> str:
        compositor = self._app.screen._compositor
        return "\n".join(
            "".join(segment.text for segment in strip).rstrip()
            for strip in compositor.render_strips()
        )

    async def _attached(self) -> None:
        await self._until(lambda: self._app.desk.conversation is not None, "a conversation")
        await self.settles()


class PicturedApp(AgentTuiApp):
    """The app; it ends what it has begun, and its pictures name no port."""

    CSS_PATH = Path(agent_tui.tui.__file__).parent / AgentTuiApp.CSS_PATH
    pictured_ports: Sequence[str] = ()
    pictured: str | None = None
    """The picture, once it is the expected one."""
    last: str | None = None
    """The picture that was taken last."""

    async def on_unmount(self) -> None:
        if (conversation := self.desk.conversation) is not None:
            await conversation.close()

    async def becomes(self, expected: str) -> None:
        """Take the picture as soon as it is this one. What a server, a thread or another process
        still had to say comes when it comes; that it came is what the picture shows."""
        until = time.monotonic() + LATE_S
        while time.monotonic() < until:
            svg = self.export_screenshot(title=self.title, simplify=True)
            if normalize_svg(svg) == expected:
                self.pictured = svg
                return
            await asyncio.sleep(0.05)

    def export_screenshot(self, **more: Any) -> str:
        if self.pictured is not None:
            return self.pictured
        svg = super().export_screenshot(**more)
        for port in self.pictured_ports:
            svg = svg.replace(port, "8" * 5)
        self.last = svg
        return svg


def differences(before: str, after: str) -> str:
    """Of two pictures: the rows of text that differ; colours only where no text does."""

    def rows(svg: str) -> list[str]:
        found: dict[float, list[tuple[float, str]]] = {}
        for x, y, text in re.findall(r'<text[^>]*x="([\d.]+)"[^>]*y="([\d.]+)"[^>]*>(.*?)</text>',
                                     svg, re.S):  # fmt: skip
            found.setdefault(float(y), []).append((float(x), html.unescape(text)))
        return [
            "".join(text for _, text in sorted(row)).replace("\xa0", " ").rstrip()
            for _, row in sorted(found.items())
        ]

    def differing(of: Callable[[str], list[str]]) -> str:
        return "\n".join(list(difflib.unified_diff(of(before), of(after), lineterm="", n=0))[2:])

    return differing(rows) or differing(str.splitlines)


class Picture:
    """Takes the picture of a state and compares it."""

    def __init__(
        self, snap_compare: Any, monkeypatch: pytest.MonkeyPatch, home: Path, expected: str | None
    ) -> None:
        self._compare, self._patch, self._home = snap_compare, monkeypatch, home
        self._expected = expected
        """None: there is none yet, or it is to be taken anew."""

    def __call__(
        self,
        state: State,
        *,
        size: tuple[int, int] | None = None,
        theme: str = "dark",
        environ: dict[str, str] | None = None,
    ) -> bool:
        """Whether it is the expected one. Raises AssertionError with the rows that differ."""
        clock = Clock()
        fix(self._patch, clock, patient=state.patient)
        fixed = {
            "TERM": "xterm-256color", "HOME": str(self._home),
            "AGENT_TUI_HOME": str(self._home / ".agent-tui"),
        }  # fmt: skip
        for name, value in fixed.items():
            self._patch.setenv(name, value)
        for name in ("NO_COLOR", "COLORFGBG", "TMUX", "STY", "SSH_CONNECTION", "TERM_PROGRAM"):
            self._patch.delenv(name, raising=False)
        for name, value in (environ or {}).items():
            self._patch.setenv(name, value)
        cwd = self._home / "src" / "shop"
        for path, text in (FILES | state.files).items():
            (cwd / path).parent.mkdir(parents=True, exist_ok=True)
            (cwd / path).write_text(text.replace("{python}", sys.executable).replace("{zoo}", ZOO))
        (self._home / ".agent-tui").mkdir(mode=0o700)
        self._patch.chdir(cwd)
        with ExitStack() as servers:
            gates = {name: servers.enter_context(gated()).url for name in state.gated}
            listed = state.servers | {name: {"url": url} for name, url in gates.items()}
            text = json.dumps({"mcpServers": listed})
            (self._home / ".agent-tui" / "mcp.json").write_text(text)
            ports = [str(urlsplit(url).port) for url in gates.values()]
            return self._served(state, clock, cwd, size, theme, ports)

    def _served(
        self, state: State, clock: Clock, cwd: Path, size: tuple[int, int] | None, theme: str,
        ports: list[str],
    ) -> bool:  # fmt: skip
        self._ports = ports
        if state.turns is None:
            return self._take(state, clock, cwd, {}, size, theme)
        scenario = Scenario(
            turns=[dict(turn) for turn in state.turns], no_rules=state.no_rules,
            models=["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"],
        )  # fmt: skip
        server = OfflineServer(scenario=scenario, containers=ContainerOptions())
        server.start()
        try:
            flags = {"base_url": server.url, "api_key": "sk-ant-test"} if state.key else {}
            return self._take(state, clock, cwd, flags, size, theme)
        finally:
            server.stop()

    def _take(
        self, state: State, clock: Clock, cwd: Path, flags: dict[str, Any],
        size: tuple[int, int] | None, theme: str,
    ) -> bool:  # fmt: skip
        failure: list[BaseException] = []

        def made(wish: dict[str, Any]) -> PicturedApp:
            loaded = load_settings(cwd=str(cwd), flags=flags | {"theme": theme} | state.flags)
            starter = Starter(
                str(cwd), loaded=loaded, demo=state.demo, allow=state.allow,
                wish=SessionWish(**wish),
            )  # fmt: skip
            app = PicturedApp(settings=loaded.settings, starter=starter, clock=clock.monotonic)
            port = str(flags.get("base_url", "")).rpartition(":")[2]
            app.pictured_ports = [one for one in (port, *self._ports) if one]
            return app

        def playing(app: PicturedApp, play: Play) -> Any:
            async def run_before(pilot: Pilot[Any]) -> None:
                user = User(app, pilot, clock, looks=AT_REST if self._expected is None else 2)
                try:
                    if play is not state.play or "picked_at" not in state.name:
                        await user._attached()
                    await play(user)
                    await user.settles()
                    if play is state.play and self._expected is not None:
                        await app.becomes(self._expected)
                except BaseException as error:
                    failure.append(error)
                    raise

            return run_before

        wanted = size or state.size
        if state.before is not None:
            earlier = made({})

            async def look(pilot: Pilot[Any]) -> None:
                await playing(earlier, state.before)(pilot)  # type: ignore[arg-type]
                earlier.exit()

            earlier.run(headless=True, size=wanted, auto_pilot=look)
        app = made(state.wish)
        try:
            same = self._compare(app, terminal_size=wanted, run_before=playing(app, state.play))
            if not same and self._expected is not None:
                assert app.last is not None
                rows = differences(self._expected, normalize_svg(app.last))
                raise AssertionError(f"another picture:\n{rows}")
            return same
        except BaseException:
            if failure:
                raise failure[0] from None
            raise


def fix(patch: pytest.MonkeyPatch, clock: Clock, *, patient: bool) -> None:
    """Everything that would differ from one time to the next."""
    outcome = tool_batch.FinalizedToolCallOutcome
    patch.setattr(
        tool_batch, "FinalizedToolCallOutcome",
        lambda call, result, ms: outcome(
            call, result, TOOK_MS if ms or not result.is_error else 0
        ),
    )  # fmt: skip
    for module in (containers, container_command):
        patch.setattr(module, "time", _Time(clock))
    patch.setattr(lenient, "time", SimpleNamespace(monotonic=lambda: 1.0))
    jitter = 20.0 if patient else 0.01
    patch.setattr(retry, "random", SimpleNamespace(uniform=lambda low, high: jitter))
    patch.setattr(endpoint, "LOOPBACK_SERVERS", {})
    ids = (f"{number:032x}" for number in count(0x5E551043 << 96))
    patch.setattr(store, "new_id", lambda: next(ids))
    for module in (containers, file_store):
        numbers = count(0xC0)
        fixed = SimpleNamespace(uuid4=lambda numbers=numbers: UUID(int=next(numbers)))
        patch.setattr(module, "uuid", fixed)
    # Else it follows from the request, and that names the folder.
    made = server.make_id
    patch.setattr(
        server, "make_id",
        lambda prefix, *seed: "req_01" + "0" * 22 if prefix == "req_" else made(prefix, *seed),
    )  # fmt: skip
    # The folder, the system and the date count as tokens of the prompt.
    patch.setattr(
        conversation, "build_system_prompt",
        lambda settings, cwd, tools: system_prompt.build_system_prompt(
            settings, "~/src/shop", tools, datetime.date(2026, 11, 30)
        ),
    )  # fmt: skip
    patch.setattr(
        system_prompt, "platform", SimpleNamespace(system=lambda: "Linux", release=lambda: "6.12")
    )
    patch.setattr(connection, "_pause_s", lambda _: 3600.0)
    patch.setattr(
        connection.ServerConnection, "retry_in_s",
        property(lambda self: None if self._retry_at is None else 12.0),
    )  # fmt: skip
    # Else the collector would be told to keep every app that a picture was taken of.
    patch.setattr(heap, "settle", lambda: None)
    # What flashes on the last line stays: real seconds pass while a picture is taken.
    patch.setattr(StatusLine, "set_timer", lambda *_: SimpleNamespace(stop=lambda: None))
    patch.setattr(clipboard, "helpers", lambda *_: [])
    wall = {
        ContainerPanel: clock.wall, container_watch.ContainerWatch: clock.wall,
        mending.Mending: clock.wall, usage.UsageMeter: clock.monotonic,
    }  # fmt: skip
    for kind, now in wall.items():
        _set_clock(patch, kind.__init__, now)


def _set_clock(patch: pytest.MonkeyPatch, init: Any, now: Callable[[], float]) -> None:
    names = init.__code__.co_varnames[: init.__code__.co_argcount]
    if init.__kwdefaults__ and "clock" in init.__kwdefaults__:
        patch.setitem(init.__kwdefaults__, "clock", now)
    else:
        at = len(names) - len(init.__defaults__)
        defaults = [now if n == "clock" else d for n, d in zip(names[at:], init.__defaults__,
                    strict=True)]  # fmt: skip
        patch.setattr(init, "__defaults__", tuple(defaults))


class _Time:
    """The module time, on the user's clock where it tells the date."""

    def __init__(self, clock: Clock) -> None:
        self.time = clock.wall

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)
