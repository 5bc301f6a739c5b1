"""What kind of file some bytes are: images by their magic bytes, other binary files by name.

Limits of images: facts of the Messages API (5 MB of base64 text, 8000 px a side); a picture
that breaks them, or is cut short, would make every later request fail.
"""

import mimetypes
from dataclasses import dataclass

from agent_tui.image_head import image_size, image_type

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
    size = image_size(data) if _is_whole(kind, data) else None
    if size is None or 0 in size:
        return f"it begins like {kind} but is damaged or cut short"
    width, height = size
    if max(width, height) > MAX_SIDE_PX:
        return f"it is {width} x {height} px and at most {MAX_SIDE_PX} px a side can be sent"
    return ImageFacts(kind, width, height)


def _is_whole(kind: str, data: bytes) -> bool:
    """Whether the end of the image is there too."""
    match kind:
        case "image/png":
            return data[12:16] == b"IHDR" and b"IEND" in data[-4096:]
        case "image/gif":
            return b"\x3b" in data[-512:]
        case "image/webp":
            length = int.from_bytes(data[4:8], "little")
            return length + 8 <= len(data) + 1  # an odd last chunk may lack its padding byte
        case _:
            return b"\xff\xd9" in data[-65536:]
