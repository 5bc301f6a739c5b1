"""Images fit for a request: type by magic bytes, size limits (facts: valid request; A30, A31)."""

import binascii
from typing import Final

from agent_tui.agent.messages import ImageContent
from agent_tui.image_head import image_size, image_type

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
    kind = image_type(data)
    if kind is None:
        raise ImageProblem("it is not a PNG, JPEG, GIF or WebP image")
    pixels = image_size(data)
    if pixels is not None and max(pixels) > MAX_SIDE:
        raise ImageProblem(f"it has {pixels[0]}x{pixels[1]} pixels, more than {MAX_SIDE}")
    return kind, pixels
