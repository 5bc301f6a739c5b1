"""What an @file sends: the file read once, as blocks of the message that names it.

Texts come as the tool read gives them (numbered lines, the same limits, a note of what is left
out), folders as the tool list does, images as images once their bytes are looked at.
"""

import errno
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.agent.messages import ImageContent, TextContent
from agent_tui.agent.tools import ToolContext, ToolResult
from agent_tui.text import clean, count, file_size
from agent_tui.tools.files import read_tool
from agent_tui.tools.search import list_tool
from agent_tui.tools.workspace import ToolError, Work, Workspace, in_thread, shown

Block = TextContent | ImageContent

_PART = re.compile(r"\[(?:[^\[\]]* )?Lines ([\d,]+-[\d,]+ of (?:[\d,]+|many more))")
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP}


class MentionError(ValueError):
    """What was named cannot be had; str() says why. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class Read:
    """One thing that was named. name, about: for people."""

    name: str
    about: str
    blocks: Sequence[Block]


async def read_file(workspace: Workspace, path: str) -> Read | None:
    """What this path holds now; None where there is nothing of that name, so that it is text.

    Raises MentionError for a file that cannot be sent: binary, damaged, too large, forbidden.
    """
    try:
        kind = await in_thread(lambda stop: _kind(workspace, path))
        if kind is None:
            return None
        result = await _run(_TOOLS[kind](workspace), path)
    except (ToolError, OSError) as error:
        raise MentionError(_refusal(path, error)) from error
    name = workspace.show(workspace.resolve(path)) or "."
    return _folder(name, result) if kind == "folder" else _file(name, result)


def _kind(workspace: Workspace, path: str) -> str | None:
    try:
        where = workspace.resolve(path)
        where.stat()
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    except (ToolError, ValueError):  # a NUL, or no working folder: no name of a file
        return None
    return "folder" if where.is_dir() else "file"


_TOOLS = {"folder": list_tool, "file": read_tool}


async def _run(work: Work, path: str) -> ToolResult:
    return await work({"path": path}, ToolContext("mention", lambda partial: None))


def _folder(name: str, result: ToolResult) -> Read:
    shown_name = name if name.endswith("/") else f"{name}/"
    entries = result.details["count"]
    about = f"{count(entries)} {'entry' if entries == 1 else 'entries'}"
    return Read(shown_name, about, [_headed(f"[folder {shown_name}]", _text(result))])


def _file(name: str, result: ToolResult) -> Read:
    details = result.details
    if "media_type" in details:
        kind = details["media_type"].removeprefix("image/").upper()
        size = next(len(b.data) // 4 * 3 for b in result.content if isinstance(b, ImageContent))
        about = f"{kind}, {details['width']} x {details['height']} px, {file_size(size)}"
        return Read(name, about, result.content)
    text = _text(result)
    lines = details["last_line"]
    part = _PART.search(text[-400:])
    about = f"lines {part[1]}" if part else f"{count(lines)} {'line' if lines == 1 else 'lines'}"
    return Read(name, about, [_headed(f"[file {name}]", text)])


def _headed(head: str, text: str) -> TextContent:
    return TextContent(text=f"{head}\n{text}")


def _text(result: ToolResult) -> str:
    return "\n".join(b.text for b in result.content if isinstance(b, TextContent))


def _refusal(path: str, error: ToolError | OSError) -> str:
    """The tool's own reason without its advice, which is for the model."""
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
    else:
        reason = re.split(r"\. (?=[A-Z])", str(error), maxsplit=1)[0].rstrip(".")
    if "application/pdf" in reason:
        reason = "a PDF cannot go along; with `!pdftotext FILE -` its text can"
    return (
        f"@{clean(shown(path, 200))} was not sent: {reason}. Take it out, or put a space behind "
        "the @ to send its name alone"
    )
