"""Full-text search over sessions: the files are read line by line, newest session first.

Searched is what was said: prompts, answers, what tools were given and what they returned (as the
model saw it: a result that was moved to a file counts with its preview), summaries and titles; also
what a compaction replaced and what a rewind left behind. Reasoning and our own reminders are not.
Most lines are ruled out as bytes, before anything is parsed, so no index is needed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from mewcode_nb.errors import SessionError
from mewcode_nb.messages import Json, block_text, is_tool_use
from mewcode_nb.prompt import is_reminder
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.load import load
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.query import Match, Query, parse_query
from mewcode_nb.session.reader import scan_log
from mewcode_nb.session.records import (
    LINE_LIMIT,
    CompactRecord,
    MessageRecord,
    PlacedRecord,
    Record,
)
from mewcode_nb.session.replay import summary_message

__all__ = ["Hit", "Progress", "search", "search_session"]

_NUMBERED_BYTES = 16 * 1024 * 1024
"""Of a larger session the hits carry no numbers: to know them it would have to be read whole."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One message, summary or title that holds all words of the query."""

    info: SessionInfo
    match: Match
    message_id: str = ""
    """Empty for a title."""
    number: int = 0
    """The message's number in the conversation as it stands, which `--at` takes; 0 where it has
    none: it was compacted or rewound away, or the session is too big to count."""
    role: str = ""
    origin: str = ""
    """`user`, `assistant`, `tool`, `summary` or `title`."""
    turn: int = 0
    ts: float = 0.0
    """Seconds since 1970."""
    in_conversation: bool | None = None
    """Whether it is part of the conversation as it stands; None where that was not looked up."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is; `unread` names the sessions that could not be searched, and why."""

    done: int
    total: int
    hits: int
    unread: tuple[str, ...] = ()


def search(
    infos: Iterable[SessionInfo],
    query: str,
    *,
    limit: int = 50,
    each: int = 3,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Hit]:
    """Hits by session, the last used first, the latest message first; at most `each` of a session.

    All words must occur in one message; words between double quotes are a phrase. An empty query
    finds nothing. Stop iterating to stop searching. `progress` is called after each session; one
    that cannot be read is named there and passed over.
    """
    wanted = parse_query(query)
    ordered = sorted(infos, key=lambda info: (info.active, info.id), reverse=True)
    hits, unread = 0, list[str]()
    for done, info in enumerate(ordered if wanted.terms else (), start=1):
        try:
            found = search_session(info, wanted, each)
        except SessionError as error:
            unread.append(f"{info.id}: {error.message}")
            found = ()
        yield from found[: limit - hits]
        hits += min(len(found), limit - hits)
        if progress:
            progress(Progress(done, len(ordered), hits, tuple(unread)))
        if hits >= limit:
            return


def search_session(info: SessionInfo, query: Query, each: int = 3) -> tuple[Hit, ...]:
    """The latest `each` hits of one session, the latest first, its title before all.

    Raises `SessionError` when its file cannot be read.
    """
    if not info.readable:  # perhaps no file at all: a pipe would be waited for without end
        raise SessionError(info.damage or "it cannot be read")
    path = Path(info.location) / LOG_NAME
    found: dict[str, Hit] = {}
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for record in _candidates(file, query):
                if hit := _hit(info, record, query):
                    found.pop(hit.message_id, None)  # a line given again after a failed append
                    found[hit.message_id] = hit
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SessionError(f"cannot read {path}: {reason}", remedy="check the file") from error
    title = query.match(info.title)
    named = (Hit(info, title, origin="title", ts=info.active),) if title else ()
    latest = tuple(found.values())[: -each - 1 : -1]
    if latest and size <= _NUMBERED_BYTES:
        latest = _numbered(latest)
    return (*named, *latest)[:each]


def _candidates(file: BinaryIO, query: Query) -> Iterator[MessageRecord]:
    """Messages and summaries of the lines that may hold a match; no line over the limit."""
    offset = 0
    while line := file.readline(LINE_LIMIT + 1):
        if len(line) <= LINE_LIMIT and query.may_be_in(line):
            for item in scan_log(io.BytesIO(line)):
                if isinstance(item, PlacedRecord):
                    yield from _message(item.record, offset)
        offset += len(line)


def _message(record: Record, offset: int) -> Iterator[MessageRecord]:
    if isinstance(record, CompactRecord):
        yield summary_message(record)
    elif isinstance(record, MessageRecord):
        # Entries of the Go program have no ids: the fold names them by their place as well.
        yield record if record.id else replace(record, id=f"line-{offset}")


def _hit(info: SessionInfo, record: MessageRecord, query: Query) -> Hit | None:
    match = query.match("\n".join(_said(record)))
    if match is None:
        return None
    return Hit(
        info,
        match,
        message_id=record.id,
        role=record.role,
        origin=record.origin,
        turn=record.turn,
        ts=record.ts,
    )


def _said(record: MessageRecord) -> Iterator[str]:
    for block in record.content:
        if is_tool_use(block):
            yield block["name"]
            yield from _strings(block["input"])
        elif (text := block_text(block)) and not is_reminder(text):
            yield text


def _strings(value: Json) -> Iterator[str]:
    """All texts in a call's input, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (dict, list)):
            inner = list(item.values()) if isinstance(item, dict) else item
            waiting.extend(reversed(inner))


def _numbered(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """The hits of one session with their numbers in the conversation."""
    state = load(Path(hits[0].info.location))
    numbers = {record.id: number for number, record in enumerate(state.records, start=1)}
    return tuple(
        replace(
            hit,
            number=numbers.get(hit.message_id, 0),
            in_conversation=hit.message_id in numbers,
        )
        for hit in hits
    )
