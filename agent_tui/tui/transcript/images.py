"""Images as a line of words: name, format, size, pixels. No pixels: docs/decisions says why."""

import base64
import binascii

from agent_tui.image_head import image_size
from agent_tui.text import clean, file_size

_HEAD = 262_144
"""Base64 characters that are read for the pixels; the frame of a JPEG may stand behind its
metadata, a thumbnail and a colour profile."""


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
