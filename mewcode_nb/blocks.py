"""Blocks and JSON from outside, made into what can be stored and sent without a second thought.

Files are torn, local servers invent shapes, and Python's strings hold halves of characters that no
UTF-8 text can carry. Reading, writing and repair all judge a value here, so they judge it alike.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import cast

from mewcode_nb.messages import Block, Json, clean_text

__all__ = ["MAX_DEPTH", "THINKING", "clean_json", "is_spoiled", "sound_block"]

THINKING = frozenset({"thinking", "redacted_thinking"})
"""Types of the blocks that go back byte for byte or not at all."""

MAX_DEPTH = 200
"""Nesting beyond this is cut: Python's parser gives up near 1,000, less the caller's own frames."""

_REQUIRED: Mapping[str, tuple[tuple[str, type], ...]] = {
    "text": (("text", str),),
    "thinking": (("thinking", str), ("signature", str)),
    "redacted_thinking": (("data", str),),
    "tool_use": (("id", str), ("name", str), ("input", dict)),
    "tool_result": (("tool_use_id", str),),
}
_MAX_INTEGER_BITS = 14_000  # Python refuses to print or parse integers over 4,300 digits.


def sound_block(value: Json) -> Block:
    """The value as a block whose known fields have their types; what is none becomes text.

    Blocks of types this version does not know pass unchanged. The very same object comes back when
    nothing is wrong with it.
    """
    if isinstance(value, str):
        return {"type": "text", "text": value}
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str):
        return _as_text(value)
    if kind == "tool_result" and "content" not in value:
        value = {**value, "content": ""}
    for key, expected in _REQUIRED.get(kind, ()):  # a loop is half the time of `all`
        if not isinstance(value.get(key), expected):
            return _as_text(value)
    return cast("Block", value)


def clean_json(value: Json, depth: int = 0) -> Json:
    """The value with everything taken out that no UTF-8 JSON text can carry.

    Lone surrogates become U+FFFD, NaN and infinities null, integers beyond Python's limit and
    nesting below `MAX_DEPTH` a short remark. A thinking block that holds a lone surrogate goes
    whole: changed, its signature would no longer fit.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_INTEGER_BITS else "(integer too long)"
    if depth >= MAX_DEPTH and isinstance(value, (dict, list)):
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {clean_text(key): clean_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_json(item, depth + 1) for item in value if not is_spoiled(item)]
    return value


def _as_text(value: Json) -> Block:
    if isinstance(value, dict) and value.get("type") in THINKING:
        return {"type": "text", "text": ""}
    return {"type": "text", "text": json.dumps(clean_json(value), ensure_ascii=False)}


def is_spoiled(value: Json) -> bool:
    """Whether the value is a thinking block that cannot be encoded, and so cannot go back."""
    return (
        isinstance(value, dict)
        and value.get("type") in THINKING
        and any(isinstance(part, str) and not _encodable(part) for part in value.values())
    )


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
