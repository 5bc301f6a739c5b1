"""The end of a conversation that a person leaves: within a bound, whatever still runs in it."""

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

log = logging.getLogger(__name__)

CLOSE_WITHIN_S = 3.5


async def close_in_time(conversation: "Conversation", within_s: float = CLOSE_WITHIN_S) -> None:
    """Close it. What hangs (for more than within_s seconds) or fails is logged: nothing keeps
    the one who leaves."""
    try:
        async with asyncio.timeout(within_s):
            await conversation.close()
    except TimeoutError:
        log.error("the conversation did not close within %s s", within_s)
    except Exception:
        log.exception("the conversation did not close well")
