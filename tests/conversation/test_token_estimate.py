"""The estimate of tokens against count_tokens of the offline server, over all kinds of text."""

import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.conversation.token_estimate import PIECE_CHARS, estimate_tokens
from agent_tui.offline.server import OfflineServer

ROWS = [{"id": n, "name": f"row {n}", "total": n * 37.5, "ok": n % 3 == 0} for n in range(100)]
PROSE = (
    "The kettle had been singing for some minutes before anybody noticed it. Outside, the "
    "rain went on, and the harbour lights came and went behind it as if somebody were "
    "thinking about them. Nobody spoke; there was, after all, plenty of time.\n\n"
)
TEXTS = {
    "prose": PROSE * 10,
    "code": inspect.getsource(json.decoder),
    "json": json.dumps(ROWS),
    "indented json": json.dumps(ROWS, indent=2),
    "csv": "\n".join(f"{n},2026-01-{n % 28 + 1:02},s {n % 7},{n * 13.37:.2f}" for n in range(200)),
    "chinese": "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。" * 20,
    "japanese": "データベースから去年の売上を読み取り、地域ごとに合計します。" * 20,
    "korean": "데이터베이스에서 작년 매출을 읽고 지역별로 합계를 냅니다. " * 20,
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20,
    "a log": "\n".join(
        f"2026-11-30 12:{n % 60:02}:07 INFO  worker-{n % 4}: job {n} done in {n * 7 % 90} ms"
        for n in range(150)
    ),
    "mixed": PROSE * 3 + json.dumps(ROWS[:20]) + "\n地域ごとに合計します。" * 20,
    "very long": PROSE * 400 + json.dumps(ROWS * 40),
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[OfflineServer]:
    server = OfflineServer()
    server.start()
    yield server
    server.stop()


def counted(server: OfflineServer, text: str) -> int:
    """What count_tokens says of this text in a message, the message itself taken off."""

    def ask(content: str) -> int:
        body = {"model": "demo", "messages": [{"role": "user", "content": content}]}
        answer = httpx2.post(
            f"{server.url}/v1/messages/count_tokens",
            json=body,
            headers={"anthropic-version": "2026-10-21"},
            trust_env=False,
        )
        return answer.json()["input_tokens"]

    return ask(f"a{text}") - ask("a")


@pytest.mark.parametrize("kind", TEXTS)
def test_within_a_fifth_of_what_the_server_counts(server: OfflineServer, kind: str) -> None:
    text = TEXTS[kind]
    real = counted(server, text)
    assert real > 100
    assert 0.8 * real <= estimate_tokens(text) <= 1.2 * real


def test_within_a_fifth_over_the_answers_that_the_service_recorded() -> None:
    """The recordings say how many tokens a text was: those of plain text, taken together."""
    place = os.environ.get("AGENT_TUI_RECORDINGS")
    if not place:
        pytest.skip("AGENT_TUI_RECORDINGS is not set")
    told = estimated = 0
    for file in sorted(Path(place).glob("traceloop-*stream*.sse")):
        events = [
            json.loads(line.removeprefix("data:"))
            for line in file.read_text("utf-8").splitlines()
            if line.startswith("data:")
        ]
        kinds = {e["content_block"]["type"] for e in events if e["type"] == "content_block_start"}
        if kinds != {"text"}:
            continue
        estimated += estimate_tokens(
            "".join(e["delta"]["text"] for e in events if e["type"] == "content_block_delta")
        )
        (end,) = [e for e in events if e["type"] == "message_delta"]
        told += end["usage"]["output_tokens"]
    assert told > 500
    assert 0.8 * told <= estimated <= 1.2 * told


def test_nothing_is_no_token_and_anything_is_one() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == estimate_tokens("a") == 1


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_is_never_fewer_tokens(text: str, more: str) -> None:
    # One: two words that meet become one, and the rounding.
    assert estimate_tokens(text + more) >= estimate_tokens(text) - 1


def test_a_very_long_text_costs_no_more_than_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    from agent_tui.conversation import token_estimate

    real = token_estimate._tokens

    def counting(text: str) -> float:
        looked_at.append(len(text))
        return real(text)

    monkeypatch.setattr(token_estimate, "_tokens", counting)
    estimate_tokens(PROSE * 10_000)
    assert looked_at == [PIECE_CHARS]
