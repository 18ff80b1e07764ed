"""The prompt, assembled so that its bytes stay the same: sections, cache marks, reminders.

Everything here is pure. A section that does not change comes first; what is new during a session
travels as a reminder in the next user message, so that the cached prefix is never broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from mewcode_nb.messages import JsonObject, clean_text

__all__ = [
    "CacheTtl",
    "Section",
    "as_data",
    "as_written",
    "cache_mark",
    "is_reminder",
    "mark_messages",
    "reminder",
    "system_blocks",
]

CacheTtl = Literal["5m", "1h"]

_OWN_ELEMENT = re.compile(r"<(?=/?mewcode-)", re.IGNORECASE)
_ESCAPED_ELEMENT = re.compile(r"&lt;(?=/?mewcode-)", re.IGNORECASE)
_MARKABLE = frozenset({"text", "image", "tool_use", "tool_result", "document"})


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of the system prompt. Lower priorities come first and change least."""

    name: str
    priority: int
    text: str
    stable: bool = False
    """The same in every session of this version; the first cache mark follows the last of these."""


def system_blocks(sections: Iterable[Section], ttl: CacheTtl) -> tuple[JsonObject, ...]:
    """The system prompt as the API takes it, by ascending priority; at most two cache marks."""
    ordered = sorted(
        (section for section in sections if section.text.strip()),
        key=lambda section: (section.priority, section.name),
    )
    blocks: list[JsonObject] = [
        {"type": "text", "text": clean_text(section.text.strip())} for section in ordered
    ]
    stable = [index for index, section in enumerate(ordered) if section.stable]
    for index in {*stable[-1:], len(blocks) - 1} if blocks else ():
        blocks[index]["cache_control"] = cache_mark(ttl)
    return tuple(blocks)


def mark_messages(messages: Sequence[JsonObject], ttl: CacheTtl) -> tuple[JsonObject, ...]:
    """The messages with a cache mark where this request ends and where the last one ended.

    A request ends with a user message, so these are the last blocks of the last two of them. The
    service looks back only about 20 blocks from a mark for an entry to read; a step with many
    parallel calls is longer, so the old end must be marked itself. Marked messages are copies.
    Thinking and empty blocks carry no marks: the service refuses them.
    """
    ends = [row for row, message in enumerate(messages) if message["role"] == "user"][-2:]
    return tuple(
        _marked(message, ttl) if row in ends else message for row, message in enumerate(messages)
    )


def cache_mark(ttl: CacheTtl) -> JsonObject:
    """The `cache_control` value; five minutes is the service's default and needs no `ttl`."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def reminder(kind: str, text: str) -> str:
    """News for the model that the user did not say, as a marked element of a user message."""
    return f'<mewcode-reminder kind="{kind}">\n{as_data(text.strip())}\n</mewcode-reminder>'


def is_reminder(text: str) -> bool:
    """Whether the text is one of our own reminders, by the element it opens with."""
    return text.startswith("<mewcode-reminder ")


def as_data(text: str) -> str:
    """The text with our own element names escaped, so that no file or output can pose as us."""
    return _OWN_ELEMENT.sub("&lt;", text)


def as_written(text: str) -> str:
    """What `as_data` was given, where it changed something: the way back for quoted text."""
    return _ESCAPED_ELEMENT.sub("<", text)


def _marked(message: JsonObject, ttl: CacheTtl) -> JsonObject:
    """A copy with the mark on its last block that can carry one; the message itself without."""
    content = message["content"]
    blocks = list(content) if isinstance(content, list) else []
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        if isinstance(block, dict) and _can_be_marked(block):
            blocks[index] = {**block, "cache_control": cache_mark(ttl)}
            return {**message, "content": blocks}
    return message


def _can_be_marked(block: JsonObject) -> bool:
    return block.get("type") in _MARKABLE and block.get("text") != ""
