"""What kind of file some bytes are: images by their magic bytes, other binary files by name.

Limits of images: facts of the Messages API (5 MB of base64 text, 8000 px a side); a picture
that breaks them, or is cut short, would make every later request fail.
"""

import mimetypes
import struct
from dataclasses import dataclass

MAX_BASE64_BYTES = 5 * 1024 * 1024
MAX_IMAGE_BYTES = MAX_BASE64_BYTES // 4 * 3
"""The largest file whose base64 text stays within MAX_BASE64_BYTES."""
MAX_SIDE_PX = 8000

_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x7fELF", "application/x-executable"),
    (b"%PDF-", "application/pdf"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x00\x00\x01\x00", "image/vnd.microsoft.icon"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
)


def image_type(head: bytes) -> str | None:
    """The media type the API takes, from the first 12 bytes; None for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def binary_type(head: bytes, name: str) -> str:
    """The best word for a binary file's type: what its name says if it is known, else its
    magic bytes, else application/octet-stream."""
    by_name = mimetypes.guess_type(name)[0]
    by_magic = next((kind for magic, kind in _KINDS if head.startswith(magic)), None)
    return by_name or by_magic or "application/octet-stream"


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """A picture that the API takes: type and size in pixels."""

    media_type: str
    width: int
    height: int


def check_image(data: bytes) -> ImageFacts | str:
    """The facts of a whole image file, or one clause that says why the API would refuse it."""
    kind = image_type(data)
    if kind is None:
        return "it is not a PNG, JPEG, GIF or WebP image"
    if len(data) > MAX_IMAGE_BYTES:
        return f"it has {len(data):,} bytes and at most {MAX_IMAGE_BYTES:,} can be sent"
    try:
        size = _SIZES[kind](data)
    except (struct.error, IndexError):
        size = None
    if size is None or 0 in size:
        return f"it begins like {kind} but is damaged or cut short"
    width, height = size
    if max(width, height) > MAX_SIDE_PX:
        return f"it is {width} x {height} px and at most {MAX_SIDE_PX} px a side can be sent"
    return ImageFacts(kind, width, height)


def _png(data: bytes) -> tuple[int, int] | None:
    if data[12:16] != b"IHDR" or b"IEND" not in data[-4096:]:
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _gif(data: bytes) -> tuple[int, int] | None:
    if b"\x3b" not in data[-512:]:
        return None
    width, height = struct.unpack("<HH", data[6:10])
    return width, height


def _webp(data: bytes) -> tuple[int, int] | None:
    (length,) = struct.unpack("<I", data[4:8])
    if length + 8 > len(data) + 1:  # an odd last chunk may lack its padding byte
        return None
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return (
                int.from_bytes(data[24:27], "little") + 1,
                int.from_bytes(data[27:30], "little") + 1,
            )
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if b"\xff\xd9" not in data[-65536:]:
        return None
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF or 0xD0 <= marker <= 0xD8 or marker == 0x01:
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        at += 2 + length
    return None


_SIZES = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
