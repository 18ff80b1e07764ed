"""The fold: from the records of a session to what holds now.

Messages, title, cost and what the model has read are all results of this one pass, so a rewind, a
compaction and its undoing are ordinary lines that a later line can take back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from mewcode_nb.blocks import THINKING
from mewcode_nb.events import Usage
from mewcode_nb.messages import (
    Block,
    Json,
    JsonObject,
    Message,
    is_tool_result,
    is_tool_use,
    text_block,
)
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
    RewindRecord,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    Variable,
)

__all__ = ["SessionState", "fold", "summary_message"]


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session as its records leave it."""

    header: SessionRecord | None
    records: tuple[MessageRecord, ...]
    """The messages that are part of the conversation now, with cell, usage and the rest."""
    reads: Mapping[str, ReadRecord]
    """By path: what the model last saw of each file."""
    namespace: Mapping[str, Variable]
    """By name: the variables the conversation knows of."""
    meta: JsonObject
    usage: Usage
    """All responses ever paid for, each message id once, abandoned branches included."""
    turns: int
    """The number of the last turn; the next prompt is one more."""
    spills: Mapping[tuple[str, str], SpillRecord]
    """By tool_use id and target."""
    compactions: tuple[CompactRecord, ...]
    """Those in force, oldest first."""
    offsets: Mapping[str, int]
    """Where each message's line begins, by message id, in bytes: what a compaction records."""
    last_ts: float
    """Time of the latest record, in seconds since 1970."""
    damage: tuple[Damage, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, oldest first, as it was stored: not yet repaired for sending."""
        return tuple(
            Message(record.role, record.content, record.origin, record.id, record.turn)
            for record in self.records
        )

    @property
    def model(self) -> str:
        """The model of the last answer, else the one the session began with."""
        used = (record.model for record in reversed(self.records) if record.model)
        return next(used, self.header.model if self.header else "")


def fold(records: Iterable[PlacedRecord], damage: Sequence[Damage] = ()) -> SessionState:
    """The state that the records add up to."""
    folding = _Fold(damage=list(damage))
    for placed in records:
        folding.take(placed)
    return folding.state()


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
class _Fold:
    damage: list[Damage]
    header: SessionRecord | None = None
    live: list[MessageRecord] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=list)
    reads: list[tuple[int, ReadRecord]] = field(default_factory=list)
    names: list[tuple[int, NamespaceRecord]] = field(default_factory=list)
    meta: JsonObject = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    turns: int = 0
    spills: dict[tuple[str, str], SpillRecord] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    marker: list[MessageRecord] | None = None
    """The history before a marker of the Go program, while its rewriting is being read."""
    last_ts: float = 0.0

    def take(self, placed: PlacedRecord) -> None:
        record = placed.record
        self.last_ts = max(self.last_ts, record.ts)
        match record:
            case SessionRecord():
                self.header = self.header or record
            case MessageRecord():
                self._message(record, placed)
            case SpillRecord():
                self._spill(record)
            case ReadRecord():
                self.reads.append((placed.offset, record))
            case NamespaceRecord():
                self.names.append((placed.offset, record))
            case MetaRecord():
                self.meta.update(record.facts)
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
                self._end_rewriting()
                self.marker, self.live = self.live, []
            case _:
                pass

    def _message(self, record: MessageRecord, placed: PlacedRecord) -> None:
        if record.id:
            self._end_rewriting()
        else:
            record = replace(record, id=f"line-{placed.offset}")
        record = self._with_turn(record)
        if record.usage is not None:
            self.usage[record.message_id or record.id] = record.usage
        # An append that failed late may be in the file and be given again: the later line counts.
        place = _place(self.live, record.id) if record.id in self.offsets else None
        self.offsets.setdefault(record.id, placed.offset)
        if place is None:
            self.live.append(record)
        else:
            self.live[place] = record

    def _with_turn(self, record: MessageRecord) -> MessageRecord:
        if record.turn:
            self.turns = record.turn
            return record
        self.turns += record.origin == "user"
        return replace(record, turn=self.turns)

    def _spill(self, record: SpillRecord) -> None:
        self.spills[record.tool_use_id, record.target] = record
        for place in range(len(self.live) - 1, -1, -1):
            message = self.live[place]
            if any(_is_target(block, record) for block in message.content):
                content = tuple(_spilled(block, record) for block in message.content)
                self.live[place] = replace(message, content=content)
                return

    def _compact(self, record: CompactRecord, placed: PlacedRecord) -> None:
        keep = set(record.keep)
        kept = {message.id: message for message in self.live if message.id in keep}
        if len(kept) < len(keep):
            self._report(placed, "a compaction keeps messages that are not there")
        self.frames.append(_Frame(record, self.live))
        self.offsets[record.id] = placed.offset
        summary = replace(summary_message(record), turn=self.turns)
        self.live = [summary, *(_without_thinking(message) for message in kept.values())]

    def _uncompact(self, record: UncompactRecord, placed: PlacedRecord) -> None:
        if not self.frames or self.frames[-1].record.id != record.compact:
            self._report(placed, f"no compaction {record.compact} to take back")
            return
        frame = self.frames.pop()
        keep = set(frame.record.keep)
        present = {message.id for message in self.live}
        later = [m for m in self.live if m.id not in keep and m.id != frame.record.id]
        self.live = [*_before_rewound(frame.before, keep, present), *later]

    def _rewind(self, record: RewindRecord, placed: PlacedRecord) -> None:
        history, frames = self.live, len(self.frames)
        while record.to and (place := _place(history, record.to)) is None:
            if not frames:
                self._report(placed, f"no message {record.to} to go back to")
                return
            frames -= 1
            history = self.frames[frames].before
        if record.to:
            self.live, end = history[: cast("int", place) + 1], self.offsets.get(record.to, -1)
            self.turns = self.live[-1].turn
        else:
            self.live, end, frames, self.turns = [], -1, 0, 0
        del self.frames[frames:]
        following = min((at for at in self.offsets.values() if at > end), default=placed.offset)
        self.reads = [item for item in self.reads if item[0] < following]
        self.names = [item for item in self.names if item[0] < following]

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
            reads={record.path: record for _, record in self.reads},
            namespace=_variables(record for _, record in self.names),
            meta={key: value for key, value in self.meta.items() if value is not None},
            usage=sum(self.usage.values(), start=Usage()),
            turns=self.turns,
            spills=self.spills,
            compactions=tuple(frame.record for frame in self.frames),
            offsets=self.offsets,
            last_ts=self.last_ts,
            damage=tuple(sorted(self.damage, key=lambda item: item.line)),
        )


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
    end = next(
        (place for place, m in enumerate(before) if m.id in keep and m.id not in present),
        len(before),
    )
    return before[:end]


def _without_thinking(record: MessageRecord) -> MessageRecord:
    content = tuple(block for block in record.content if block["type"] not in THINKING)
    return replace(record, content=content)


def _is_target(block: Block, spill: SpillRecord) -> bool:
    if spill.target == "result":
        return is_tool_result(block) and block["tool_use_id"] == spill.tool_use_id
    return is_tool_use(block) and block["id"] == spill.tool_use_id


def _spilled(block: Block, spill: SpillRecord) -> Block:
    if not _is_target(block, spill):
        return block
    if is_tool_use(block):
        name = spill.target.removeprefix("input/")
        known = name in block["input"]
        changed: dict[str, Json] = {name: spill.preview} if known else {}
        return cast("Block", {**block, "input": {**block["input"], **changed}})
    return cast("Block", {**block, "content": spill.preview})


def _variables(records: Iterable[NamespaceRecord]) -> dict[str, Variable]:
    known: dict[str, Variable] = {}
    for record in records:
        known.update({variable.name: variable for variable in (*record.created, *record.changed)})
        for name in record.removed:
            known.pop(name, None)
    return known
