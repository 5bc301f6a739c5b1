"""Scripts that write programs: they run in the container and call the client's tools from there."""

import json
import re
from typing import Any

from agent_tui.offline.demo.scene import Say, Scene, Script
from agent_tui.offline.demo.turn import Outcome
from agent_tui.offline.demo.words import fenced, plural
from agent_tui.offline.demo.work import SUFFIXES, sample_arguments
from agent_tui.programs import function_names

KINDS = [*SUFFIXES, "md", "txt", "json", "toml", "yaml", "svg"]
LOOP = len(KINDS)
"""Calls of the loop in the sample program: 20."""

_MOST_READ = 60

_COUNT = '''\
import asyncio
import re

SUFFIXES = {suffixes}


def lines_of(text):
    """Lines of a file, from what `read` shows of it."""
    if note := re.search(r"\\[Lines [\\d,]+-[\\d,]+ of ([\\d,]+)", text):
        return int(note.group(1).replace(",", ""))
    numbered = re.findall(r"(?m)^ *\\d+\\t", text)
    return len(numbered) or len([line for line in text.splitlines() if not line.startswith("[")])


async def count(name):
    try:
        return lines_of(await read(path=name))
    except RuntimeError as error:
        print(f"skipped {{name}}: {{str(error).splitlines()[0]}}")
        return 0


found = await glob(pattern="**/*.{{{braces}}}")
names = [n for n in found.splitlines() if n.rsplit(".", 1)[-1] in SUFFIXES]
chosen = names[:{most}]
counts = await asyncio.gather(*[count(name) for name in chosen])

totals = {{}}
for name, lines in zip(chosen, counts):
    kind = "." + name.rsplit(".", 1)[-1]
    files, total = totals.get(kind, (0, 0))
    totals[kind] = (files + 1, total + lines)
for kind, (files, total) in sorted(totals.items(), key=lambda item: -item[1][1]):
    print(f"{{kind:6}} {{files:4}} files {{total:7}} lines")
print(f"{{sum(counts)}} lines in {{len(chosen)}} of {{len(names)}} files")
'''

_BOTH = """\
import asyncio

# Three calls at once: the program waits for all of them together.
first, second, third = await asyncio.gather(
    {three},
)
for name, text in (({names[0]!r}, first), ({names[1]!r}, second), ({names[2]!r}, third)):
    print(f"{{name}} gave {{len(text)}} characters")

# One after the other: the program waits {loop} times.
{rest}"""

_LOOP_OF_KINDS = """\
kinds = {kinds}
counts = {{}}
for kind in kinds:
    found = await glob(pattern=f"**/*.{{kind}}")
    counts[kind] = 0 if found.startswith("[") else len(found.splitlines())
print(f"{{len(kinds)}} kinds of files:", {{k: n for k, n in counts.items() if n}})
"""

_LOOP_OF_ONE = """\
total = 0
for number in range({loop}):
    text = await {one}
    total += len(text)
print(f"{loop} calls in a loop: {{total}} characters, of which the model reads none")
"""

_FILE = """\
rows = ["number,square"]
for number in range(1, 11):
    rows.append(f"{number},{number * number}")
with open("squares.csv", "w") as file:
    file.write("\\n".join(rows) + "\\n")
print(f"wrote {len(rows)} rows")
"""

_STATE = """\
try:
    runs += 1
except NameError:
    runs = 1
print(f"run {runs} of this container")
"""

_FAIL = """\
def divide(a, b):
    return a / b


print("about to divide")
print(divide(1, 0))
"""


def count_lines(scene: Scene, match: re.Match[str]) -> Script:
    if lost := _missing(scene, "glob", "read"):
        yield Say(lost)
        return
    code = _COUNT.format(suffixes=SUFFIXES, braces=",".join(SUFFIXES), most=_MOST_READ)
    outcomes = yield Say(
        "I count with a program: it finds the files, reads them in parallel, and only its sums "
        "come back to me.",
        program=code,
        thinking="Reading every file myself would fill the context; a program can do it.",
    )
    yield Say(_told(outcomes))


def program(scene: Scene, match: re.Match[str]) -> Script:
    what = match.string.lower()
    if re.search(r"\b(?:writes?|saves?|files?)\b", what.split("program", 1)[1]):
        yield from _run(scene, "The program writes a file; it can be downloaded.", _FILE)
    elif re.search(r"\b(?:fails?|error|wrong|raises?)\b", what):
        yield from _run(
            scene, "The program fails; its traceback is a result like any other.", _FAIL
        )
    elif re.search(r"\b(?:remembers?|state|again|variables?)\b", what):
        yield from _run(scene, "The program counts its runs: names outlive it.", _STATE)
    else:
        yield from _calls(scene)


