"""MCP servers and what they offer as markdown, for people."""

from collections.abc import Mapping, Sequence

from agent_tui.conversation.mcp.markdown import block, code, plain, table
from agent_tui.mcp_servers.types import PromptInfo, ResourceInfo, ServerSnapshot
from agent_tui.text import clean, cut, duration, file_size

STATES = {
    "connecting": "connecting",
    "connected": "connected",
    "failed": "failed",
    "needs_auth": "wants a login",
    "awaiting_approval": "waits for your approval",
    "disabled": "disabled",
}
SCOPES = {"conversation": "this conversation", "project": "project", "user": "user"}


def latency(milliseconds: float | None) -> str:
    """`12 ms`, `1.4 s`; "" for None."""
    if milliseconds is None:
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else duration(milliseconds / 1000)


def middle_cut(text: str, limit: int) -> str:
    """At most so many characters: of a command the program and the last words say most."""
    if len(text) <= limit:
        return text
    head = limit // 3
    return f"{cut(text, head)}…{text[len(text) - (limit - head - 1) :]}"


def tool_count(snapshot: ServerSnapshot) -> str:
    """ "3", "3 of 5" (some are switched off or cannot be offered), "" while not connected."""
    if snapshot.state != "connected":
        return ""
    usable = sum(tool.enabled for tool in snapshot.tools)
    whole = len(snapshot.tools) + len(snapshot.left_out)
    return f"{usable:,}" if usable == whole else f"{usable:,} of {whole:,}"


def servers_text(snapshots: Sequence[ServerSnapshot]) -> str:
    """A table, and a line for each that has something to say."""
    rows = [
        [
            code(s.name, 64), STATES[s.state], tool_count(s),
            latency(s.latency_ms),
            SCOPES[s.scope], code(middle_cut(s.target, 80)),
        ]
        for s in snapshots
    ]  # fmt: skip
    notes = [f"- {code(s.name, 64)}: {plain(s.error, 400)}" for s in snapshots if s.error]
    notes += [f"- {code(s.name, 64)}: {plain(s.hidden, 400)}" for s in snapshots if s.hidden]
    notes += [
        f"- {code(s.name, 64)}: `/mcp login {plain(s.name)}` logs in"
        for s in snapshots
        if s.state == "needs_auth"
    ]
    head = ["server", "state", "tools", "latency", "of", "command or address"]
    return "\n\n".join(part for part in (table(head, rows), "\n".join(notes)) if part)


def server_text(snapshot: ServerSnapshot, config: Sequence[str]) -> str:
    """All that is known of one server. config: its configuration, without secrets."""
    s = snapshot
    facts = [
        ("state", STATES[s.state]),
        ("error", plain(s.error, 600) if s.error else ""),
        ("tries again in", "" if s.retry_in_s is None else duration(s.retry_in_s)),
        ("tools", tool_count(s)),
        ("resources, prompts", f"{s.resources}, {s.prompts}" if s.state == "connected" else ""),
        ("latency", latency(s.latency_ms)),
        ("connected for", "" if s.connected_s is None else duration(s.connected_s)),
        ("server", plain(s.server_title)),
        ("protocol", plain(s.protocol)),
        ("of", SCOPES[s.scope] + (f", {code(s.source, 300)}" if s.source else "")),
        ("log", code(s.log_path, 300)),
    ]
    parts = [f"**{plain(s.name)}**"]
    parts.append("\n".join(f"- {name}: {value}" for name, value in facts if value))
    parts.append("Configuration\n\n" + block("\n".join(config)))
    if s.hidden:
        parts.append(plain(s.hidden, 600))
    if s.approval_text:
        parts.append("Asks for your approval\n\n" + block(s.approval_text))
    if s.instructions:
        parts.append("Says of itself\n\n" + block(s.instructions))
    notes = list(s.warnings)
    # Of many tools not all have a note of their own.
    notes += [
        f"{name} is left out: {why}"
        for name, why in s.left_out.items()
        if not any(f"{clean(name)} is left out" in note for note in notes)
    ]
    if notes:
        parts.append("Notes\n\n" + "\n".join(f"- {plain(note, 400)}" for note in notes))
    if s.log_tail:
        parts.append("Last lines of its log\n\n" + block("\n".join(s.log_tail[-10:])))
    return "\n\n".join(parts)


def tools_text(snapshots: Sequence[ServerSnapshot]) -> str:
    """Each tool by its name for the model; what had to be changed or left out below."""
    rows: list[list[str]] = []
    notes: list[str] = []
    for s in snapshots:
        for tool in s.tools:
            state = "off" if not tool.enabled else (tool.exposure or "")
            own = "" if tool.alias.endswith(f"__{tool.name}") else code(tool.name, 80)
            rows.append([code(tool.alias, 128), own, tool.approval, state,
                         plain(tool.description or tool.title, 80)])  # fmt: skip
            notes += [f"- {code(tool.alias, 128)}: {plain(note, 300)}" for note in tool.notes]
        notes += [
            f"- {code(name, 80)} of {code(s.name, 64)} is left out: {plain(why, 300)}"
            for name, why in s.left_out.items()
        ]
    if not rows and not notes:
        return "No server offers a tool now."
    head = ["tool", "own name", "approval", "exposure", "about"]
    return "\n\n".join(part for part in (table(head, rows), "\n".join(notes)) if part)


def resources_text(resources: Sequence[ResourceInfo]) -> str:
    if not resources:
        return "No server offers a resource now."
    rows = [
        [
            code(f"@{r.server}:{r.uri}", 200), plain(r.title or r.name, 60),
            plain(r.mime_type or "", 40), "" if r.size is None else file_size(r.size),
        ]
        for r in resources
    ]  # fmt: skip
    return table(["type this", "name", "type", "size"], rows)


def prompts_text(prompts: Sequence[PromptInfo], commands: Mapping[tuple[str, str], str]) -> str:
    """commands: the slash command of each, by (server, prompt)."""
    if not prompts:
        return "No server offers a prompt now."
    rows = [
        [
            code(" ".join([f"/{commands.get((p.server, p.name), p.name)}", *arguments_of(p)]), 200),
            plain(p.description or p.title, 100),
        ]
        for p in prompts
    ]
    return table(["type this", "about"], rows)


def arguments_of(prompt: PromptInfo) -> list[str]:
    """`who=...`, `[how=...]`."""
    return [f"{a.name}=..." if a.required else f"[{a.name}=...]" for a in prompt.arguments]


def log_text(lines: Sequence[str], path: str) -> str:
    if not lines:
        return f"Nothing is logged yet. The file is {code(path, 300)}."
    return f"{block(chr(10).join(lines))}\n\nThe whole is in {code(path, 300)}."
