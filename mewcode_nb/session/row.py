"""A session's row for lists, from its folder: the head of its log and what `load` makes of its end.

Whatever stands in the folder, a row comes of it: one that cannot be read says why. As text a row is
a JSON list, for the index and for the trash.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from mewcode_nb.errors import SessionError
from mewcode_nb.events import Usage
from mewcode_nb.session.info import PROMPT_LENGTH, SessionInfo
from mewcode_nb.session.load import load
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.naming import time_in_name
from mewcode_nb.session.quick import quick_maker
from mewcode_nb.session.reader import scan_log, sound_records
from mewcode_nb.session.records import (
    Damage,
    MessageRecord,
    Parent,
    PlacedRecord,
    SessionRecord,
)
from mewcode_nb.session.replay import fold
from mewcode_nb.session.turns import prompt_text

if TYPE_CHECKING:
    from mewcode_nb.session.replay import SessionState

__all__ = [
    "Row",
    "Stamp",
    "folder_size",
    "info_from_text",
    "info_to_text",
    "read_row",
    "stamp_of",
    "with_cells",
]

_HEAD_BYTES = 256 * 1024
_HEAD_RECORDS = 64
_ZERO_BYTES = 64 * 1024


class Stamp(NamedTuple):
    """A log as the file system sees it; a change of it means that the row is no longer true."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Row:
    """A session's row and the state of the log that it was read at."""

    info: SessionInfo
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class _Head:
    """What the beginning of a log tells."""

    first: object = None
    header: SessionRecord | None = None
    prompt: MessageRecord | None = None


