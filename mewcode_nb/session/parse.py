"""From the JSON object on a line to a record: forgiving, and never at a loss.

A field of the wrong type counts as absent, an unknown one is kept, and a record that lacks what it
cannot do without comes back unknown and raw, with the reason, for the reader to report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import get_args

from mewcode_nb.blocks import sound_block
from mewcode_nb.events import Usage
from mewcode_nb.messages import Block, Json, JsonObject, Origin, Role
from mewcode_nb.session.legacy import legacy_message
from mewcode_nb.session.quick import quick_maker
from mewcode_nb.session.records import (
    Cell,
    CompactRecord,
    Git,
    LegacyCompact,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    Parent,
    ReadRecord,
    Record,
    RewindRecord,
    Section,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    UnknownRecord,
    Variable,
)

__all__ = ["from_json"]


def from_json(value: JsonObject) -> Record:
    """The object as a record; never raises. What it cannot be read as comes back unknown, raw."""
    kind = value.get("type")
    source = _Source(value)
    if not kind:
        message = legacy_message(value, source.number("ts"))
        return message or UnknownRecord(source.number("ts"), "", value, "no record type")
    parse = _PARSERS.get(kind) if isinstance(kind, str) else None
    if parse is None:
        return UnknownRecord(source.number("ts"), str(kind), value)
    try:
        return parse(source)
    except _MissingError as error:
        return UnknownRecord(source.number("ts"), str(kind), value, f"{kind} record: {error}")


class _MissingError(ValueError):
    """A record lacks what it cannot do without."""


class _Source:
    """Typed, forgiving access to the fields of an object."""

    __slots__ = ("_value", "get")

    def __init__(self, value: JsonObject) -> None:
        self._value = value
        self.get = value.get

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def text(self, key: str, default: str = "") -> str:
        value = self.get(key)
        return value if isinstance(value, str) else default

    def needed(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise _MissingError(f"no {key}")
        return value

    def number(self, key: str) -> float:
        value = self.get(key)
        if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
            return 0.0
        return float(value) if abs(value) < 1e15 else 0.0  # beyond any date, size or count

    def count(self, key: str) -> int:
        value = self.get(key)
        if type(value) is int:  # nearly always
            return value if abs(value) < 1e15 else 0
        return int(self.number(key))

    def object(self, key: str) -> JsonObject | None:
        value = self.get(key)
        return value if isinstance(value, dict) else None

    def inner(self, key: str) -> _Source | None:
        value = self.object(key)
        return None if value is None else _Source(value)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(item for item in self.list(key) if isinstance(item, str))

    def list(self, key: str) -> list[Json]:
        value = self.get(key)
        return value if isinstance(value, list) else []

    def rest(self, kind: type) -> JsonObject:
        """What is not a field of that class of records."""
        known = _KNOWN[kind]
        if self._value.keys() <= known:
            return {}
        return {key: item for key, item in self._value.items() if key not in known}


def _session(source: _Source) -> SessionRecord:
    parent, git = source.inner("parent"), source.inner("git")
    return SessionRecord(
        ts=source.number("ts"),
        id=source.needed("id"),
        v=source.count("v"),
        notebook=source.text("notebook"),
        project=source.text("project"),
        model=source.text("model"),
        parent=Parent(parent.text("id"), parent.text("at")) if parent else None,
        git=Git(git.text("branch"), git.text("head")) if git else None,
        extra=source.rest(SessionRecord),
    )


def _message(source: _Source) -> MessageRecord:
    role = source.needed("role")
    if role not in _ROLES:
        raise _MissingError(f"unknown role {role[:40]!r}")
    origin = source.text("origin")
    fallback = "assistant" if role == "assistant" else "user"
    cell = source.inner("cell")
    return _new_message(
        source.number("ts"),
        source.text("id"),
        role,
        _blocks(source.get("content")),
        origin if origin in _ORIGINS else fallback,
        source.count("turn"),
        Cell(cell.text("id"), cell.text("sha256")) if cell else None,
        _usage(source.inner("usage")),
        source.text("stop_reason") or None,
        source.text("model"),
        source.text("message_id"),
        source.get("incomplete") is True,
        source.rest(MessageRecord),
    )


def _blocks(content: Json) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (sound_block(content),)
    if not isinstance(content, list):
        raise _MissingError("no content")
    return tuple([sound_block(part) for part in content])


def _usage(source: _Source | None) -> Usage | None:
    if source is None:
        return None
    return _new_usage(
        source.count("input_tokens"),
        source.count("cache_creation_input_tokens"),
        source.count("cache_read_input_tokens"),
        source.count("output_tokens"),
    )


def _spill(source: _Source) -> SpillRecord:
    return SpillRecord(
        ts=source.number("ts"),
        tool_use_id=source.needed("tool_use_id"),
        path=source.needed("path"),
        bytes=source.count("bytes"),
        sha256=source.text("sha256"),
        preview=source.needed("preview"),
        target=source.text("target", "result"),
        extra=source.rest(SpillRecord),
    )


def _compact(source: _Source) -> CompactRecord | LegacyCompact:
    if "summary" not in source:
        return LegacyCompact(source.number("ts"))
    has_offset = isinstance(source.get("offset"), int)
    return CompactRecord(
        ts=source.number("ts"),
        id=source.needed("id"),
        trigger=source.text("trigger"),
        summary=_sections(source.get("summary")),
        attachment=source.text("attachment"),
        keep=source.texts("keep"),
        focus=source.text("focus"),
        before=source.count("before"),
        after=source.count("after"),
        coverage=source.object("coverage") or {},
        checkpoint=source.object("checkpoint") or {},
        offset=source.count("offset") if has_offset else None,
        extra=source.rest(CompactRecord),
    )


def _sections(summary: Json) -> tuple[Section, ...]:
    if not isinstance(summary, list):
        raise _MissingError("the summary is not a list of sections")
    parts = [_Source(part) for part in summary if isinstance(part, dict)]
    return tuple(Section(part.text("title"), part.text("text")) for part in parts)


def _uncompact(source: _Source) -> UncompactRecord:
    return UncompactRecord(
        source.number("ts"), source.needed("compact"), source.rest(UncompactRecord)
    )


def _rewind(source: _Source) -> RewindRecord:
    return RewindRecord(source.number("ts"), source.needed("to"), source.rest(RewindRecord))


def _read(source: _Source) -> ReadRecord:
    return ReadRecord(
        ts=source.number("ts"),
        path=source.needed("path"),
        sha256=source.text("sha256"),
        mtime=source.number("mtime"),
        bytes=source.count("bytes"),
        extra=source.rest(ReadRecord),
    )


def _namespace(source: _Source) -> NamespaceRecord:
    return NamespaceRecord(
        ts=source.number("ts"),
        turn=source.count("turn"),
        created=_variables(source.list("created")),
        changed=_variables(source.list("changed")),
        removed=source.texts("removed"),
        used=_variables(source.list("used")),
        extra=source.rest(NamespaceRecord),
    )


def _variables(items: list[Json]) -> tuple[Variable, ...]:
    sources = [_Source(item) for item in items if isinstance(item, dict)]
    return tuple(_variable(source) for source in sources)


def _variable(source: _Source) -> Variable:
    shape = source.get("shape")
    numbers = shape if isinstance(shape, list) else []
    return Variable(
        name=source.text("name"),
        type=source.text("type"),
        shape=tuple(n for n in numbers if isinstance(n, int)) if shape is not None else None,
        size=source.count("size") if source.get("size") is not None else None,
        fingerprint=source.text("fingerprint"),
        cell=source.text("cell"),
        cell_sha256=source.text("cell_sha256"),
        cell_count=source.count("cell_count") if source.get("cell_count") is not None else None,
    )


def _meta(source: _Source) -> MetaRecord:
    return MetaRecord(source.number("ts"), source.rest(MetaRecord))


_KNOWN: Mapping[type, frozenset[str]] = {
    kind: frozenset({"type", *(item.name for item in fields(kind))} - {"extra", "facts"})
    for kind in (
        *(SessionRecord, MessageRecord, SpillRecord, CompactRecord, UncompactRecord),
        *(RewindRecord, ReadRecord, NamespaceRecord, MetaRecord),
    )
}
_new_message = quick_maker(MessageRecord)
_new_usage = quick_maker(Usage)
_ROLES = frozenset(get_args(Role))
_ORIGINS = frozenset(get_args(Origin))
_PARSERS: Mapping[str, Callable[[_Source], Record]] = {
    "session": _session,
    "message": _message,
    "spill": _spill,
    "compact": _compact,
    "uncompact": _uncompact,
    "rewind": _rewind,
    "read": _read,
    "namespace": _namespace,
    "meta": _meta,
}
