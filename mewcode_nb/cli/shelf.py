"""The sessions a command is about: found from the folder it was given, one way for all commands."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mewcode_nb.cli.words import Words
from mewcode_nb.config import Settings
from mewcode_nb.config.load import load_settings, settings_sources
from mewcode_nb.errors import AmbiguousSession, SessionNotFound, UsageError
from mewcode_nb.paths import project_root, user_home
from mewcode_nb.redact import Redactor, secret_values
from mewcode_nb.session.find import in_trash
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.parse import from_json
from mewcode_nb.session.reader import LogContents, read_log
from mewcode_nb.session.records import (
    CompactRecord,
    LegacyCompact,
    MessageRecord,
    Record,
    SessionRecord,
    to_json,
)
from mewcode_nb.session.replay import fold

if TYPE_CHECKING:
    from mewcode_nb.messages import JsonObject
    from mewcode_nb.session.folder_store import FolderStore
    from mewcode_nb.session.library import Library

__all__ = ["find_trashed", "import_file", "info_json", "leaving", "open_library"]


def open_library(folder: Path) -> Library:
    """The sessions of the folder and of the project it belongs to."""
    from random import Random

    from mewcode_nb.session.library import Library

    here, home = folder.resolve(), user_home(os.environ)
    root = project_root(here, home)
    days = _settings(root, home).trash_days
    random = Random()  # noqa: S311 - for names, no secrets
    return Library(here, root, clock=time.time, random=random, home=home, trash_days=days)


def leaving(folder: Path, library: Library, language: str) -> list[str]:
    """What retention will do next with the project's sessions, in lines; touches nothing."""
    from mewcode_nb.session.retention import Policy
    from mewcode_nb.session.sweep import look_ahead
    from mewcode_nb.widgets.columns import align
    from mewcode_nb.widgets.retention_words import outlook_lines, outlook_rows

    home, now = user_home(os.environ), time.time()
    policy = Policy.of(_settings(project_root(folder.resolve(), home), home))
    stores = library.stores(project=True)
    outlooks = [look_ahead(store, policy, now) for store in stores]
    trashed = [item for store in stores for item in store.trashed()]
    above, below = outlook_lines(outlooks, policy, trashed, language)
    rows = outlook_rows(outlooks, now, language)
    return [above, *([align(rows)] if rows else []), *below]


def find_trashed(library: Library, named: str, words: Words) -> tuple[FolderStore, TrashedSession]:
    """The one in the trash with this id or title, and its store; raises SessionNotFound."""
    stores = library.stores(project=True)
    places = [(store, item) for store in stores for item in store.trashed()]
    found = in_trash([item for _, item in places], named)
    if len(found) == 1:
        return next(place for place in places if place[1] is found[0])
    if not found:
        raise SessionNotFound(words("not_trashed", id=named), remedy=words("see_trash"))
    ids = ", ".join(item.info.id for item in found)
    raise AmbiguousSession(words("several_trashed", id=named, ids=ids), remedy=words("more_id"))


def import_file(library: Library, path: Path, words: Words) -> tuple[str, int, tuple[str, ...]]:
    """A new session from a session file or a transcript of Claude Code.

    Returns its id, the number of messages, and remarks. The file is only read.
    """
    from mewcode_nb.session.claude_code import import_transcript, is_transcript

    contents = read_log(path)
    if is_transcript(contents):
        header, records, notes = import_transcript(path)
    else:
        header, records = _own(path)
        if _is_here(library, contents):
            records = tuple(map(_unpaid, records))
        notes = tuple(str(damage) for damage in contents.damage)
    count = sum(isinstance(record, MessageRecord) for record in records)
    if not count:
        raise UsageError(words("nothing_inside", path=path), remedy=words("import_what"))
    writer = library.store.bring(header, tuple(_masked(records)), path.parent)
    writer.close()
    return writer.id, count, notes


def _own(path: Path) -> tuple[SessionRecord, tuple[Record, ...]]:
    """Our own records, those of the Go program's files as well, without what stays behind."""
    from mewcode_nb.session.doctor_copy import repaired_records, sound_spills

    contents = read_log(path)
    header, *records = repaired_records(contents, "", sound_spills(path.parent, contents))
    assert isinstance(header, SessionRecord)
    kept = (record for record in records if not isinstance(record, LegacyCompact))
    return header, tuple(kept)


def _is_here(library: Library, contents: LogContents) -> bool:
    """Whether the file is of a session that is listed here, so that its cost counts there."""
    header = fold(contents.records).header
    if header is None or not header.id:
        return False
    return any(info.id == header.id for info in library.list(project=True))


def _unpaid(record: Record) -> Record:
    """The record without what its answers cost, as in a fork."""
    if isinstance(record, MessageRecord):
        return replace(record, usage=None)
    if isinstance(record, CompactRecord) and "usage" in record.checkpoint:
        return replace(record, checkpoint={**record.checkpoint, "usage": {}})
    return record


def _masked(records: Sequence[Record]) -> Iterator[Record]:
    """The records without secrets: another program's transcript may quote what it was shown."""
    redactor = Redactor(secret_values(os.environ))
    for record in records:
        raw = to_json(record)
        masked = cast("JsonObject", redactor.mask_json(raw))
        yield record if masked == raw else from_json(masked)


def _settings(root: Path, home: Path | None) -> Settings:
    return load_settings(settings_sources(root, home, environ=os.environ)).settings


def info_json(info: SessionInfo) -> dict[str, object]:
    """A list row as plain values."""
    value = asdict(info)
    value["cells"] = sorted(info.cells)
    return value
