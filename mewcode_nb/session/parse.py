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
    if kind == "message":
        try:
            return _message(value)
        except _MissingError as error:
            return UnknownRecord(
                _Source(value).number("ts"), kind, value, f"{kind} record: {error}"
            )
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
        value = self.get(key, default)
        return value if isinstance(value, str) else default

    def needed(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise _MissingError(f"no {key}")
        return value

    def number(self, key: str) -> float:
        value = self.get(key)
        if type(value) is float and _BEFORE < value < _BEYOND:  # nearly always
            return value
        if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
            return 0.0
        return float(value) if abs(value) < _BEYOND else 0.0

    def count(self, key: str) -> int:
        value = self.get(key)
        if type(value) is int:  # nearly always
            return value if abs(value) < _BEYOND else 0
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


def _message(value: JsonObject) -> MessageRecord:
    """As `_odd_message`, in a third of the time where each field has the type that we write."""
    get = value.get
    ts, identity, role, content = get("ts"), get("id"), get("role"), get("content")
    origin, turn, stop = get("origin"), get("turn", 0), get("stop_reason", "")
    model, answer, cell, usage = get("model", ""), get("message_id", ""), get("cell"), get("usage")
    if (
        type(ts) is float
        and type(turn) is int
        and type(identity) is type(role) is type(origin) is type(stop) is type(model) is str
        and type(answer) is str
        and type(content) is list
        and _BEFORE < ts < _BEYOND
        and _BEFORE < turn < _BEYOND
        and role in _ROLES
        and origin in _ORIGINS
    ):
        return _new_message(
            ts,
            identity,
            role,
            _blocks(content),
            origin,
            turn,
            None if cell is None else _cell(cell),
            None if usage is None else _usage(usage),
            stop or None,
            model,
            answer,
            get("incomplete") is True,
            {} if value.keys() <= _MESSAGE_KEYS else _Source(value).rest(MessageRecord),
        )
    return _odd_message(_Source(value))


def _odd_message(source: _Source) -> MessageRecord:
    role = source.needed("role")
    if role not in _ROLES:
        raise _MissingError(f"unknown role {role[:40]!r}")
    origin = source.text("origin")
    fallback = "assistant" if role == "assistant" else "user"
    return _new_message(
        source.number("ts"),
        source.text("id"),
        role,
        _blocks(source.get("content")),
        origin if origin in _ORIGINS else fallback,
        source.count("turn"),
        _cell(source.get("cell")),
        _usage(source.get("usage")),
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
    # Most messages are one block.
    return (sound_block(content[0]),) if len(content) == 1 else (*map(sound_block, content),)


def _cell(value: Json) -> Cell | None:
    if not isinstance(value, dict):
        return None
    source = _Source(value)
    return _new_cell(source.text("id"), source.text("sha256"))


def _usage(value: Json) -> Usage | None:
    if not isinstance(value, dict):
        return None
    get = value.get
    fresh, written = get("input_tokens", 0), get("cache_creation_input_tokens", 0)
    read, said = get("cache_read_input_tokens", 0), get("output_tokens", 0)
    if type(fresh) is type(written) is type(read) is type(said) is int:
        total = fresh + written + read + said
        if fresh >= 0 <= written and read >= 0 <= said and total < _BEYOND:
            return _new_usage(fresh, written, read, said)
    source = _Source(value)
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
        usage=_usage(source.get("usage")),
        model=source.text("model"),
        stats=source.object("stats") or {},
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
    get = source.get
    ts, path, sha256, mtime = get("ts"), get("path"), get("sha256", ""), get("mtime", 0.0)
    size = get("bytes", 0)
    if (
        type(ts) is type(mtime) is float
        and type(path) is type(sha256) is str
        and type(size) is int
        and _BEFORE < ts < _BEYOND
        and _BEFORE < mtime < _BEYOND
        and _BEFORE < size < _BEYOND
    ):
        return _new_read(ts, path, sha256, mtime, size, source.rest(ReadRecord))
    return _new_read(
        source.number("ts"),
        source.needed("path"),
        source.text("sha256"),
        source.number("mtime"),
        source.count("bytes"),
        source.rest(ReadRecord),
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
    return _new_variable(
        source.text("name"),
        source.text("type"),
        tuple([n for n in numbers if isinstance(n, int)]) if shape is not None else None,
        source.count("size") if source.get("size") is not None else None,
        source.text("fingerprint"),
        source.text("cell"),
        source.text("cell_sha256"),
        source.count("cell_count") if source.get("cell_count") is not None else None,
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
_new_cell = quick_maker(Cell)
_new_read = quick_maker(ReadRecord)
_new_variable = quick_maker(Variable)
_BEYOND, _BEFORE = 1e15, -1e15  # any date, size or count
_ROLES = frozenset(get_args(Role))
_ORIGINS = frozenset(get_args(Origin))
_MESSAGE_KEYS = _KNOWN[MessageRecord]
_PARSERS: Mapping[str, Callable[[_Source], Record]] = {
    "session": _session,
    "spill": _spill,
    "compact": _compact,
    "uncompact": _uncompact,
    "rewind": _rewind,
    "read": _read,
    "namespace": _namespace,
    "meta": _meta,
}
