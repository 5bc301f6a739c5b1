"""What a call of write or edit would change, so that the user is asked with its diff."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_tui.tools.diffs import LEFT_OUT
from agent_tui.tools.edits import Edit
from agent_tui.tools.files import diff_of_edit, diff_of_write
from agent_tui.tools.workspace import ToolError, Workspace

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preview:
    """diff: unified, against the file as it is now; "" where there is none, then the arguments
    tell all. note: a sentence for the user ("this would be a new file", why there is no diff)."""

    diff: str = ""
    note: str = ""


def preview(tool_name: str, arguments: Mapping[str, Any], cwd: str) -> Preview:
    """Of any call; empty for other tools. Blocking, and it changes nothing; call it in a thread.
    Never raises for what the arguments are."""
    if tool_name not in ("write", "edit"):
        return Preview()
    try:
        return _preview(tool_name, arguments, Workspace(cwd))
    except ToolError as error:
        # It may be mended before the call runs, so the question is asked all the same.
        return Preview(note=f"As things are, this would fail. {str(error).splitlines()[0]}")
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        log.info("no diff of a call of %s: %s", tool_name, error)
        return Preview()


def _preview(tool_name: str, arguments: Mapping[str, Any], workspace: Workspace) -> Preview:
    path = workspace.resolve(arguments["path"])
    if tool_name == "write":
        is_new = not os.path.lexists(path)
        diff = diff_of_write(workspace, path, arguments["content"])
        note = "The file does not exist yet." if is_new else ""
    else:
        edits = [Edit(item["old"], item["new"]) for item in arguments["edits"]]
        diff, note = diff_of_edit(workspace, path, edits), ""
    if Path(os.path.realpath(path)) != path:
        note = f"{note} It is a link to {os.path.realpath(path)}.".strip()
    if not diff:
        return Preview(note=f"{note} Nothing would change.".strip())
    if diff.startswith("("):  # a sentence in place of a diff
        return Preview(note=f"{note} {diff.strip()}".strip())
    if diff.rstrip("\n").rpartition("\n")[2].endswith(LEFT_OUT):
        return Preview(note=f"{note} The diff is too long to be shown whole.".strip())
    return Preview(diff, note)
