"""Images as a line of words: name, format, size, pixels. Drawn on a page of their own
(tui/screens/image_page.py); docs/decisions says why not here."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.agent.messages import ImageContent
from agent_tui.image_head import image_size
from agent_tui.text import clean, file_size
from agent_tui.tui.transcript.lines import Prefix
from agent_tui.tui.transcript.parts import Part, Picture, PlainPart

_HEAD = 262_144
"""Base64 characters that are read for the pixels; the frame of a JPEG may stand behind its
metadata, a thumbnail and a colour profile."""

PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image that a message or a result holds. data: base64, as it came. name: "" where it has
    none."""

    media_type: str
    data: str
    name: str = ""

    @classmethod
    def of(cls, block: ImageContent, name: str = "") -> "ShownImage":
        return cls(block.media_type, block.data, name)

    @classmethod
    def of_bytes(cls, media_type: str, data: bytes, name: str = "") -> "ShownImage":
        return cls(media_type, base64.standard_b64encode(data).decode("ascii"), name)

    @property
    def words(self) -> str:
        """`chart.png  PNG  44 kB  640 x 480`."""
        return image_words(self.media_type, self.data, self.name)


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """A file of the container that is an image by its name."""

    file_id: str
    name: str

    @property
    def words(self) -> str:
        return clean(self.name)


class ImagePart(PlainPart):
    """The line of an image, which opens it."""

    def __init__(self, text: str, pictures: Sequence[Picture], style: str, prefix: Prefix) -> None:
        super().__init__([[(text, style)]], prefix=prefix)
        self.pictures = pictures


def image_line(image: Picture) -> str:
    """What stands for it in the transcript."""
    return f"[image: {image.words}]"


def image_part(image: Picture, prefix: Prefix, style: str = "muted") -> Part:
    """That line, which opens it."""
    return ImagePart(image_line(image), [image], style, prefix)


def image_words(media_type: str, data: str, name: str = "") -> str:
    """`chart.png  PNG  44 kB  640 x 480`: what is known of it, safe text. data: base64."""
    kind = media_type.removeprefix("image/").upper() or "image"
    words = [name, kind, file_size(len(data) * 3 // 4 - data[-2:].count("="))]
    try:
        head = base64.b64decode(data[: min(_HEAD, len(data) // 4 * 4)])
    except (binascii.Error, ValueError):
        words.append("not readable")
    else:
        size = image_size(head)
        words.append(f"{size[0]:,} x {size[1]:,}" if size else "")
    return clean("  ".join(filter(None, words)))
