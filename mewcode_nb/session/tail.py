"""Reading a session from its end: no line before the first kept message of the last compaction.

What is read there adds up to the same conversation as the whole file. Where that is not certain,
because the compaction does not say enough or a later line goes back behind it, there is no tail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import BinaryIO

from mewcode_nb.session.checkpoint import Base, read_checkpoint
from mewcode_nb.session.reader import read_line, scan_log, sound_records
from mewcode_nb.session.records import CompactRecord, Damage, PlacedRecord, SessionRecord
from mewcode_nb.session.replay import ReachesBackError, fold_from
from mewcode_nb.session.state import SessionState

__all__ = ["read_tail"]

_BLOCK = 64 * 1024
_MARK = b'\n{"type":"compact"'


def read_tail(handle: BinaryIO) -> SessionState | None:
    """The state as the end of the file tells it; None where all of the file must be read."""
    compaction = _last_compaction(handle)
    if compaction is None:
        return None
    try:
        return _from(handle, *compaction)
    except ReachesBackError:
        return None


def _last_compaction(handle: BinaryIO) -> tuple[CompactRecord, int] | None:
    """The last compaction that is a line of its own and sound, and where it stands.

    None too where a marker of the Go program comes first.
    """
    for offset in _marks(handle):
        match read_line(handle, offset):
            case CompactRecord() as record:
                return record, offset
            case None:
                continue  # damaged, so it counts for nothing in the whole file either
            case _:
                return None
    return None


def _marks(handle: BinaryIO) -> Iterator[int]:
    """Where lines begin that look like compactions, from the last one on."""
    end = handle.seek(0, 2)
    overlap = b""
    while end > 0:
        start = max(end - _BLOCK, 0)
        handle.seek(start)
        block = handle.read(end - start) + overlap
        found = block.rfind(_MARK)
        while found >= 0:
            yield start + found + 1
            found = block.rfind(_MARK, 0, found)
        overlap, end = block[: len(_MARK) - 1], start


def _from(handle: BinaryIO, record: CompactRecord, offset: int) -> SessionState | None:
    """The state from that compaction on; raises ReachesBackError."""
    header, checkpoint = read_line(handle, 0), read_checkpoint(record.checkpoint)
    start = record.offset if record.keep else offset
    if checkpoint is None or not isinstance(header, SessionRecord) or start is None:
        return None
    if not 0 < start <= offset or not _begins_line(handle, start):
        return None
    damage: list[Damage] = []
    records = sound_records(scan_log(handle, record, offset), damage)
    before = tuple(takewhile(lambda placed: placed.offset < offset, records))
    base = Base(header, PlacedRecord(record, offset, 0), before, checkpoint)
    state = fold_from(base, records)
    damage.extend(state.damage)
    if not damage:
        return state
    lines = _newlines(handle, start)
    moved = (replace(item, line=item.line + lines) for item in damage)
    return replace(state, damage=tuple(sorted(moved, key=lambda item: item.line)))


def _begins_line(handle: BinaryIO, offset: int) -> bool:
    """Whether a line begins there; the handle then stands at it."""
    handle.seek(offset - 1)
    return handle.read(1) == b"\n"


def _newlines(handle: BinaryIO, end: int) -> int:
    """How many lines end before that offset."""
    handle.seek(0)
    count = 0
    while end > 0 and (block := handle.read(min(end, 16 * _BLOCK))):
        count += block.count(b"\n")
        end -= len(block)
    return count
