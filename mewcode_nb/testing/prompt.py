"""The prompt of a request as one list of items, in the order the service caches them.

Order: tools, system, messages. An item is one tool, one system block or one content block; its
digest leaves cache marks out, because they do not change what the model reads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mewcode_nb.testing.script import Body
from mewcode_nb.testing.tokens import count_value

__all__ = ["Item", "blocks_of", "conversation_of", "first_change", "prompt_items"]

_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Item:
    """One cacheable piece of a prompt."""

    path: str
    """Such as `messages[2].content[0]`."""
    digest: str
    tokens: int
    ttl: str = ""
    """`5m` or `1h` when the item carries a cache mark."""
    markable: bool = True
    """Thinking blocks cannot carry a mark."""


def blocks_of(content: object) -> list[Body]:
    """Content as a list of blocks: a string is shorthand for one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def prompt_items(body: Body, scale: float = 1.0) -> list[Item]:
    """Every item of the prompt, in cache order; a top-level mark falls on the last markable one."""
    items = [
        Item(path, _digest(role, value), count_value(value, scale), _ttl(value), _markable(value))
        for path, role, value in _walk(body)
    ]
    mark = body.get("cache_control")
    last = next((i for i in reversed(range(len(items))) if items[i].markable), None)
    if isinstance(mark, dict) and last is not None:
        items[last] = replace(items[last], ttl=str(mark.get("ttl") or "5m"))
    return items


def first_change(before: Sequence[Item], after: Sequence[Item]) -> str | None:
    """The path of the first item of `before` that `after` does not repeat; None for a prefix."""
    for index, old in enumerate(before):
        if index >= len(after):
            return old.path
        if old.digest != after[index].digest:
            return after[index].path
    return None


def conversation_of(body: Body) -> str:
    """A digest of the first block of the first message: what tells conversations apart."""
    messages = body.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else {}
    blocks = blocks_of(first.get("content") if isinstance(first, dict) else None)
    return _digest("", blocks[0] if blocks else {})


def _walk(body: Body) -> Iterator[tuple[str, str, Body]]:
    for index, tool in enumerate(body.get("tools") or []):
        yield f"tools[{index}]", "tool", tool
    for index, block in enumerate(blocks_of(body.get("system") or [])):
        yield f"system[{index}]", "system", block
    for index, message in enumerate(body.get("messages") or []):
        for place, block in enumerate(blocks_of(message.get("content"))):
            yield f"messages[{index}].content[{place}]", str(message.get("role")), block


def _digest(role: str, value: Body) -> str:
    text = json.dumps(
        [role, {k: v for k, v in value.items() if k != "cache_control"}], ensure_ascii=True
    )
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def _ttl(value: Body) -> str:
    mark = value.get("cache_control")
    if not isinstance(mark, dict) or not _markable(value):
        return ""
    return str(mark.get("ttl") or "5m")


def _markable(value: Body) -> bool:
    return value.get("type") not in _UNMARKABLE
