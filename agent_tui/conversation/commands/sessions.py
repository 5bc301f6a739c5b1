"""/resume: list the sessions of this folder, or go on in one."""

import asyncio
from typing import TYPE_CHECKING

from agent_tui.agent.agent import AgentBusyError
from agent_tui.conversation import session_choice
from agent_tui.conversation.commands.registry import CommandRegistry, wrong_form
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.sessions.errors import SessionError

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation


async def resume(conversation: "Conversation", arguments: str) -> CommandResult:
    if " " in arguments:
        return wrong_form("/resume [ID]")
    if not arguments:
        found = await asyncio.to_thread(session_choice.list_here, conversation.cwd)
        others = [s for s in found if s["id"] != conversation.session.id]
        if not others:
            return CommandResult(text="No other session is kept for this folder.")
        lines = "\n".join(f"- `{s['id']}`  {s['age']}, {s['prompts']}" for s in others[:50])
        return CommandResult(text=lines, action="resume_picker", data={"sessions": others})
    if conversation.session.id.startswith(arguments):
        return CommandResult(text="That is the session you are in.")
    if conversation.busy:
        return conversation.when_idle(f"/resume {arguments}")
    wish = SessionWish(
        keep=conversation.keeps,
        resume=True,
        resume_id=arguments,
        face=conversation.session.face or "screen",
    )
    try:
        session = await asyncio.to_thread(
            session_choice.open_wished, wish, conversation.cwd, conversation.endpoint
        )
    except SessionError as error:
        return CommandResult(error=str(error))
    try:
        await conversation.open_session(session)
    except AgentBusyError:  # something was said while the file was read
        await asyncio.to_thread(session.close)
        return conversation.when_idle(f"/resume {arguments}")
    return CommandResult(action="reload", data={"session_id": session.id})


def register(registry: CommandRegistry) -> None:
    registry.add("resume", "/resume [ID]", "go on in another session of this folder", resume)
