"""Marks that the API sets between the blocks of an answer: compaction and fallback."""

from agent_tui.text import SafeText
from agent_tui.tui.transcript.api_blocks import ApiBlock, mapping, words
from agent_tui.tui.transcript.blocks import Modes
from agent_tui.tui.transcript.lines import Look
from agent_tui.tui.transcript.notices import notice_part, rule_line
from agent_tui.tui.transcript.parts import RowPart
from agent_tui.tui.transcript.splitter import MarkdownSplitter


class CompactionBlock(ApiBlock):
    """compaction: a rule; the summary that stands for what came before can be opened."""

    kind = "separator"

    @property
    def _summary(self) -> str:
        content = self.raw.get("content")
        return content.strip("\n") if isinstance(content, str) else ""

    @property
    def _label(self) -> str:
        if self.stopped:
            return "compaction was interrupted"
        if not self.done:
            return "the API is compacting what came before"
        if self._summary:
            return "the API compacted what came before"
        if self.raw.get("encrypted_content"):
            return "the API compacted what came before; its summary is encrypted"
        return "the API could not compact what came before; it is sent whole"

    def is_open(self, modes: Modes) -> bool:
        return bool(self.expanded) and bool(self._summary)

    def compose(self, modes: Modes) -> None:
        opened = self.is_open(modes)
        fold = opened if self._summary else None
        self.parts = [RowPart(lambda look: [rule_line(look, self._label, fold)], self._label)]
        if opened:
            splitter = MarkdownSplitter()
            splitter.feed(SafeText(self._summary))
            splitter.finish()
            self.parts += splitter.parts

    def source(self) -> str:
        return SafeText(self._summary) or self._label


class FallbackBlock(ApiBlock):
    """fallback: another model answers from here on, and why."""

    kind = "notice"
    foldable = False

    @property
    def _text(self) -> str:
        before, after = (
            words(mapping(self.raw.get(key)).get("model")) or "a model" for key in ("from", "to")
        )
        trigger = mapping(self.raw.get("trigger"))
        why = "declined" if trigger.get("type") in ("refusal", None) else words(trigger["type"])
        category = words(trigger.get("category"))
        return f"{after} answers from here: {before} {why}" + (f" ({category})" if category else "")

    def compose(self, modes: Modes) -> None:
        self.parts = [notice_part("info", self._text)]

    def source(self) -> str:
        return self._text

    def name(self, look: Look) -> str:
        return "fallback"
