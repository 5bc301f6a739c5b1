"""The console script: a plain command line opens the screen at once, any other is the parser's.

Loading Typer, and the pydantic that it checks values with, takes as long as painting the screen.
So what needs no more than options that are plainly right is read here, by getopt; everything
else, and everything that is wrong, goes to cli.py, whose reading counts (tests/test_entry.py).
"""

import getopt
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_tui.front_options import Options

_TEXTS = ("model", "base-url", "thinking", "system-prompt", "append-system-prompt", "allow")
_FLAGS = ("demo", "continue", "no-session")


def main() -> None:
    """agent-tui."""
    plain = read_plain(sys.argv[1:])
    if plain is None:
        from agent_tui import cli

        cli.main()
    else:
        from agent_tui import front

        options, text = plain
        raise SystemExit(front.interactive(options, text))


def read_plain(arguments: list[str]) -> "tuple[Options, str] | None":
    """The options and the first message, or None where cli.py has to read them."""
    longs = [f"{name}=" for name in (*_TEXTS, "max-turns")] + list(_FLAGS)
    try:
        found, rest = getopt.getopt(arguments, "c", longs)
    except getopt.GetoptError:
        return None
    given: dict[str, str] = {}
    for name, value in found:
        name = "continue" if name == "-c" else name.removeprefix("--")
        # Said twice or shortened (--mod): how that is taken is not known here. A value that
        # begins with a dash may be an option whose value was forgotten.
        if name in given or value.startswith("-") or not _is_whole(name, arguments):
            return None
        given[name] = value
    turns = given.get("max-turns")
    if turns is not None and not re.fullmatch("[1-9][0-9]{0,5}", turns):
        return None
    # One word may be a command.
    if len(rest) > 1 or "--" in arguments or (rest and not re.match(r"\w\S* ", rest[0])):
        return None
    return _options(given), rest[0] if rest else ""


def _is_whole(name: str, arguments: list[str]) -> bool:
    if name == "continue" and "-c" in arguments:
        return True
    return any(part == f"--{name}" or part.startswith(f"--{name}=") for part in arguments)


def _options(given: dict[str, str]) -> "Options":
    from agent_tui.conversation.session_wish import SessionWish
    from agent_tui.front_options import Options

    flags: dict[str, Any] = {
        name.replace("-", "_"): given[name] for name in _TEXTS if name in given and name != "allow"
    }
    if "max-turns" in given:
        flags["max_turns"] = int(given["max-turns"])
    return Options(
        flags=flags,
        demo="demo" in given,
        allow=[name.strip() for name in given.get("allow", "").split(",") if name.strip()],
        wish=SessionWish(keep="no-session" not in given, continue_newest="continue" in given),
    )
