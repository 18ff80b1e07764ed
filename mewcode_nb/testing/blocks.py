"""What the service refuses inside one content block."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from mewcode_nb.testing.limits import Limits
from mewcode_nb.testing.prompt import blocks_of
from mewcode_nb.testing.script import Body

__all__ = ["check_blank", "check_block"]

_USER = ("text", "image", "document", "search_result", "tool_result")
_ASSISTANT = ("text", "thinking", "redacted_thinking", "tool_use")
_RESULT = ("text", "image", "document", "search_result")
_ALLOWED = {"user": _USER, "assistant": _ASSISTANT, "system": ("text",), "result": _RESULT}
_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset({"text", "cache_control", "citations"}),
    "image": frozenset({"source", "cache_control"}),
    "document": frozenset({"source", "cache_control", "citations", "context", "title"}),
    "search_result": frozenset({"content", "source", "title", "cache_control", "citations"}),
    "tool_use": frozenset({"id", "name", "input", "cache_control", "caller", "toolset_name"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error", "cache_control"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
}
_REQUIRED = {
    "text": ("text",),
    "image": ("source",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def check_blank(text: str, where: str) -> Iterator[str]:
    """Why a text block's words are refused: there are none."""
    if not text:
        yield f"{where}: text content blocks must be non-empty"
    elif not text.strip():
        yield f"{where}: text content blocks must contain non-whitespace text"


def check_block(role: str, where: str, block: Body, limits: Limits) -> Iterator[str]:
    """Why one block is refused; `role` is user, assistant, system, or result for a nested one."""
    kind = str(block.get("type"))
    if kind not in _ALLOWED[role]:
        tags = ", ".join(f"'{name}'" for name in _ALLOWED[role])
        yield (
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the "
            f"expected tags: {tags}"
        )
        return
    for name in set(block) - _FIELDS[kind] - {"type"}:
        yield f"{where}.{kind}.{name}: Extra inputs are not permitted"
    missing = [name for name in _REQUIRED.get(kind, ()) if name not in block]
    if missing:
        yield from (f"{where}.{kind}.{name}: Field required" for name in missing)
    else:
        yield from _check_kind(role, where, block, limits)


def _check_kind(role: str, where: str, block: Body, limits: Limits) -> Iterator[str]:
    match block["type"]:
        case "text":
            yield from _check_text(role, where, block)
        case "image":
            yield from _check_image(where, block, limits)
        case "tool_use":
            yield from _check_tool_use(where, block)
        case "tool_result":
            yield from _check_result(where, block, limits)
        case "thinking":
            if not isinstance(block["thinking"], str) or not isinstance(block["signature"], str):
                yield f"{where}.thinking: Input should be a valid string"


def _check_text(role: str, where: str, block: Body) -> Iterator[str]:
    if not isinstance(block["text"], str):
        yield f"{where}.text.text: Input should be a valid string"
        return
    if role != "result":
        yield from check_blank(block["text"], "messages")
    if not block["text"] and block.get("cache_control"):
        yield f"{where}.text: cache_control cannot be set for empty text blocks"
    if role == "user" and block.get("citations"):
        yield f"{where}.text.citations: Extra inputs are not permitted"


def _check_image(where: str, block: Body, limits: Limits) -> Iterator[str]:
    source = block["source"] if isinstance(block["source"], dict) else {}
    if source.get("type") == "url":
        return
    data = source.get("data")
    if source.get("type") != "base64" or not isinstance(data, str) or not data:
        yield f"{where}.image.source: Input should be a base64 or url source"
        return
    if source.get("media_type") not in _IMAGE_TYPES:
        yield f"{where}.image.source.base64.media_type: Input should be one of {_IMAGE_TYPES}"
    if len(data) > limits.image_bytes:
        yield (
            f"{where}.image.source.base64: image exceeds 5 MB maximum: {len(data)} bytes > "
            f"{limits.image_bytes} bytes"
        )
        return
    try:
        base64.b64decode(data, validate=True)
    except binascii.Error:
        yield f"{where}.image.source.base64: invalid base64 data"


def _check_tool_use(where: str, block: Body) -> Iterator[str]:
    for name in ("id", "name"):
        if not isinstance(block[name], str) or not _ID.fullmatch(block[name]):
            yield f"{where}.tool_use.{name}: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if not isinstance(block["input"], dict):
        yield f"{where}.tool_use.input: Input should be a valid dictionary"


def _check_result(where: str, block: Body, limits: Limits) -> Iterator[str]:
    content = block.get("content", "")
    if not isinstance(content, str | list):
        yield f"{where}.tool_result.content: Input should be a valid list"
        return
    if not isinstance(block["tool_use_id"], str):
        yield f"{where}.tool_result.tool_use_id: Input should be a valid string"
    if not isinstance(block.get("is_error", False), bool):
        yield f"{where}.tool_result.is_error: Input should be a valid boolean"
    for index, part in enumerate(blocks_of(content)):
        yield from check_block("result", f"{where}.tool_result.content.{index}", part, limits)
