"""Images of a conversation that a transcript may carry along: checked, small, never fetched."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from mewcode_nb.messages import Json
from mewcode_nb.tools.images import image_type

__all__ = ["INLINE_LIMIT", "Picture", "pictures"]

INLINE_LIMIT = 1_000_000
"""Characters of base64 an image may have to be kept in the file; a bigger one is only named."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image or document; `data` is its base64, empty where only `media_type` and `size` stay.

    A picture with data is one of the four types that are drawn and never run, by its own bytes.
    """

    kind: str
    media_type: str
    size: int
    """In characters of base64."""
    data: str = ""


def pictures(content: Json) -> Iterator[Picture]:
    """The images and documents among content blocks, in order."""
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") in {"image", "document"}:
            source = part.get("source")
            yield _picture(str(part["type"]), source if isinstance(source, dict) else {})


def _picture(kind: str, source: dict[str, Json]) -> Picture:
    data, media_type = source.get("data"), source.get("media_type")
    text = data if isinstance(data, str) else ""
    named = media_type if isinstance(media_type, str) else str(source.get("type", ""))
    found = _drawable(text) if kind == "image" and len(text) <= INLINE_LIMIT else ""
    return Picture(kind, found or named, len(text), text if found else "")


def _drawable(text: str) -> str:
    try:
        return image_type(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return ""
