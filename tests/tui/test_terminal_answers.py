"""What a terminal answers never becomes keys, however it is cut; keys stay keys."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from agent_tui.tui import terminal_input
from agent_tui.tui.terminal_answers import TerminalAnswers
from agent_tui.tui.terminal_images import KITTY_QUERY
from agent_tui.tui.terminal_input import PasteAwareParser

YES = "\x1b_Gi=31;OK\x1b\\"
NO = "\x1b_Gi=31;ENOTSUPPORTED:no\x1b\\"
DEVICE = "\x1b[?62;22c"


async def ask(answers: TerminalAnswers, *reads: str, within_s: float = 5.0) -> bool:
    """Ask, and have these come as an answer."""
    written: list[str] = []
    asking = asyncio.create_task(answers.ask_kitty(KITTY_QUERY, written.append, within_s))
    await asyncio.sleep(0)
    assert written == [KITTY_QUERY]
    for read in reads:
        answers.take(read)
    return await asking


async def test_a_terminal_that_draws_says_so() -> None:
    assert await ask(TerminalAnswers(), YES + DEVICE)
    assert await ask(TerminalAnswers(), YES[:5], YES[5:], DEVICE)


async def test_one_that_answers_the_other_question_only_draws_none() -> None:
    assert not await ask(TerminalAnswers(), DEVICE)
    assert not await ask(TerminalAnswers(), NO + DEVICE)


async def test_one_that_answers_nothing_is_waited_for_within_a_bound() -> None:
    async with asyncio.timeout(10):
        assert not await ask(TerminalAnswers(), within_s=0.05)


async def test_a_late_answer_is_no_input() -> None:
    answers = TerminalAnswers()
    assert not await ask(answers, within_s=0.01)
    assert answers.take(f"a{YES}{DEVICE}b") == "ab"


def test_before_the_first_question_nothing_is_looked_at() -> None:
    assert TerminalAnswers().take(YES) == YES


@given(st.text("ab\r", max_size=6), st.text("ab\r", max_size=6), st.lists(st.integers(1, 30)))
def test_keys_around_an_answer_that_comes_in_pieces_are_kept(
    before: str, after: str, cuts: list[int]
) -> None:
    async def run() -> None:
        answers = TerminalAnswers()
        asking = asyncio.create_task(answers.ask_kitty(KITTY_QUERY, lambda _: None, 5.0))
        await asyncio.sleep(0)
        data, taken = before + YES + DEVICE + after, ""
        for cut in cuts:
            taken += answers.take(data[:cut])
            data = data[cut:]
        taken += answers.take(data)
        assert taken == before + after
        assert await asking

    asyncio.run(run())


async def test_escape_pressed_while_the_terminal_is_asked_is_a_key(monkeypatch) -> None:
    answers = TerminalAnswers()
    monkeypatch.setattr(terminal_input, "ANSWERS", answers)
    now = 0.0
    parser = PasteAwareParser(clock=lambda: now)
    asking = asyncio.create_task(answers.ask_kitty(KITTY_QUERY, lambda _: None, 5.0))
    await asyncio.sleep(0)
    keys = [event.key for event in parser.feed("\x1b")]
    now = 1.0
    for _ in range(3):
        keys += [event.key for event in parser.tick()]
    if not keys:  # Textual waits for more of a sequence by its own clock
        await asyncio.sleep(0.15)
        keys += [event.key for event in parser.tick()]
    assert keys == ["escape"]
    assert list(parser.feed(YES + DEVICE)) == []
    assert await asking
