"""A whole PNG of any size, made without a library."""

import random
import struct
import zlib


def png(width: int, height: int, seed: int = 1) -> bytes:
    """Grey noise, so that it does not shrink: about width * height bytes."""
    noise = random.Random(seed)
    rows = b"".join(b"\0" + noise.randbytes(width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
