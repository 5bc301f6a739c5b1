"""The loop: messages, events, tools, queue, Agent.
Knows no SDK, no Textual, no disk: asyncio and pydantic only.
"""
