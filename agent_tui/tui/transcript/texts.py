"""Texts: the text blocks of an answer; those that cite flow together into one text.

The API parts a cited answer where a citation begins or ends, in the middle of sentences. On
the page such blocks are one text with marks in it, and its sources stand below it.
"""

from agent_tui.agent.messages import TextContent
from agent_tui.conversation.citations import Source, Sources, citations, flows_on, joint, marks
from agent_tui.tui.transcript.blocks import TextBlock
from agent_tui.tui.transcript.page import Page
from agent_tui.tui.transcript.sources_block import SourcesBlock


class Texts:
    """settle() must be called before anything else follows the text."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.new_answer()

    def new_answer(self) -> None:
        """Sources are numbered from 1 again."""
        self._sources = Sources()
        self._received: dict[int, int] = {}
        self._block: TextBlock | None = None  # the last one, if its text has ended
        self._before = ""  # the last text
        self._cited: list[Source] = []  # by the last text
        self._stored: list[str] = []
        self._addresses: dict[str, str] = {}

    # --- streaming ---------------------------------------------------------------------

    def delta(self, index: int, text: str) -> None:
        if text:
            self._take(self._at(index, text), index, text)

    def end(self, index: int, content: TextContent) -> None:
        if self._streaming(index) is None and not content.text:
            return
        rest = content.text[self._received.get(index, 0) :]
        block = self._at(index, rest)
        if rest:
            self._take(block, index, rest)
        self._before = content.text
        self._cited = self._sources.cite(content)
        for source in self._cited:
            block.cite(source.number, source.url)
        if self._cited:
            block.take(marks(self._cited))
            self._page.drain(block)
        self._block = block

    def _streaming(self, index: int) -> TextBlock | None:
        block = self._page.streaming.get(index)
        return block if isinstance(block, TextBlock) and block.streaming else None

    def _at(self, index: int, text: str) -> TextBlock:
        """The block for the text at this index: its own, the one before it, or a new one."""
        if index in self._received and (block := self._streaming(index)) is not None:
            return block
        self._received[index] = 0
        block, blocks = self._block, self._page.layout.blocks
        follows = block is not None and block.streaming and blocks and blocks[-1] is block
        if block is not None and follows and self._flows_on(text):
            self._page.streaming[index] = block
            self._block = None
            return block
        self.settle()
        return self._page.begin(index, TextBlock())

    def _take(self, block: TextBlock, index: int, text: str) -> None:
        if not self._received[index]:
            block.take(self._joint(text))
        self._received[index] += len(text)
        block.take(text)
        self._page.drain(block)

    def _flows_on(self, text: str) -> bool:
        return flows_on(self._before, text, cited=bool(self._cited))

    def _joint(self, text: str) -> str:
        cited, self._cited = self._cited, []
        return joint(text) if cited else ""

    # --- stored ------------------------------------------------------------------------

    def stored(self, content: TextContent) -> None:
        """A text block of a stored answer; settle() shows it."""
        if not content.text:
            return
        if self._stored and not self._flows_on(content.text):
            self.settle()
        if not self._stored and not content.text.strip() and not citations(content):
            return
        self._stored.append(self._joint(content.text) + content.text)
        self._cited = self._sources.cite(content)
        self._stored.append(marks(self._cited))
        self._addresses |= {str(source.number): source.url for source in self._cited}
        self._before = content.text

    # --- both --------------------------------------------------------------------------

    def settle(self) -> None:
        """The text is whole: it is closed, and its sources are put below it."""
        page = self._page
        block, self._block = self._block, None
        if block is not None and block.streaming:
            page.touch(block, block.close())
            block.share(self._before)
        if self._stored:
            text = "".join(filter(None, self._stored))  # one alone is handed on as it is
            page.add(TextBlock(text, self._addresses), page.message_id)
            self._stored, self._addresses = [], {}
        self._cited = []
        if sources := self._sources.listed():
            page.add(SourcesBlock(sources), page.message_id)
