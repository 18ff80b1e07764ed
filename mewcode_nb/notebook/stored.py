"""The turn that a cell had already: found among a session's messages, and told as its result.

A cell is known again by the SHA-256 of its text and, where the front end tells it, by its id. Only
`names_made` reads a file: the part of the log that the turn wrote.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.events import TurnResult
from mewcode_nb.messages import Json, ToolUseBlock, is_tool_result
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.parse import from_json
from mewcode_nb.session.records import Cell, MessageRecord, NamespaceRecord, SpillRecord
from mewcode_nb.session.turns import Turn, turns

if TYPE_CHECKING:
    from mewcode_nb.notebook.options import TurnOptions

__all__ = [
    "Asked",
    "Stored",
    "find_turn",
    "names_made",
    "recorded_calls",
    "shown_richly",
    "turn_result",
]

_NAMESPACE = b'{"type":"namespace"'
_SLICE_BYTES = 64 * 1024 * 1024
"""Of one turn's part of the log; a longer turn's variables are not looked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the cell asks for now; `clicks` says whether a page's buttons can be heard."""

    prompt: str
    options: TurnOptions
    language: str
    clicks: bool


@dataclass(frozen=True, slots=True)
class Stored:
    """A turn of a session and what is needed to show it, go back before it and run its code."""

    session: str
    records: tuple[MessageRecord, ...]
    """The session's live conversation."""
    turn: Turn
    folder: Path | None = None
    """The session's folder; None for a conversation that is in memory only."""
    offsets: Mapping[str, int] = field(default_factory=dict)
    """Where each message's line begins in the log, by message id, in bytes."""
    spills: Mapping[tuple[str, str], SpillRecord] = field(default_factory=dict)

    @property
    def before(self) -> str:
        """Id of the last message before the turn; empty when the conversation begins with it."""
        return self.records[self.turn.first - 2].id if self.turn.first > 1 else ""

    @property
    def later(self) -> int:
        """How many turns came after it."""
        return sum(1 for turn in turns(self.records) if turn.first > self.turn.first)


def find_turn(
    records: Sequence[MessageRecord], cell: Cell, used: Collection[str], *, whole: bool = True
) -> Turn | None:
    """The first turn of the cell whose last message is not among `used`.

    With `whole` only one that ended by itself: what was stopped or failed is run again. An empty
    cell id fits every cell with the text.
    """
    for turn in turns(records):
        known = turn.cell
        if known is None or known.sha256 != cell.sha256 or turn.last_id in used:
            continue
        if (not cell.id or known.id == cell.id) and (turn.complete or not whole):
            return turn
    return None


def turn_result(turn: Turn, session: str) -> TurnResult:
    """The turn as its cell gave it; `usage` and `seconds` are what it took then."""
    said = [record for record in turn.records if record.role == "assistant"]
    return TurnResult(
        text=turn.answer,
        blocks=tuple(block for record in said for block in record.content),
        usage=turn.usage,
        stop_reason=said[-1].stop_reason if said else None,
        steps=len(said),
        seconds=max(turn.records[-1].ts - turn.ts, 0.0),
        session=session,
        turn=turn.number,
        model=said[-1].model if said else "",
        tools=tuple(called.call["name"] for called in turn.calls()),
        stored=True,
    )


def recorded_calls(stored: Stored) -> tuple[ToolUseBlock, ...]:
    """The calls whose code ran well in the user's namespace, in order.

    What was refused never ran, and what failed would fail again before the rest. None at all where
    a part of the code lies in a file of its own: half a recording is not run.
    """
    kept = []
    for called in stored.turn.calls():
        if called.call["name"] != "run_python" or called.output is None or called.is_error:
            continue
        if (called.call["id"], "input/code") in stored.spills:
            return ()
        kept.append(called.call)
    return tuple(kept)


def names_made(stored: Stored) -> tuple[str, ...]:
    """The variables the turn's code made or changed and left there, by name."""
    begin = stored.offsets.get(stored.turn.records[0].id)
    end = stored.offsets.get(stored.turn.last_id)
    if stored.folder is None or begin is None or end is None or not 0 < end - begin < _SLICE_BYTES:
        return ()
    try:
        with (stored.folder / LOG_NAME).open("rb") as file:
            file.seek(begin)
            part = file.read(end - begin)
    except OSError:
        return ()  # the session was moved away meanwhile: nothing is offered
    names: dict[str, None] = {}
    for record in _namespace_records(part):
        names.update(dict.fromkeys(item.name for item in (*record.created, *record.changed)))
        for name in record.removed:
            names.pop(name, None)
    return tuple(names)


def shown_richly(turn: Turn) -> bool:
    """Whether the turn's code showed figures or other displays, which no session keeps."""
    for record in turn.records:
        for block in record.content:
            if is_tool_result(block) and _is_rich(block["content"]):
                return True
    return False


def _is_rich(content: Json) -> bool:
    if isinstance(content, str):
        return "[display]\n" in content
    if not isinstance(content, list):
        return False
    parts = [part for part in content if isinstance(part, dict)]
    return any(
        part.get("type") == "image" or "[display]\n" in str(part.get("text", "")) for part in parts
    )


def _namespace_records(part: bytes) -> Iterator[NamespaceRecord]:
    for line in part.split(b"\n"):
        if not line.startswith(_NAMESPACE):
            continue
        try:
            record = from_json(json.loads(line))
        except ValueError:
            continue  # a damaged line: the doctor tells of it
        if isinstance(record, NamespaceRecord):
            yield record
