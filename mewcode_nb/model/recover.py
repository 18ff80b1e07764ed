"""A tool call that a small local model wrote as plain text, found again.

Some local models write the call's JSON without the marker their server waits for, so it arrives
as words. With the `local` profile, one such object that names a known tool becomes a real call;
it is shown and approved like any other. Never used with the real service.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import replace

from mewcode_nb.messages import (
    Block,
    JsonObject,
    ToolUseBlock,
    is_text,
    is_tool_use,
    message_text,
    text_block,
)
from mewcode_nb.model.protocol import Completion

__all__ = ["find_call", "recover"]

_TRIES = 20
"""Opening braces looked at before giving up: bounds the cost on text full of braces."""
_LONGEST = 100_000
"""Characters of a reply that are searched."""
_ALLOWED_KEYS = {"name", "arguments", "type", "id"}
_WRAPPING = re.compile(r"```[\w-]*\s*|</?tool_call>")


def recover(completion: Completion, tools: Collection[str]) -> Completion:
    """The completion with its call made real, or unchanged when its text holds none."""
    if any(is_tool_use(block) for block in completion.content):
        return completion
    if not all(is_text(block) for block in completion.content):
        return completion
    text = message_text(completion.content)
    found = find_call(text, tools)
    if found is None:
        return completion
    name, arguments, start, end = found
    rest = _WRAPPING.sub("", text[:start] + text[end:]).strip()
    digest = hashlib.sha256(f"{completion.message_id}\n{text}".encode()).hexdigest()[:24]
    call: ToolUseBlock = {
        "type": "tool_use",
        "id": f"toolu_text_{digest}",
        "name": name,
        "input": arguments,
    }
    content: tuple[Block, ...] = (text_block(rest), call) if rest else (call,)
    return replace(completion, content=content, stop_reason="tool_use")


def find_call(text: str, tools: Collection[str]) -> tuple[str, JsonObject, int, int] | None:
    """The first `{"name": known tool, "arguments": {...}}` in the text: name, arguments, span."""
    decoder = json.JSONDecoder()
    text = text[:_LONGEST]
    start = text.find("{")
    for _ in range(_TRIES):
        if start < 0:
            return None
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        call = _as_call(value, tools)
        if call is not None:
            return (*call, start, end)
        start = text.find("{", end)
    return None


def _as_call(value: object, tools: Collection[str]) -> tuple[str, JsonObject] | None:
    if not isinstance(value, dict) or not set(value) <= _ALLOWED_KEYS:
        return None
    name, arguments = value.get("name"), value.get("arguments")
    if isinstance(name, str) and name in tools and isinstance(arguments, dict):
        return name, arguments
    return None
