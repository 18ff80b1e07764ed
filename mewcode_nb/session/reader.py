"""Reading a session file whatever has happened to it: every line judged on its own.

Lines end at the newline only: other line ends are ordinary characters inside JSON. A line that is
damaged is searched for whole records: after the stump of a torn write, between runs of zero bytes a
crash left behind. What could not be saved is reported by line number. The file is only ever read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from mewcode_nb.blocks import clean_json
from mewcode_nb.errors import SessionError, SessionNotFound
from mewcode_nb.messages import Json, JsonObject
from mewcode_nb.session.parse import from_json
from mewcode_nb.session.quick import quick_maker
from mewcode_nb.session.records import (
    LINE_LIMIT,
    Damage,
    PlacedRecord,
    Record,
    UnknownRecord,
)

__all__ = ["LogContents", "open_log", "read_line", "read_log", "scan_log", "sound_records"]

_CHUNK = 1024 * 1024
_BUFFER = 32 * 1024  # a few dozen lines for each call of the system
_BOM = b"\xef\xbb\xbf"
_RECORD_START = re.compile(r'\{\s*"(?:type|role|ts)"\s*:')
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_DEEP_COST = 64 * 1024  # what a failure by nesting counts for: it tells no position


@dataclass(frozen=True, slots=True)
class LogContents:
    """All that a file holds."""

    records: tuple[PlacedRecord, ...]
    damage: tuple[Damage, ...]


def read_log(path: Path) -> LogContents:
    """The file's records in order and its damage.

    Raises SessionNotFound when there is no such file, SessionError when it cannot be read.
    """
    damage: list[Damage] = []
    with open_log(path) as handle:
        records = tuple(sound_records(scan_log(handle), damage))
    return LogContents(records, tuple(damage))


@contextmanager
def open_log(path: Path) -> Iterator[BinaryIO]:
    """The file, opened to be read; what goes wrong meanwhile is raised as by `read_log`."""
    try:
        with path.open("rb", _BUFFER) as handle:
            yield handle
    except FileNotFoundError as error:
        raise SessionNotFound(
            f"no session file at {path}", remedy="look in .mewcode/sessions"
        ) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SessionError(f"cannot read {path}: {reason}", remedy="check the file") from error


def scan_log(
    handle: BinaryIO, known: Record | None = None, known_at: int = -1
) -> Iterator[PlacedRecord | Damage]:
    """Records and damage as they come; holds one line at a time, and none over `LINE_LIMIT`.

    Begins where the handle stands; lines are counted from there. `known` is what `read_line` made
    of the line at offset `known_at`, which is not read a second time.
    """
    offset, number = handle.tell(), 0
    while line := handle.readline(LINE_LIMIT + 1):
        number += 1
        record = known if offset == known_at else _plain_record(line)
        if record is not None:
            yield _placed(record, offset, number)
            offset += len(line)
            continue
        size = len(line) + _skip_rest(handle, line)
        for item in _examined(line, number, size, marked=offset == 0):
            yield item if isinstance(item, Damage) else _placed(item, offset, number)
        offset += size


def sound_records(
    items: Iterable[PlacedRecord | Damage], damage: list[Damage]
) -> Iterator[PlacedRecord]:
    """The records as they come; what is damaged on the way is added to `damage`."""
    for item in items:
        if isinstance(item, Damage):
            damage.append(item)
        else:
            yield item


def read_line(handle: BinaryIO, offset: int) -> Record | None:
    """The record whose line begins at `offset`; None where that line is not one sound record."""
    handle.seek(offset)
    line = handle.readline(LINE_LIMIT + 1)
    record = _plain_record(line)
    if record is not None:
        return record
    items = tuple(_examined(line, 1, len(line), marked=offset == 0))
    found = items[0] if len(items) == 1 else None
    return None if isinstance(found, Damage) else found


def _skip_rest(handle: BinaryIO, line: bytes) -> int:
    """Go to the end of a line that is too long; the bytes gone over."""
    skipped = 0
    if _is_too_long(line):
        while part := handle.readline(_CHUNK):
            skipped += len(part)
            if part.endswith(b"\n"):
                break
    return skipped


def _is_too_long(line: bytes) -> bool:
    return len(line) > LINE_LIMIT and not line.endswith(b"\n")


def _plain_record(line: bytes) -> Record | None:
    """The record of a line with which nothing is amiss, as nearly all are; None for any other."""
    try:
        text = line.decode()
        value, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    if type(value) is not dict or text[end:] not in _LINE_ENDS or len(line) > LINE_LIMIT:
        return None
    if "\\" in text and _SURROGATE_ESCAPE.search(line):
        return None
    record = from_json(value)
    return None if isinstance(record, UnknownRecord) else record


def _examined(line: bytes, number: int, size: int, *, marked: bool) -> Iterable[Record | Damage]:
    """What is in a line of that many bytes that is not plain; `marked`: it may have a mark."""
    if _is_too_long(line):
        return (Damage(number, f"{size} bytes, more than the limit of {LINE_LIMIT}"),)
    return _judge(line.rstrip(b"\n").removeprefix(_BOM if marked else b""), number)


def _judge(line: bytes, number: int) -> Iterable[Record | Damage]:
    if not line.strip():
        return ()
    try:
        record = _record(_decoded(line), cleaned=not _SURROGATE_ESCAPE.search(line))
    except _BadLineError as error:
        return _salvage(line, number, str(error))
    if isinstance(record, UnknownRecord) and record.reason:
        return (record, Damage(number, record.reason))
    return (record,)


class _BadLineError(ValueError):
    """The line is not one JSON object as our writer writes them."""


def _decoded(line: bytes) -> Json:
    try:
        return cast("Json", _DECODER.decode(line.decode()))
    except UnicodeDecodeError as error:
        raise _BadLineError("not UTF-8, perhaps cut inside a character") from error
    except RecursionError as error:
        raise _BadLineError("nested too deeply") from error
    except json.JSONDecodeError as error:
        raise _BadLineError(f"not JSON at character {error.pos + 1}") from error
    except ValueError as error:
        raise _BadLineError(str(error).partition(";")[0]) from error


def _record(value: Json, *, cleaned: bool) -> Record:
    if not isinstance(value, dict):
        raise _BadLineError("not a JSON object")
    return from_json(value if cleaned else cast("JsonObject", clean_json(value)))


def _salvage(line: bytes, number: int, reason: str) -> Iterable[Record | Damage]:
    zeros = line.count(0)
    found = [record for part in re.split(rb"\x00+", line) for record in _whole_records(part)]
    cause = f"{zeros} zero bytes" if zeros else reason
    return (*found, Damage(number, cause, len(found)))


def _whole_records(part: bytes) -> Iterator[Record]:
    """Whole records inside damaged text, looked for in time linear in its length."""
    text = part.decode("utf-8", "replace")
    entries = not text.lstrip().startswith('{"type":')
    budget = 4 * len(text) + 1024 * 1024
    position = 0
    while budget > 0 and (start := _RECORD_START.search(text, position)):
        value, position, cost = _value_at(text, start.start())
        budget -= cost
        record = None if value is None else _known_record(value, entries=entries)
        if record is not None:
            yield record


def _value_at(text: str, start: int) -> tuple[JsonObject | None, int, int]:
    """The object that begins at `start`, where to look next, and the characters looked at."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return None, start + 1, error.pos - start + 1
    except (ValueError, RecursionError):
        return None, start + 1, _DEEP_COST
    return value, end, end - start


def _known_record(value: JsonObject, *, entries: bool) -> Record | None:
    """The object as a record, or None for a block or another part of one.

    An object that only has a role may be the argument of a tool call: it counts as an entry of the
    Go program only where the line does not begin as a record of ours.
    """
    if "type" in value and not isinstance(value.get("ts"), (int, float)):
        return None
    if "type" not in value and not entries:
        return None
    record = from_json(cast("JsonObject", clean_json(value)))
    return None if isinstance(record, UnknownRecord) else record


def _unique(pairs: list[tuple[str, Json]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return value


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON number")


_placed = quick_maker(PlacedRecord)
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_decode = _DECODER.raw_decode
_LINE_ENDS = frozenset({"\n", ""})
