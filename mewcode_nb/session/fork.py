"""The records of a fork: the conversation of a session up to one of its messages, and no more.

Pure. Abandoned branches stay behind, and so does what compactions replaced: of those only the last
one is taken, with the messages it kept. What the answers cost was paid by the session they come
from, so they bring no usage with them; a fork's cost is what it spends itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mewcode_nb.session.checkpoint import checkpoint_of, other_parts
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    PlacedRecord,
    Record,
    SpillRecord,
)
from mewcode_nb.session.replay import SessionState, fold, following_offset, no_message
from mewcode_nb.session.spilled import is_spilled_from

__all__ = ["fork_records"]

_OF_ONE_SESSION = {"pin"}
"""Facts that a fork does not inherit."""


def fork_records(state: SessionState, at: str = "") -> tuple[Record, ...]:
    """All records of the new session but its header; `at` is the last message, empty for all.

    A state that was not read whole (`begin`) does for all of the conversation only. Raises
    SessionNotFound where `at` is not in the conversation.
    """
    said, seen = _up_to(state, at)
    compaction = state.compactions[-1] if state.compactions else None
    if compaction is None or not said or said[0].id != compaction.id:
        return (*_facts(state), *_lines(state, said, seen))
    keep = [record for record in said[1:] if record.id in compaction.keep]
    later = said[1 + len(keep) :]
    stands = state.offsets[compaction.id]
    before = [item for item in seen if item.offset < stands]
    head = (*_facts(state), *_lines(state, keep, before))
    tail = _lines(state, later, [item for item in seen if item.offset >= stands])
    moved = _compaction(compaction, keep, head)
    numbered = replace(moved, checkpoint={**moved.checkpoint, "turns": said[0].turn})
    words = [spill for (of, _), spill in state.spills.items() if of == compaction.id]
    return (*head, numbered, *words, *tail)


def _up_to(
    state: SessionState, at: str
) -> tuple[tuple[MessageRecord, ...], tuple[PlacedRecord, ...]]:
    if not at or (state.records and state.records[-1].id == at):
        return state.records, state.seen
    for place, record in enumerate(state.records):
        if record.id == at:
            end = following_offset(state.offsets, state.offsets[at], state.offsets[at] + 1)
            seen = tuple(item for item in state.seen if item.offset < end)
            return state.records[: place + 1], seen
    raise no_message(at)


def _facts(state: SessionState) -> tuple[MetaRecord, ...]:
    facts = {key: value for key, value in state.meta.items() if key not in _OF_ONE_SESSION}
    return (MetaRecord(state.last_ts, facts),) if facts else ()


def _lines(
    state: SessionState, said: Sequence[MessageRecord], seen: Sequence[PlacedRecord]
) -> Iterator[Record]:
    """The messages, each followed by its spills and by what was read and defined after it."""
    places = [state.offsets[record.id] for record in said]
    after: list[list[Record]] = [[] for _ in range(len(said) + 1)]
    for item in seen:
        after[bisect_right(places, item.offset)].append(item.record)
    yield from _latest(after[0])
    for record, following in zip(said, after[1:], strict=True):
        yield replace(record, usage=None)
        yield from _spills(state, record)
        yield from following


def _latest(records: Iterable[Record]) -> Iterator[Record]:
    """What was read and defined before the first message, superseded values left out."""
    state = fold(PlacedRecord(record, 0, 0) for record in records)
    yield from state.reads.values()
    if state.namespace:
        yield NamespaceRecord(state.last_ts, created=tuple(state.namespace.values()))


def _spills(state: SessionState, record: MessageRecord) -> Iterator[SpillRecord]:
    for (call, target), spill in state.spills.items():
        for block in record.content:
            if is_spilled_from(block, call, target):
                yield spill


def _compaction(
    record: CompactRecord, keep: Sequence[MessageRecord], head: Sequence[Record]
) -> CompactRecord:
    """The compaction as the fork has it; where its first kept message stands is not known yet."""
    before = fold(PlacedRecord(item, number, number) for number, item in enumerate(head))
    names = tuple(item.id for item in keep)
    checkpoint = {**other_parts(record.checkpoint), **checkpoint_of(before)}
    return replace(record, keep=names, checkpoint=checkpoint, offset=None, usage=None)
