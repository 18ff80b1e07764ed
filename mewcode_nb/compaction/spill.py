"""Layer 1 as a plan: what of a new message's blocks moves to files, and what stays in its place.

Only the blocks at hand are looked at, once, so the cost is that of what is new. Results and inputs
are judged alike: the largest part moves first, until no call's parts are over one limit and all of
them together not over the other. Images count apart from text, since the window takes them by
their size in pixels; they move only where the request itself would grow too large. Pure.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from mewcode_nb.compaction.limits import (
    PREVIEW_BYTES,
    SPILL_IMAGE_BYTES,
    SPILL_MESSAGE_BYTES,
    SPILL_RESULT_BYTES,
)
from mewcode_nb.compaction.preview import image_preview, text_preview
from mewcode_nb.messages import Block, Json, JsonObject, clean_text, is_tool_result, is_tool_use
from mewcode_nb.session.spilled import INPUT, PART, RESULT, with_preview
from mewcode_nb.tools.images import IMAGE_SUFFIXES, image_type

__all__ = ["Move", "apply_moves", "plan_moves"]

_LEAST = 2 * PREVIEW_BYTES
"""Bytes below which moving frees next to nothing."""
_HEAD = 64
"""Characters of base64 that tell what a file is."""


@dataclass(frozen=True, slots=True)
class Move:
    """One text or image that goes to a file."""

    block: int
    """The number of its block."""
    tool_use_id: str
    target: str
    """As `spilled` defines it."""
    data: bytes
    """What the file holds."""
    extension: str
    failed: bool = False
    """Whether it is the result of a call that failed."""
    text: str = ""
    """Empty for an image."""
    media: str = ""
    """The type of an image."""

    def preview(self, path: str) -> str:
        """The words that take its place; `path` is how the model names the file."""
        if self.media:
            return image_preview(self.media, len(self.data), path)
        argument = self.target.startswith(INPUT)
        return text_preview(self.text, len(self.data), path, failed=self.failed, argument=argument)


@dataclass(frozen=True, slots=True)
class _Part:
    block: int
    owner: str
    target: str
    value: str
    size: int
    """Bytes of UTF-8, or of base64."""
    failed: bool = False
    media: str = ""
    """The type of an image, empty for a text."""


def plan_moves(content: Sequence[Block]) -> tuple[Move, ...]:
    """What has to move so that every limit holds, in the order of the blocks."""
    parts = [part for place, block in enumerate(content) for part in _parts(place, block)]
    texts = [part for part in parts if not part.media]
    chosen: set[_Part] = set()
    for _, of_one in groupby(texts, key=lambda part: part.block):
        chosen |= _largest([*of_one], SPILL_RESULT_BYTES)
    chosen |= _largest([part for part in texts if part not in chosen], SPILL_MESSAGE_BYTES)
    chosen |= _largest([part for part in parts if part.media], SPILL_IMAGE_BYTES)
    return tuple(_move(part) for part in parts if part in chosen)


def apply_moves(content: Sequence[Block], previews: Mapping[Move, str]) -> tuple[Block, ...]:
    """The blocks with each moved part's preview in its place."""
    changed = [*content]
    for move, preview in previews.items():
        changed[move.block] = with_preview(changed[move.block], move.target, preview)
    return tuple(changed)


def _largest(parts: Sequence[_Part], limit: int) -> set[_Part]:
    """The largest parts, as many as must go for the rest to be within the limit."""
    left, chosen = sum(part.size for part in parts), set[_Part]()
    for part in sorted(parts, key=lambda part: -part.size):
        if left <= limit or part.size < _LEAST:
            break
        chosen.add(part)
        left -= part.size
    return chosen


def _parts(place: int, block: Block) -> Iterator[_Part]:
    if is_tool_use(block):
        for name, value in block["input"].items():
            if isinstance(value, str):
                yield _text(place, block["id"], INPUT + name, value)
    elif is_tool_result(block):
        failed = block.get("is_error") is True
        owner, content = block["tool_use_id"], block["content"]
        if isinstance(content, str):
            yield _text(place, owner, RESULT, content, failed=failed)
        for number, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict):
                yield from _result_part(place, owner, f"{PART}{number}", part, failed)


def _result_part(
    place: int, owner: str, target: str, part: JsonObject, failed: bool
) -> Iterator[_Part]:
    text, source = part.get("text"), part.get("source")
    if part.get("type") == "text" and isinstance(text, str):
        yield _text(place, owner, target, text, failed=failed)
    elif part.get("type") == "image" and isinstance(source, dict):
        data: Json = source.get("data")
        if isinstance(data, str):
            media = str(source.get("media_type"))
            yield _Part(place, owner, target, data, len(data), failed, media)


def _text(place: int, owner: str, target: str, value: str, *, failed: bool = False) -> _Part:
    size = len(value) if value.isascii() else len(clean_text(value).encode())
    return _Part(place, owner, target, value, size, failed)


def _move(part: _Part) -> Move:
    media, encoded = part.media, part.value
    if not media:
        media, encoded = _image_in(part.value)
    if media and (data := _decoded(encoded)):
        extension = IMAGE_SUFFIXES.get(media, "bin")
        return Move(part.block, part.owner, part.target, data, extension, part.failed, "", media)
    text = clean_text(part.value)
    return Move(part.block, part.owner, part.target, text.encode(), "txt", part.failed, text)


def _image_in(text: str) -> tuple[str, str]:
    """The type and the base64 of a text that is nothing but an image; empty where it is none."""
    encoded = text.strip()
    if encoded.startswith("data:image/"):
        encoded = encoded.partition(",")[2]
    return image_type(_decoded(encoded[:_HEAD])), encoded


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""
