"""Images as content blocks, checked against the service's limit before they enter the conversation.

An image over the limit would make every later request fail, so it never gets in: the service counts
the length of the base64 text, 5 MB each.
"""

from __future__ import annotations

import base64

from mewcode_nb.messages import Json

__all__ = ["IMAGE_TYPES", "LARGEST_BASE64", "base64_length", "image_block", "image_type"]

LARGEST_BASE64 = 5 * 1024 * 1024
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def image_type(head: bytes) -> str:
    """The media type of an image the service can see; empty for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else ""


def base64_length(size: int) -> int:
    """Characters of base64 for that many bytes."""
    return (size + 2) // 3 * 4


def image_block(media_type: str, data: bytes | str) -> dict[str, Json] | None:
    """The block of an image given as bytes or base64; `None` when it is over the limit."""
    text = base64.b64encode(data).decode("ascii") if isinstance(data, bytes) else data
    text = "".join(text.split())
    if len(text) > LARGEST_BASE64:
        return None
    source: dict[str, Json] = {"type": "base64", "media_type": media_type, "data": text}
    return {"type": "image", "source": source}
