"""The offline server's prompt cache: what is read and written, of what the model reads."""

from typing import Any

from agent_tui.offline.prompt_cache import CacheShare, PromptCache
from agent_tui.offline.wire import estimate_tokens, read_by_model

Json = dict[str, Any]
CALLER = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
LONG = "a line of the system prompt, long enough to be kept. " * 200


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def cache(clock: Clock | None = None) -> PromptCache:
    return PromptCache(estimate_tokens, read_by_model, clock or Clock())


def marked(text: str, **mark: str) -> Json:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral", **mark}}


def request(*messages: Json, system: str = LONG, **mark: str) -> Json:
    return {"model": "m", "system": [marked(system, **mark)], "messages": list(messages)}


def user(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def test_what_one_request_writes_the_next_reads():
    kept = cache()
    first = kept.share(request(user("hi")))
    assert first.read == 0 and first.written > 1024
    assert kept.share(request(user("other"))) == CacheShare(read=first.written)


def test_another_beginning_is_not_read():
    kept = cache()
    kept.share(request(user("hi")))
    assert kept.share(request(user("hi"), system="x" + LONG)).read == 0


def test_a_beginning_is_kept_for_its_time_after_each_use():
    clock = Clock()
    kept = cache(clock)
    kept.share(request(user("hi")))
    for _ in range(3):
        clock.now += 299
        assert kept.share(request(user("hi"))).read
    clock.now += 301
    assert kept.share(request(user("hi"))).read == 0
    kept.share(request(user("hi"), ttl="1h", system=LONG + "!"))
    clock.now += 3599
    assert kept.share(request(user("hi"), ttl="1h", system=LONG + "!")).read


def test_what_only_a_program_reads_is_neither_read_nor_written():
    """Results of programmatic calls do not enter the model's context (facts page)."""
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {}, "caller": CALLER}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "9" * 400_000}
    output = {"stdout": "2\n", "stderr": "", "return_code": 0, "content": []}
    ran = {
        "type": "code_execution_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "code_execution_result", **output},
    }
    messages = [
        user("count"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [ran]},
        {"role": "user", "content": [marked("and now?")]},
    ]
    share = cache().share(request(*messages))
    without = request(messages[0], messages[3], messages[4])
    assert share == cache().share(without)
    assert share.written < 5_000
