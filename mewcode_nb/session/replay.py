"""The fold: from the records of a session to what holds now.

Messages, title, cost and what the model has read are all results of this one pass, so a rewind, a
compaction and its undoing are ordinary lines that a later line can take back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import sub
from typing import cast

from mewcode_nb.blocks import THINKING
from mewcode_nb.errors import SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.messages import (
    JsonObject,
    text_block,
)
from mewcode_nb.session.checkpoint import Base
from mewcode_nb.session.legacy import rewritten_history
from mewcode_nb.session.records import (
    CompactRecord,
    Damage,
    LegacyCompact,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    PlacedRecord,
    ReadRecord,
    Record,
    RewindRecord,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    Variable,
)
from mewcode_nb.session.spilled import is_spilled_from, with_preview
from mewcode_nb.session.state import SessionState, counts_of, total_usage
from mewcode_nb.session.unmade import unmade_usage

__all__ = [
    "ReachesBackError",
    "SessionState",
    "fold",
    "fold_from",
    "following_offset",
    "no_message",
    "rewound",
    "summary_message",
]


class ReachesBackError(Exception):
    """A record needs what stands before the place where the reading began."""


def fold(records: Iterable[PlacedRecord], damage: Sequence[Damage] = ()) -> SessionState:
    """The state that the records add up to."""
    folding = _Fold(damage=list(damage))
    for placed in records:
        folding.take(placed)
    return folding.state()


def fold_from(
    base: Base, records: Iterable[PlacedRecord], damage: Sequence[Damage] = ()
) -> SessionState:
    """The state that a compaction and the records after it add up to.

    Raises ReachesBackError where that cannot be told without the records before.
    """
    folding = _Fold(damage=list(damage))
    folding.begin(base)
    for placed in records:
        folding.take(placed)
    return folding.state()


def rewound(records: Sequence[PlacedRecord], to: str) -> SessionState:
    """The state as a rewind to message `to`, empty for all, leaves it; raises SessionNotFound."""
    end = records[-1].offset + 1 if records else 0
    state = fold((*records, PlacedRecord(RewindRecord(0.0, to), end, 0)))
    if to and (not state.records or state.records[-1].id != to):
        raise no_message(to)
    return state


def no_message(named: str) -> SessionNotFound:
    """The error of a message that a session does not hold."""
    return SessionNotFound(
        f"no message {named!r} in this session", remedy="%mewcode rewind lists the messages"
    )


def summary_message(record: CompactRecord) -> MessageRecord:
    """The user message a compaction puts in front: the sections, then the attachment."""
    parts = [f"## {s.title}\n{s.text}" if s.title else s.text for s in record.summary]
    texts = [text for text in ("\n\n".join(parts), record.attachment) if text]
    content = tuple(text_block(text) for text in texts)
    return MessageRecord(record.ts, record.id, "user", content, "summary")


@dataclass(slots=True)
class _Frame:
    """A compaction in force and the conversation it replaced."""

    record: CompactRecord
    before: list[MessageRecord]


@dataclass(slots=True)
class _Point:
    """A conversation as it stood: what a rewind leaves, and a later one can bring back."""

    live: list[MessageRecord]
    frames: list[_Frame]
    seen: list[PlacedRecord]

    def cuts(self, to: str) -> Iterator[_Point | None]:
        """The same up to message `to`, then before each compaction; None where it is not in it."""
        histories = [frame.before for frame in self.frames] + [self.live]
        for frames in range(len(self.frames), -1, -1):
            place = _place(histories[frames], to)
            cut = None if place is None else histories[frames][: place + 1]
            yield None if cut is None else _Point(cut, self.frames[:frames], self.seen)


@dataclass(slots=True)
class _Fold:
    damage: list[Damage]
    header: SessionRecord | None = None
    live: list[MessageRecord] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=list)
    seen: list[PlacedRecord] = field(default_factory=list)
    left: list[_Point] = field(default_factory=list)
    meta: JsonObject = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    turns: int = 0
    spills: dict[tuple[str, str], SpillRecord] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    marker: list[MessageRecord] | None = None
    """The history before a marker of the Go program, while its rewriting is being read."""
    last_ts: float = 0.0
    floor: int = 0
    """Nothing that stands before this offset is known in full."""

    def begin(self, base: Base) -> None:
        """Stand where the compaction left the conversation; raises ReachesBackError."""
        compaction, known = base.compaction, base.checkpoint
        record = cast("CompactRecord", compaction.record)
        keep = set(record.keep)
        for placed in base.before:
            self._take_before(placed, keep)
        if self.offsets.keys() != keep:
            raise ReachesBackError
        self.usage[""] = _earlier(known.usage, total_usage(self.usage.values()))
        self.header, self.meta, self.turns = base.header, dict(known.meta), known.turns
        self.spills = {(spill.tool_use_id, spill.target): spill for spill in known.spills}
        facts: tuple[Record, ...] = (
            *known.reads,
            NamespaceRecord(record.ts, known.turns, known.namespace),
        )
        at, line = compaction.offset, compaction.line
        self.seen = [PlacedRecord(fact, at, line) for fact in facts]
        self.last_ts, self.floor = max(known.last_ts, base.header.ts), at
        self.take(compaction)

    def _take_before(self, placed: PlacedRecord, keep: set[str]) -> None:
        """A record between the first kept message and the compaction."""
        match placed.record:
            case MessageRecord() as record if (record.id or f"line-{placed.offset}") in keep:
                if not record.turn or record.id in self.offsets:
                    raise ReachesBackError
                self._message(record, placed)
            case MessageRecord(usage=usage) as record if usage is not None:
                self.usage[record.message_id or record.id or f"line-{placed.offset}"] = usage
            case SpillRecord() as record:
                self._spill(record)

    def take(self, placed: PlacedRecord) -> None:
        record = placed.record
        if record.ts > self.last_ts and not isinstance(record, MetaRecord):
            self.last_ts = record.ts  # a new title or pin is no use of the session
        match record:
            case MessageRecord():
                self._message(record, placed)
            case SessionRecord():
                self.header = self.header or record
            case SpillRecord():
                self._spill(record)
            case ReadRecord() | NamespaceRecord():
                self.seen.append(placed)
            case MetaRecord():
                self.meta.update(record.facts)
                self.usage.update(unmade_usage(record.facts))
            case _:
                self._change_history(placed)

    def _change_history(self, placed: PlacedRecord) -> None:
        match placed.record:
            case CompactRecord() as record:
                self._end_rewriting()
                self._compact(record, placed)
            case UncompactRecord() as record:
                self._uncompact(record, placed)
            case RewindRecord() as record:
                self._end_rewriting()
                self._rewind(record, placed)
            case LegacyCompact():
                self._demand(reached=not self.floor)
                self._end_rewriting()
                self.marker, self.live = self.live, []

    def _message(self, record: MessageRecord, placed: PlacedRecord) -> None:
        if not record.id:
            record = replace(record, id=f"line-{placed.offset}")
        elif self.marker is not None:
            self._end_rewriting()
        if not record.turn:
            record = replace(record, turn=self.turns + (record.origin == "user"))
        self.turns = record.turn
        if record.usage is not None:
            self.usage[record.message_id or record.id] = record.usage
        # An append that failed late may be in the file and be given again: the later line counts.
        place = _place(self.live, record.id) if record.id in self.offsets else None
        self.offsets.setdefault(record.id, placed.offset)
        if place is None:
            self.live.append(record)
        else:
            self.live[place] = record

    def _spill(self, record: SpillRecord) -> None:
        of = record.tool_use_id, record.target
        self.spills[of] = record
        for place in range(len(self.live) - 1, -1, -1):
            message = self.live[place]
            if any(is_spilled_from(block, *of) for block in message.content):
                content = tuple(
                    with_preview(block, record.target, record.preview)
                    if is_spilled_from(block, *of)
                    else block
                    for block in message.content
                )
                self.live[place] = replace(message, content=content)
                return

    def _compact(self, record: CompactRecord, placed: PlacedRecord) -> None:
        keep = set(record.keep)
        kept = {message.id: message for message in self.live if message.id in keep}
        if len(kept) < len(keep):
            self._report(placed, "a compaction keeps messages that are not there")
        self.frames.append(_Frame(record, self.live))
        self.offsets[record.id] = placed.offset
        if record.usage is not None:
            self.usage[record.id] = record.usage
        noted = record.checkpoint.get("turns")  # in a fork, the turns before are not in the file
        self.turns = max(self.turns, noted if isinstance(noted, int) else 0)
        summary = replace(summary_message(record), turn=self.turns)
        self.live = [summary, *(_without_thinking(message) for message in kept.values())]

    def _uncompact(self, record: UncompactRecord, placed: PlacedRecord) -> None:
        if not self.frames or self.frames[-1].record.id != record.compact:
            self._report(placed, f"no compaction {record.compact} to take back")
            return
        self._demand(reached=not self.floor or len(self.frames) > 1)
        self._leave()
        frame = self.frames.pop()
        keep = set(frame.record.keep)
        present = {message.id for message in self.live}
        # Thinking is bound to what stood before it when it was thought: here, to the summary.
        later = [
            _without_thinking(message)
            for message in self.live
            if message.id not in keep and message.id != frame.record.id
        ]
        self.live = [*_before_rewound(frame.before, keep, present), *later]

    def _rewind(self, record: RewindRecord, placed: PlacedRecord) -> None:
        found = self._point(record.to)
        end = self.offsets.get(record.to, -1)
        self._demand(reached=not self.floor or (found is not None and end >= self.floor))
        if found is None:
            self._report(placed, f"no message {record.to} to go back to")
            return
        self._leave()
        following = following_offset(self.offsets, end, placed.offset)
        self.live, self.frames = found.live, found.frames
        self.seen = [item for item in found.seen if item.offset < following]
        # A summary may be of a later turn than the messages that it kept.
        self.turns = max((message.turn for message in self.live), default=0)

    def _point(self, to: str) -> _Point | None:
        """The latest conversation that ended in that message, compacted ones before the others."""
        if not to:
            return _Point([], [], self.seen)
        points = (_Point(self.live, self.frames, self.seen), *reversed(self.left))
        rounds = zip_longest(*(point.cuts(to) for point in points))
        return next((cut for cuts in rounds for cut in cuts if cut), None)

    def _leave(self) -> None:
        self.left.append(_Point(self.live, list(self.frames), list(self.seen)))

    def _demand(self, *, reached: bool) -> None:
        if not reached:
            raise ReachesBackError

    def _end_rewriting(self) -> None:
        if self.marker is not None:
            self.live = list(rewritten_history(self.marker, self.live))
            self.marker = None

    def _report(self, placed: PlacedRecord, reason: str) -> None:
        self.damage.append(Damage(placed.line, reason))

    def state(self) -> SessionState:
        self._end_rewriting()
        return SessionState(
            header=self.header,
            records=tuple(self.live),
            reads={
                item.record.path: item.record
                for item in self.seen
                if isinstance(item.record, ReadRecord)
            },
            namespace=_variables(item.record for item in self.seen),
            meta={key: value for key, value in self.meta.items() if value is not None},
            usage=total_usage(self.usage.values()),
            turns=self.turns,
            spills=self.spills,
            compactions=tuple(frame.record for frame in self.frames),
            offsets=self.offsets,
            last_ts=self.last_ts,
            damage=tuple(sorted(self.damage, key=lambda item: item.line)),
            seen=tuple(self.seen),
            begin=self.floor,
        )


def following_offset(offsets: Mapping[str, int], end: int, default: int) -> int:
    """Where the next message after the one at `end` begins, whatever branch it is of."""
    return min((at for at in offsets.values() if at > end), default=default)


def _earlier(total: Usage, later: Usage) -> Usage:
    """What is left of the total; raises ReachesBackError where that is less than nothing."""
    parts = [*map(sub, counts_of(total), counts_of(later))]
    if min(parts) < 0:
        raise ReachesBackError
    return Usage(*parts)


def _place(history: Sequence[MessageRecord], identity: str) -> int | None:
    """Where the message is, looked for from the end."""
    for place in range(len(history) - 1, -1, -1):
        if history[place].id == identity:
            return place
    return None


def _before_rewound(
    before: Sequence[MessageRecord], keep: set[str], present: set[str]
) -> Sequence[MessageRecord]:
    """What stood before a compaction, cut where a rewind after it cut the kept messages."""
    cut = (place for place, m in enumerate(before) if m.id in keep and m.id not in present)
    return before[: next(cut, len(before))]


def _without_thinking(record: MessageRecord) -> MessageRecord:
    content = tuple(block for block in record.content if block["type"] not in THINKING)
    return record if len(content) == len(record.content) else replace(record, content=content)


def _variables(records: Iterable[Record]) -> dict[str, Variable]:
    known: dict[str, Variable] = {}
    for record in records:
        if not isinstance(record, NamespaceRecord):
            continue
        for variable in (*record.used, *record.created, *record.changed):
            known[variable.name] = variable
        for name in record.removed:
            known.pop(name, None)
    return known
