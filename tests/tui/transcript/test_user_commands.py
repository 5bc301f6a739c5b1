"""What the user runs with `!`, and what came along with a message: their lines."""

import pytest

from agent_tui.agent.events import AgentEndEvent, MessageStartEvent
from agent_tui.agent.messages import (
    Attachment,
    BashExecutionMessage,
    ImageContent,
    TextContent,
    UserMessage,
)
from agent_tui.conversation.events import UserCommandEvent
from agent_tui.tui.transcript.blocks import BashBlock
from agent_tui.tui.transcript.images import ShownImage

from .harness import Page


def running(text: str = "", command: str = "make") -> UserCommandEvent:
    return UserCommandEvent("b1", command, False, "running", text)


def test_a_command_is_shown_while_it_runs_with_its_time_and_how_to_stop_it() -> None:
    page = Page(60)
    assert page.apply(running()) == ["! make   ● 0 s  Esc stops it"]
    page.clock.now += 7
    rows = page.apply(running("one\n"), running("50 %"), running("\r\x1b[Kdone"))
    assert rows == ["! make   ● 7 s  Esc stops it", "    one", "    done"]
    assert len(page.feed.live) == 1
    page.apply(AgentEndEvent([], ""))
    assert len(page.feed.live) == 1, "the end of a run is not its end"
    rows = page.apply(UserCommandEvent("b1", "make", False, "ended", "one\ndone\n", 2))
    assert (
        rows == ["! make   exit 2   the model sees it", "    one", "    done"]
        and page.feed.live == []
    )


def test_its_message_makes_no_second_block() -> None:
    page = Page()
    page.apply(running(), UserCommandEvent("b1", "make", False, "stopped", "one\n"))
    assert page.rows() == ["! make   stopped   the model sees it", "    one"]
    message = BashExecutionMessage(id="b1", command="make", output="one\n", cancelled=True)
    assert page.apply(MessageStartEvent(message)) == [
        "! make   stopped   the model sees it",
        "    one",
    ]


def test_a_long_command_leaves_room_for_the_word_that_stops_it() -> None:
    (row,) = Page(40).apply(running(command="x" * 100))
    assert row.endswith("…   ● 0 s  Esc stops it") and len(row) == 40


def test_of_a_flood_only_the_end_is_kept_while_it_runs() -> None:
    page = Page()
    page.apply(running())
    for at in range(200):
        page.apply(running(f"line {at} {'x' * 500}\n"))
    (block,) = page.layout.blocks
    assert isinstance(block, BashBlock)
    assert len(block.output) <= BashBlock.LIVE_CHARS and block.output.startswith("line ")
    assert page.rows()[1] == "    … 19 earlier lines"


def test_what_came_along_is_a_line_each_and_is_not_shown() -> None:
    message = UserMessage(
        content=[
            TextContent(text="see @a.py and @b.png"),
            TextContent(text="[file a.py]\n     1\tsecret"),
            TextContent(text="[b.png: image/png]"),
            ImageContent(data="AA==", media_type="image/png"),
        ],
        attachments=[
            Attachment(mention="a.py", name="a.py\x1b[2J", about="1 line"),
            Attachment(mention="b.png", name="b.png", about="PNG, 4 x 3 px", blocks=2),
        ],
    )
    rows = Page(60).apply(MessageStartEvent(message))
    assert rows == ["❯ see @a.py and @b.png", "  · a.py␛[2J  1 line", "  · b.png  PNG, 4 x 3 px"]
    page = Page()
    page.load(message)
    (block,) = page.layout.blocks
    assert block.source() == "see @a.py and @b.png", "what is copied was typed"
    (image,) = block.pictures()
    assert isinstance(image, ShownImage)
    assert (image.name, image.data) == ("b.png", "AA=="), "its line opens it"


def test_the_end_of_a_command_of_another_session_is_not_shown() -> None:
    assert Page().apply(UserCommandEvent("b9", "make", False, "stopped", "x")) == []


@pytest.mark.parametrize(("exclude", "whose"), [(False, "the model sees it"), (True, "only you")])
def test_who_sees_the_output_is_said_where_there_is_room(exclude: bool, whose: str) -> None:
    bang = "!!" if exclude else "!"
    page = Page(60)
    rows = page.apply(UserCommandEvent("b1", "ls", exclude, "running", ""),
                      UserCommandEvent("b1", "ls", exclude, "ended", "a\n", 0))  # fmt: skip
    assert rows[0].startswith(f"{bang} ls   {whose}") and "exit" not in rows[0]
    stored = BashExecutionMessage(id="b2", command="ls", output="a\n", exit_code=0, exclude=exclude)
    other = Page(60)
    other.load(stored)
    assert other.rows()[0] == rows[0]
    narrow = Page(40)
    narrow.load(stored)
    assert narrow.rows()[0] == f"{bang} ls"
