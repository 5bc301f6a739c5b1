"""The tour: several calls over several turns, one kind of thing at each stop."""

import re

from agent_tui.offline.demo.scene import Call, Say, Scene, Script
from agent_tui.offline.demo.turn import Outcome
from agent_tui.offline.demo.words import code, headline, plural, table, told
from agent_tui.offline.demo.work import pick_file


def tour(scene: Scene, match: re.Match[str]) -> Script:
    done: list[tuple[str, Outcome]] = []
    skipped: list[str] = []
    file: str | None = None
    opening = (
        "**A tour in four stops.** Nothing is staged: each stop is a call that really runs.\n\n"
    )
    if scene.missing("list"):
        skipped.append(scene.missing("list"))
    else:
        outcomes = yield Say(
            opening + "**1. A call.** I list the folder. The panel on the right shows it running.",
            [Call("list", {})],
            thinking="First a look around: what is in the folder decides what I read next.",
        )
        opening = ""
        done += [("a call", o) for o in outcomes]
        file = pick_file([line for o in outcomes if not o.is_error for line in o.text.splitlines()])
        opening = f"{plural(outcomes[0].lines, 'line')} came back. " if outcomes else ""
    together = [Call("read", {"path": file})] if file and not scene.missing("read") else []
    if not scene.missing("grep"):
        together.append(Call("grep", {"pattern": "TODO"}))
    if together:
        outcomes = yield Say(
            f"{opening}**2. Two at once.** I "
            + " and ".join(f"{c.name} {code(told(c.input))}" for c in together)
            + ", in one message.",
            together,
        )
        opening = ""
        done += [("at once", o) for o in outcomes]
    if not scene.missing("read"):
        outcomes = yield Say(
            f"{opening}**3. A failure.** I read a file that is not there. An error is a "
            "result like any other, and the run goes on.",
            [Call("read", {"path": "no-such-file.txt"})],
        )
        opening = ""
        done += [("a failure", o) for o in outcomes]
    if scene.missing("shell"):
        skipped.append(scene.missing("shell"))
    else:
        outcomes = yield Say(
            f"{opening}**4. Time to steer.** This takes five seconds. Type something and press "
            "Enter: it goes out with the result. Tab queues it for the end of the turn instead.",
            [Call("shell", {"command": "for i in 1 2 3 4 5; do echo step $i; sleep 1; done"})],
        )
        opening = ""
        done += [("steering", o) for o in outcomes]
    rows = [[stop_, f"`{o.name}`", headline(o)] for stop_, o in done]
    results = table(["stop", "tool", "result"], rows) + "\n\n" if rows else ""
    missing = "".join(f"Left out: {reason}\n\n" for reason in skipped)
    yield Say(
        f"{opening}**That was the tour.**\n\n{results}{missing}"
        "Esc stops a turn and keeps the queue; Ctrl+O folds tools, Ctrl+T thinking; F2 opens the "
        "panel. Next, try `write a long answer`, `think about rivers` or `help`."
    )
