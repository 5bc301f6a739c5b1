"""Every key of the screen in one table: bindings, the status line's hints and the help page.

A key is rebound by its id (setting `keys`, Textual's keymap); hints and help follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding

Where = Literal["composer", "screen", "search", "transcript", "queue", "tools", "mcp", "dialog"]
HintState = Literal[
    "idle", "draft", "running", "stopping", "paused", "queue", "tools", "mcp", "calls", "dialog",
    "asked", "errand", "search", "transcript", "matches", "choice", "leavable", "list",
]  # fmt: skip
"""calls: some can be stopped alone. matches: the transcript in a search.
list: the list above the composer has something to insert. dialog: a question waits; asked: it
has the focus. choice: Enter answers it; leavable: so does Esc."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its id (the name to rebind it by), Textual's names, the action and its words.

    hints: the word the status line shows for it, by state; no entry, no hint.
    """

    id: str
    keys: str
    action: str
    where: Where
    help: str
    hints: Mapping[HintState, str] | None = None


KEYS: tuple[Key, ...] = (
    Key("send", "enter", "send", "composer",
        "Send; while it runs: steer. Empty: resume the queue.",
        {"idle": "send", "draft": "send", "running": "steer", "paused": "resume",
         "errand": "save", "choice": "choose"}),
    Key("follow_up", "tab", "follow_up", "composer",
        "While it runs: queue a follow-up. Else: complete",
        {"running": "follow-up", "list": "complete"}),
    Key("follow_up_alt", "alt+enter", "follow_up", "composer",
        "Follow-up, where the terminal reports this key"),
    Key("newline", "ctrl+j,shift+enter", "newline", "composer",
        "New line", {"draft": "new line"}),
    Key("stop", "escape", "stop", "composer",
        "Close a list; else stop, and pause the queue",
        {"running": "stop", "errand": "cancel", "leavable": "close", "list": "close"}),
    Key("interrupt", "ctrl+c", "interrupt", "screen",
        "Stop; idle: clear the draft; twice: quit", {"stopping": "twice: leave now"}),
    Key("leave", "ctrl+d", "leave", "composer", "Quit, on an empty line"),
    Key("history_previous", "up", "history_previous", "composer",
        "The message before, from the first line"),
    Key("history_next", "down", "history_next", "composer",
        "The message after, from the last line"),
    Key("history_search", "ctrl+r", "history_search", "composer",
        "Search what you sent"),
    Key("editor", "ctrl+g", "editor", "composer",
        "Write in $VISUAL or $EDITOR; the agent works on"),
    Key("stash", "ctrl+s,alt+s", "stash", "composer",
        "Put the draft away; on an empty line: bring it back"),
    Key("open_paste", "f9,alt+o", "open_paste", "composer",
        "Open the folded paste at the cursor, to edit it"),
    Key("undo", "ctrl+underscore", "undo", "composer", "Undo; Ctrl+Y redoes"),
    Key("recall", "alt+up", "recall", "composer",
        "Edit the last queued message", {"paused": "edit queued"}),
    Key("queue", "f3,alt+q", "focus_queue", "screen", "To the queue, and back"),
    Key("dialog", "f4", "focus_dialog", "screen",
        "To a question that waits, and back", {"dialog": "answer", "asked": "back"}),
    Key("tools", "f5,alt+x", "focus_tools", "screen",
        "To the calls in the side panel, and back", {"calls": "calls"}),
    Key("mcp", "f7,alt+m", "focus_mcp", "screen",
        "To the MCP servers in the side panel, and back"),
    Key("panel", "f2,ctrl+b", "toggle_panel", "screen",
        "Show or hide the side panel", {"idle": "panel"}),
    Key("panel_next", "f6", "next_panel", "screen", "Its next tab"),
    Key("fold_tools", "ctrl+o", "toggle_tools", "screen", "Fold or open tool output"),
    Key("fold_thinking", "ctrl+t", "toggle_thinking", "screen",
        "Fold or open thinking"),
    Key("search", "ctrl+f", "search", "screen", "Search the transcript",
        {"idle": "search"}),
    Key("transcript", "f8,alt+t", "focus_transcript", "screen",
        "To the transcript, and back"),
    Key("prompt_previous", "ctrl+up,alt+pageup", "previous_prompt", "screen",
        "To the message you sent before"),
    Key("prompt_next", "ctrl+down,alt+pagedown", "next_prompt", "screen",
        "To the message you sent after it, then to the end"),
    Key("page_up", "pageup", "page_up", "screen", "Scroll up"),
    Key("page_down", "pagedown", "page_down", "screen", "Scroll down"),
    Key("top", "ctrl+home", "scroll_top", "screen", "To the start"),
    Key("end", "ctrl+end", "scroll_bottom", "screen", "To the end, and follow it"),
    Key("suspend", "ctrl+z", "suspend_process", "screen", "Suspend; fg brings it back"),
    Key("copy", "ctrl+shift+c,super+c", "copy_selection", "screen",
        "Copy what is selected"),
    Key("copy_answer", "alt+c", "copy_answer", "screen", "Copy the last answer, as markdown"),
    Key("copy_code", "alt+k", "copy_code", "screen", "Copy the last code block"),
    Key("tour_skip", "alt+n,f10", "tour_skip", "screen", "In the tour: to its next step"),
    Key("help", "f1", "help", "screen",
        "This page",
        {"idle": "help", "draft": "help", "running": "help", "stopping": "help",
         "paused": "help", "asked": "help"}),
    Key("search_next", "down,ctrl+f", "next", "search", "The next match", {"search": "next"}),
    Key("search_previous", "up", "previous", "search", "The match before",
        {"search": "previous"}),
    Key("search_keep", "enter", "keep", "search", "Go on with n and N in the transcript",
        {"search": "n/N"}),
    Key("search_leave", "escape", "leave", "search", "Back to where you were",
        {"search": "back"}),
    Key("block_next", "n", "next", "transcript",
        "The next match; else the next block that opens",
        {"transcript": "next", "matches": "next"}),
    Key("block_previous", "N,p", "previous", "transcript",
        "The match before; else the block before that opens", {"matches": "previous"}),
    Key("block_down", "j", "down", "transcript", "The next block of any kind"),
    Key("block_up", "k", "up", "transcript", "The block before of any kind"),
    Key("block_open", "enter,space", "open_block", "transcript",
        "Open or fold the block; in a search: end it here",
        {"transcript": "open", "matches": "stay here"}),
    Key("block_copy", "c,y", "copy_block", "transcript", "Copy the block, or that of the match",
        {"transcript": "copy"}),
    Key("block_image", "i", "view_image", "transcript", "Look at the images of the block",
        {"transcript": "image"}),
    Key("block_stop", "x", "stop_block", "transcript",
        "Stop this call alone, also one being written"),
    Key("block_stop_reason", "r", "stop_block_because", "transcript",
        "The same, and tell the model why"),
    Key("block_prompt_previous", "left_square_bracket", "previous_prompt", "transcript",
        "The message you sent before", {"transcript": "prompt"}),
    Key("block_prompt_next", "right_square_bracket", "next_prompt", "transcript",
        "The message you sent after it"),
    Key("block_search", "slash", "app.search", "transcript", "Search",
        {"transcript": "search"}),
    Key("block_leave", "escape,f8,alt+t", "leave", "transcript",
        "Back to the composer; in a search: to where you were",
        {"transcript": "back", "matches": "back"}),
    Key("queue_up", "up", "up", "queue", "Select"),
    Key("queue_down", "down", "down", "queue", "Select"),
    Key("queue_edit", "enter,e", "edit", "queue", "Edit", {"queue": "edit"}),
    Key("queue_withdraw", "d,delete,backspace", "withdraw", "queue",
        "Withdraw", {"queue": "withdraw"}),
    Key("queue_promote", "p", "promote", "queue", "Make it steer", {"queue": "steer"}),
    Key("queue_demote", "m", "demote", "queue", "Make it a follow-up", {"queue": "follow-up"}),
    Key("queue_move_up", "shift+up,K", "move_up", "queue", "Move it up"),
    Key("queue_move_down", "shift+down,J", "move_down", "queue", "Move it down"),
    Key("queue_send_now", "s", "send_now", "queue",
        "Send steering now; calls not yet started are skipped", {"queue": "send now"}),
    Key("queue_pause", "space", "pause", "queue", "Pause or resume the queue", {"queue": "pause"}),
    Key("queue_back", "escape,f3,alt+q", "back", "queue",
        "Back to the composer", {"queue": "back"}),
    Key("tools_up", "up", "up", "tools", "Select"),
    Key("tools_down", "down", "down", "tools", "Select"),
    Key("tools_stop", "x,delete", "stop_call", "tools",
        "Stop this call alone, also one being written",
        {"tools": "stop this call"}),
    Key("tools_stop_reason", "r", "stop_call_because", "tools",
        "The same, and tell the model why", {"tools": "with a reason"}),
    Key("tools_back", "escape,f5,alt+x", "back", "tools",
        "Back to the composer", {"tools": "back"}),
    Key("mcp_up", "up", "up", "mcp", "Select"),
    Key("mcp_down", "down", "down", "mcp", "Select"),
    Key("mcp_switch", "e,space", "switch", "mcp", "Switch it on or off", {"mcp": "on/off"}),
    Key("mcp_reconnect", "r", "reconnect", "mcp", "Connect anew", {"mcp": "reconnect"}),
    Key("mcp_login", "l", "log_in", "mcp", "Log in (OAuth)", {"mcp": "login"}),
    Key("mcp_details", "enter", "details", "mcp", "All about it, into the transcript",
        {"mcp": "details"}),
    Key("mcp_back", "escape,f7,alt+m", "back", "mcp",
        "Back to the composer", {"mcp": "back"}),
)  # fmt: skip

_NAMES = {
    "enter": "Enter", "tab": "Tab", "escape": "Esc", "space": "Space", "up": "Up",
    "down": "Down", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End",
    "delete": "Del", "backspace": "Backspace", "ctrl": "Ctrl", "alt": "Alt",
    "shift": "Shift", "super": "Super", "underscore": "_", "slash": "/",
    "left_square_bracket": "[", "right_square_bracket": "]",
}  # fmt: skip


def key_name(key: str) -> str:
    """Textual's name as people write it: "ctrl+j" → "Ctrl+J", "d" → "d"."""
    parts = key.split("+")
    return "+".join(
        _NAMES.get(part) or (part.upper() if len(parts) > 1 or _is_function(part) else part)
        for part in parts
    )


