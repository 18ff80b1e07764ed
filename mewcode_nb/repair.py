"""What is sent must be accepted: repair of a conversation's shape, as a pure function.

A session file holds what happened, torn ends included; the service wants alternating roles, every
call answered first thing in the next user message, and no empty blocks. `repair` makes the second
out of the first and says what it did. The file is never touched. A conversation that is already
sound comes back as it is, message by message, and repairing twice changes nothing more, so that the
bytes of an unchanged prefix stay the same from request to request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard, cast

from mewcode_nb.blocks import THINKING, clean_json, is_spoiled, sound_block
from mewcode_nb.messages import (
    Block,
    Json,
    JsonObject,
    Message,
    ToolResultBlock,
    ToolUseBlock,
    block_text,
    is_text,
    is_tool_result,
    is_tool_use,
    text_block,
    tool_result,
    tool_uses,
)

__all__ = ["Repaired", "Repairer", "repair"]

_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")

_NO_RESULT = (
    "interrupted: no result of this call was recorded. It may or may not have run; "
    "check its effect before you repeat it."
)
_NO_OUTPUT = "(no output)"
_NO_BEGINNING = (
    '<mewcode-reminder kind="repair">The beginning of this conversation is missing.'
    "</mewcode-reminder>"
)
_NO_END = (
    '<mewcode-reminder kind="repair">Nothing was said after the answer above. Go on from there.'
    "</mewcode-reminder>"
)


@dataclass(frozen=True, slots=True)
class Repaired:
    """Messages fit to be sent, and one line for each thing that had to be put right."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Group:
    """Messages of one role that follow one another, being made into one."""

    source: Message
    blocks: list[Block]
    size: int = 1

    def message(self) -> Message:
        content = tuple(self.blocks)
        if self.size == 1 and content == self.source.content:
            return self.source
        return replace(self.source, content=content)


def repair(messages: Sequence[Message]) -> Repaired:
    """The conversation in a shape the service accepts; empty only when nothing can be said.

    Every call gets its result, in call order and first in the user message that follows; a missing
    one becomes an error result that says so. Results without a call become text. Repeated calls and
    results collapse (a reused id with a result of its own is a new call and gets a new id). Empty
    blocks, unsigned or trailing thinking and lone surrogates go; thinking stays whole or goes
    whole. Messages of one role in a row are merged; the first and the last are the user's.
    """
    return Repairer().repair(messages)


class Repairer:
    """Repairs one growing conversation; the blocks of a message are looked into only once."""

    def __init__(self) -> None:
        self._cleaned: dict[int, _Cleaned] = {}

    def repair(self, messages: Sequence[Message]) -> Repaired:
        """As the function `repair`."""
        notes: list[str] = []
        groups = [_Group(message, self._blocks(message, notes)) for message in messages]
        _settle_ids(groups, notes)
        groups = _merge(groups, notes)
        _pair(groups, notes)
        _close_ends(groups, notes)
        return Repaired(tuple(group.message() for group in groups), tuple(notes))

    def _blocks(self, message: Message, notes: list[str]) -> list[Block]:
        known = self._cleaned.get(id(message))
        if known is None:
            own: list[str] = []
            known = _Cleaned(message, tuple(_clean_blocks(message, own)), tuple(own))
            self._cleaned[id(message)] = known
        notes.extend(known.notes)
        return list(known.blocks)


@dataclass(frozen=True, slots=True)
class _Cleaned:
    """A message with its blocks made fit; holding the message keeps its `id()` its own."""

    message: Message
    blocks: tuple[Block, ...]
    notes: tuple[str, ...]


def _is_thinking(block: Block) -> bool:
    return block.get("type") in THINKING


def _clean_blocks(message: Message, notes: list[str]) -> list[Block]:
    blocks: list[Block] = []
    for raw in message.content:
        block = _clean_block(raw, message.role)
        if block is None:
            notes.append(f"left out an empty or unusable {raw.get('type', 'block')} block")
            continue
        if block is not raw:
            notes.append(f"put a {raw.get('type', 'block')} block into a form that can be sent")
        blocks.append(block)
    return _without_trailing_thinking(blocks, notes) if message.role == "assistant" else blocks


