"""What a Transcript tells the app, as Textual messages; its names for them are in transcript.py.

A face handles them by name (`on_transcript_new_lines`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from agent_tui.tui.transcript.parts import Picture
from agent_tui.tui.transcript.searching import SearchState

if TYPE_CHECKING:
    from agent_tui.tui.transcript.transcript import Transcript


class Signal(Message, namespace="transcript"):
    """Of one transcript."""

    def __init__(self, transcript: "Transcript") -> None:
        super().__init__()
        self.transcript = transcript

    @property
    def control(self) -> "Transcript":
        return self.transcript


class NewLines(Signal, namespace="transcript"):
    """Lines came below while the view does not follow; 0: it follows again."""

    def __init__(self, transcript: "Transcript", count: int) -> None:
        super().__init__(transcript)
        self.count = count


class SearchChanged(Signal, namespace="transcript"):
    """Another match is visited, or more are counted."""

    def __init__(self, transcript: "Transcript", state: SearchState) -> None:
        super().__init__(transcript)
        self.state = state


class SearchKept(Signal, namespace="transcript"):
    """Enter while a search is on: it ends at the match."""


class CopyWanted(Signal, namespace="transcript"):
    """The block under the cursor shall be copied: its source."""

    def __init__(self, transcript: "Transcript", text: str) -> None:
        super().__init__(transcript)
        self.text = text


class ImageWanted(Signal, namespace="transcript"):
    """A picture shall be shown on its own; first: which of them comes first."""

    def __init__(
        self, transcript: "Transcript", pictures: Sequence[Picture], first: int = 0
    ) -> None:
        super().__init__(transcript)
        self.pictures = pictures
        self.first = first


class Left(Signal, namespace="transcript"):
    """The keys shall go back to where one types."""


class ToolOpened(Signal, namespace="transcript"):
    """A tool's line was clicked, or Enter pressed on it."""

    def __init__(self, transcript: "Transcript", call_id: str) -> None:
        super().__init__(transcript)
        self.call_id = call_id