def _is_function(part: str) -> bool:
    return part[:1] == "f" and part[1:].isdigit()


def bindings(where: Where) -> list[Binding]:
    """The Textual bindings of one place, each with its id so that a keymap can change it.

    Not for the composer, which runs its keys itself, in the order they were typed.
    """
    return [
        Binding(k.keys, k.action, k.help, show=False, id=k.id) for k in KEYS if k.where == where
    ]


class KeyTable:
    """The keys in force: the table above with a user's changes ({id: keys})."""

    def __init__(self, changes: Mapping[str, str] | None = None) -> None:
        known = {k.id for k in KEYS}
        self.unknown = [name for name in (changes or {}) if name not in known]
        self.changes = {n: keys for n, keys in (changes or {}).items() if n in known}

    def keys_of(self, key: Key) -> list[str]:
        return [part.strip() for part in self.changes.get(key.id, key.keys).split(",")]

    def actions(self) -> dict[str, str]:
        """Key → action for the composer: its own keys and those that act anywhere."""
        found: dict[str, str] = {}
        # A key that was changed wins over one that had this key before.
        for key in sorted(KEYS, key=lambda key: key.id not in self.changes):
            if key.where in ("composer", "screen"):
                own = key.where == "composer" or key.id == "interrupt"
                for name in self.keys_of(key):
                    found.setdefault(name, key.action if own else f"app.{key.action}")
        return found

    def first(self, id: str) -> str:
        """The first key of this id, as people write it."""
        return next(key_name(self.keys_of(k)[0]) for k in KEYS if k.id == id)

    def hints(self, state: HintState) -> list[tuple[str, str]]:
        """(key, word) pairs of a state, most useful first."""
        return [
            (key_name(self.keys_of(k)[0]), k.hints[state])
            for k in KEYS
            if k.hints and state in k.hints
        ]

    def help_rows(self, where: Where) -> list[tuple[str, str]]:
        """(keys, what they do) of one place, for the help page."""
        return [
            (" ".join(key_name(part) for part in self.keys_of(k)), k.help)
            for k in KEYS
            if k.where == where
        ]
