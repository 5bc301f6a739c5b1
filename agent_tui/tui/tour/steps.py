"""What the tour says, step by step, and what must happen for it to go on.

Keys in braces are filled in with the user's own ({queue} is the key of that id in keys.py),
`{server}` with the command that starts the server that comes along. A step may have several
ways to say the same: the first whose condition holds now is shown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from agent_tui.tui.tour.progress import Progress

Happening = Literal[
    "answered", "steered", "queued", "requeued", "decided", "offered", "program", "container",
    "attached", "called", "copied", "found", "settings", "cleared", "resumed",
]  # fmt: skip
"""Things that the tour can see happen: progress.py says how."""


@dataclass(frozen=True, slots=True)
class Step:
    """title: of the line. say: what to do. done: what must happen. instead: what to say while
    `unless` does not hold. once: it counts if it has happened before in this tour."""

    title: str
    say: str
    done: Happening
    instead: str = ""
    unless: "Callable[[Progress], bool] | None" = None
    once: bool = False
    needs: "Callable[[Progress], bool] | None" = None
    """Without it the step is left out."""


STEPS: tuple[Step, ...] = (
    Step("A message",
         "Type `list the files` and press {send}. The answer and the call stream in.",
         "answered"),
    Step("Steering",
         "Type `shorter please` and press {send}: it goes out as soon as it may.",
         "steered",
         "Type `write a long answer` and press {send}; the next thing is typed while it streams.",
         lambda now: now.running),
    Step("A follow-up",
         "Type `then list the files` and press {follow_up}: it waits for the end of the turn.",
         "queued",
         "Type `write a very long answer` and press {send}; go on while it streams.",
         lambda now: now.running),
    Step("The queue",
         "Press {queue}, then d: the message is withdrawn. Or e: it comes back to be edited.",
         "requeued",
         "It has gone out already. While an answer streams, type another one and press "
         "{follow_up}.",
         lambda now: now.waiting),
    Step("An approval",
         "Press y (or n) and wait a moment: with another key right behind it, it is text. "
         "{dialog} goes to the question, where there is more.",
         "decided",
         "Type `run ls` and press {send} when the answer has ended (or {stop} to stop it): "
         "a command asks first.",
         lambda now: now.asked),
    Step("Programs",
         "Type `/tools all both` and press {send}: programs of the model may call the tools too.",
         "offered", once=True),
    Step("A program",
         "Type `run a program` and press {send}. It runs in a container, stops at each call, and "
         "goes on with its result.",
         "program"),
    Step("The container",
         "Press {panel_next} until `Container` is chosen: its state, when it expires, what ran "
         "in it.",
         "container",
         "Press {panel}: the side panel comes.",
         lambda now: now.panel_shown),
    Step("A server",
         "Attach an MCP server, the one that comes along. Type "
         "`/mcp add tour -- {server}` and press {send}.",
         "attached", once=True),
    Step("Its tool",
         "Type `call tour__dice` and press {send}; it asks first: y.",
         "called"),
    Step("Copy",
         "Press {copy_answer}: the last answer goes to the clipboard, as markdown; the line "
         "below says by which way.",
         "copied"),
    Step("Search",
         "Press {search} and type `files`. Up and Down go through the matches; Esc goes back to "
         "where you were.",
         "found"),
    Step("Settings",
         "Type `/settings` and press {send}. Look, change one if you like; Esc closes it.",
         "settings"),
    Step("A new conversation",
         "Type `/clear` and press {send}. The old conversation is kept.",
         "cleared", needs=lambda now: now.keeps),
    Step("Back again",
         "Type `/resume` and press {send}, and choose the conversation of the tour. After a "
         "quit or a crash it is `agent-tui -c`.",
         "resumed", needs=lambda now: now.keeps),
)  # fmt: skip

END = (
    "That was the tour. {help} has every key and command, /tour begins again. The server of the "
    "tour goes with `/mcp remove tour`. Esc closes this."
)

ELSEWHERE = """\
The tour runs in the **offline demo**: scripted replies, no model is asked and nothing is spent; \
all the rest (streaming, tools, the queue, programs, servers) is real.

`/tour demo` leaves this conversation and begins it there. {kept}"""
