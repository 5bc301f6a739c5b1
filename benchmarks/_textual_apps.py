"""Minimal Textual apps to compare with, each a program:

bare            one Static, nothing else
counter URL MODEL   counts the raw events of one reply, shown twice a second
markdown URL MODEL  writes one reply into Markdown.get_stream
"""

import asyncio
import sys
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown, Static


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("bare and ready")


async def raw_events(url: str, model: str) -> Any:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
    return await client.beta.messages.create(
        model="bench",
        max_tokens=8192,
        messages=[{"role": "user", "content": model}],
        stream=True,
    )


class Counter(App[None]):
    def compose(self) -> ComposeResult:
        self.shown = Static("reading")
        yield self.shown

    def on_mount(self) -> None:
        self.run_worker(self.read())

    async def read(self) -> None:
        await asyncio.to_thread(__import__, "anthropic")
        self.shown.update("imported")
        await asyncio.sleep(1.5)
        count = 0
        timer = self.set_interval(0.5, lambda: self.shown.update(f"{count} events"))
        async for _ in await raw_events(*sys.argv[2:]):
            count += 1
        timer.stop()
        self.shown.update("all read")


class Stream(App[None]):
    def compose(self) -> ComposeResult:
        with VerticalScroll() as self.view:
            yield Markdown()
        self.shown = Static("reading")
        yield self.shown

    def on_mount(self) -> None:
        self.view.anchor()
        self.run_worker(self.read())

    async def read(self) -> None:
        await asyncio.to_thread(__import__, "anthropic")
        self.shown.update("imported")
        await asyncio.sleep(1.5)
        stream = Markdown.get_stream(self.query_one(Markdown))
        async for event in await raw_events(*sys.argv[2:]):
            if event.type == "content_block_delta":
                await stream.write(event.delta.text)
        await stream.stop()
        self.shown.update("all read")


if __name__ == "__main__":
    {"bare": Bare, "counter": Counter, "markdown": Stream}[sys.argv[1]]().run()
