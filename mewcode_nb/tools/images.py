"""Images as content blocks, checked against the service's limits before they enter the history.

An image over a limit would make every later request fail, so it never gets in. The service refuses
more than 5 MB of base64 text and more than 8,000 pixels on a side.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from mewcode_nb.messages import Json

__all__ = [
    "IMAGE_SUFFIXES",
    "IMAGE_TYPES",
    "image_block",
    "image_fault",
    "image_type",
    "pixel_size",
]

IMAGE_SUFFIXES: Mapping[str, str] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
}
"""The ending of a file's name, without the dot, by media type."""
IMAGE_TYPES = tuple(IMAGE_SUFFIXES)
_LARGEST_BASE64 = 5 * 1024 * 1024
_LONGEST_SIDE = 8_000
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers whose segment holds the size."""


def image_type(head: bytes) -> str:
    """The media type of an image the service can see; empty for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else ""


def pixel_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels as the header says; `None` where it cannot be read."""
    match image_type(data):
        case "image/png" if len(data) >= 24:
            return _number(data[16:20]), _number(data[20:24])
        case "image/gif" if len(data) >= 10:
            return _number(data[7:5:-1]), _number(data[9:7:-1])
        case "image/webp" if data[12:16] == b"VP8X" and len(data) >= 30:
            return _number(data[26:23:-1]) + 1, _number(data[29:26:-1]) + 1
        case "image/jpeg":
            return _jpeg_size(data)
    return None


def image_fault(data: bytes) -> str:
    """Why the service would refuse the image, in words; empty when it would not."""
    length = (len(data) + 2) // 3 * 4
    if length > _LARGEST_BASE64:
        return f"{length:,} bytes in base64 (at most {_LARGEST_BASE64:,})"
    size = pixel_size(data)
    if size is not None and max(size) > _LONGEST_SIDE:
        return f"{size[0]:,} x {size[1]:,} pixels (at most {_LONGEST_SIDE:,} on a side)"
    return ""


def image_block(media_type: str, data: bytes | str) -> dict[str, Json] | None:
    """The block of an image given as bytes or base64; `None` when the service would refuse it."""
    if isinstance(data, str):
        try:
            data = base64.b64decode(data)
        except binascii.Error:
            return None
    if image_fault(data):
        return None
    text = base64.b64encode(data).decode("ascii")
    source: dict[str, Json] = {"type": "base64", "media_type": media_type, "data": text}
    return {"type": "image", "source": source}


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in _FRAMES:
            return _number(data[at + 7 : at + 9]), _number(data[at + 5 : at + 7])
        at += 2 + _number(data[at + 2 : at + 4])
    return None


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
