"""What a `spill` record does to its block: the same when it is made and when it is read.

A target is `result` (a result that is one text), `part/N` (part number N of a result that is a
list, counted from 0) or `input/NAME` (a string of a call's own input). Pure.
"""

from __future__ import annotations

from typing import cast

from mewcode_nb.messages import Block, Json, is_tool_result, is_tool_use

__all__ = ["INPUT", "PART", "RESULT", "SPILL_FOLDER", "is_spilled_from", "with_preview"]

RESULT, PART, INPUT = "result", "part/", "input/"
SPILL_FOLDER = "tool-results"
"""Where the files lie, in the session's folder."""


def is_spilled_from(block: Block, tool_use_id: str, target: str) -> bool:
    """Whether it is this block that the target names."""
    if target == RESULT or target.startswith(PART):
        return is_tool_result(block) and block["tool_use_id"] == tool_use_id
    return target.startswith(INPUT) and is_tool_use(block) and block["id"] == tool_use_id


def with_preview(block: Block, target: str, preview: str) -> Block:
    """The block with the preview in the place that the target names; unchanged if it has none."""
    if is_tool_use(block):
        name = target.removeprefix(INPUT)
        if name not in block["input"]:
            return block
        return cast("Block", {**block, "input": {**block["input"], name: preview}})
    if target == RESULT:
        return cast("Block", {**block, "content": preview})
    parts, place = cast("Json", block.get("content")), target.removeprefix(PART)
    if not isinstance(parts, list) or not place.isdecimal() or int(place) >= len(parts):
        return block
    changed: list[Json] = [*parts]
    changed[int(place)] = {"type": "text", "text": preview}
    return cast("Block", {**block, "content": changed})
