"""What the records of a session add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter

from mewcode_nb.events import Usage
from mewcode_nb.messages import JsonObject, Message
from mewcode_nb.session.records import (
    CompactRecord,
    Damage,
    MessageRecord,
    PlacedRecord,
    ReadRecord,
    SessionRecord,
    SpillRecord,
    Variable,
)

__all__ = ["SessionState", "counts_of", "total_usage"]


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
    """Time of the latest record that is no fact (`meta`), in seconds since 1970."""
    damage: tuple[Damage, ...]
    """In the lines that were read."""
    seen: tuple[PlacedRecord, ...] = ()
    """The `read` and `namespace` records behind `reads` and `namespace`, those superseded too."""
    begin: int = 0
    """Where the compaction stands that the reading began with, in bytes; 0 where all was read.

    Above 0 the state holds no message that the conversation lacks, no spill without a checkpoint's
    mention, and of several compactions only the last.
    """

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


def total_usage(usages: Iterable[Usage]) -> Usage:
    """As adding them one by one, without making one for each step."""
    return Usage(*map(sum, zip(*map(counts_of, usages), strict=True)))


counts_of = attrgetter(*(item.name for item in fields(Usage)))
"""The counts of a `Usage`, in the order of its fields."""
