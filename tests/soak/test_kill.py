"""kill -9 in the middle of the work: nothing that was accepted is lost, doubled or disordered."""

import random
from pathlib import Path

import pytest

from .kills import KilledConversation, draw_kills
from .program import Launcher

CONVERSATIONS = 4
KILLS = 5


@pytest.mark.parametrize("number", range(CONVERSATIONS))
async def test_every_accepted_message_is_delivered_once_over_kills(
    number: int, tmp_path: Path, launcher: Launcher
) -> None:
    kills = draw_kills(random.Random("kills"), CONVERSATIONS * KILLS)[number::CONVERSATIONS]
    conversation = KilledConversation(f"conversation {number}", tmp_path, launcher)
    await conversation.run(kills)
    conversation.check()
