"""Sessions of MewCode, the Go program: its `Entry` lines as messages, its markers as compactions.

An entry has `role` (user, assistant, tool), `content` as text, `tool_calls`, `tool_results`, `ts`
in whole seconds and `model` on the first. A bare `{"type": "compact"}` marker is followed by the
whole history written anew, one line at a time; where the program was killed in between, the rest of
it is taken from before the marker.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from mewcode_nb.blocks import sound_block
from mewcode_nb.messages import (
    Block,
    Json,
    JsonObject,
    is_tool_result,
    is_tool_use,
    text_block,
    tool_result,
)
from mewcode_nb.session.records import MessageRecord

__all__ = ["legacy_message", "rewritten_history"]


def legacy_message(entry: JsonObject, ts: float) -> MessageRecord | None:
    """The entry as a message, or None when it is none; its id is left for the fold to give."""
    role = entry.get("role")
    if role not in {"user", "assistant", "tool"}:
        return None
    blocks = _text_blocks(entry.get("content"))
    calls = [_call(item) for item in _objects(entry.get("tool_calls"))]
    results = [_result(item) for item in _objects(entry.get("tool_results"))]
    model = entry.get("model")
    return MessageRecord(
        ts=ts,
        id="",
        role="assistant" if role == "assistant" else "user",
        content=(*results, *blocks, *calls),
        origin="assistant" if role == "assistant" else "tool" if role == "tool" else "user",
        model=model if isinstance(model, str) else "",
    )


def rewritten_history(
    before: Sequence[MessageRecord], after: Sequence[MessageRecord]
) -> tuple[MessageRecord, ...]:
    """The history that a marker leaves between `before` and `after`, the last entries there are.

    Complete: `after` as it is. Cut off inside the rewriting (all of it but perhaps a summary in
    front was there before): the lines still to come are those of `before` that follow the last one
    written. Nothing, or one lone line that may be a summary whose tail was lost: `before`, which
    loses nothing.
    """
    old = [_identity(record) for record in before]
    new = [_identity(record) for record in after]
    end = _matched_end(old, new)
    if end:
        return (*after, *before[end:])
    return tuple(before) if before and len(new) < 2 else tuple(after)


def _matched_end(old: Sequence[object], new: Sequence[object]) -> int:
    """Where in `old` the last lines of `new` end, by the longest run that agrees; 0 for nowhere."""
    best, where = 0, 0
    for end in range(1, len(old) + 1):
        run = 0
        while run < min(end, len(new)) and old[end - 1 - run] == new[-1 - run]:
            run += 1
        if run and run >= max(best, len(new) - 1):
            best, where = run, end
    return where


def _identity(record: MessageRecord) -> object:
    """What a rewriting leaves alone: results may have been replaced by previews, ids never."""
    calls = [block["id"] for block in record.content if is_tool_use(block)]
    answers = [block["tool_use_id"] for block in record.content if is_tool_result(block)]
    ids = (*calls, *answers)
    return (record.role, ids) if ids else (record.role, record.content)


def _text_blocks(content: Json) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (text_block(content),) if content else ()
    return tuple(sound_block(part) for part in content) if isinstance(content, list) else ()


def _objects(value: Json) -> list[dict[str, Json]]:
    """Objects of a list, keys without case and underscores: `ToolCallID` is `tool_call_id`."""
    items = value if isinstance(value, list) else []
    return [
        {key.lower().replace("_", ""): part for key, part in item.items()}
        for item in items
        if isinstance(item, dict)
    ]


def _call(item: dict[str, Json]) -> Block:
    given = _first(item, "input", "arguments", "args")
    arguments = _parsed(given) if isinstance(given, str) else given
    return sound_block(
        {
            "type": "tool_use",
            "id": str(_first(item, "id", "toolcallid", "tooluseid") or ""),
            "name": str(item.get("name") or ""),
            "input": arguments if isinstance(arguments, dict) else {},
        }
    )


def _result(item: dict[str, Json]) -> Block:
    content = _first(item, "content", "output", "result")
    identity = str(_first(item, "toolcallid", "tooluseid", "id") or "")
    return tool_result(
        identity,
        content if isinstance(content, (str, list)) else "",
        is_error=item.get("iserror") is True,
    )


def _parsed(text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _first(item: dict[str, Json], *keys: str) -> Json:
    return next((item[key] for key in keys if item.get(key) is not None), None)
