"""Images fit for a request: type by magic bytes, size limits (facts: valid request; A30, A31)."""

import binascii
import struct
from typing import Final

from agent_tui.agent.messages import ImageContent

MAX_BASE64: Final = 5 * 1024 * 1024
"""Longest base64 text of one image: the stricter reading of "5 MB"."""
MAX_SIDE: Final = 8000
MAX_SIDE_MANY: Final = 2000
MANY: Final = 20
MAX_IMAGES: Final = 100
MAX_TOTAL: Final = 20 * 1024 * 1024
"""All images of one request, base64; the whole request may have 32 MB."""


class ImageProblem(ValueError):
    """Why an image cannot be sent, in words for the model and the user."""


def sniff(data: bytes) -> str | None:
    """The media type that the first bytes say: image/png, jpeg, gif, webp; else None."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def size(data: bytes) -> tuple[int, int] | None:
    """(width, height) in pixels from the head of an image; None when it does not say."""
    try:
        match sniff(data):
            case "image/png":
                return struct.unpack(">II", data[16:24])
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/webp":
                return _webp_size(data)
            case "image/jpeg":
                return _jpeg_size(data)
            case _:
                return None
    except (struct.error, IndexError):
        return None


def checked(image: ImageContent) -> tuple[str, tuple[int, int] | None]:
    """(true media type, pixel size or None) of an image that may be sent.

    Raises ImageProblem. The limit of 2000 px for many images is the caller's (count them).
    """
    if len(image.data) > MAX_BASE64:
        raise ImageProblem(f"it has {len(image.data) / 1048576:.1f} MB encoded, more than 5 MB")
    try:
        if len(image.data) % 4:
            raise ValueError("not whole")
        data = binascii.a2b_base64(image.data, strict_mode=True)
    except ValueError:
        raise ImageProblem("its data is not base64") from None
    kind = sniff(data)
    if kind is None:
        raise ImageProblem("it is not a PNG, JPEG, GIF or WebP image")
    pixels = size(data)
    if pixels is not None and max(pixels) > MAX_SIDE:
        raise ImageProblem(f"it has {pixels[0]}x{pixels[1]} pixels, more than {MAX_SIDE}")
    return kind, pixels


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:
            return (
                int.from_bytes(data[24:27], "little") + 1,
                int.from_bytes(data[27:30], "little") + 1,
            )
        case _:
            return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None
