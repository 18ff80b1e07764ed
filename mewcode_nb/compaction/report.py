"""A compaction as a person checks it: from what was just done, or from its stored record.

The record's `stats` hold what only the card shows. They are read leniently: a record by another
hand, or of a later version, still gives a card, with what is missing left empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import cast, get_args

from mewcode_nb.context_events import (
    CompactionReport,
    Coverage,
    RecoveredFile,
    Recovery,
    Trigger,
)
from mewcode_nb.messages import Json, JsonObject
from mewcode_nb.session.records import CompactRecord
from mewcode_nb.usage import Usage

__all__ = ["Stats", "coverage_json", "report_of", "stats_json"]


@dataclass(frozen=True, slots=True)
class Stats:
    """What a record notes down for the card alone; sizes in tokens."""

    window: int = 0
    line: int = 0
    saved_by_spill: int = 0
    saved_by_summary: int = 0
    kept_tokens: int = 0
    said: int = 0
    said_in_file: int = 0
    requests: int = 0
    seconds: float = 0.0
    recovery: Recovery = field(default_factory=Recovery)


def stats_json(stats: Stats) -> JsonObject:
    """As the record holds it; what is empty is left out."""
    return {name: value for name, value in cast("JsonObject", asdict(stats)).items() if value}


def coverage_json(coverage: Coverage) -> JsonObject:
    """As the record holds it."""
    return {
        "kinds": {kind: [*counts] for kind, counts in coverage.kinds.items()},
        "added": [[*item] for item in coverage.added],
        "left_out": coverage.left_out,
    }


def report_of(record: CompactRecord, *, undone: bool = False) -> CompactionReport:
    """The report of a stored compaction; `undone` is told by the lines after it."""
    stats = record.stats
    counts = {
        item.name: _count(stats.get(item.name)) for item in fields(Stats) if item.type == "int"
    }
    seconds = stats.get("seconds")
    return CompactionReport(
        id=record.id,
        trigger=_trigger(record.trigger),
        before=record.before,
        after=record.after,
        sections=tuple((section.title, section.text) for section in record.summary),
        coverage=_coverage(record.coverage),
        recovery=_recovery(stats.get("recovery")),
        focus=record.focus,
        kept_messages=len(record.keep),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0,
        usage=record.usage or Usage(),
        model=record.model,
        attachment=record.attachment,
        undone=undone,
        **counts,
    )


def _trigger(value: str) -> Trigger:
    return cast("Trigger", value) if value in get_args(Trigger) else "manual"


def _coverage(value: JsonObject) -> Coverage:
    kinds = value.get("kinds")
    pairs = kinds.items() if isinstance(kinds, dict) else ()
    return Coverage(
        kinds={
            kind: (_count(counts[0]), _count(counts[1]))
            for kind, counts in pairs
            if isinstance(counts, list) and len(counts) == 2
        },
        added=tuple(_pairs(value.get("added"))),
        left_out=_count(value.get("left_out")),
    )


def _recovery(value: Json) -> Recovery:
    if not isinstance(value, dict):
        return Recovery()
    files = value.get("files")
    return Recovery(
        files=tuple(_file(item) for item in files if isinstance(item, dict))
        if isinstance(files, list)
        else (),
        tools=tuple(_texts(value.get("tools"))),
        variables=tuple(_pairs(value.get("variables"))),
        cells=_count(value.get("cells")),
    )


def _file(value: JsonObject) -> RecoveredFile:
    return RecoveredFile(
        path=str(value.get("path") or ""),
        tokens=_count(value.get("tokens")),
        changed=value.get("changed") is True,
        note=str(value.get("note") or ""),
    )


def _pairs(value: Json) -> Iterator[tuple[str, str]]:
    for item in value if isinstance(value, list) else ():
        texts = tuple(_texts(item))
        if len(texts) == 2:
            yield texts[0], texts[1]


def _texts(value: Json) -> Iterator[str]:
    yield from (item for item in (value if isinstance(value, list) else ()) if type(item) is str)


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