def stamp_of(folder: str) -> Stamp | None:
    """The state of the session's log; None where there is none.

    A log that cannot be looked at has a stamp as well, of negative size: it is there.
    """
    try:
        found = os.lstat(f"{folder}/{LOG_NAME}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return Stamp(-1, 0)
    return Stamp(found.st_size, found.st_mtime_ns)


def read_row(folder: Path) -> Row | None:
    """The row of the session in `folder`, `live` not looked at; None where there is no log."""
    stamp = stamp_of(str(folder))
    if stamp is None:
        return None
    info = SessionInfo(
        id=folder.name,
        location=str(folder),
        created=time_in_name(folder.name),
        active=stamp.mtime_ns / 1e9,
        size=folder_size(folder),
    )
    if reason := _obstacle(folder / LOG_NAME):
        return Row(replace(info, damage=reason, readable=False), stamp)
    try:
        return Row(_read(info, *_taken_in(folder, stamp.size)), stamp)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except SessionError as error:
        reason = error.message
    return Row(replace(info, damage=reason, readable=False), stamp)


def folder_size(folder: Path) -> int:
    """Bytes of all files below it, as far as they can be looked at; links are not followed."""
    total, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        with suppress(FileNotFoundError):  # gone since its name was read
                            total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def with_cells(info: SessionInfo, before: SessionInfo) -> SessionInfo:
    """The row, with the cells that an earlier one knew.

    A compaction puts prompts out of sight whose cells still tell the notebook.
    """
    return replace(info, cells=info.cells | before.cells)


def info_to_text(info: SessionInfo) -> str:
    """All of the row but its id, its place and whether it is live."""
    usage, parent = info.usage, info.parent
    values = [
        *(info.title, info.first_prompt, float(info.created), float(info.active), info.model),
        *(info.turns, usage.input_tokens, usage.cache_creation_input_tokens),
        *(usage.cache_read_input_tokens, usage.output_tokens, info.size, info.notebook),
        *(info.project, info.branch, info.pinned, info.damage, info.readable),
        [] if parent is None else [parent.id, parent.at],
        sorted(info.cells),
    ]
    return json.dumps(values, separators=(",", ":"))


def info_from_text(identity: str, location: str, text: str) -> SessionInfo:
    """The row again; raises ValueError for a text that `info_to_text` did not write."""
    values, end = _DECODE(text)
    if end != len(text) or type(values) is not list or [*map(type, values)] != _KINDS:
        raise ValueError("not a session's row")
    parent, cells = values[17:]
    if not {*map(type, parent), *map(type, cells)} <= _TEXT or len(parent) not in {0, 2}:
        raise ValueError("not a session's row")
    return _new_info(
        *(identity, location, *values[:6]),
        _new_usage(*values[6:10]),
        *values[10:15],
        Parent(*parent) if parent else None,
        frozenset(cells),
        False,  # live: nobody has looked
        *values[15:17],
    )


_new_info = quick_maker(SessionInfo)
_new_usage = quick_maker(Usage)
_DECODE = json.JSONDecoder().raw_decode
_TEXT = {str}
_KINDS: list[type] = [
    *(str, str, float, float, str),
    *(int, int, int),
    *(int, int, int, str),
    *(str, str, bool, str, bool),
    *(list, list),
]


def _obstacle(path: Path) -> str:
    """Why there is nothing to be read at all; empty where there may be."""
    try:
        found = path.stat(follow_symlinks=False)
    except OSError as error:
        return error.strerror or type(error).__name__
    if stat.S_ISDIR(found.st_mode):
        return f"{LOG_NAME} is a folder"
    if not stat.S_ISREG(found.st_mode):
        return f"{LOG_NAME} is not a regular file"
    return "" if found.st_size else f"{LOG_NAME} is empty"


def _taken_in(folder: Path, size: int) -> tuple[_Head, SessionState]:
    """How a log of that many bytes begins, and what it adds up to; raises as `load`, and OSError.

    Most logs are so short that both are had from one reading.
    """
    with (folder / LOG_NAME).open("rb") as file:
        if size > _HEAD_BYTES:
            head = _head(_beginning(file))
            return head, load(folder)
        damage: list[Damage] = []
        ahead, records = tee(sound_records(scan_log(file), damage))
        head = _head(ahead)
        del ahead  # or all that is read would be kept for it
        state = fold(records)
    if not damage:
        return head, state
    damage.extend(state.damage)
    return head, replace(state, damage=tuple(sorted(damage, key=lambda item: item.line)))


def _beginning(file: BinaryIO) -> Iterator[PlacedRecord]:
    for count, item in enumerate(scan_log(file)):
        if count >= _HEAD_RECORDS or (count and file.tell() > _HEAD_BYTES):
            break
        if isinstance(item, PlacedRecord):
            yield item


def _head(records: Iterable[PlacedRecord]) -> _Head:
    """The header and the first prompt."""
    first, header, prompt = None, None, None
    for record in (placed.record for placed in records):
        first = first or record
        if isinstance(record, SessionRecord):
            header = header or record
        elif isinstance(record, MessageRecord) and record.origin == "user":
            prompt = record
            break
    return _Head(first, header, prompt)


def _read(info: SessionInfo, head: _Head, state: SessionState) -> SessionInfo:
    header = state.header or head.header
    said = state.records
    first = _first_prompt(head, state)
    if head.first is None and not said and not state.meta:
        return replace(info, damage=_nothing(info, state), readable=False)
    title = state.meta.get("title")
    git = header.git if header else None
    return replace(
        info,
        title=_line(title) if isinstance(title, str) else "",
        first_prompt=_line(prompt_text(first))[:PROMPT_LENGTH] if first else "",
        created=_created(info, header, head),
        active=float(state.last_ts) or info.active,
        model=state.model or (header.model if header else ""),
        turns=state.turns,
        usage=state.usage,
        notebook=header.notebook if header else "",
        project=header.project if header else "",
        branch=git.branch if git else "",
        pinned=bool(state.meta.get("pin")),
        parent=header.parent if header else None,
        cells=frozenset(_cells(*said, *([first] if first else []))),
        damage=_damage(header, head, state),
    )


def _first_prompt(head: _Head, state: SessionState) -> MessageRecord | None:
    """The head's, unless a rewind left it: then the first of the conversation, if it has one.

    A compaction, the Go program's too (whose messages have no id), leaves no prompt of the
    beginning in the conversation, but it is still its own.
    """
    said = next((record for record in state.records if record.origin == "user"), None)
    complete = head.prompt is not None and head.prompt.id and not state.compactions
    return said if said and complete else head.prompt or said


def _cells(*records: MessageRecord) -> Iterator[str]:
    return (record.cell.id for record in records if record.cell and record.cell.id)


def _created(info: SessionInfo, header: SessionRecord | None, head: _Head) -> float:
    if header:
        return float(header.ts)
    return info.created or (float(head.prompt.ts) if head.prompt else 0.0)


def _damage(header: SessionRecord | None, head: _Head, state: SessionState) -> str:
    old = isinstance(head.first, MessageRecord) and not head.first.id
    reasons = [] if header or old else ["its header is missing"]
    if state.damage:
        lines = len(state.damage)
        noun = "line is" if lines == 1 else "lines are"
        reasons.append(f"{lines} {noun} damaged ({state.damage[0]})")
    return "; ".join(reasons)


def _nothing(info: SessionInfo, state: SessionState) -> str:
    try:
        with (Path(info.location) / LOG_NAME).open("rb") as file:
            if not file.read(_ZERO_BYTES).strip(b"\0"):
                return f"{LOG_NAME} holds nothing but zero bytes"
    except OSError as error:
        return error.strerror or type(error).__name__
    return f"no record can be read ({state.damage[0]})" if state.damage else "no record in it"


def _line(text: str) -> str:
    """On one line."""
    return " ".join(text[: 8 * PROMPT_LENGTH].split())
