"""builtin_tools: the tools every conversation starts with."""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from agent_tui import processes
from agent_tui.agent.tools import AgentTool
from agent_tui.tools import command_run
from agent_tui.tools.files import MAX_LINES, edit_tool, read_tool, write_tool
from agent_tui.tools.search import (
    MAX_ENTRIES,
    MAX_MATCHES,
    MAX_PATHS,
    glob_tool,
    grep_tool,
    list_tool,
)
from agent_tui.tools.shell import MAX_TIMEOUT_S, shell_tool
from agent_tui.tools.workspace import Work, Workspace, guarded

Schema = dict[str, Any]


def builtin_tools(
    cwd: str,
    *,
    output_dir: str | None = None,
    shell_timeout_s: float = 120.0,
    hidden_env: Sequence[str] = (),
) -> list[AgentTool]:
    """read, write, edit, list, glob, grep, shell, bound to the working folder `cwd`.

    output_dir: where whole outputs too large for the model are saved (0600). Parameters are
    those of DESIGN "Built-in tools". hidden_env: patterns of environment variables that
    commands shall not see besides our own keys ("*_TOKEN"). A result's `details` holds what
    faces show: for read {"path","first_line","last_line"} or {"path","media_type","width",
    "height"}, for edit/write {"path","diff"}, for shell {"command","exit_code","duration_s",
    "ending","output_path"?,"styled"?,"background"?,"survivors"?}, for grep/glob/list {"count"}.
    A shell's updates are pieces of text (shell.run_command).
    """
    workspace = Workspace(os.path.abspath(cwd))  # noqa: PTH100  (symlinks stay)
    return [
        _tool("read", _READ, {"path": _PATH, "offset": _OFFSET, "limit": _LIMIT}, ["path"],
              workspace, read_tool(workspace)),
        _tool("write", _WRITE, {"path": _PATH, "content": _CONTENT}, ["path", "content"],
              workspace, write_tool(workspace)),
        _tool("edit", _EDIT, {"path": _PATH, "edits": _EDITS}, ["path", "edits"],
              workspace, edit_tool(workspace), _prepare_edit),
        _tool("list", _LIST, {"path": _FOLDER}, [], workspace, list_tool(workspace)),
        _tool("glob", _GLOB, {"pattern": _GLOB_PATTERN, "path": _FOLDER}, ["pattern"],
              workspace, glob_tool(workspace)),
        _tool("grep", _GREP, {"pattern": _REGEX, "path": _FILE_OR_FOLDER, "glob": _ONLY},
              ["pattern"], workspace, grep_tool(workspace)),
        _tool("shell", _SHELL.format(timeout=f"{shell_timeout_s:g}"),
              {"command": _COMMAND, "timeout": _timeout(shell_timeout_s)}, ["command"],
              workspace, shell_tool(workspace, output_dir, shell_timeout_s, hidden_env)),
    ]  # fmt: skip


def kill_all() -> None:
    """Ends every process group a shell call of this process started (at exit). Blocks < 2 s."""
    command_run.kill_all()


def reap_leftovers() -> int:
    """Ends what commands of earlier runs of this program have left, where that program was
    killed before it could (fault C04). Gives their number. Blocks: call it in a thread."""
    return len(processes.end_marked(of_the_dead=True))


def _tool(
    name: str,
    description: str,
    properties: Schema,
    required: list[str],
    workspace: Workspace,
    work: Work,
    prepare: Callable[[Any], Any] | None = None,
) -> AgentTool:
    return AgentTool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        execute=guarded(workspace, work),
        prepare_arguments=prepare or _prepare,
    )


# --- arguments as models sometimes send them ------------------------------------------

_OTHER_NAMES = {"file_path": "path", "filepath": "path", "file": "path", "cmd": "command"}


def _prepare(raw: Any) -> Any:
    """Names that models know from other tools become ours; nulls count as left out."""
    if not isinstance(raw, dict):
        return raw
    out: dict[str, Any] = {}
    for key, value in raw.items():
        name = str(key)
        own = _OTHER_NAMES.get(name, name)
        if value is not None and (own == name or own not in raw):
            out[own] = value
    return out


def _prepare_edit(raw: Any) -> Any:
    """Also: edits sent as JSON text, one edit instead of a list, or one spread over the call."""
    out = _prepare(raw)
    if not isinstance(out, dict):
        return out
    edits = out.get("edits")
    if isinstance(edits, str):
        try:
            edits = json.loads(edits)
        except ValueError:
            return out
    if edits is None:
        edits = [{name: out.pop(name) for name in list(out) if name in _EDIT_NAMES}]
    if isinstance(edits, dict):
        edits = [edits]
    if isinstance(edits, list):
        out["edits"] = [
            {_EDIT_NAMES.get(name, name): value for name, value in edit.items()}
            if isinstance(edit, dict)
            else edit
            for edit in edits
        ]
    return out


