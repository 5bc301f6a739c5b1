"""`agent-tui -p TEXT`: one prompt, run to its end, the answer on stdout.

text: the answer's text; if it cites, its sources stand below, numbered. json: one object
{result, stop_reason, usage, session_id, messages}.
stream-json: every event as a line. Nothing is asked: a call that would ask is refused.
"""

import asyncio
import codecs
import json
import signal
import sys
from typing import IO, Any, Literal

from agent_tui.agent.events import to_json
from agent_tui.agent.messages import AssistantMessage
from agent_tui.conversation.citations import with_sources
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.event_hub import AnyEvent
from agent_tui.conversation.events import NoticeEvent, RetryEvent
from agent_tui.conversation.mcp.mentions import MentionError
from agent_tui.headless.exit_codes import SIGNALLED, USAGE, exit_code
from agent_tui.text import SafeText, terminal_safe_json, wire_text

Output = Literal["text", "json", "stream-json"]


class PrintFace:
    """Writes events of a conversation; out gets results, err gets notices for people."""

    def __init__(self, output: Output, out: IO[str], err: IO[str]) -> None:
        self._output = output
        self._out = out
        self._err = err
        self._closed = False

    def on_event(self, event: AnyEvent) -> None:
        if self._output == "stream-json":
            self._line(to_json(event))
        match event:
            case RetryEvent():
                self._say(f"{event.reason} Trying again in {event.wait_s:.0f} s.")
            case NoticeEvent() if event.level != "info":
                self._say(event.text)
            case _:
                pass

    def result(self, conversation: Conversation, last: AssistantMessage | None) -> None:
        text = last.text if last else ""
        match self._output:
            case "text":
                if text and last is not None:
                    text = with_sources(last)
                    text = text if text.endswith("\n") else text + "\n"
                    # On a terminal a person reads it; a program gets all of the text.
                    self._write(SafeText(text) if self._out.isatty() else wire_text(text))
            case "json":
                self._line(
                    {
                        "result": text,
                        "stop_reason": last.stop_reason if last else None,
                        "usage": conversation.state()["usage"],
                        "session_id": conversation.state()["session_id"],
                        "messages": [m.model_dump(mode="json") for m in conversation.messages],
                    }
                )
            case "stream-json":
                pass

    def trouble(self, last: AssistantMessage | None) -> None:
        """Says on stderr why the run did not end well; a limit has been told by a notice."""
        if last is None:
            return
        match last.stop_reason:
            case "error":
                self._say(last.error_message or "The request failed.")
            case "refusal":
                details = last.stop_details or {}
                category = f" ({kind})" if (kind := details.get("category")) else ""
                why = str(details.get("explanation") or "").rstrip(".")
                because = f": {why}" if why else ""
                self._say(
                    f"The model declined to answer{category}{because}. Ask in another way, or "
                    "choose another --model."
                )
            case "max_tokens":
                self._say("The answer was cut at the output limit: raise the setting max_tokens.")
            case "model_context_window_exceeded":
                self._say("The model's context window is full: begin a new conversation.")
            case "end_turn" | "stop_sequence" | "tool_use" | "aborted":
                pass
            case other:
                self._say(f"The answer ended for an unknown reason ({other}).")

    def complain(self, text: str) -> None:
        """A line for the person, on stderr."""
        self._say(text)

    def _line(self, value: dict[str, Any]) -> None:
        # A locale without Unicode loses nothing either: it gets all of it escaped.
        ascii_only = codecs.lookup(getattr(self._out, "encoding", None) or "utf-8").name != "utf-8"
        line = wire_text(json.dumps(value, ensure_ascii=ascii_only))
        self._write(terminal_safe_json(line) + "\n")

    def _write(self, text: str) -> None:
        if self._closed:
            return
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError:
            self._closed = True

    def _say(self, text: str) -> None:
        self._err.write(f"agent-tui: {SafeText(text)}\n")
        self._err.flush()


async def run_print(
    conversation: Conversation, text: str, output: Output, *, piped: str = ""
) -> int:
    """Runs the prompt, of which `piped` is the end that came from elsewhere: an @ means nothing
    there. Gives the exit code. SIGINT and SIGTERM stop the run: 130, 143."""
    face = PrintFace(output, sys.stdout, sys.stderr)
    conversation.subscribe(face.on_event)
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        conversation.abort(pause_queue=False)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    try:
        said = await conversation.message_of(text, rest=piped)
        conversation.submit_message(said)  # never a command
        await conversation.wait_idle()
    except MentionError as error:
        face.complain(str(error))
        return USAGE
    finally:
        await conversation.close()
    last = conversation.agent.last_answer
    face.result(conversation, last)
    if caught:
        return SIGNALLED + caught[0]
    face.trouble(last)
    return exit_code(last, conversation.limits.reached)
