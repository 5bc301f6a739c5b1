"""Which class shows which block of the API."""

from collections.abc import Mapping
from typing import Any

from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.program_block import ProgramBlock

_BY_NAME: dict[str, type[ApiBlock]] = {
    "code_execution": ProgramBlock,
    "bash_code_execution": ProgramBlock,
}
"""Of server_tool_use, by the tool's name."""


def make_block(raw: Mapping[str, Any]) -> ApiBlock:
    """The block that shows this content block, by its type and name."""
    return _BY_NAME.get(str(raw.get("name", "")), ApiBlock)(raw)
