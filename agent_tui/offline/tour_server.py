"""A small MCP server over stdio that comes along, so that /tour can attach one: `agent-tui
offline mcp`. It reads and writes no file and opens no connection.
"""

import random
from typing import Annotated


def serve_stdio() -> None:
    """Until its standard input ends. mcp is imported here: nothing else needs its server side."""
    from mcp.server.mcpserver import MCPServer
    from pydantic import Field

    server = MCPServer("tour", instructions="Dice and words, for trying out.")

    @server.tool()
    def dice(
        sides: Annotated[int, Field(ge=2, le=1000, description="of each die")] = 6,
        count: Annotated[int, Field(ge=1, le=100, description="how many")] = 1,
    ) -> str:
        """Throw dice; gives what each shows, and the sum."""
        thrown = [random.randint(1, sides) for _ in range(count)]
        return f"{', '.join(map(str, thrown))} (sum {sum(thrown)})"

    @server.tool()
    def reverse(text: Annotated[str, Field(description="any text")]) -> str:
        """The text from its end to its beginning."""
        return text[::-1]

    server.run("stdio")
