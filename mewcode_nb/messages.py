"""Messages and content blocks, in the Messages API's own shape.

A block is the API's JSON object, kept raw and whole: a thinking block must go back to the service
byte for byte, and a block type this version does not know must survive a round trip through a
session file. So blocks are `TypedDict`s over plain dicts, never re-built from parsed parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypeAlias, TypedDict, TypeGuard

__all__ = [
    "Block",
    "Json",
    "JsonObject",
    "Message",
    "Origin",
    "RedactedThinkingBlock",
    "Role",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "block_text",
    "clean_text",
    "is_text",
    "is_tool_result",
    "is_tool_use",
    "message_text",
    "text_block",
    "tool_result",
    "tool_uses",
]

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = "dict[str, Json]"
Role = Literal["user", "assistant"]
Origin = Literal["user", "assistant", "tool", "reminder", "summary"]


class TextBlock(TypedDict):
    """Words."""

    type: Literal["text"]
    text: str


class ThinkingBlock(TypedDict):
    """The model's reasoning, signed; goes back unchanged or not at all."""

    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinkingBlock(TypedDict):
    """Reasoning the service encrypted."""

    type: Literal["redacted_thinking"]
    data: str


class ToolUseBlock(TypedDict):
    """A call the model asks for. `input` has been checked only for being an object."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: JsonObject


class ToolResultBlock(TypedDict):
    """The answer to one `tool_use`."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: Json
    is_error: NotRequired[bool]


Block: TypeAlias = (
    TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation: what is sent (`role`, `content`) and where it came from."""

    role: Role
    content: tuple[Block, ...]
    origin: Origin
    id: str = ""
    """Our own id, unique in the session; names the message in records, forks and rewinds."""
    turn: int = 0
    """The user prompt it belongs to, counted from 1; 0 where unknown."""

    def to_api(self) -> dict[str, object]:
        """The message as the API takes it."""
        return {"role": self.role, "content": list(self.content)}


def is_text(block: Block) -> TypeGuard[TextBlock]:
    """Whether the block holds words."""
    return block["type"] == "text"


def is_tool_use(block: Block) -> TypeGuard[ToolUseBlock]:
    """Whether the block asks for a tool call."""
    return block["type"] == "tool_use"


def is_tool_result(block: Block) -> TypeGuard[ToolResultBlock]:
    """Whether the block answers a tool call."""
    return block["type"] == "tool_result"


def text_block(text: str) -> TextBlock:
    """A text block with what no request may carry taken out."""
    return {"type": "text", "text": clean_text(text)}


def tool_result(tool_use_id: str, content: Json, *, is_error: bool = False) -> ToolResultBlock:
    """A result block; `is_error` is left out when false, as the service itself does."""
    block: ToolResultBlock = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": content,
    }
    if is_error:
        block["is_error"] = True
    return block


def tool_uses(blocks: Iterable[Block]) -> tuple[ToolUseBlock, ...]:
    """The calls among the blocks, in order."""
    return tuple(block for block in blocks if is_tool_use(block))


def block_text(block: Block) -> str:
    """The words of a block that a person would read; empty for thinking and calls."""
    if is_text(block):
        return block["text"]
    if is_tool_result(block):
        return _content_text(block["content"])
    return ""


def message_text(blocks: Sequence[Block]) -> str:
    """The text blocks' words, one paragraph each."""
    return "\n\n".join(block["text"] for block in blocks if is_text(block) and block["text"])


def clean_text(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD, so that it can be encoded and sent."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _content_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""
