"""Scripts that work with tools; what they say about a result is read from it."""

import json
import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

from agent_tui.offline.demo.scene import Call, Say, Scene, Script
from agent_tui.offline.demo.words import (
    code,
    fenced,
    headline,
    path_of,
    plural,
    report,
    report_all,
    table,
    told,
    unquoted,
    without_notes,
)


def list_files(scene: Scene, match: re.Match[str]) -> Script:
    path = path_of(match["path"])
    if lost := scene.missing("list"):
        yield Say(lost)
        return
    where = code(path or ".")
    outcomes = yield Say(
        f"I list {where}.",
        [Call("list", {"path": path} if path else {})],
        thinking=f"The user wants to see what is in {path or 'the working folder'}. "
        "One call of `list` tells that.",
    )
    if not outcomes or outcomes[0].is_error:
        yield Say(report_all(outcomes))
        return
    entries = [e.strip() for e in without_notes(outcomes[0].text).splitlines() if e.strip()]
    shown = "\n".join(f"- {code(entry)}" for entry in entries[:20])
    more = f"\n\n… and {plural(len(entries) - 20, 'more')}" if len(entries) > 20 else ""
    file = pick_file(entries)
    hint = f"\n\nSay `read {file}` and I read it." if file else ""
    yield Say(f"{where} holds {plural(len(entries), 'entry', 'entries')}:\n\n{shown}{more}{hint}")


def pick_file(entries: list[str]) -> str | None:
    """A name in a listing that looks like a readable file, a README first."""
    names: list[str] = []
    for entry in entries:
        for word in entry.split():
            if re.fullmatch(
                r"[\w./-]*\w\.(md|txt|toml|py|rst|cfg|json|ya?ml|sh|js|ts|rs|go|c)", word
            ):
                names.append(word)
                break
    return min(
        names, key=lambda n: (not n.upper().startswith("README"), names.index(n)), default=None
    )


def read_files(scene: Scene, match: re.Match[str]) -> Script:
    names = re.findall(r"\"[^\"]+\"|'[^']+'|`[^`]+`|[^\s,]+", match["paths"])
    paths = [path_of(name) for name in names if name.lower() != "and"]
    extra: dict[str, Any] = {}
    if match["first"]:
        first, last = int(match["first"]), int(match["last"] or match["first"])
        extra = {"offset": first, "limit": max(1, last - first + 1)}
    if lost := scene.missing("read"):
        yield Say(lost)
        return
    outcomes = yield Say(
        f"I read {', '.join(code(p) for p in paths)}"
        + (" in parallel, one call each." if len(paths) > 1 else "."),
        [Call("read", {"path": path} | extra) for path in paths],
        thinking=f"{plural(len(paths), 'file')} to read; the calls do not depend on each other.",
    )
    parts: list[str] = []
    for outcome in outcomes:
        if outcome.is_error or not outcome.text.strip():
            parts.append(report(outcome))
            continue
        name = code(str(outcome.input.get("path")))
        text = without_notes(outcome.text)
        lines, words = plural(len(text.splitlines()), "line"), plural(len(text.split()), "word")
        parts.append(f"{name}: {lines}, {words}. It begins:\n\n{fenced(outcome.text)}")
    yield Say("\n\n".join(parts) or report_all(outcomes))


def search(scene: Scene, match: re.Match[str]) -> Script:
    pattern = unquoted(match["pattern"])
    path = path_of(match["path"])
    if lost := scene.missing("grep"):
        yield Say(lost)
        return
    outcomes = yield Say(
        f"I search for {code(pattern)}{' in ' + code(path) if path else ''}.",
        [Call("grep", {"pattern": pattern} | ({"path": path} if path else {}))],
    )
    if not outcomes or outcomes[0].is_error:
        yield Say(report_all(outcomes))
        return
    hits = [line for line in outcomes[0].text.splitlines() if re.match(r"[^:\s]+:\d+", line)]
    files = Counter(line.split(":", 1)[0] for line in hits)
    if not files:
        yield Say(report_all(outcomes))
        return
    counts = table(["file", "lines"], [[code(f), str(n)] for f, n in files.most_common(15)])
    yield Say(
        f"{plural(len(hits), 'matching line')} in {plural(len(files), 'file')}:\n\n"
        f"{counts}\n\n{fenced(outcomes[0].text)}"
    )


