"""A response that begins anew in mid-stream: nothing of the first one decides on the second."""

from agent_tui.agent.events import ErrorEvent
from agent_tui.messages_api.assembler import Assembler


def test_the_stop_of_a_first_response_does_not_end_the_second() -> None:
    """A gateway asked again after the stop_reason had come, and the second one was cut."""
    assembler = Assembler()
    for event in (
        {"type": "message_start", "message": {"id": "msg_1", "content": []}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "stop_sequence", "stop_sequence": "END",
                      "stop_details": {"type": "x"}},
        },
        {"type": "message_stop"},
        {"type": "message_start", "message": {"id": "msg_2", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hal"}},
    ):  # fmt: skip
        assembler.feed(event)
    assembler.feed({"type": "message_stop"})
    *_, last = assembler.finish()
    assert isinstance(last, ErrorEvent)
    assert last.message.error_type == "stream_cut"
    assert (last.message.stop_sequence, last.message.stop_details) == (None, None)
    assert (last.message.text, last.message.api_id) == ("hal", "msg_2")
