"""The fake service's own token count: deterministic, by character class, scaled at will.

It is deliberately not the estimator of the package: a test of that estimator needs a service that
counts differently, and `scale` makes it differ by a known factor.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ["IMAGE_TOKENS", "count_text", "count_value"]

IMAGE_TOKENS = 1_500
"""One image, whatever its size."""
_ASCII_PER_TOKEN = 3.5
_WIDE_TOKENS = 1.1
_OTHER_TOKENS = 0.6
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+")


def count_text(text: str) -> float:
    """Tokens of a text, unrounded."""
    if text.isascii():
        return len(text) / _ASCII_PER_TOKEN
    wide = sum(map(len, _WIDE.findall(text)))
    ascii_size = len(text.encode("ascii", "ignore"))
    other = len(text) - wide - ascii_size
    return ascii_size / _ASCII_PER_TOKEN + wide * _WIDE_TOKENS + other * _OTHER_TOKENS


def count_value(value: Any, scale: float = 1.0) -> int:  # noqa: ANN401 -- any JSON value
    """Tokens of one block or tool, at least 1; images by a fixed size."""
    images = _count_images(value)
    text = json.dumps(_without_data(value), ensure_ascii=False)
    return max(1, math.ceil((count_text(text) + images * IMAGE_TOKENS) * scale))


def _count_images(value: object) -> int:
    if isinstance(value, list):
        return sum(map(_count_images, value))
    if not isinstance(value, dict):
        return 0
    return (value.get("type") == "image") + _count_images(value.get("content"))


def _without_data(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_without_data(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: ""
        if key in ("source", "signature") and value.get("type") in ("image", "thinking")
        else _without_data(item)
        for key, item in value.items()
        if key != "cache_control"
    }
