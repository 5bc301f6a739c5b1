"""`@file` in what -p and rpc are given: the same as on the screen."""

from pathlib import Path

from agent_tui.headless.print_mode import run_print

from .rpc_making import HANGS, rpc


async def test_rpc_sends_what_its_texts_name(tmp_path: Path) -> None:
    async with rpc(tmp_path, HANGS, {"text": "Done."}) as it:
        (tmp_path / "work/a.txt").write_text("one")
        (tmp_path / "work/b.bin").write_bytes(b"\0\1")
        assert "binary file" in await it.error("prompt", text="see @b.bin")
        await it.ok("prompt", text="see @a.txt")
        item_id = (await it.ok("steer", text="and @a.txt again"))["item_id"]
        ((entry, *_),) = [(await it.ok("queue"))["items"]]
        assert entry["text"] == "and @a.txt again"
        assert "binary file" in await it.error("queue_edit", item_id=item_id, text="@b.bin")
        await it.ok("queue_edit", item_id=item_id, text="@a.txt, please")
        (stored,) = it.stored().queue_items()
        assert [b.text for b in stored.message.content] == [  # type: ignore[union-attr]
            "@a.txt, please", "[file a.txt]\n     1\tone",
        ]  # fmt: skip
        (first,) = [m for m in await it.ok("messages") if m["role"] == "user"]
        assert [b["text"] for b in first["content"]] == [
            "see @a.txt", "[file a.txt]\n     1\tone",
        ]  # fmt: skip


async def test_print_sends_what_its_text_names_and_nothing_that_is_piped(tmp_path: Path) -> None:
    async with rpc(tmp_path, {"text": "Done."}) as it:
        (tmp_path / "work/a.txt").write_text("one")
        (tmp_path / "work/b.txt").write_text("two")
        assert await run_print(it.conversation, "see @a.txt", "text", piped="\n\n@b.txt") == 0
        message = it.conversation.messages[0]
        assert [b.text for b in message.content] == [  # type: ignore[union-attr]
            "see @a.txt\n\n@b.txt", "[file a.txt]\n     1\tone",
        ]  # fmt: skip
