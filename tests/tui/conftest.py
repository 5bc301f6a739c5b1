"""An app on a FakeConversation, driven by Textual's pilot."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from agent_tui.tui.app import AgentTuiApp
from tests.tui.fake_conversation import FakeConversation


class FakeClock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


_NAMED = {
    "enter",
    "tab",
    "escape",
    "backspace",
    "left",
    "home",
    "up",
    "down",
    "ctrl+c",
    "ctrl+d",
    "ctrl+j",
    "ctrl+p",
}


class Driven:
    """The app and what a test does with it."""

    def __init__(
        self, app: AgentTuiApp, pilot: Pilot[Any], conv: FakeConversation, clock: FakeClock
    ) -> None:
        self.app, self.pilot, self.conv, self.clock = app, pilot, conv, clock

    async def press(self, *keys: str) -> None:
        """Named keys, one after the other, each handled before the next comes."""
        for key in keys:
            self._send(events.Key(key, key if len(key) == 1 else None))
            await self.settle()

    async def type(self, text: str) -> None:
        """A text, as fast as a terminal hands it on."""
        for character in text:
            self._send(events.Key(_character_to_key(character), character))
        await self.settle()

    async def burst(self, *keys: str) -> None:
        """Keys that are all there before the first is handled; longer ones are texts."""
        for key in keys:
            if key in _NAMED:
                self._send(events.Key(key, None))
            else:
                for character in key:
                    self._send(events.Key(_character_to_key(character), character))
        await self.settle()

    async def paste(self, text: str) -> None:
        self._send(events.Paste(text))
        await self.settle()

    def _send(self, event: events.Event) -> None:
        event.set_sender(self.app)
        self.app.post_message(event)

    async def settle(self) -> None:
        """Until what was sent has gone from the app to the widget, back, and into layout."""
        for _ in range(4):
            await self.pilot._wait_for_screen()
        self.app.screen._on_timer_update()

    async def until(self, condition: Callable[[], Any], what: str = "") -> None:
        """Wait until it holds; bounded."""
        for _ in range(500):
            if condition():
                return
            await self.settle()
            await asyncio.sleep(0.005)
        raise AssertionError(f"never came true: {what}\n{self.screen}")

    @property
    def screen(self) -> str:
        """What stands on the screen, line by line."""
        compositor = self.app.screen._compositor
        return "\n".join(
            "".join(segment.text for segment in strip).rstrip()
            for strip in compositor.render_strips()
        )

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in self.screen, f"{text!r} on the screen")

    @property
    def draft(self) -> str:
        return self.app.composer.draft


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of UTF-8 and colours, whatever the developer's is."""
    for name in ("LC_ALL", "LC_CTYPE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")


Drive = Callable[..., AbstractAsyncContextManager[Driven]]


@pytest.fixture
def drive() -> Drive:
    """`async with drive(size=(120, 40), conv=..., **app options) as d:`"""

    @asynccontextmanager
    async def run(
        *,
        size: tuple[int, int] = (120, 40),
        conv: FakeConversation | None = None,
        starter: Callable[[Any], Awaitable[Any]] | None = None,
        settings: Any = None,
        **options: Any,
    ) -> AsyncIterator[Driven]:
        conversation = conv or FakeConversation()
        clock = FakeClock()

        async def give(asker: Any) -> Any:
            return conversation

        app = AgentTuiApp(
            settings=settings or SimpleNamespace(theme="dark"),
            starter=starter or give,
            clock=clock,
            **options,
        )
        async with app.run_test(size=size) as pilot:
            driven = Driven(app, pilot, conversation, clock)
            if starter is None:
                await driven.until(lambda: app.desk.conversation is not None, "attached")
            yield driven

    return run
