"""Which entries of a Claude Code transcript are the conversation, in which order.

Entries form a tree by `uuid` and `parentUuid`; the conversation is the way back from the newest
leaf. A compaction is a boundary entry without a parent, a summary below it, and the kept entries,
which stay where they were written and are only named. Pure: entries in, stretches out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mewcode_nb.messages import Json, JsonObject

__all__ = ["Chain", "Entry", "Stretch", "stretches"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that has a `uuid`; `line` counted from 1."""

    uuid: str
    parent: str
    kind: str
    raw: JsonObject
    line: int

    @property
    def message(self) -> JsonObject:
        """The message as the API has it; empty where there is none."""
        value = self.raw.get("message")
        return value if isinstance(value, dict) else {}

    @property
    def is_boundary(self) -> bool:
        """Whether a compaction begins here."""
        return self.kind == "system" and self.raw.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        """Whether it is what a compaction put in the place of the older entries."""
        return self.raw.get("isCompactSummary") is True


@dataclass(frozen=True, slots=True)
class Stretch:
    """Entries between two compactions, oldest first; `kept` are uuids of earlier entries."""

    boundary: Entry | None
    entries: tuple[Entry, ...]
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Chain:
    """The conversation as stretches, oldest first, and remarks about broken links."""

    stretches: tuple[Stretch, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a compaction kept: its boundary, the uuids in order, what they follow."""

    boundary: Entry
    uuids: tuple[str, ...]
    anchor: str


def stretches(entries: Mapping[str, Entry]) -> Chain:
    """The conversation that the newest leaf ends; `entries` by uuid, side chains left out."""
    walk = _Walk(entries, tuple(_kept_parts(entries)))
    return walk.run()


@dataclass(slots=True)
class _Walk:
    entries: Mapping[str, Entry]
    kept: Sequence[_Kept]
    notes: list[str] = field(default_factory=list)

    def run(self) -> Chain:
        parts: list[Stretch] = []
        start, limit = _leaf(self.entries.values()), 1 << 62
        while start is not None:
            found, kept = self._stretch(start, limit)
            boundary = found[0] if found and found[0].is_boundary else None
            parts.append(Stretch(boundary, tuple(found[bool(boundary) :]), frozenset(kept)))
            if boundary is None or boundary.line >= limit:  # a file whose links lead in a circle
                break
            start, limit = self._before(boundary), boundary.line
        return Chain(tuple(reversed(parts)), tuple(self.notes))

    def _stretch(self, start: Entry, limit: int) -> tuple[list[Entry], set[str]]:
        """Entries from the boundary, or the very beginning, to `start`."""
        backwards: list[Entry] = []
        seen: set[str] = set()
        named: set[str] = set()
        current: Entry | None = start
        child = Entry("", start.uuid, "", {}, limit)
        while current is not None and current.uuid not in seen:
            part = self._kept_at(child, current, limit, seen)
            if part is not None:
                kept = [self.entries[uuid] for uuid in part.uuids if uuid not in seen]
                backwards += reversed(kept)
                named |= set(part.uuids)
                seen |= set(part.uuids)
                current = self.entries[part.anchor]
            if current.uuid in seen:
                break
            seen.add(current.uuid)
            backwards.append(current)
            if current.is_boundary:
                break
            child, current = current, self._parent(current)
        return backwards[::-1], named

    def _kept_at(self, child: Entry, parent: Entry, limit: int, seen: set[str]) -> _Kept | None:
        """The kept part between the two: a link to its anchor or its end leads to it."""
        for part in self.kept:
            later = part.boundary.line < child.line and part.boundary.line < limit
            joins = parent.uuid == part.anchor or parent.uuid == part.uuids[-1]
            if later and joins and child.uuid not in part.uuids and part.uuids[0] not in seen:
                return part
        return None

    def _parent(self, entry: Entry) -> Entry | None:
        if not entry.parent:
            return None
        found = self.entries.get(entry.parent)
        if found is not None:
            return found
        before = _latest(item for item in self.entries.values() if item.line < entry.line)
        if before is not None:
            self.notes.append(
                f"line {entry.line}: its parent is missing; joined to line {before.line}"
            )
        return before

    def _before(self, boundary: Entry) -> Entry | None:
        logical = boundary.raw.get("logicalParentUuid")
        if isinstance(logical, str) and logical in self.entries:
            return self.entries[logical]
        return _latest(item for item in self.entries.values() if item.line < boundary.line)


def _leaf(entries: Iterable[Entry]) -> Entry | None:
    """The newest entry of the conversation that no other follows: the file is only appended to."""
    items = list(entries)
    parents = {item.parent for item in items if item.kind in {"user", "assistant"}}
    said = [item for item in items if item.kind in {"user", "assistant"}]
    return _latest(item for item in said if item.uuid not in parents) or _latest(said)


def _latest(entries: Iterable[Entry]) -> Entry | None:
    return max(entries, key=lambda item: item.line, default=None)


def _kept_parts(entries: Mapping[str, Entry]) -> Iterator[_Kept]:
    """By boundary, the latest first."""
    boundaries = [entry for entry in entries.values() if entry.is_boundary]
    for boundary in sorted(boundaries, key=lambda item: -item.line):
        details = _object(boundary.raw.get("compactMetadata"))
        segment = _object(details.get("preservedSegment"))
        uuids = _kept_uuids(entries, details, segment)
        anchor = segment.get("anchorUuid")
        if not isinstance(anchor, str) or anchor not in entries:
            anchor = _summary_of(entries, boundary)
        if uuids:
            yield _Kept(boundary, uuids, anchor)


def _kept_uuids(
    entries: Mapping[str, Entry], details: JsonObject, segment: JsonObject
) -> tuple[str, ...]:
    listed = _object(details.get("preservedMessages")).get("uuids")
    if isinstance(listed, list):
        return tuple(uuid for uuid in listed if isinstance(uuid, str) and uuid in entries)
    head, uuid = segment.get("headUuid"), segment.get("tailUuid")
    found: list[str] = []
    while isinstance(uuid, str) and uuid in entries and uuid not in found:
        found.append(uuid)
        if uuid == head:
            return tuple(reversed(found))
        uuid = entries[uuid].parent
    return ()


def _summary_of(entries: Mapping[str, Entry], boundary: Entry) -> str:
    below = (e.uuid for e in entries.values() if e.is_summary and e.parent == boundary.uuid)
    return next(below, boundary.uuid)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