def find_files(scene: Scene, match: re.Match[str]) -> Script:
    pattern = unquoted(match["pattern"])
    if lost := scene.missing("glob"):
        yield Say(lost)
        return
    outcomes = yield Say(f"I look for {code(pattern)}.", [Call("glob", {"pattern": pattern})])
    yield Say(report_all(outcomes))


def run(scene: Scene, match: re.Match[str]) -> Script:
    command = match["ticked"] or match["command"].strip()
    if lost := scene.missing("shell"):
        yield Say(lost)
        return
    outcomes = yield Say(
        f"I run {code(command)}.",
        [Call("shell", {"command": command})],
        thinking="One shell call; what it prints is the answer.",
    )
    yield Say(report_all(outcomes))


def wait(scene: Scene, match: re.Match[str]) -> Script:
    seconds = max(1, min(int(match["seconds"] or 10), 600))
    if lost := scene.missing("shell"):
        yield Say(lost)
        return
    command = f"for i in $(seq 1 {seconds}); do echo tick $i; sleep 1; done"
    outcomes = yield Say(
        f"I run something that takes {plural(seconds, 'second')}. Type a message meanwhile: Enter "
        "steers, Tab queues a follow-up, Esc stops.",
        [Call("shell", {"command": command, "timeout": seconds + 30})],
    )
    ticks = sum(len(re.findall(r"\btick \d+", o.text)) for o in outcomes)
    done = f"{ticks} of {seconds} ticks came through.\n\n" if outcomes else ""
    yield Say(done + report_all(outcomes))


_NUMBER_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5}


def parallel(scene: Scene, match: re.Match[str]) -> Script:
    word = (match["count"] or "two").lower()
    count = max(2, min(_NUMBER_WORDS.get(word) or int(word), 8))
    if not scene.missing("shell"):
        calls = [
            Call("shell", {"command": f"sleep {count - i}; echo call {i + 1} is done"})
            for i in range(count)
        ]
        expected = "The last one asked for should end first."
    elif not scene.missing("list", "glob"):
        calls = [Call("list", {}), Call("glob", {"pattern": "*"})]
        expected = "They should end almost together."
    else:
        yield Say(scene.missing("shell"))
        return
    outcomes = yield Say(
        f"{len(calls)} calls in one message: they run at the same time. {expected}",
        calls,
        thinking="The calls do not need each other's results, so I make them together.",
    )
    rows = [[str(n), code(told(o.input)), headline(o)] for n, o in enumerate(outcomes, 1)]
    failed = sum(o.is_error for o in outcomes)
    ending = f", {failed} of them failed" if failed else ", none failed"
    yield Say(
        f"{plural(len(outcomes), 'result')} came back{ending}:\n\n"
        f"{table(['', 'call', 'result'], rows)}"
    )


def fail(scene: Scene, match: re.Match[str]) -> Script:
    if lost := scene.missing("read"):
        yield Say(lost)
        return
    outcomes = yield Say(
        "I read a file that should not exist: a failed call is an ordinary result.",
        [Call("read", {"path": "no-such-file.txt"})],
    )
    if outcomes and not outcomes[0].is_error:
        yield Say("That did not fail: there is such a file.\n\n" + report_all(outcomes))
        return
    yield Say(report_all(outcomes) + "\n\nThe run goes on all the same.")


def write(scene: Scene, match: re.Match[str]) -> Script:
    path = path_of(match["path"])
    content = unquoted(match["content"])
    content = content if content.endswith("\n") else content + "\n"
    if lost := scene.missing("write"):
        yield Say(lost)
        return
    size = plural(len(content.splitlines()), "line")
    outcomes = yield Say(
        f"I write {size} to {code(path)}.", [Call("write", {"path": path, "content": content})]
    )
    if outcomes and not outcomes[0].is_error:
        yield Say(f"{code(path)} is written. " + report_all(outcomes))
        return
    yield Say(report_all(outcomes))


