"""What an @file sends: read once, attached to the message that names it; and what an edit, a
withdrawal and a file that has gone do to it."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import ImageContent, UserMessage, attached
from agent_tui.conversation.mentions.reading import MentionError
from agent_tui.conversation.mentions.syntax import mentions, named_so_far, written
from tests.faults.helpers import Talk, said, talking
from tests.tools.test_files import png


def blocks(talk: Talk, request: int = 0, message: int = 0) -> list[dict[str, Any]]:
    return talk.bodies[request]["messages"][message]["content"]


async def test_a_text_file_stands_behind_what_was_typed(tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text("def total():\n    return 1\n")
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        await talk.say("why is @cart.py slow? (see @cart.py, again)")
        talk.assert_accepted()
        assert said(talk.bodies[0]["messages"][0]) == [
            "why is @cart.py slow? (see @cart.py, again)",
            "[file cart.py]\n     1\tdef total():\n     2\t    return 1",
        ]
        message = talk.conversation.messages[0]
        assert isinstance(message, UserMessage)
        assert message.text == "why is @cart.py slow? (see @cart.py, again)"
        assert [(a.name, a.about) for a in message.attachments] == [("cart.py", "2 lines")]


@pytest.mark.parametrize("text", ["see @cart.py.", "(@cart.py)", "@cart.py, please", "@cart.py?"])
async def test_the_sign_that_ends_a_sentence_is_no_part_of_a_name(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "cart.py").write_text("x")
    (tmp_path / "cart.py!").write_text("y")
    async with talking(cwd=tmp_path) as talk:
        message = await talk.conversation.message_of(text)
        assert [a.name for a in message.attachments] == ["cart.py"]
        whole = await talk.conversation.message_of("see @cart.py!")
        assert [a.name for a in whole.attachments] == ["cart.py!"], "a name that there is"


async def test_a_long_file_is_cut_as_the_tool_read_cuts_it(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        message = await talk.conversation.message_of("@log")
        (((attachment, (block,)),)) = attached(message)
        assert "\tline 2000\n" in block.text and "line 2001" not in block.text  # pyright: ignore
        assert "Lines 1-2,000 of 5,000" in block.text  # pyright: ignore
        assert attachment.about == "lines 1-2,000 of 5,000"


async def test_a_picture_goes_as_a_picture_and_a_folder_as_its_list(tmp_path: Path) -> None:
    (tmp_path / "my shots").mkdir()
    data = png(4, 3)
    # The name lies: what counts are the bytes.
    (tmp_path / "my shots" / "a b.txt").write_bytes(data)
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        await talk.say('look at @"my shots/a b.txt" in @"my shots/".')
        talk.assert_accepted()
        typed, head, image, folder = blocks(talk)
        assert typed["text"] == 'look at @"my shots/a b.txt" in @"my shots/".'
        assert "image/png, 4 x 3 px" in head["text"]
        assert base64.b64decode(image["source"]["data"]) == data
        assert image["source"]["media_type"] == "image/png"
        assert folder["text"].startswith("[folder my shots/]\na b.txt")


@pytest.mark.parametrize(
    "text",
    ["mail me@cart.py", "@decorator", "@", "@ cart.py", "see @nowhere/cart.py", "a@", '@""',
     "@" + "x" * 5000, "@cart.py/inside"],
)  # fmt: skip
async def test_what_names_no_file_stays_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "cart.py").write_text("x")
    async with talking(cwd=tmp_path) as talk:
        message = await talk.conversation.message_of(text)
        assert message.text == text and len(message.content) == 1 and not message.attachments


async def test_what_cannot_be_sent_is_said_and_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "cut.png").write_bytes(png(4, 3)[:30])
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n\0\1")
    (tmp_path / "plain.pdf").write_bytes(b"%PDF-1.4\n1 0 obj\n")  # compressed far behind, if at all
    os.mkfifo(tmp_path / "pipe")
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        for name, why in (
            ("a.bin", "binary file, 300 bytes"), ("cut.png", "damaged or cut short"),
            ("pipe", "no regular file"), ("a.pdf", "a PDF cannot go along; with `!pdftotext"),
            ("plain.pdf", "a PDF cannot go along"),
        ):  # fmt: skip
            with pytest.raises(MentionError, match=rf"@{name} was not sent: .*{why}") as caught:
                await talk.conversation.submit(f"look at @{name}")
            assert "Use shell" not in str(caught.value), "that is advice for the model"
        assert talk.bodies == [] and talk.conversation.messages == []


async def test_it_is_read_once_and_stays_what_it_was(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.write_text("first")
    async with talking(*[{"text": "Yes."}] * 2, cwd=tmp_path) as talk:
        await talk.say("@notes")
        notes.write_text("second")
        await talk.say("and now?")
        assert said(talk.bodies[1]["messages"][0])[1] == "[file notes]\n     1\tfirst"


async def test_what_is_piped_in_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    async with talking(cwd=tmp_path) as talk:
        message = await talk.conversation.message_of("sum up", rest="\n\nlog of @key here")
        assert message.text == "sum up\n\nlog of @key here" and not message.attachments


async def test_an_edit_keeps_what_came_along_and_reads_what_is_new(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text(f"{name} at first")
    slow = {"text": "word " * 40, "chunk_size": 5, "chunk_delay_ms": 10}
    async with talking(slow, *[{"text": "Yes."}] * 2, cwd=tmp_path) as talk:
        conversation = talk.conversation
        await conversation.submit("begin")
        await talk.until_stream("text_delta")
        queued = await conversation.follow_up("compare @one with @two")
        assert queued.item_id is not None
        assert conversation.queue()[0].text == "compare @one with @two"
        (tmp_path / "one").write_text("one, changed")
        assert conversation.queue_lock(queued.item_id) == "compare @one with @two"
        await conversation.queue_edit(queued.item_id, "compare @one with @three")
        await talk.idle()
        talk.assert_accepted()
        assert said(talk.bodies[1]["messages"][-1]) == [
            "compare @one with @three",
            "[file one]\n     1\tone at first",
            "[file three]\n     1\tthree at first",
        ]


async def test_a_withdrawn_picture_that_has_gone_is_still_there_to_send(tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    shot.write_bytes(png(4, 3))
    slow = {"text": "word " * 40, "chunk_size": 5, "chunk_delay_ms": 10}
    async with talking(slow, {"text": "Yes."}, cwd=tmp_path) as talk:
        conversation = talk.conversation
        await conversation.submit("begin")
        await talk.until_stream("text_delta")
        queued = await conversation.follow_up("see @shot.png")
        assert queued.item_id is not None
        conversation.queue_remove(queued.item_id)
        shot.unlink()
        await talk.idle()
        await talk.say("see @shot.png")
        assert [b["type"] for b in blocks(talk, 1, -1)] == ["text", "text", "image"]


async def test_a_session_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(png(4, 3))
    async with talking({"text": "Yes."}, cwd=tmp_path) as talk:
        await talk.say("see @shot.png")
        (stored,) = [m for m in talk.conversation.session.messages() if m.role == "user"]
        again = UserMessage.model_validate_json(stored.model_dump_json())
        assert again == talk.conversation.messages[0]
        assert again.text == "see @shot.png" and again.attachments[0].name == "shot.png"
        assert any(isinstance(block, ImageContent) for block in again.content)


@pytest.mark.parametrize(
    "path",
    ["a.py", "src/a b.py", 'qu"ote', "back\\slash", "line\nbreak", "dot.", "ümläut", "a)", "'x'",
     "tab\there", "@at", "x" * 300, "esc\x1b[2J", "bidi\u202e", "byte\udcff", "tag\U000e0001"],
)  # fmt: skip
def test_every_name_can_be_written_and_read_back(path: str) -> None:
    text = f"see @{written(path)} and more"
    ((first, *_),) = mentions(text)
    assert first.path == path
    assert text.isprintable(), "nothing here that a terminal would obey"
    if (name := written(path)).startswith('"'):
        assert named_so_far(name) == named_so_far(name[:-1]) == path
