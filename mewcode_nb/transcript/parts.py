"""A session as the parts a reader sees, before any format: prompts, answers, thinking, calls.

Pure. Reminders of the program are no one's words and are left out; everything else that was said
or done in the live conversation is there, in order, as it was stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from mewcode_nb.blocks import THINKING
from mewcode_nb.messages import (
    Block,
    Json,
    JsonObject,
    ToolResultBlock,
    ToolUseBlock,
    block_text,
    is_text,
    is_tool_result,
    is_tool_use,
)
from mewcode_nb.prompt import is_reminder
from mewcode_nb.session.records import Cell, MessageRecord
from mewcode_nb.session.turns import Turn, prompt_text, turns
from mewcode_nb.transcript.pictures import Picture, pictures

__all__ = ["Answer", "Call", "Chapter", "Other", "Part", "Prompt", "Summary", "Thought", "chapters"]

_SAID = frozenset({"text", "image", "document", *THINKING})


@dataclass(frozen=True, slots=True)
class Prompt:
    """The user's words."""

    text: str
    cell: Cell | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's words, in Markdown; `incomplete` where they were broken off."""

    text: str
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """The model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: `code` is what it ran, in `language`, or its input as JSON.

    `output` is None where nothing came back. A result whose call is gone has an empty `name`.
    """

    name: str
    code: str
    language: str
    output: str | None
    is_error: bool = False
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """What a compaction put in the place of earlier messages."""

    text: str


@dataclass(frozen=True, slots=True)
class Other:
    """A block this version does not know, as JSON."""

    type: str
    text: str


Part: TypeAlias = Prompt | Answer | Thought | Call | Summary | Other


@dataclass(frozen=True, slots=True)
class Chapter:
    """One turn; `ts` in seconds since 1970."""

    number: int
    ts: float
    parts: tuple[Part, ...]


@dataclass(slots=True)
class _Results:
    """Results that wait for their calls: each is given out once, in the order they came."""

    by_id: dict[str, list[ToolResultBlock]] = field(default_factory=dict)

    def take(self, identity: str) -> ToolResultBlock | None:
        waiting = self.by_id.get(identity)
        return waiting.pop(0) if waiting else None

    def left(self, block: ToolResultBlock) -> bool:
        """Whether no call has taken it yet; from now on none can."""
        waiting = self.by_id.get(block["tool_use_id"], [])
        for place, item in enumerate(waiting):
            if item is block:
                del waiting[place]
                return True
        return False


def chapters(records: Sequence[MessageRecord], *, thinking: bool = False) -> tuple[Chapter, ...]:
    """The conversation by turns; thinking is left out unless asked for."""
    return tuple(
        Chapter(turn.number, turn.ts, tuple(_parts(turn, thinking=thinking)))
        for turn in turns(records)
    )


def _parts(turn: Turn, *, thinking: bool) -> Iterator[Part]:
    results = _Results()
    for record in turn.records:
        for block in record.content:
            if is_tool_result(block):
                results.by_id.setdefault(block["tool_use_id"], []).append(block)
    for record in turn.records:
        if record.origin == "summary":
            yield Summary("\n\n".join(block_text(block) for block in record.content))
        elif record.role == "assistant":
            yield from _answer_parts(record, results, thinking=thinking)
        else:
            yield from _user_parts(record, results)


def _answer_parts(record: MessageRecord, results: _Results, *, thinking: bool) -> Iterator[Part]:
    texts = [place for place, block in enumerate(record.content) if is_text(block)]
    for place, block in enumerate(record.content):
        if is_text(block):
            if block["text"].strip():
                yield Answer(block["text"], record.incomplete and place == texts[-1])
        elif block["type"] in THINKING:
            words = cast("JsonObject", block).get("thinking")
            if thinking and isinstance(words, str) and words.strip():
                yield Thought(words)
        elif is_tool_use(block):
            yield _call(block, results.take(block["id"]))
        else:
            yield _other(block)


def _user_parts(record: MessageRecord, results: _Results) -> Iterator[Part]:
    for block in record.content:
        if is_tool_result(block):
            if results.left(block):
                yield _result_call("", "", "", block)
        elif block["type"] not in _SAID:
            yield _other(block)
    words = _user_words(record)
    shown = tuple(pictures(cast("Json", list(record.content))))
    if words.strip() or shown:
        yield Prompt(words, record.cell, shown)


def _user_words(record: MessageRecord) -> str:
    if record.origin == "user":
        return prompt_text(record)
    texts = [block["text"] for block in record.content if is_text(block)]
    return "\n\n".join(text for text in texts if not is_reminder(text))


def _call(block: ToolUseBlock, result: ToolResultBlock | None) -> Call:
    given = block["input"]
    code, command = given.get("code"), given.get("command")
    if isinstance(code, str):
        return _result_call(block["name"], code, "python", result)
    if isinstance(command, str):
        return _result_call(block["name"], command, "sh", result)
    text = json.dumps(given, ensure_ascii=False, indent=2) if given else ""
    return _result_call(block["name"], text, "json", result)


def _result_call(name: str, code: str, language: str, result: ToolResultBlock | None) -> Call:
    if result is None:
        return Call(name, code, language, None)
    return Call(
        name,
        code,
        language,
        block_text(result),
        bool(result.get("is_error")),
        tuple(pictures(result["content"])),
    )


def _other(block: Block) -> Other:
    return Other(block["type"], json.dumps(block, ensure_ascii=False, indent=2))