def edit(scene: Scene, match: re.Match[str]) -> Script:
    path, old, new = path_of(match["path"]), unquoted(match["old"]), unquoted(match["new"])
    if lost := scene.missing("read", "edit"):
        yield Say(lost)
        return
    outcomes = yield Say(
        f"I read {code(path)} first, to see whether {code(old)} is in it.",
        [Call("read", {"path": path})],
        thinking="An edit must find its old text, so I look before I change anything.",
    )
    if not outcomes or outcomes[0].is_error:
        yield Say(report_all(outcomes) + "\n\nI change nothing.")
        return
    text = without_notes(outcomes[0].text)
    found = text.count(old)
    if not found:
        yield Say(
            f"{code(old)} is nowhere in the {plural(len(text.splitlines()), 'line')} that `read` "
            f"gave, so I leave {code(path)} alone."
        )
        return
    outcomes = yield Say(
        f"{code(old)} is there ({plural(found, 'place')}). I replace it by {code(new)}.",
        [Call("edit", {"path": path, "edits": [{"old": old, "new": new}]})],
    )
    if outcomes and not outcomes[0].is_error:
        yield Say(f"{code(path)} is changed. " + report_all(outcomes))
        return
    yield Say(report_all(outcomes))


SUFFIXES = (
    "py",
    "js",
    "ts",
    "tsx",
    "rs",
    "go",
    "c",
    "h",
    "cpp",
    "java",
    "rb",
    "sh",
    "css",
    "html",
)
_NAMES = " -o ".join(f"-name '*.{suffix}'" for suffix in SUFFIXES)
COUNT_COMMAND = (
    r"find . -type d \( -name '.?*' -o -name node_modules -o -name __pycache__ \) -prune -o "
    rf"-type f \( {_NAMES} \) -exec wc -l {{}} +"
)


def count_lines(scene: Scene, match: re.Match[str]) -> Script:
    if lost := scene.missing("shell"):
        yield Say(lost)
        return
    note = "I count with one shell call."
    outcomes = yield Say(note, [Call("shell", {"command": COUNT_COMMAND})])
    if not outcomes or outcomes[0].is_error:
        yield Say(report_all(outcomes))
        return
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for number, name in re.findall(r"^\s*(\d+)\s+(\S.*)$", outcomes[0].text, re.M):
        if name.strip() == "total":
            continue
        suffix = PurePosixPath(name.strip()).suffix or "(none)"
        lines[suffix] += int(number)
        files[suffix] += 1
    if not lines:
        yield Say("No line of that output is a count.\n\n" + report_all(outcomes))
        return
    rows = [[f"`{s}`", str(files[s]), f"{n:,}"] for s, n in lines.most_common()]
    yield Say(
        f"**{sum(lines.values()):,} lines** in {plural(sum(files.values()), 'file')}, added up "
        f"from what the command printed:\n\n{table(['kind', 'files', 'lines'], rows)}"
    )


def call_tool(scene: Scene, match: re.Match[str]) -> Script:
    name = match["tool"].strip("`'\"")
    tool = scene.tools.get(name)
    if tool is None:
        near = [n for n in scene.tools if n.endswith(f"__{name}")]
        if len(near) == 1:
            name, tool = near[0], scene.tools[near[0]]
    if tool is None:
        yield Say(scene.missing(name))
        return
    given = (match["arguments"] or "").strip().strip("`")
    if given:
        try:
            arguments = json.loads(given)
        except ValueError as error:
            yield Say(f"{code(given)} is not JSON ({error}). Write it as " + '`{"key": "value"}`.')
            return
        if not isinstance(arguments, dict):
            yield Say(f'Arguments are an object, as in `{{"key": 1}}`; {code(given)} is not one.')
            return
    else:
        arguments = sample_arguments(tool.get("input_schema") or {})
    outcomes = yield Say(
        f"I call {code(name)} with {code(json.dumps(arguments, ensure_ascii=False))}.",
        [Call(name, arguments)],
    )
    yield Say(report_all(outcomes))


def sample_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Plain values for the required properties of a schema."""
    properties = schema.get("properties") or {}
    return {name: _sample(properties.get(name) or {}) for name in schema.get("required") or []}


def _sample(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "example"
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    match kind:
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "array":
            return []
        case "object":
            return sample_arguments(schema)
        case "null":
            return None
        case _:
            return "example"
