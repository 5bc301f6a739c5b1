"""What is worked out once for each message, and that it changes nothing of what is sent."""

import gc

import pytest
from histories import History, histories
from hypothesis import given, settings

from agent_tui.agent import repair_turns
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.memo import Memo
from agent_tui.agent.messages import UserMessage


def test_each_message_is_asked_about_once_and_by_itself() -> None:
    asked: list[int] = []

    def length(message: UserMessage) -> int:
        asked.append(id(message))
        return len(message.text)

    memo: Memo[UserMessage, int] = Memo(length)
    one = UserMessage(id="same", content="abc")  # type: ignore[arg-type]
    equal = one.model_copy()
    assert [memo(one), memo(one), memo(equal), memo(equal)] == [3, 3, 3, 3]
    assert asked == [id(one), id(equal)]


def test_nothing_is_kept_of_messages_that_are_gone() -> None:
    memo: Memo[UserMessage, str] = Memo(lambda message: message.text)
    for number in range(100):
        assert memo(UserMessage(content=str(number))) == str(number)  # type: ignore[arg-type]
    gc.collect()
    assert not memo._made


@settings(max_examples=300, derandomize=True, deadline=None)
@given(histories(max_size=16))
def test_messages_that_need_no_change_go_out_as_by_the_long_way(history: History) -> None:
    for lost in (False, True):
        short = [m.model_dump() for m in convert_to_llm(history.messages, program_lost=lost)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(repair_turns, "plain_calls", lambda _: None)
            by_the_long_way = convert_to_llm(history.messages, program_lost=lost)
        assert short == [m.model_dump() for m in by_the_long_way]
