"""What servers answer → what a model can read: every kind of content, checked and bounded.

Text and images (by their bytes, not by their word) stay what they are; audio, SVG, PDF, links
and the rest become a line of text that names them and the file they were saved to. Text too long
for the model is capped by a function handed in, which saves the whole. Everything here may
decode megabytes: the async functions do it in a thread.
"""

import asyncio
import base64
import binascii
import json
import logging
import mimetypes
import re
import secrets as random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agent_tui import paths
from agent_tui.agent.messages import ImageContent, TextContent
from agent_tui.agent.tools import ToolResult
from agent_tui.image_head import image_size, image_type
from agent_tui.mcp_servers.masking import Secrets
from agent_tui.mcp_servers.types import CapText
from agent_tui.text import clean, cut

log = logging.getLogger(__name__)

Block = TextContent | ImageContent

MAX_BASE64: Final = 5 * 1024 * 1024
MAX_SIDE: Final = 8000
MAX_IMAGES: Final = 20
MAX_FILES: Final = 50
_MAX_DETAILS = 64_000
_NOTHING = "(The tool answered without any content.)"
_EXTENSIONS = {"image/svg+xml": ".svg", "audio/wav": ".wav", "audio/mpeg": ".mp3",
               "application/json": ".json", "image/webp": ".webp"}  # fmt: skip


@dataclass(slots=True)
class Mapped:
    """Blocks for a request; files: what was saved; whole: the file of text that was cut."""

    blocks: list[Block]
    files: list[str] = field(default_factory=list[str])
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class Mapper:
    """How content becomes blocks. name: of files; folder: where they go (None: outputs/)."""

    cap_text: CapText
    secrets: Secrets
    folder: Path | None = None

    async def tool_result(
        self, raw: Mapping[str, Any], *, failed: bool, server: str, tool: str, name: str
    ) -> ToolResult:
        """raw: what lenient.py has left of a result: content (blocks as it makes them) and
        structuredContent, which is told when the content has no text."""
        return await asyncio.to_thread(self._tool_result, raw, failed, server, tool, name)

    async def resource(self, contents: Iterable[Any], name: str) -> list[Block]:
        """Of the contents of a resource."""
        mapped = await asyncio.to_thread(
            self._map, [_Embedded(content) for content in contents], name
        )
        return mapped.blocks

    async def blocks(self, content: Any, name: str) -> list[Block]:
        """Of one block or a list of them (prompts, sampling)."""
        items = content if isinstance(content, list) else [content]
        return (await asyncio.to_thread(self._map, items, name)).blocks

    # --- in a thread ------------------------------------------------------------------------

    def _tool_result(
        self, raw: Mapping[str, Any], failed: bool, server: str, tool: str, name: str
    ) -> ToolResult:
        content: list[Any] = [_Fields(item) for item in raw.get("content") or []]
        structured = raw.get("structuredContent")
        if structured is not None and not any(_text_of(block) for block in content):
            content.append(_Text(json.dumps(structured, ensure_ascii=False, indent=1)))
        mapped = self._map(content, name, images=not failed)
        if not mapped.blocks:
            nothing = "The tool failed and did not say why." if failed else _NOTHING
            mapped.blocks.append(TextContent(text=nothing))
        details: dict[str, Any] = {"server": server, "tool": tool}
        if structured is not None and len(json.dumps(structured, default=str)) <= _MAX_DETAILS:
            details["structured"] = json.loads(
                self.secrets.mask_result(json.dumps(structured, default=str))
            )
        if mapped.files:
            details["files"] = mapped.files
        if mapped.whole:
            details["output_path"] = mapped.whole
        return ToolResult(mapped.blocks, is_error=failed, details=details)

    def _map(self, content: list[Any], name: str, *, images: bool = True) -> Mapped:
        work = _Mapping(self, name, images)
        for block in content:
            work.add(block)
        return work.finish()


@dataclass(frozen=True, slots=True)
class _Text:
    """structuredContent as a block."""

    text: str
    type: str = "text"


