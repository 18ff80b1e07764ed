"""The lines of a session file: one frozen class for each record type, and their JSON.

This is the format, so it only grows: a field that is not known here is kept in `extra`, a type that
is not known is kept raw, and nothing that was ever written is refused. `docs/formats.md` shows each
type with an example line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import TypeAlias, cast

from mewcode_nb.blocks import MAX_DEPTH, clean_json
from mewcode_nb.events import Usage
from mewcode_nb.messages import Block, Json, JsonObject, Origin, Role

__all__ = [
    "FORMAT_VERSION",
    "LINE_LIMIT",
    "Cell",
    "CompactRecord",
    "Damage",
    "Git",
    "LegacyCompact",
    "MessageRecord",
    "MetaRecord",
    "NamespaceRecord",
    "Parent",
    "PlacedRecord",
    "ReadRecord",
    "Record",
    "RewindRecord",
    "Section",
    "SessionRecord",
    "SpillRecord",
    "UncompactRecord",
    "UnknownRecord",
    "Variable",
    "to_json",
    "to_line",
]

FORMAT_VERSION = 1
LINE_LIMIT = 32 * 1024 * 1024
"""The longest line in bytes, written or read: the Messages API takes no larger request."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The session this one was forked from, and the id of the last message it shares."""

    id: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Git:
    """Where the repository stood when the session began."""

    branch: str = ""
    head: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """The notebook cell a prompt came from; `sha256` of its text, in hexadecimal."""

    id: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a summary; an empty title for words that stand without a heading."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in the user's namespace after a turn; `size` in bytes."""

    name: str
    type: str = ""
    shape: tuple[int, ...] | None = None
    size: int | None = None
    fingerprint: str = ""
    cell: str = ""
    """The id of the cell that defined it; empty where the front end tells none."""
    cell_sha256: str = ""
    """Of that cell's text, in hexadecimal."""
    cell_count: int | None = None
    """The number that cell ran under."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The first line. `ts` on this and every record in seconds since 1970."""

    ts: float
    id: str
    v: int = FORMAT_VERSION
    notebook: str = ""
    project: str = ""
    model: str = ""
    parent: Parent | None = None
    git: Git | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message, whole. `incomplete` marks an answer that was interrupted or broken off."""

    ts: float
    id: str
    role: Role
    content: tuple[Block, ...]
    origin: Origin
    turn: int = 0
    cell: Cell | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    model: str = ""
    message_id: str = ""
    """The service's id of the response; usage counts once for each."""
    incomplete: bool = False
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpillRecord:
    """A result moved to a file; `path` is relative to the session folder, `preview` took its place.

    `target` says what of the call or its result was moved; `spilled` tells how.
    """

    ts: float
    tool_use_id: str
    path: str
    bytes: int
    sha256: str
    preview: str
    target: str = "result"
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompactRecord:
    """A compaction in one line: it counts whole or not at all. Sizes in tokens, offset in bytes."""

    ts: float
    id: str
    trigger: str
    summary: tuple[Section, ...]
    attachment: str = ""
    keep: tuple[str, ...] = ()
    """Ids of the messages that stay, word for word but for their thinking."""
    focus: str = ""
    before: int = 0
    after: int = 0
    coverage: JsonObject = field(default_factory=dict)
    checkpoint: JsonObject = field(default_factory=dict)
    offset: int | None = None
    """Where the first kept message's line begins; None where nothing was kept."""
    usage: Usage | None = None
    """What the summary took, all requests for it added up."""
    model: str = ""
    stats: JsonObject = field(default_factory=dict)
    """What a report of it shows beside the rest; nothing depends on it."""
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UncompactRecord:
    """Takes back the compaction of that id."""

    ts: float
    compact: str
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RewindRecord:
    """Everything after message `to` leaves the conversation; empty for the very beginning."""

    ts: float
    to: str
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """What the model has seen of a file, after the message it belongs to; `mtime` in seconds."""

    ts: float
    path: str
    sha256: str
    mtime: float = 0.0
    bytes: int = 0
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamespaceRecord:
    """What a step of a turn did to the user's variables, and which of them its code used."""

    ts: float
    turn: int = 0
    created: tuple[Variable, ...] = ()
    changed: tuple[Variable, ...] = ()
    removed: tuple[str, ...] = ()
    used: tuple[Variable, ...] = ()
    """Those that were there before, as they were after the step."""
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetaRecord:
    """Facts about the session (`title`, `pin`, ...), flat on the line; null removes one."""

    ts: float
    facts: JsonObject


