"""What a compaction notes down, so that a reader may begin with it.

Pure. All of a session that outlives its messages: facts, cost, files read, variables, spills. The
same keys are the format (`docs/formats.md`); one that is missing or wrong makes the whole worth
nothing, and the reader takes the long way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import TypeVar, cast

from mewcode_nb.events import Usage
from mewcode_nb.messages import Json, JsonObject
from mewcode_nb.session.parse import from_json
from mewcode_nb.session.records import (
    NamespaceRecord,
    PlacedRecord,
    ReadRecord,
    Record,
    SessionRecord,
    SpillRecord,
    Variable,
    to_json,
)
from mewcode_nb.session.state import SessionState

__all__ = ["Base", "Checkpoint", "checkpoint_of", "other_parts", "read_checkpoint"]

_Kind = TypeVar("_Kind", ReadRecord, SpillRecord, NamespaceRecord)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """As the lines before a compaction leave it; the fields are those of `SessionState`."""

    usage: Usage
    turns: int
    meta: JsonObject = field(default_factory=dict)
    reads: tuple[ReadRecord, ...] = ()
    spills: tuple[SpillRecord, ...] = ()
    namespace: tuple[Variable, ...] = ()
    last_ts: float = 0.0


@dataclass(frozen=True, slots=True)
class Base:
    """A compaction that a reading begins with, and what it needs of the lines before."""

    header: SessionRecord
    compaction: PlacedRecord
    before: tuple[PlacedRecord, ...]
    """From the first kept message to the compaction; empty where nothing was kept."""
    checkpoint: Checkpoint


def checkpoint_of(state: SessionState) -> JsonObject:
    """What a compaction of this state notes down; empty parts are left out."""
    variables = NamespaceRecord(0.0, created=tuple(state.namespace.values()))
    parts: JsonObject = {
        "meta": state.meta,
        "reads": [_bare(record) for record in state.reads.values()],
        "spills": [_bare(record) for record in state.spills.values()],
        "namespace": to_json(variables).get("created", []),
    }
    return {
        "usage": asdict(state.usage),
        "turns": state.turns,
        "last_ts": state.last_ts,
        **{name: part for name, part in parts.items() if part},
    }


def other_parts(value: JsonObject) -> JsonObject:
    """What a checkpoint holds beside the state: it belongs to the compaction itself."""
    known = {item.name for item in fields(Checkpoint)}
    return {name: part for name, part in value.items() if name not in known}


def read_checkpoint(value: JsonObject) -> Checkpoint | None:
    """What was noted down; None where a part is missing or not what it should be."""
    try:
        return Checkpoint(
            usage=_usage(value["usage"]),
            turns=_count(value["turns"]),
            meta=_object(value.get("meta", {})),
            reads=tuple(_records(value, "reads", "read", ReadRecord)),
            spills=tuple(_records(value, "spills", "spill", SpillRecord)),
            namespace=_variables(value.get("namespace", [])),
            last_ts=_number(value.get("last_ts", 0.0)),
        )
    except (KeyError, TypeError):
        return None


def _bare(record: Record) -> JsonObject:
    return {key: item for key, item in to_json(record).items() if key != "type"}


def _records(value: JsonObject, name: str, kind: str, wanted: type[_Kind]) -> Iterator[_Kind]:
    for item in _list(value.get(name, [])):
        record = from_json({"type": kind, **_object(item)})
        if not isinstance(record, wanted):
            raise TypeError(name)
        yield record


def _variables(value: Json) -> tuple[Variable, ...]:
    items: list[Json] = [_object(item) for item in _list(value)]
    record = from_json({"type": "namespace", "created": items})
    return cast("NamespaceRecord", record).created


def _usage(value: Json) -> Usage:
    known = {item.name for item in fields(Usage)}
    return Usage(**{key: _count(item) for key, item in _object(value).items() if key in known})


def _object(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(value)
    return value


def _count(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(value)
    return value