_EDIT_NAMES = {
    "old": "old", "old_string": "old", "old_text": "old", "oldText": "old", "old_str": "old",
    "new": "new", "new_string": "new", "new_text": "new", "newText": "new", "new_str": "new",
}  # fmt: skip


# --- what the model reads -------------------------------------------------------------

_PATH: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "Path of the file; relative paths start at the working folder, ~ is home.",
}
_FOLDER: Schema = {
    "type": "string",
    "description": "The folder to look in. Default: the working folder.",
}
_FILE_OR_FOLDER: Schema = {
    "type": "string",
    "description": "The folder (or one file) to search. Default: the working folder.",
}
_OFFSET: Schema = {
    "type": "integer",
    "minimum": 1,
    "description": "Number of the first line to read, counted from 1. Default: 1.",
}
_LIMIT: Schema = {
    "type": "integer",
    "minimum": 1,
    "description": f"How many lines to read. Default: {MAX_LINES}.",
}
_CONTENT: Schema = {"type": "string", "description": "The whole content of the file."}
_EDITS: Schema = {
    "type": "array",
    "minItems": 1,
    "description": "The replacements. All are made, or none.",
    "items": {
        "type": "object",
        "properties": {
            "old": {
                "type": "string",
                "minLength": 1,
                "description": "Text that is in the file exactly once, white space included.",
            },
            "new": {"type": "string", "description": "What stands there afterwards."},
        },
        "required": ["old", "new"],
        "additionalProperties": False,
    },
}
_GLOB_PATTERN: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "Such as *.py (at any depth), src/**/*.ts, **/test_*.{py,pyi}.",
}
_REGEX: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "A Python regular expression, matched against single lines. (?i) at its "
    "start ignores case.",
}
_ONLY: Schema = {
    "type": "string",
    "description": "Search only files that match this glob, such as *.py or src/**/*.ts.",
}
_COMMAND: Schema = {"type": "string", "minLength": 1, "description": "The command, for bash."}


def _timeout(default: float) -> Schema:
    return {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": MAX_TIMEOUT_S,
        "description": f"Seconds until the command is ended. Default: {default:g}, at most "
        f"{MAX_TIMEOUT_S:g}.",
    }


_READ = f"""\
Read a file as it is on the disk now. Text comes with line numbers (number, tab, line), at \
most {MAX_LINES} lines at once; a note at the end says if there is more and which offset goes \
on. PNG, JPEG, GIF and WebP files come as images. Other binary files are refused. Read a file \
before you edit it. Several files can be read in one turn."""

_WRITE = """\
Write a whole file: it is made, with its folders, or replaced. To change parts of a file that \
exists use edit, which cannot lose the rest."""

_EDIT = """\
Change a file by exact replacement. Each `old` must be in the file exactly once, character by \
character with its indentation and without read's line numbers; add neighbouring lines until \
it is unique. All edits of a call are matched against the file as it was before the call, must \
not overlap, and are made together or not at all. Line ends and encoding of the file stay. Put \
all changes of one file into one call."""

_LIST = f"""\
List one folder: subfolders end with /, links show their target, files their size. Hidden and \
ignored entries are listed too. At most {MAX_ENTRIES} entries."""

_GLOB = f"""\
Find files and folders by name, newest first, at most {MAX_PATHS}. Hidden files count; what \
.gitignore names does not. `*` and `?` stay inside a name, `**` goes over folders; a pattern \
without a slash is for names at any depth."""

_GREP = f"""\
Search file contents, line by line. Gives path:line:text, at most {MAX_MATCHES} lines, in path \
order. Binary files, and what .gitignore names, are left out. Use this rather than grep or rg \
in shell."""

_SHELL = """\
Run a command in bash, in the working folder. Each call is a new shell: cd and variables do \
not last, so chain with &&. There is no terminal and no input: use flags that ask nothing \
(-y, --no-edit, -m). Standard output and errors come together; of long output the beginning \
and the end, with the path of a file that holds the whole. A command is ended after {timeout} \
s unless `timeout` says otherwise. For servers and other things that go on, put them in the \
background with & and their output in a file; they are ended when the program ends. Prefer \
read, edit, list, glob and grep for what they can do."""
