"""The memory tool in a conversation: offered by its type, asked for, kept at home."""

from pathlib import Path

import pytest

from tests.faults.helpers import blocks, talking


async def test_the_model_keeps_a_note_and_a_later_conversation_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path / "home"))
    note = {"command": "create", "path": "/memories/user.md", "file_text": "Prefers metric.\n"}
    async with talking(
        {"tool_calls": [{"id": "toolu_1", "name": "memory", "input": note}]},
        {"text": "Noted."},
        cwd=tmp_path,
    ) as talk:
        await talk.conversation.command("/tools memory direct")
        await talk.conversation.submit("I use metric units")
        asked = await talk.until_event("permission_request")
        assert asked.tool_name == "memory" and asked.arguments == note
        assert not (tmp_path / "home" / "memories" / "user.md").exists()
        talk.conversation.answer(asked.request_id, "allow")
        await talk.idle()
        talk.assert_accepted()
        (offered,) = [t for t in talk.bodies[0]["tools"] if t["name"] == "memory"]
        assert offered == {"type": "memory_20250818", "name": "memory"}
        assert (tmp_path / "home/memories/user.md").read_text() == "Prefers metric.\n"
    look = {"command": "view", "path": "/memories/user.md"}
    async with talking(
        {"tool_calls": [{"id": "toolu_1", "name": "memory", "input": look}]},
        {"text": "Metric."},
        cwd=tmp_path, allow=["memory"],
    ) as talk:  # fmt: skip
        await talk.conversation.command("/tools memory both")
        await talk.say("which units?")
        talk.assert_accepted()
        (result,) = blocks(talk.bodies[1], "tool_result")
        assert "Prefers metric." in result["content"][0]["text"]
