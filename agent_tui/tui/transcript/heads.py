"""The one line of a call: name, argument and outcome on the left, its status on the right."""

from rich.cells import cell_len

from agent_tui.tui.transcript.lines import Line, Look, Runs, crop_runs, row

_LEAST_SUMMARY = 16
"""Cells that the argument of a call keeps beside a long outcome."""

_ROOMY = 44
"""Columns from which it keeps them; on a narrower screen ten."""


def head_line(
    runs: Runs,
    look: Look,
    *,
    summary: str = "",
    note: Runs | None = None,
    status: str = "",
    status_style: str = "muted",
) -> Line:
    """Where there is no room for all, the argument (`summary`) gives way first."""
    note = note or []
    room = max(8, look.width - (cell_len(status) + 2 if status else 0))
    if summary:
        taken = sum(cell_len(text) for text, _ in [*runs, *note])
        least = min(cell_len(summary) + 2, _LEAST_SUMMARY if look.width >= _ROOMY else 10)
        summary_runs: Runs = [(f"  {summary}", "tool-summary")]
        runs = runs + crop_runs(summary_runs, max(least, room - taken), look.glyphs.ellipsis)
    left = crop_runs([*runs, *note], room, look.glyphs.ellipsis)
    if status:
        used = sum(cell_len(text) for text, _ in left)
        left.append((" " * max(1, look.width - used - cell_len(status)), ""))
        left.append((status, status_style))
    return row(left, look, lead=0)