def _calls(scene: Scene) -> Script:
    if lost := _missing(scene):
        yield Say(lost)
        return
    tools = scene.program_tools or {}
    names = _three(tools)
    if not names:
        yield Say(
            f"Programs may call {', '.join(f'`{name}`' for name in tools)} here, and I do not try "
            "out what may change things. `/tools` lets them call others."
        )
        return
    three = ",\n    ".join(_call(name, tools[name]) for name in names)
    if "glob" in names:
        rest = _LOOP_OF_KINDS.format(kinds=KINDS)
    else:
        rest = _LOOP_OF_ONE.format(one=_call(names[-1], tools[names[-1]]), loop=LOOP)
    code = _BOTH.format(three=three, names=names, rest=rest, loop=LOOP)
    yield from _run(
        scene,
        f"The program calls three tools at once, then one {LOOP} times in a loop. It pauses at "
        "each call until the result is there; the container stays the same.",
        code,
    )


def _run(scene: Scene, words: str, code: str) -> Script:
    if lost := _missing_code(scene):
        yield Say(lost)
        return
    outcomes = yield Say(words, program=code)
    yield Say(_told(outcomes))


_PLAIN = {
    "list": {},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "TODO"},
    "shell": {"command": "echo hello"},
    "read": {"path": "README.md"},
}
"""Harmless arguments for tools that are known by name."""

_CHANGES = re.compile(
    r"write|edit|delete|remove|create|send|post|put|update|set|move|rename|kill|run|exec|buy|pay"
)
"""A tool with such a word in its name is not tried out."""


def _three(tools: dict[str, dict[str, Any]]) -> list[str]:
    """Three names to call, some of them twice if there are fewer; none: nothing harmless."""
    known = [name for name in _PLAIN if name in tools]
    others = [name for name in tools if name not in _PLAIN and not _CHANGES.search(name.lower())]
    names = (known + others)[:3]
    return [names[n % len(names)] for n in range(3)] if names else []


def _call(name: str, tool: dict[str, Any]) -> str:
    called = next(c for c, n in function_names([name]).items() if n == name)
    properties = (tool.get("input_schema") or {}).get("properties") or {}
    arguments = _PLAIN.get(name)
    if arguments is None or not set(arguments) <= set(properties):
        arguments = sample_arguments(tool.get("input_schema") or {})
    if all(key.isidentifier() for key in arguments):
        return f"{called}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    return f"{called}({arguments!r})"


def _missing_code(scene: Scene) -> str:
    if scene.why_no_tools:
        return f"For that I would run a program, but {scene.why_no_tools}."
    if scene.program_tools is None:
        return (
            "For that I need code execution, which this request does not offer. It is on as soon "
            "as a tool may be called by programs: `/tools all both` does that for every tool, "
            "`/tools` shows them one by one."
        )
    return ""


def _missing(scene: Scene, *names: str) -> str:
    """A sentence when a program cannot run here or may not call a tool, else ""."""
    if lost := _missing_code(scene):
        return lost
    tools = scene.program_tools or {}
    absent = [name for name in names if name not in tools]
    if absent or not tools:
        wanted = " and ".join(f"`{name}`" for name in absent) or "a tool"
        have = ", ".join(f"`{name}`" for name in tools) or "none"
        return (
            f"My program needs {wanted}, which programs may not call here (they may call {have}). "
            "`/tools` changes that: programmatic or both."
        )
    return ""


def _told(outcomes: list[Outcome]) -> str:
    """What a program did, from its outcome and from what its calls brought back."""
    if not outcomes:
        return "No output of that program came back."
    outcome = outcomes[0]
    if outcome.error_code:
        return f"The program could not finish: the container said `{outcome.error_code}`."
    made = plural(len(outcome.calls), "call")
    brought = sum(len(call.text) for call in outcome.calls)
    parts: list[str] = []
    if outcome.is_error:
        parts.append(f"The program failed after {made}. Its error output:")
        parts.append(fenced(outcome.stderr, lines=20))
        if outcome.text.strip():
            parts.append("Before that it printed:")
    elif outcome.text.strip():
        parts.append(f"The program made {made} and printed:")
    else:
        parts.append(f"The program made {made} and printed nothing.")
    if outcome.text.strip():
        parts.append(fenced(outcome.text, lines=30))
    if outcome.files:
        parts.append(f"It wrote {plural(outcome.files, 'file')}: `/container` lists and loads it.")
    if brought:
        kept = len(json.dumps(outcome.text + outcome.stderr))
        parts.append(
            f"Its calls brought {brought:,} characters to the program; {kept:,} came on to me."
        )
    return "\n\n".join(parts)
