"""What a server offers: tools, resources, templates and prompts, all pages of them, bounded."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from agent_tui.mcp_servers.lenient import raw_of
from agent_tui.mcp_servers.schemas import Repaired, UnusableSchema, repair
from agent_tui.mcp_servers.types import PromptArgument, PromptInfo, ResourceInfo
from agent_tui.text import clean, cut, sendable

log = logging.getLogger(__name__)

MAX_PAGES = 100
MAX_ITEMS = 2_000
MAX_DESCRIPTION = 10_000
MAX_INSTRUCTIONS = 10_000

Note = Callable[[str], None]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as the server lists it, made legal; problem says why it cannot be offered.
    input_schema: what the server sent."""

    name: str
    title: str = ""
    description: str = ""
    repaired: Repaired = field(default_factory=lambda: Repaired({"type": "object"}))
    notes: tuple[str, ...] = ()
    problem: str = ""
    input_schema: Any = None


async def all_pages(
    fetch: Callable[[str | None], Awaitable[Any]], key: str, *, seconds: float, note: Note
) -> list[Any]:
    """The items of every page, as the session gives them.

    What never ends, repeats itself or takes too long is cut short with a note. Raises
    TimeoutError when not even the first page came in time, and what fetch raises there.
    """
    until = asyncio.get_running_loop().time() + seconds
    found: list[Any] = []
    seen: set[str] = set()
    cursor: str | None = None
    for number in range(MAX_PAGES):
        try:
            async with asyncio.timeout_at(until):
                page = await fetch(cursor)
        except TimeoutError:
            if number == 0:
                raise
            note(f"the list of {key} was cut short after {seconds:g} s and {len(found)} entries")
            return found
        except Exception as error:
            if number == 0:
                raise
            note(f"page {number + 1} of the list of {key} failed: {clean(cut(str(error), 200))}")
            return found
        found += getattr(page, key)
        cursor = page.next_cursor
        if not cursor:
            break
        if cursor in seen:
            note(f"the list of {key} repeats itself and was cut short: {len(found)} entries")
            break
        seen.add(cursor)
        if len(found) >= MAX_ITEMS:
            break
    else:
        note(f"the list of {key} has no end and was cut short: {len(found)} entries")
    if len(found) > MAX_ITEMS:
        note(f"of {len(found)} {key} the first {MAX_ITEMS:,} are used")
    return found[:MAX_ITEMS]


async def list_tools(client: Any, *, seconds: float, note: Note) -> list[ListedTool]:
    """All tools, by name; their schemas are repaired in a thread. Raises as all_pages does."""
    items = await all_pages(
        lambda cursor: client.list_tools(cursor=cursor), "tools", seconds=seconds, note=note
    )
    raws = [raw_of(item) for item in items]
    listed = await asyncio.to_thread(lambda: [_listed(raw) for raw in raws])
    by_name: dict[str, ListedTool] = {}
    for tool in listed:
        if tool.name in by_name:
            note(f"the tool {clean(cut(tool.name, 80))} is listed twice; the first counts")
        else:
            by_name[tool.name] = tool
    return sorted(by_name.values(), key=lambda tool: tool.name)


def _listed(raw: Json) -> ListedTool:
    name = str(raw["name"])
    title = _text(raw, "title") or _text(raw.get("annotations"), "title")
    description = sendable(_text(raw, "description"))
    notes: list[str] = []
    if len(description) > MAX_DESCRIPTION:
        notes.append(f"its description was cut to {MAX_DESCRIPTION:,} characters")
        description = cut(description, MAX_DESCRIPTION)
    execution: Any = raw.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        problem = "it can only run as a task, which this client does not do"
        return ListedTool(name, title, description, problem=problem)
    input_schema: Any = raw.get("inputSchema")
    try:
        repaired = repair(input_schema)
    except UnusableSchema as error:
        return ListedTool(name, title, description, problem=str(error))
    except Exception:
        # A shape nobody thought of costs that tool, not the list.
        log.warning("the schema of the tool %s could not be looked at", name, exc_info=True)
        return ListedTool(name, title, description, problem="its schema cannot be made legal")
    notes += repaired.notes
    return ListedTool(name, title, description, repaired, tuple(notes), input_schema=input_schema)


async def list_resources(
    client: Any, server: str, *, seconds: float, note: Note
) -> list[ResourceInfo]:
    """Resources, then templates. A server may have only one of the two."""
    plain = await all_pages(
        lambda cursor: client.list_resources(cursor=cursor), "resources", seconds=seconds, note=note
    )
    found = [_resource(server, raw_of(item), "uri") for item in plain]
    try:
        templates = await all_pages(
            lambda cursor: client.list_resource_templates(cursor=cursor),
            "resource_templates", seconds=seconds, note=note,
        )  # fmt: skip
    except Exception:
        # Many servers with resources do not know the method.
        templates = []
    return found + [_resource(server, raw_of(item), "uriTemplate") for item in templates]


def _resource(server: str, raw: Json, key: str) -> ResourceInfo:
    size = raw.get("size")
    return ResourceInfo(
        server=server,
        uri=str(raw[key]),
        name=str(raw["name"]),
        title=_text(raw, "title"),
        description=_text(raw, "description"),
        mime_type=_text(raw, "mimeType") or None,
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
        template=key == "uriTemplate",
    )


async def list_prompts(client: Any, server: str, *, seconds: float, note: Note) -> list[PromptInfo]:
    """All prompts with their arguments."""
    items = await all_pages(
        lambda cursor: client.list_prompts(cursor=cursor), "prompts", seconds=seconds, note=note
    )
    return [_prompt(server, raw_of(item)) for item in items]


def _prompt(server: str, raw: Json) -> PromptInfo:
    given = raw.get("arguments")
    arguments = tuple(
        PromptArgument(
            str(argument["name"]), _text(argument, "description"), argument.get("required") is True
        )
        for argument in (cast(list[Any], given) if isinstance(given, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    )
    return PromptInfo(
        server=server,
        name=str(raw["name"]),
        title=_text(raw, "title"),
        description=_text(raw, "description"),
        arguments=arguments,
    )


def _text(raw: Any, key: str) -> str:
    value: Any = cast(Json, raw).get(key) if isinstance(raw, dict) else None
    return value if isinstance(value, str) else ""
