"""What is written without a screen: -p, JSON lines, complaints, logs; whatever was said."""

import io
import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given

from agent_tui import cli, front, logs
from agent_tui.agent.messages import AssistantMessage, TextContent
from agent_tui.headless.lines import encode_line
from agent_tui.headless.print_mode import Output, PrintFace
from agent_tui.text import terminal_safe_json, whole_surrogates
from tests.fuzz.nasty import ALL, acting, acts, profile, texts

C0 = {chr(code) for code in range(0x20)} - {"\n", "\t"}


class Stream(io.StringIO):
    """A standard output; tty: whether a person reads it."""

    def __init__(self, tty: bool) -> None:
        super().__init__(newline="")
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


def printed(text: str, output: Output, *, tty: bool) -> tuple[str, str]:
    """Standard output and error of a run that was answered so."""
    out, err = Stream(tty), Stream(tty)
    face = PrintFace(output, out, err)
    message = AssistantMessage(content=[TextContent(text=text)], stop_reason="refusal",
                               stop_details={"category": text, "explanation": text})  # fmt: skip
    conversation = SimpleNamespace(
        state=lambda: {"usage": {}, "session_id": "s"}, messages=[message]
    )
    face.result(cast(Any, conversation), message)
    face.trouble(message)
    face.trouble(message.model_copy(update={"stop_reason": text}))
    face.complain(text)
    return out.getvalue(), err.getvalue()


@profile(60)
@given(texts())
@example(ALL)
def test_C08_on_a_terminal_p_writes_nothing_that_acts(text: str) -> None:
    out, err = printed(text, "text", tty=True)
    assert set(acting(out)) <= {"U+000A", "U+0009"}
    assert set(acting(err)) <= {"U+000A", "U+0009"}


@profile(60)
@given(texts())
@example(ALL)
def test_C08_programs_get_the_text_but_no_escape(text: str) -> None:
    out, err = printed(text, "text", tty=False)
    assert not C0 - {"\r"} & set(out)
    assert set(acting(err)) <= {"U+000A", "U+0009"}


@profile(60)
@given(texts())
@example(ALL)
def test_C08_json_is_escaped_and_says_the_same(text: str) -> None:
    out, _ = printed(text, "json", tty=True)
    line = encode_line({"text": text, text: [text]}).decode("utf-8")
    for written in (out, line):
        assert [c for c in written if acts(c)] == ["\n"]
        assert written.endswith("\n")
    assert json.loads(line)["text"] == whole_surrogates(text)
    assert json.loads(out)["result"] == whole_surrogates(text)


@pytest.mark.parametrize("text", ["\x7f", "\x9b", "\u202e", "\U000e0041", "a\u2028b", "\ufeff"])
def test_C08_each_kind_is_escaped(text: str) -> None:
    escaped = terminal_safe_json(json.dumps(text, ensure_ascii=False))
    assert escaped.isascii() and acting(escaped) == [] and json.loads(escaped) == text


def test_C08_what_needs_no_escape_is_left_as_it_is() -> None:
    text = json.dumps("größer 漢字 👨\u200d👩 می\u200cخواهم", ensure_ascii=False)
    assert terminal_safe_json(text) is text or terminal_safe_json(text) == text


def test_C08_complaints_are_safe(capsys: pytest.CaptureFixture[str]) -> None:
    front.complain(ALL)
    with pytest.raises(SystemExit):
        cli._fail(ALL)
    said = capsys.readouterr()
    assert said.out == "" and set(acting(said.err)) <= {"U+000A", "U+0009"}


def test_C08_a_log_is_safe(tmp_path: Path) -> None:
    file = logs.set_up_logging(tmp_path / "log")
    logging.getLogger("agent_tui.fuzz").warning("it said %s", ALL)
    try:
        raise ValueError(ALL)
    except ValueError:
        logging.getLogger("agent_tui.fuzz").exception("it failed")
    text = file.read_text(encoding="utf-8")
    assert "it failed" in text and set(acting(text)) <= {"U+000A", "U+0009"}


def test_D27_what_a_locale_lacks_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    monkeypatch.setattr(sys, "argv", ["agent-tui", "--version"])
    with pytest.raises(SystemExit):
        cli.main()
    print("漢字 größer")
    sys.stdout.flush()
    assert raw.getvalue().endswith("?? größer\n".encode("latin-1"))