def _clean_block(raw: Block, role: str) -> Block | None:
    if _is_thinking(raw):
        return raw if role == "assistant" and _sendable_thinking(raw) else None
    block = sound_block(cast("Json", raw))
    cleaned = cast("Block", clean_json(cast("Json", block)))
    block = block if cleaned == block else cleaned
    if is_tool_use(block) and role == "user":
        block = text_block(f"[call of {block['name']}] {json.dumps(block['input'])}")
    if is_tool_result(block):
        block = _clean_result(block) if role == "user" else text_block(_orphan_text(block))
    if is_text(block) and not block["text"].strip():
        return None
    return block


def _sendable_thinking(block: Block) -> bool:
    proof = cast("JsonObject", block).get(
        "signature" if block["type"] == "thinking" else "data",
    )
    sound = sound_block(cast("Json", block)) is block
    return sound and bool(proof) and not is_spoiled(cast("Json", block))


def _clean_result(block: ToolResultBlock) -> ToolResultBlock:
    content = _result_content(block["content"])
    if block.get("is_error") and not content:
        content = _NO_OUTPUT
    return (
        block
        if content == block["content"]
        else cast("ToolResultBlock", {**block, "content": content})
    )


def _result_content(content: Json) -> Json:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return json.dumps(content, ensure_ascii=False)
    parts = [sound_block(part) for part in content]
    kept = [part for part in parts if not is_text(part) or part["text"].strip()]
    return cast("Json", kept) if kept else ""


def _without_trailing_thinking(blocks: list[Block], notes: list[str]) -> list[Block]:
    end = len(blocks)
    while end and _is_thinking(blocks[end - 1]):
        end -= 1
    if end < len(blocks):
        notes.append("left out thinking that no answer or call followed")
    return blocks[:end]


@dataclass(slots=True)
class _Ids:
    """Which call ids are used up, and what they are called in the run being read.

    Only what came before counts: an id that a later message brings must not change an earlier name.
    """

    seen: set[str] = field(default_factory=set)
    """As stored."""
    used: set[str] = field(default_factory=set)
    """As sent."""
    run: dict[str, str] = field(default_factory=dict)
    """From the id as stored to the id as sent, for the calls of the current assistant run."""

    def name(self, stored: str) -> str:
        """A name of its own for the call, as near to the stored id as can be."""
        base = _BAD_ID.sub("_", stored) or "call"
        name, number = base, 2
        while name in self.used:
            name, number = f"{base}-{number}", number + 1
        self.seen.add(stored)
        self.used.add(name)
        self.run[stored] = name
        return name


def _settle_ids(groups: Sequence[_Group], notes: list[str]) -> None:
    ids = _Ids()
    previous = ""
    for index, group in enumerate(groups):
        if not group.blocks:
            continue
        role = group.source.role
        if role == "assistant":
            if previous != "assistant":
                ids.run = {}
            answered = _answered_after(groups, index)
            group.blocks = list(_renamed_calls(group.blocks, ids, answered, notes))
            group.blocks = _without_trailing_thinking(group.blocks, notes)
        else:
            group.blocks = [_renamed_result(block, ids.run) for block in group.blocks]
        if group.blocks:
            previous = role


def _answered_after(groups: Sequence[_Group], index: int) -> set[str]:
    answered: set[str] = set()
    user_seen = False
    for place in range(index + 1, len(groups)):
        group = groups[place]
        if not group.blocks:
            continue
        if group.source.role == "user":
            user_seen = True
            answered.update(b["tool_use_id"] for b in group.blocks if is_tool_result(b))
        elif user_seen:
            break
    return answered


def _renamed_calls(
    blocks: Iterable[Block], ids: _Ids, answered: set[str], notes: list[str]
) -> Iterable[Block]:
    for block in blocks:
        if not is_tool_use(block):
            yield block
            continue
        stored = block["id"]
        if stored in ids.run or (stored in ids.seen and stored not in answered):
            notes.append(f"left out a repetition of tool call {stored}")
            continue
        yield _sound_call(block, ids.name(stored), notes)


