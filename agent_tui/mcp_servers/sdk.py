"""The SDK: imported once, in a thread; and its errors in words."""

import asyncio

from agent_tui.mcp_servers.http import reason_of
from agent_tui.text import clean, cut


def is_mcp_error(error: BaseException) -> bool:
    """Whether the server answered with an error (or the SDK in its place)."""
    from mcp import MCPError

    return isinstance(error, MCPError)


def is_method_missing(error: BaseException) -> bool:
    from mcp import MCPError
    from mcp_types import METHOD_NOT_FOUND

    return isinstance(error, MCPError) and error.code == METHOD_NOT_FOUND


def root_of(error: BaseException) -> BaseException:
    """The first cause in a group: what a task group wraps is what went wrong."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def words_of(error: BaseException) -> str:
    """An exception as a clause; of a group its first cause."""
    error = root_of(error)
    if type(error).__module__.startswith("httpx2"):
        return reason_of(error)
    return clean(cut(str(error), 300)).rstrip(".") or type(error).__name__


_loading: "asyncio.Future[None] | None" = None


async def load_sdk() -> None:
    """Import the SDK (a second of work) in a thread, once."""
    global _loading
    loop = asyncio.get_running_loop()
    if _loading is None or _loading.get_loop() is not loop:
        _loading = loop.run_in_executor(None, _import_sdk)
    await asyncio.shield(_loading)


def _import_sdk() -> None:
    import anyio
    import anyio.lowlevel
    import jsonschema  # noqa: F401
    import mcp.client.auth
    import mcp.client.sse
    import mcp.client.streamable_http  # noqa: F401

    # A tenth of a second of work that anyio puts off until its first use.
    anyio.run(anyio.lowlevel.checkpoint)