@dataclass(frozen=True, slots=True)
class LegacyCompact:
    """The bare marker of the Go program: the history was written anew after it."""

    ts: float


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A type of a later version, or a known one without what it needs (`reason` says which)."""

    ts: float
    type: str
    raw: JsonObject
    reason: str = ""


Record: TypeAlias = (
    SessionRecord
    | MessageRecord
    | SpillRecord
    | CompactRecord
    | UncompactRecord
    | RewindRecord
    | ReadRecord
    | NamespaceRecord
    | MetaRecord
    | LegacyCompact
    | UnknownRecord
)

_TYPES: Mapping[type, str] = {
    SessionRecord: "session",
    MessageRecord: "message",
    SpillRecord: "spill",
    CompactRecord: "compact",
    UncompactRecord: "uncompact",
    RewindRecord: "rewind",
    ReadRecord: "read",
    NamespaceRecord: "namespace",
}
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
# Valid inside JSON, but line ends to readers that follow Unicode instead of the newline alone.
_OTHER_LINE_ENDS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A record and where it stands: `offset` of its line in bytes, `line` counted from 1."""

    record: Record
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that was not one sound record, why, and how many records were found in it."""

    line: int
    reason: str
    recovered: int = 0

    def __str__(self) -> str:
        saved = f"; {self.recovered} recovered" if self.recovered else ""
        return f"line {self.line}: {self.reason}{saved}"


def to_json(record: Record) -> JsonObject:
    """The record as a JSON object, its type first; optional fields that say nothing are left out.

    `type` leads every line, so that one kind of record can be looked for without parsing the rest.
    """
    if isinstance(record, UnknownRecord):
        return record.raw
    if isinstance(record, LegacyCompact):
        return {"type": "compact", "ts": record.ts}
    if isinstance(record, MetaRecord):
        return _with({"type": "meta", "ts": record.ts}, record.facts)
    value: JsonObject = {"type": _TYPES[type(record)], "ts": record.ts}
    value.update(_spoken_fields(record))
    return _with(value, record.extra)


def to_line(record: Record) -> bytes:
    """The record as one line of UTF-8 that ends in its only newline.

    Lone surrogates become U+FFFD, NaN null; raises ValueError when the line is over `LINE_LIMIT`.
    """
    value = to_json(record)
    try:
        line = _encode(value)
    except (ValueError, RecursionError):
        line = _encode(cast("JsonObject", clean_json(value)))
    # What opens fewer lists and objects than that cannot be nested deeper: most lines are done.
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and _too_deep(value):
        line = _encode(cast("JsonObject", clean_json(value)))
    if len(line) > LINE_LIMIT:
        raise ValueError(f"a record of {len(line)} bytes is over the limit of {LINE_LIMIT}")
    return line


def _with(value: JsonObject, more: JsonObject) -> JsonObject:
    for key, item in more.items():
        value.setdefault(key, item)
    return value


def _encode(value: JsonObject) -> bytes:
    text = _ENCODER.encode(value)
    if not text.isascii():
        for char, escape in _OTHER_LINE_ENDS.items():
            text = text.replace(char, escape)
    return text.encode() + b"\n"


def _too_deep(value: JsonObject) -> bool:
    level: list[JsonObject | list[Json]] = [value]
    for _ in range(MAX_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for items in inner for child in items if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _spoken_fields(record: object) -> Iterator[tuple[str, Json]]:
    for name, default in _layout(type(record)):  # type: ignore[arg-type]
        value = getattr(record, name)
        if value != default:
            yield name, value if type(value) in _SIMPLE else _plain(value)


@cache
def _layout(kind: type) -> tuple[tuple[str, object], ...]:
    """Names of the fields that are written, each with the value at which it is left out."""
    return tuple(
        (item.name, _ALWAYS if item.name == "v" else _default(item))
        for item in fields(kind)
        if item.name not in {"ts", "extra"}
    )


def _default(item: Field[object]) -> object:
    return item.default_factory() if callable(item.default_factory) else item.default


def _plain(value: object) -> Json:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if type(value) not in _SIMPLE and is_dataclass(value):
        return dict(_spoken_fields(value))
    return cast("Json", value)


_ALWAYS = object()
_SIMPLE = frozenset({str, int, float, bool, dict})
