"""builtin_tools: the tools every conversation starts with."""

from agent_tui.agent.tools import AgentTool


def builtin_tools(
    cwd: str, *, output_dir: str | None = None, shell_timeout_s: float = 120.0
) -> list[AgentTool]:
    """read, write, edit, list, glob, grep, shell, bound to the working folder `cwd`.

    output_dir: where whole outputs too large for the model are saved (0600). Parameters are
    those of DESIGN "Built-in tools". A result's `details` holds what faces show: for read
    {"path","first_line","last_line"}, for edit/write {"path","diff"}, for shell
    {"command","exit_code","duration_s","output_path"?}, for grep/glob/list {"count"}.
    """
    raise NotImplementedError


def kill_all() -> None:
    """Ends every process group a shell call of this process started (at exit)."""
