"""Page: the blocks that events change, and what of them the layout must still be told.

The feeds of a transcript share one Page. Only flush_steps() brings changes to the layout, so
a hundred changes of a block between two frames cost one.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.blocks import Block, Modes, TextBlock
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.thinking import ThinkingBlock

B = TypeVar("B", bound=Block)


class Page:
    """clock: seconds, for elapsed times. message_id: of the answer that is on its way.
    streaming: its blocks by their index on the wire."""

    def __init__(self, layout: Layout, modes: Modes, clock: Callable[[], float]) -> None:
        self.layout = layout
        self.modes = modes
        self.clock = clock
        self.message_id = ""
        self.streaming: dict[int, Block] = {}
        self.programs = 0
        """Programs on the page; the number of the last one."""
        self.files: dict[str, tuple[str, object]] = {}
        """Names and sizes of files that programs made, by id."""
        self._dirty: dict[Block, int] = {}
        self._live: dict[Block, None] = {}
        self._drains: dict[TextBlock, None] = {}

    def clear(self) -> None:
        self.streaming.clear()
        self.programs = 0
        self._dirty.clear()
        self._live.clear()
        self._drains.clear()

    def add(self, block: Block, message_id: str = "") -> None:
        """Append a block of any kind."""
        block.message_id = message_id
        block.make(self.modes)
        self.layout.add(block)

    def begin(self, index: int, block: B) -> B:
        """Append a block of the answer that streams; `index` is its place on the wire."""
        self.add(block, self.message_id)
        self.streaming[index] = block
        if block.live:
            self.watch(block)
        return block

    def new_answer(self, message_id: str) -> None:
        self.message_id = message_id
        self.streaming.clear()

    # --- what changed ------------------------------------------------------------------

    def touch(self, block: Block, first: int = 0) -> None:
        """Its parts from `first` on changed."""
        self._dirty[block] = min(first, self._dirty.get(block, first))

    def drain(self, block: TextBlock) -> None:
        """It took text that is not split yet."""
        self._drains[block] = None

    def split_steps(self) -> Iterator[None]:
        """Split the text that waits for it, in small steps."""
        for block in list(self._drains):
            while block.waiting:
                self.touch(block, block.drain_some())
                yield
        self._drains.clear()

    def flush_steps(self) -> Iterator[None]:
        """Bring what changed to the layout, in small steps; costs what changed since."""
        yield from self.split_steps()
        dirty, self._dirty = self._dirty, {}
        for block, first in dirty.items():
            if isinstance(block, TextBlock):
                self.layout.changed(block, first)
            elif isinstance(block, ThinkingBlock | ApiBlock) and first > 0:
                self.layout.changed(block, block.grown())
            else:
                block.make(self.modes)
                self.layout.changed(block)

    def strike(self, block: Block) -> None:
        """Take it out: it belongs to a broken sample that is tried again."""
        block.struck = True
        block.taken_back()
        self._live.pop(block, None)
        self._dirty.pop(block, None)
        self.layout.changed(block)

    # --- what moves --------------------------------------------------------------------

    def watch(self, block: Block) -> None:
        """It shows an elapsed time."""
        self._live[block] = None

    def unwatch(self, block: Block) -> None:
        self._live.pop(block, None)

    def all_still(self) -> None:
        """A run has ended; what the user runs goes on."""
        self._live = {block: None for block in self._live if block.kind == "bash"}

    @property
    def live(self) -> list[Block]:
        """Blocks that show an elapsed time now."""
        return [block for block in self._live if block.live]
