"""Image heads: type by magic bytes, size in pixels (A31, A30)."""

import base64
import struct

import pytest

from agent_tui.agent.messages import ImageContent
from agent_tui.image_head import image_size, image_type
from agent_tui.messages_api.images import ImageProblem, checked

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = (
    b"\xff\xd8\xff\xe0\0\x10JFIF\0" + b"\0" * 9 + b"\xff\xff\xe1\0\x04ab"
    + b"\xff\xc4\0\x05abc" + b"\xff\xc2\0\x11\x08" + struct.pack(">HH", 480, 640) + b"\0" * 10
)  # fmt: skip
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640 | 0x4000, 480)
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + struct.pack("<I", 639 | 479 << 14)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x7f\x02\0" + b"\xdf\x01\0"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"), (GIF, "image/gif"), (JPEG, "image/jpeg"),
        (VP8, "image/webp"), (VP8L, "image/webp"), (VP8X, "image/webp"),
    ],
)  # fmt: skip
def test_type_and_size(data: bytes, kind: str) -> None:
    assert (image_type(data), image_size(data)) == (kind, (640, 480))
    image = ImageContent(data=base64.b64encode(data).decode(), media_type="image/x")
    assert checked(image) == (kind, (640, 480))
    for n in range(len(data)):
        assert image_size(data[:n]) in (None, (640, 480))


def test_other_bytes_are_no_image() -> None:
    for data in (b"", b"BM", b"<svg>", b"RIFF\0\0\0\0WAVE", b"\x89PNG"):
        assert image_type(data) is None
        with pytest.raises(ImageProblem):
            checked(ImageContent(data=base64.b64encode(data).decode(), media_type="image/png"))


def test_a_broken_end_of_base64_is_found() -> None:
    good = base64.b64encode(PNG).decode()
    for broken in (good[:-1], good + "=", "data:image/png;base64," + good, good[:-2] + "\n\n"):
        with pytest.raises(ImageProblem):
            checked(ImageContent(data=broken, media_type="image/png"))
