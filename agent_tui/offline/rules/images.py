"""The media type and size of an image, from its first bytes (PNG, JPEG, GIF, WebP)."""


def image_type(data: bytes) -> str | None:
    """The media type that the bytes have, or None for another kind."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_size(data: bytes) -> tuple[int, int] | None:
    """(width, height) in pixels, or None when the bytes do not tell."""
    match image_type(data):
        case "image/png":
            return _pair(data, 16, 4, "big")
        case "image/gif":
            return _pair(data, 6, 2, "little")
        case "image/jpeg":
            return _jpeg_size(data)
        case "image/webp":
            return _webp_size(data)
        case _:
            return None


def _pair(data: bytes, at: int, width: int, order: str) -> tuple[int, int] | None:
    if len(data) < at + 2 * width:
        return None
    first, second = data[at : at + width], data[at + width : at + 2 * width]
    if order == "big":
        return int.from_bytes(first, "big"), int.from_bytes(second, "big")
    return int.from_bytes(first, "little"), int.from_bytes(second, "little")


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        # Start of frame: C0 to CF, without DHT (C4), JPG (C8) and DAC (CC).
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            size = _pair(data, at + 5, 2, "big")
            return (size[1], size[0]) if size else None
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        size = _pair(data, 24, 3, "little")
        return (size[0] + 1, size[1] + 1) if size else None
    if kind == b"VP8 ":
        size = _pair(data, 26, 2, "little")
        return (size[0] & 0x3FFF, size[1] & 0x3FFF) if size else None
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    return None