class _Fields:
    """A block as it was sent, read as the SDK's types are."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        value = self._fields.get("mimeType" if name == "mime_type" else name)
        return _Fields(value) if isinstance(value, dict) else value


@dataclass(frozen=True, slots=True)
class _Embedded:
    resource: Any
    type: str = "resource"


def _text_of(block: Any) -> str:
    if block.type == "resource":
        return str(getattr(block.resource, "text", None) or "").strip()
    return str(getattr(block, "text", "") or "").strip() if block.type == "text" else ""


class _Mapping:
    """One result on its way: parts in order, text as str until it is capped."""

    def __init__(self, mapper: Mapper, name: str, images: bool) -> None:
        self._mapper = mapper
        self._name = name
        self._images_left = MAX_IMAGES if images else 0
        self._parts: list[str | ImageContent] = []
        self._files: list[str] = []

    def add(self, block: Any) -> None:
        match block.type:
            case "text":
                if block.text.strip():
                    self._say(block.text)
            case "image":
                self._image(block.data, block.mime_type)
            case "audio":
                self._binary(block.data, block.mime_type, "audio")
            case "resource":
                self._resource(block.resource)
            case "resource_link":
                self._say(_link(block))
            case "tool_use":
                self._say(f"[a call of the tool {clean(block.name)}]")
            case "tool_result":
                for inner in block.content or []:
                    self.add(inner)
            case other:
                self._say(f"[content of a kind that is not known: {clean(str(other))}]")

    def finish(self) -> Mapped:
        """The parts with their text capped: together, when it is too much together."""
        cap = self._mapper.cap_text
        texts = [part for part in self._parts if isinstance(part, str)]
        whole = cap("\n".join(texts), self._name) if texts else None
        blocks: list[Block] = []
        if whole is None or whole.path is None:
            for part in self._merged():
                blocks.append(
                    part if isinstance(part, ImageContent)
                    else TextContent(text=cap(part, self._name).text)
                )  # fmt: skip
            blocks = [b for b in blocks if isinstance(b, ImageContent) or b.text.strip()]
            return Mapped(blocks, self._files)
        blocks = [TextContent(text=whole.text)]
        blocks += [part for part in self._parts if isinstance(part, ImageContent)]
        return Mapped(blocks, self._files, whole.path)

    def _merged(self) -> list[str | ImageContent]:
        """Neighbouring texts as one."""
        merged: list[str | ImageContent] = []
        for part in self._parts:
            if isinstance(part, str) and merged and isinstance(last := merged[-1], str):
                merged[-1] = f"{last}\n{part}"
            else:
                merged.append(part)
        return merged

    def _say(self, text: Any) -> None:
        self._parts.append(self._mapper.secrets.mask_result(str(text)))

    def _image(self, data: str, said: str) -> None:
        raw = _decoded(data)
        if raw is None:
            self._say(f"[an image ({clean(said)}) whose data is not base64]")
            return
        problem = _image_problem(raw)
        if problem is None and self._images_left > 0:
            self._images_left -= 1
            kind = image_type(raw) or said
            # Encoded anew: the API takes no line ends or other alphabets in it.
            self._parts.append(
                ImageContent(data=base64.b64encode(raw).decode("ascii"), media_type=kind)
            )
            return
        real = _kind_of(raw) or said
        was = f", sent as {clean(said)}" if real != said else ""
        self._save(raw, real, f"image {clean(real)}{was}", problem or "")

    def _binary(self, data: str, said: str, word: str) -> None:
        raw = _decoded(data)
        if raw is None:
            self._say(f"[{word} ({clean(said)}) whose data is not base64]")
            return
        self._save(raw, said, f"{word} {clean(said)}")

    def _resource(self, resource: Any) -> None:
        uri = clean(cut(str(resource.uri), 500))
        text = getattr(resource, "text", None)
        if text is not None:
            kind = f", {clean(resource.mime_type)}" if resource.mime_type else ""
            self._say(f"[resource {uri}{kind}]\n{text}")
            return
        raw = _decoded(resource.blob)
        said = resource.mime_type or ""
        if raw is None:
            self._say(f"[resource {uri} whose data is not base64]")
        elif image_type(raw) is not None and _image_problem(raw) is None and self._images_left > 0:
            self._say(f"[resource {uri}]")
            self._image(resource.blob, said)
        else:
            kind = _kind_of(raw) or said or "application/octet-stream"
            self._save(raw, kind, f"resource {uri}, {clean(kind)}")

    def _save(self, raw: bytes, kind: str, what: str, why: str = "") -> None:
        """A line that names the thing and its file."""
        said = f"{what}, {len(raw):,} bytes"
        if why:
            said += f": {why}"
        if len(self._files) >= MAX_FILES:
            self._say(f"[{said}. Not saved: there were more than {MAX_FILES} files]")
            return
        try:
            path = save_file(raw, self._name, _extension(kind), self._mapper.folder)
        except OSError as error:
            log.warning("a part of a result could not be saved: %s", error)
            self._say(f"[{said}. It could not be saved: {error}]")
            return
        self._files.append(path)
        self._say(f"[{said}. Saved to {path}]")


def save_file(data: bytes, name: str, extension: str, folder: Path | None = None) -> str:
    """A new 0600 file in outputs/ (or `folder`); its path. Raises OSError."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{safe}-{random.token_hex(3)}"
    path = (folder or paths.outputs_dir()) / f"{stem}{extension}"
    with paths.private_open(path, "xb") as file:
        file.write(data)
    return str(path)


def _decoded(data: Any) -> bytes | None:
    """Base64 as servers write it: with line ends, without padding, in the alphabet of URLs, as
    a data: URL; None if it is none."""
    if not isinstance(data, str):
        return None
    if data.startswith("data:"):
        data = data.partition(",")[2]
    text = "".join(data.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return binascii.a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except (ValueError, UnicodeEncodeError):
        return None


def _image_problem(raw: bytes) -> str | None:
    """Why the API would not take an image; None if it would (facts: images)."""
    if image_type(raw) is None:
        return "not a PNG, JPEG, GIF or WebP"
    if (len(raw) + 2) // 3 * 4 > MAX_BASE64:
        return "more than 5 MB encoded"
    size = image_size(raw)
    if size is None or 0 in size:
        return "damaged or cut short"
    if max(size) > MAX_SIDE:
        return f"{size[0]} x {size[1]} pixels, more than {MAX_SIDE}"
    return None


def _kind_of(raw: bytes) -> str | None:
    """What bytes are, where their head says so."""
    if (kind := image_type(raw)) is not None:
        return kind
    head = raw[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    if head.startswith(b"<svg") or (head.startswith((b"<?xml", b"<!--")) and b"<svg" in raw[:4096]):
        return "image/svg+xml"
    return None


def _extension(kind: str) -> str:
    plain = kind.partition(";")[0].strip().lower()
    return _EXTENSIONS.get(plain) or mimetypes.guess_extension(plain) or ".bin"


def _link(block: Any) -> str:
    facts: list[str] = [clean(block.mime_type)] if block.mime_type else []
    if block.size is not None:
        facts.append(f"{block.size:,} bytes")
    title = clean(block.title or block.name or "")
    said = f": {clean(cut(block.description, 500))}" if block.description else ""
    kind = f" ({', '.join(facts)})" if facts else ""
    return f"[link to the resource {clean(cut(str(block.uri), 500))}, {title}{kind}{said}]"
