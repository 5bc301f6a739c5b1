"""Pictures of the API's blocks: folded and open, at two widths, in both themes and in ASCII."""

from typing import Any

import pytest

from agent_tui.tui.glyphs import ASCII, UNICODE

from .harness import TranscriptApp, settled
from .replaying import RECORDINGS, stored

SHOWN = ("answer-web", "answer-web-errors", "answer-container", "answer-connector",
         "answer-documents", "answer-marks", "unknown-kinds", "stop-refusal-empty",
         "stop-max_tokens")  # fmt: skip


@pytest.mark.parametrize(
    ("theme", "ascii_only", "size", "opened"),
    [
        ("dark", False, (76, 76), False),
        ("light", False, (40, 100), False),
        ("light", False, (76, 136), True),
        ("dark", True, (40, 184), True),
    ],
    ids=["folded", "folded-narrow", "open", "open-narrow-ascii"],
)
def test_blocks_of_the_api(
    snap_compare: Any, theme: str, ascii_only: bool, size: tuple[int, int], opened: bool
) -> None:
    app = TranscriptApp(theme=theme, glyphs=ASCII if ascii_only else UNICODE)

    async def play(pilot: Any) -> None:
        app.transcript.load([stored(RECORDINGS / f"{name}.sse") for name in SHOWN])
        if opened:
            app.transcript.toggle_tools()
        await settled(pilot)

    assert snap_compare(app, terminal_size=size, run_before=play)
