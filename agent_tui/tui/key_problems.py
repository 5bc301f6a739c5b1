"""What is wrong with the user's keys (setting `keys`), each with what to do; the list of /keys."""

import difflib
import unicodedata
from collections.abc import Iterator

from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from agent_tui.text import clean, cut
from agent_tui.tui.keys import KEYS, Key, KeyTable, Where, key_name

_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NAMED = frozenset(key.value.rpartition("+")[2] for key in Keys) | {
    "space",
    *KEY_NAME_REPLACEMENTS.values(),
}
_TOGETHER: tuple[tuple[Where, ...], ...] = (("composer", "screen"),)
"""Places whose keys act at the same time; in every other place its own do."""

PLACES: tuple[tuple[Where, str], ...] = (
    ("composer", "while you type"),
    ("screen", "anywhere"),
    ("search", "in the search line"),
    ("transcript", "in the transcript"),
    ("queue", "in the queue"),
    ("tools", "in the calls"),
    ("mcp", "in the MCP servers"),
)


def key_problems(table: KeyTable) -> list[str]:
    """A sentence for each name that is no key's, each key that no terminal sends, and each that
    two would share."""
    names = [key.id for key in KEYS]
    found: list[str] = []
    for name in table.unknown:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else "/keys lists the names."
        found.append(f"keys.{clean(cut(name, 60))}: there is no key of this name: {hint}")
    for key in KEYS:
        if key.id in table.changes:
            found += _of_one(key, table)
    return found


def _of_one(key: Key, table: KeyTable) -> Iterator[str]:
    for name in table.keys_of(key):
        if why := wrong_name(name):
            yield f"keys.{key.id} = {clean(cut(name, 60))}: {why}"
    mine = set(table.keys_of(key))
    for other in KEYS:
        if other is key or not _act_together(key.where, other.where):
            continue
        if other.id in table.changes and KEYS.index(other) < KEYS.index(key):
            continue  # told from the other side
        for name in sorted(mine & set(table.keys_of(other))):
            yield (
                f"keys.{key.id}: {key_name(name)} is also {other.id} and now does {key.id}; "
                f"give keys.{other.id} another key, or this one."
            )


def _act_together(one: Where, other: Where) -> bool:
    return one == other or any(one in places and other in places for places in _TOGETHER)


def wrong_name(name: str) -> str:
    """Why this is no name of a key; "" if it is one."""
    *modifiers, last = name.split("+")
    for part in modifiers:
        if part not in _MODIFIERS:
            lower = " in small letters" if part.lower() in _MODIFIERS else ""
            return f"{clean(part)} is no modifier; they are ctrl, alt, shift and super{lower}."
    if not last:
        return "the key itself is missing; write plus for +."
    if len(last) == 1:
        if last.isalnum():
            return ""
        called = unicodedata.name(last, "").lower().replace(" ", "_").replace("-", "_")
        called = KEY_NAME_REPLACEMENTS.get(called, called)
        return f"write its name, {called}." if called else "no key is called so."
    if last in _NAMED:
        return ""
    try:
        unicodedata.lookup(last.replace("_", " "))
    except KeyError:
        close = difflib.get_close_matches(last.lower(), _NAMED, n=1)
        return f"no key is called so{f'; did you mean {close[0]}?' if close else '.'}"
    return ""


def keys_table(table: KeyTable) -> str:
    """Markdown: every key with the name to change it by."""
    rows = ["| key | name | what it does |", "|---|---|---|"]
    for where, words in PLACES:
        found = [key for key in KEYS if key.where == where]
        if found:
            rows.append(f"| **{words}** | | |")
        for key in found:
            keys = " ".join(f"`{key_name(name)}`" for name in table.keys_of(key)).replace(
                "|", "\\|"
            )
            changed = " (changed)" if key.id in table.changes else ""
            rows.append(f"| {keys} | `{key.id}`{changed} | {key.help} |")
    how = (
        "Change one in config.toml, from the next start on:\n\n"
        '```toml\n[keys]\neditor = "ctrl+e"\nnewline = ["ctrl+j", "shift+enter"]\n```'
    )
    problems = "".join(f"\n- {problem}" for problem in key_problems(table))
    return "\n".join(rows) + f"\n\n{how}" + (f"\n\nTo mend:\n{problems}" if problems else "")
