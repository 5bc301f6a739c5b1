"""The screen, by Textual's pilot: each entry gets the known harmful texts and made ones."""

import asyncio
import contextvars
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from hypothesis import given

from tests.fuzz.entries import ENTRIES
from tests.fuzz.nasty import ALL, acting, profile, texts
from tests.fuzz.terminal_bytes import Written
from tests.tui.conftest import Drive, Driven, drive

__all__ = ["drive"]

SIZE = (110, 60)


class Stage:
    """One app for many examples: tests are no coroutines, and go step by step."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._loop = asyncio.new_event_loop()
        self._context = contextvars.copy_context()
        self.signals: list[str] = []
        self.driven: Driven | None = None

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(60):
                return await work

        return self._loop.run_until_complete(
            self._loop.create_task(bounded(), context=self._context)
        )

    def open(self) -> Driven:
        if self.driven is None:
            self._opened = self._drive(size=SIZE)
            self.driven = self.run(self._opened.__aenter__())
            self.driven.app.signals._write = self.signals.append
            self.driven.app.signals._terminal.osc = True
        return self.driven

    def close(self) -> None:
        if self.driven is not None:
            self.driven = None
            self.run(self._opened.__aexit__(None, None, None))

    def end(self) -> None:
        self.close()
        self._loop.close()


_stages: list[Stage] = []


@pytest.fixture(scope="module", autouse=True)
def _end_of_stages() -> Iterator[None]:
    yield
    while _stages:
        _stages.pop().end()


@pytest.fixture
def stage(drive: Drive) -> Stage:
    """That of the whole module: starting the app costs more than a hundred examples."""
    if not _stages:
        _stages.append(Stage(drive))
    return _stages[0]


def assert_safe(d: Driven) -> None:
    """Nothing on the screen acts: neither in a cell nor in what the rows would write."""
    strips = d.app.screen._compositor.render_strips()
    for strip in strips:
        for segment in strip:
            assert acting(segment.text) == [], repr(segment.text)
    raw = "\n".join(strip.render(d.app.console) for strip in strips)
    written = Written(raw.encode("utf-8", "surrogatepass"))
    assert written.foreign == []
    assert not (written.titles or written.clipboard or written.notifications or written.bells)
    assert all(link == "" or link.startswith(("http://", "https://")) for link in written.links)


def assert_rows_safe(d: Driven) -> None:
    """Also the rows of the transcript that are not in sight."""
    layout = d.app.transcript._layout
    for block, part in layout.parts_from(0, 0):
        for line in layout.rows(block, part):
            assert acting(line.shown) == [], repr(line.shown)


async def shown(d: Driven, name: str, text: str) -> None:
    work = ENTRIES[name](d, text)
    if work is not None:
        await work
    await d.until(lambda: d.app.transcript.quiet)
    await d.settle()
    assert_safe(d)
    assert_rows_safe(d)
    d.app.transcript.toggle_tools()
    d.app.transcript.toggle_thinking()
    await d.until(lambda: d.app.transcript.quiet)
    assert_safe(d)
    assert_rows_safe(d)
    d.app.transcript.toggle_tools()
    d.app.transcript.clear()  # so that it does not slow down what comes
    assert d.app.is_running and d.app.return_code is None
    assert d.app._exception is None


def signals_are_safe(stage: Stage) -> None:
    written = Written("".join(stage.signals).encode("utf-8", "surrogatepass"))
    assert written.foreign == [] and not written.clipboard and not written.links
    stage.signals.clear()


@pytest.mark.parametrize("name", ENTRIES)
def test_C08_D14_nothing_foreign_is_obeyed_and_nothing_raises(stage: Stage, name: str) -> None:
    for sample in (ALL, "", "[/x]"):
        shown_on(stage, name, sample)

    @profile(2)
    @given(texts())
    def example(text: str) -> None:
        shown_on(stage, name, text)

    example()


def shown_on(stage: Stage, name: str, text: str) -> None:
    try:
        stage.run(shown(stage.open(), name, text))
        signals_are_safe(stage)
    except BaseException:
        stage.close()
        raise