def _sound_call(block: ToolUseBlock, name: str, notes: list[str]) -> ToolUseBlock:
    tool = _BAD_ID.sub("_", block["name"])[:128] or "unknown"
    if name == block["id"] and tool == block["name"]:
        return block
    notes.append(f"tool call {block['id']} goes by the id {name}")
    return cast("ToolUseBlock", {**block, "id": name, "name": tool})


def _renamed_result(block: Block, run: dict[str, str]) -> Block:
    if not is_tool_result(block):
        return block
    name = run.get(block["tool_use_id"], block["tool_use_id"])
    if name == block["tool_use_id"]:
        return block
    return cast("Block", {**block, "tool_use_id": name})


def _merge(cleaned: Iterable[_Group], notes: list[str]) -> list[_Group]:
    groups: list[_Group] = []
    for group in cleaned:
        if not group.blocks:
            notes.append(f"left out an empty {group.source.role} message")
        elif groups and groups[-1].source.role == group.source.role:
            notes.append(f"joined two {group.source.role} messages in a row")
            groups[-1].blocks.extend(group.blocks)
            groups[-1].size += 1
        else:
            groups.append(group)
    return groups


def _pair(groups: list[_Group], notes: list[str]) -> None:
    calls: tuple[ToolUseBlock, ...] = ()
    for group in groups:
        if group.source.role == "assistant":
            calls = tool_uses(group.blocks)
            continue
        group.blocks = _answers_first(group.blocks, calls, notes)
        calls = ()
    if calls:
        answers = _answers_first([], calls, notes)
        turn = groups[-1].source.turn
        groups.append(_Group(Message("user", tuple(answers), "tool", turn=turn), answers))


def _answers_first(
    blocks: list[Block], calls: tuple[ToolUseBlock, ...], notes: list[str]
) -> list[Block]:
    wanted = {call["id"] for call in calls}
    found: dict[str, Block] = {}
    rest: list[Block] = []
    for block in blocks:
        if not is_tool_result(block):
            rest.append(block)
        elif block["tool_use_id"] not in wanted:
            notes.append(f"a result without its call {block['tool_use_id']} became text")
            rest.extend(_orphan(block))
        elif block["tool_use_id"] in found:
            notes.append(f"left out a second result of tool call {block['tool_use_id']}")
        else:
            found[block["tool_use_id"]] = block
    for call in calls:
        if call["id"] not in found:
            notes.append(f"tool call {call['id']} ({call['name']}) has no result: interrupted")
            found[call["id"]] = tool_result(call["id"], _NO_RESULT, is_error=True)
    return [*(found[call["id"]] for call in calls), *rest]


def _orphan(block: ToolResultBlock) -> list[Block]:
    content = block["content"]
    parts = content if isinstance(content, list) else []
    media = [cast("Block", part) for part in parts if _is_media(part)]
    return [text_block(_orphan_text(block)), *media]


def _orphan_text(block: ToolResultBlock) -> str:
    words = block_text({**block, "content": _result_content(block["content"])})
    return f"[result of an earlier tool call, {block['tool_use_id']}]\n{words or _NO_OUTPUT}"


def _is_media(part: Json) -> TypeGuard[JsonObject]:
    return isinstance(part, dict) and part.get("type") in {"image", "document"}


def _close_ends(groups: list[_Group], notes: list[str]) -> None:
    if groups and groups[0].source.role == "assistant":
        notes.append("the conversation began with an answer: a remark stands before it")
        groups.insert(0, _remark(_NO_BEGINNING, groups[0].source.turn))
    if groups and groups[-1].source.role == "assistant":
        notes.append("the conversation ended with an answer: a remark stands after it")
        groups.append(_remark(_NO_END, groups[-1].source.turn))


def _remark(text: str, turn: int) -> _Group:
    block = text_block(text)
    return _Group(Message("user", (block,), "reminder", turn=turn), [block])
