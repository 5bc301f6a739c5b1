"""The zoo (tests/mcp_servers/zoo.py) as an app has it: in its mcp.json, and called by a model."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.e2e.terminal import Terminal

F7 = b"\x1b[18~"
ZOO = Path(__file__).parent.parent / "mcp_servers" / "zoo.py"

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("bad-names__-", {}, "this is -"),
    ("crashing__crash", {}, "it ended with exit code 3. It said: the cage is open"),
    ("endless__p7", {}, "no tool p7"),
    ("good__slow", {"steps": 100_000, "s": 0.01}, "done"),
    ("loud__echo", {"text": "loud and clear"}, "loud and clear"),
    ("many__keys", {"user_name": "Ann"}, '{"name": "keys", "arguments": {"user name": "Ann"}}'),
    ("noisy__echo", {"text": "through the noise"}, "through the noise"),
    ("stubborn__echo", {"text": "I stay"}, "I stay"),
    ("wild__megabytes", {}, "a line of the four megabytes"),
    ("wild__svg_as_png", {}, "not a PNG, JPEG, GIF or WebP"),
]
"""Tool, input, and what is in its result."""
KINDS = {
    "bad-names": "BadNames", "crashing": "Plain", "dead": "DeadAtStart", "endless": "Endless",
    "flood": "Flood", "good": "Plain", "loud": "ErrorFlood", "many": "Many", "noisy": "Noisy",
    "silent": "Silent", "stubborn": "Stubborn", "wild": "Wild",
}  # fmt: skip


def animal(kind: str, mark: Path, **more: Any) -> dict[str, Any]:
    """An entry of mcp.json. mark: a path that tells the processes of one zoo from all others."""
    env = {"ZOO_DIARY": str(mark / "diary"), "ZOO_GATE": str(mark / "gate")}
    return {
        "command": sys.executable, "args": ["-S", "-E", "-u", str(ZOO), kind], "env": env,
    } | more  # fmt: skip


def living(mark: Path) -> list[int]:
    """The processes of a zoo, also those that its servers have started."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"ZOO_GATE={mark}/gate\0".encode() in (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(") ")[2][0]
        except OSError:
            continue
        if marked and state != "Z":
            found.append(int(entry.name))
    return found


def zoo_servers(home: Path) -> dict[str, dict[str, Any]]:
    """Entries for every kind of KINDS."""
    servers = {name: animal(kind, home) for name, kind in KINDS.items()}
    servers["silent"]["connect_timeout_s"] = 2
    return servers


def zoo_calls(home: Path) -> list[dict[str, Any]]:
    """CALLS for a turn of a scenario; the slow one lasts until the gate is open."""
    return [
        {"name": name, "input": given | ({"until": f"{home}/gate"} if "steps" in given else {})}
        for name, given, _ in CALLS
    ]


def configured(home: Path, servers: dict[str, dict[str, Any]]) -> str:
    """Writes mcp.json; what --allow takes so that all of their tools run."""
    state = home / "agent-tui"
    state.mkdir(parents=True, exist_ok=True)
    (state / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return ",".join(f"{name}__*" for name in servers)


def wait_connected(terminal: Terminal, number: int) -> None:
    """Until the panel shows so many connected servers."""
    look_at_panel(terminal)
    terminal.wait_for(
        lambda _: len(re.findall(r"✓ [a-z0-9-]+ .*tool", terminal.panel())) == number, timeout=30
    )
    leave_panel(terminal)


def look_at_panel(terminal: Terminal) -> None:
    terminal.send(F7)
    terminal.wait_for("Enter details")


def leave_panel(terminal: Terminal) -> None:
    # Not Esc: with a letter after it it would be another key.
    terminal.send(F7)
    terminal.wait_gone("Enter details")
