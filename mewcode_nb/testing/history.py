"""What the service refuses in the order of messages: roles, calls and results, thinking blocks.

Consecutive messages of one role are one turn, as the service sees them; positions in the wordings
stay those of the request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mewcode_nb.testing.blocks import check_blank, check_block
from mewcode_nb.testing.limits import Limits
from mewcode_nb.testing.prompt import blocks_of
from mewcode_nb.testing.script import Body
from mewcode_nb.testing.signing import Issued, is_genuine

__all__ = ["check_messages", "history_digest"]

_THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class _Turn:
    role: str
    index: int
    """Of its first message."""
    blocks: tuple[tuple[str, Body], ...]
    """Where (`messages.1.content.0`) and what."""

    def of(self, *kinds: str) -> list[tuple[str, Body]]:
        return [(where, block) for where, block in self.blocks if block.get("type") in kinds]


def check_messages(messages: Sequence[object], limits: Limits, issued: Issued) -> list[str]:
    """Every reason to refuse the messages; pairs are judged only when the shapes are right."""
    shapes = [
        reason
        for index, message in enumerate(messages)
        for reason in _check_message(f"messages.{index}", index, message, limits)
    ]
    if shapes:
        return shapes
    turns = _turns([m for m in messages if isinstance(m, dict)])
    return [
        *_check_ends(turns),
        *_check_pairs(turns),
        *_check_thinking(turns, limits, issued),
    ]


def history_digest(messages: Sequence[Body]) -> str:
    """What thinking is bound to: the turns, without cache marks and other thinking."""
    return _digests(_turns(messages))[-1]


def _check_message(where: str, index: int, message: object, limits: Limits) -> Iterator[str]:
    if not isinstance(message, dict):
        yield f"{where}: Input should be a valid dictionary or object"
        return
    for name in set(message) - {"role", "content"}:
        yield f"{where}.{name}: Extra inputs are not permitted"
    role = message.get("role")
    if role not in ("user", "assistant", "system") or (role == "system" and index == 0):
        yield f"{where}.role: Input should be 'user' or 'assistant'"
        return
    content = message.get("content")
    if not isinstance(content, str | list):
        yield f"{where}.content: Field required"
        return
    if not content:
        yield f"{where}: {role} messages must have non-empty content"
    elif isinstance(content, str):
        yield from check_blank(content, "messages")
    else:
        for place, block in enumerate(content):
            inside = f"{where}.content.{place}"
            if isinstance(block, dict):
                yield from check_block(role, inside, block, limits)
            else:
                yield f"{inside}: Input should be a valid dictionary or object"


def _turns(messages: Sequence[Body]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        blocks = tuple(
            (f"messages.{index}.content.{place}", block)
            for place, block in enumerate(blocks_of(message["content"]))
        )
        if turns and turns[-1].role == message["role"]:
            last = turns.pop()
            turns.append(_Turn(last.role, last.index, last.blocks + blocks))
        else:
            turns.append(_Turn(message["role"], index, blocks))
    return turns


def _check_ends(turns: Sequence[_Turn]) -> Iterator[str]:
    if turns[0].role != "user":
        yield 'messages: first message must use the "user" role'
    if turns[-1].role == "assistant":
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def _check_pairs(turns: Sequence[_Turn]) -> Iterator[str]:
    seen: set[str] = set()
    open_calls: list[str] = []
    for turn in turns:
        if turn.role == "assistant":
            open_calls = [block["id"] for _, block in turn.of("tool_use")]
            for call in open_calls:
                if call in seen:
                    yield f"messages.{turn.index}: `tool_use` ids must be unique: {call}"
                seen.add(call)
            if open_calls and turn is turns[-1]:
                yield _unanswered(turn.index, open_calls)
        else:
            yield from _check_results(turn, open_calls)
            open_calls = []


def _check_results(turn: _Turn, calls: Sequence[str]) -> Iterator[str]:
    answered: set[str] = set()
    other_before = False
    for where, block in turn.blocks:
        if block["type"] != "tool_result":
            other_before = True
            continue
        call = block["tool_use_id"]
        if call not in calls:
            yield (
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        elif call in answered:
            yield (
                f"{where}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {call}"
            )
        elif other_before:
            yield f"{where}: `tool_result` blocks must come first in the message"
        answered.add(call)
    missing = [call for call in calls if call not in answered]
    if missing:
        yield _unanswered(turn.index - 1, missing)


def _unanswered(index: int, calls: Sequence[str]) -> str:
    return (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(calls)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


def _check_thinking(turns: Sequence[_Turn], limits: Limits, issued: Issued) -> Iterator[str]:
    latest = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    digests = _digests(turns)
    for position, turn in enumerate(turns):
        blocks = turn.of(*_THINKING)
        if not blocks:
            continue
        if turn.blocks[-1][1]["type"] in _THINKING:
            yield (
                f"messages.{turn.index}: The final block in an assistant message cannot be "
                "`thinking`."
            )
        changed = _first_changed(turn, blocks, issued) if turn is latest else None
        forged = next((where for where, block in blocks if not is_genuine(block)), None)
        if changed or (forged and turn is latest):
            yield (
                f"{changed or forged}: `thinking` or `redacted_thinking` blocks in the latest "
                "assistant message cannot be modified. These blocks must remain as they were in "
                "the original response."
            )
        elif forged:
            yield f"{forged}: Invalid `signature` in `thinking` block"
        elif limits.bind_thinking:
            for where, block in blocks:
                if not issued.fits(block, digests[position]):
                    yield (
                        f"{where}: `thinking` block does not match the conversation before it; "
                        "remove the block or restore the earlier messages."
                    )


def _first_changed(turn: _Turn, blocks: Sequence[tuple[str, Body]], issued: Issued) -> str | None:
    original: list[Body] = []
    for _, block in turn.of("tool_use"):
        for sent in issued.beside(block["id"]) or ():
            if not any(sent is known for known in original):
                original.append(sent)
    if not original:
        return None
    for (where, block), sent in zip(blocks, original, strict=False):
        if block != sent:
            return where
    return None if len(blocks) == len(original) else blocks[-1][0]


def _digests(turns: Sequence[_Turn]) -> list[str]:
    """One digest per prefix of the turns: none of them, the first, the first two, all."""
    chain = hashlib.blake2b(digest_size=16)
    digests = [chain.hexdigest()]
    for turn in turns:
        kept = [
            {name: value for name, value in block.items() if name != "cache_control"}
            for _, block in turn.blocks
            if block.get("type") not in _THINKING
        ]
        chain.update(json.dumps([turn.role, kept]).encode("ascii"))
        digests.append(chain.hexdigest())
    return digests
