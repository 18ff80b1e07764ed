from __future__ import annotations

import base64

import pytest

from mewcode_nb.tools.images import image_block, image_fault, image_type, pixel_size


def png(width: int, height: int) -> bytes:
    sides = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + sides


GIF = b"GIF89a\x2c\x01\x0a\x00"
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + b"\x2b\x01\x00\x09\x00\x00"
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x0a\x01\x2c\x01"


@pytest.mark.parametrize(
    ("data", "media", "size"),
    [
        (png(300, 10), "image/png", (300, 10)),
        (GIF, "image/gif", (300, 10)),
        (WEBP, "image/webp", (300, 10)),
        (JPEG, "image/jpeg", (300, 10)),
        (b"\xff\xd8\xff\xe0\x00", "image/jpeg", None),
        (b"\x89PNG\r\n\x1a\n", "image/png", None),
        (b"BM", "", None),
    ],
)
def test_type_and_size_are_read_from_the_header(data, media, size):
    assert image_type(data) == media
    assert pixel_size(data) == size


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (png(8_000, 8_000), ""),
        (png(8_001, 10), "8,001 x 10 pixels (at most 8,000 on a side)"),
        (bytes(3_932_160), ""),
        (bytes(3_932_161), "5,242,884 bytes in base64 (at most 5,242,880)"),
    ],
)
def test_s_17_what_the_service_would_refuse_is_known_before(data, fault):
    assert image_fault(data) == fault
    assert (image_block("image/png", data) is None) is bool(fault)


def test_base64_with_line_breaks_becomes_one_line():
    block = image_block("image/png", base64.encodebytes(bytes(100)).decode())
    assert block is not None
    assert block["source"]["data"] == base64.b64encode(bytes(100)).decode()


def test_what_is_no_base64_is_no_image():
    assert image_block("image/png", "abc") is None
