"""Lists of the sessions in one folder: with the index where it can be trusted, else from the files.

Nothing is written here but by `reindex`, which is for moments when nobody waits. A list without the
index looks at every log's time but opens only those that may be among the newest.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from mewcode_nb.session.files import FileOps
from mewcode_nb.session.index import EMPTY, Index, IndexUnusable, KeptRow, Place, Snapshot
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.lease import is_held
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.row import Row, read_row, stamp_of, with_cells

__all__ = ["Listing", "order"]

_RACY_NS = 2_000_000_000
"""A folder that changed so shortly before it was read may have changed again at the same time."""

_SLACK = 60.0
"""Seconds by which the file system's clock may be behind that of the records."""

_LOOKS_FROM_FOLDER = os.stat in os.supports_dir_fd
"""Whether a path can be looked at from an open folder, which spares the way to it each time."""

_BATCH = 500
_REMEMBERED = 200


def order(info: SessionInfo) -> tuple[float, str]:
    """What lists are sorted by, the largest first."""
    return info.active, info.id


_Seen: TypeAlias = tuple[int, int, str]
"""A session and the state of its log: its time, its size, the session's id.

A plain tuple: ten thousand of anything else take as long to make as their logs to look at.
"""


class Listing:
    """Lists one folder; `problem` says why the index could not be used, after each call."""

    def __init__(self, sessions: Path, index: Index, files: FileOps) -> None:
        self._sessions = sessions
        self._root = str(sessions)
        self._index = index
        self._files = files
        self._broken = False
        self._parsed: dict[str, tuple[str, SessionInfo]] = {}
        self.problem = ""

    def newest(self, limit: int | None) -> tuple[SessionInfo, ...]:
        """The sessions by last activity, newest first; raises OSError for the folder itself."""
        self.problem = ""
        place = _place(self._sessions)
        if place is None or limit == 0:
            return ()
        snapshot = self._snapshot(place, limit)
        try:
            found = self._trusted(snapshot, limit) if snapshot.current else None
            if found is None:
                if snapshot.current and limit is not None:
                    snapshot = self._snapshot(place, None)
                found = self._scanned({row.id: row for row in snapshot.rows}, limit)
        except IndexUnusable as error:
            self._note(error)
            found = self._scanned({}, limit)
        return tuple(sorted(found, key=order, reverse=True)[:limit])

    def reindex(self) -> None:
        """Bring the index up to date; raises OSError or IndexUnusable."""
        start = time.time_ns()
        place = _place(self._sessions)
        if place is None:
            return
        snapshot = self._sound_snapshot(place)
        kept = {row.id: row for row in snapshot.rows}
        seen = self._seen()
        stale = [item for item in seen if _is_stale(kept.get(item[2]), item)]
        gone = kept.keys() - {identity for _, _, identity in seen}
        if stale or gone or not snapshot.current:
            settled = start - place.mtime_ns > _RACY_NS
            self._write(stale, gone, kept, place if settled else replace(place, mtime_ns=0))

    def _sound_snapshot(self, place: Place) -> Snapshot:
        """What the index says; one that is broken is removed."""
        try:
            if not self._broken:
                return self._index.read(place)
        except IndexUnusable as error:
            if not error.broken:
                raise
        self._index.discard()
        self._broken = False
        return EMPTY

    def _write(
        self, stale: Sequence[_Seen], gone: set[str], kept: dict[str, KeptRow], place: Place
    ) -> None:
        """In pieces, so that writers never wait long; current only when all is in."""
        for start in range(0, len(stale), _BATCH):
            rows = self._rows(stale[start : start + _BATCH], kept)
            self._index.write(rows, (), replace(place, mtime_ns=0), self._is_open)
        self._index.write((), gone, place, self._is_open)

    def _rows(self, items: Sequence[_Seen], kept: dict[str, KeptRow]) -> list[Row]:
        rows = (self._row(item, kept.get(item[2])) for item in items)
        return [row for row in rows if row is not None]

    def _row(self, item: _Seen, kept: KeptRow | None) -> Row | None:
        """Read anew, or as it was where only its flag is to be looked at."""
        if kept and _agrees(kept, item):
            return Row(self._info(kept), kept.stamp)
        row = read_row(self._sessions / item[2])
        return Row(self._with_cells(row.info, kept), row.stamp) if row else None

    def _with_cells(self, info: SessionInfo, kept: KeptRow | None) -> SessionInfo:
        return with_cells(info, self._info(kept)) if kept else info

    def _info(self, row: KeptRow) -> SessionInfo:
        """The row's session; those of short lists, which come again, are remembered."""
        text, info = self._parsed.get(row.id, ("", None))
        if info is None or text != row.text:
            info = row.info(f"{self._root}/{row.id}")
            if len(self._parsed) >= _REMEMBERED:
                self._parsed.clear()
            self._parsed[row.id] = (row.text, info)
        return info

    def _is_open(self, row: Row) -> bool:
        folder = self._sessions / row.info.id
        return is_held(folder, self._files) or stamp_of(str(folder)) != row.stamp

    def _snapshot(self, place: Place, limit: int | None) -> Snapshot:
        try:
            return self._index.read(place, limit)
        except IndexUnusable as error:
            self._note(error)
            return EMPTY

    def _note(self, error: IndexUnusable) -> None:
        self._broken = self._broken or error.broken
        if not error.expected:
            self.problem = str(error)

    def _trusted(self, snapshot: Snapshot, limit: int | None) -> list[SessionInfo] | None:
        """The rows, checked; None when one went or sank, which lets others come up."""
        found = []
        for row in snapshot.rows:
            folder = f"{self._root}/{row.id}"
            stamp = stamp_of(folder)
            if stamp == row.stamp:
                info = self._info(row)
                live = row.open and is_held(Path(folder), self._files)
                found.append(replace(info, live=True) if live else info)
                continue
            read = self._read(row.id, row)
            if read is None or (limit is not None and read.active < row.active):
                return None
            found.append(read)
        return found

    def _scanned(self, kept: dict[str, KeptRow], limit: int | None) -> list[SessionInfo]:
        """From the folder; rows of the index stand in for logs that have not changed."""
        seen = self._seen()
        known = [kept[item[2]] for item in seen if _agrees(kept.get(item[2]), item)] if kept else []
        fresh = [item for item in seen if not _agrees(kept.get(item[2]), item)] if kept else seen
        if limit is not None:
            known = heapq.nlargest(limit, known, key=lambda row: (row.active, row.id))
        found = [self._shown(row) for row in known]
        ranks = [min(row.active, row.stamp.mtime_ns / 1e9) for row in known]
        heapq.heapify(ranks)
        for mtime_ns, _, identity in _latest_first(
            fresh, len(fresh) if limit is None else limit + 1
        ):
            full = limit is not None and len(ranks) >= limit
            if full and mtime_ns / 1e9 + _SLACK < ranks[0]:
                break
            if info := self._read(identity, kept.get(identity)):
                found.append(info)
                rank = min(info.active, mtime_ns / 1e9)
                (heapq.heappushpop if full else heapq.heappush)(ranks, rank)
        return found

    def _shown(self, row: KeptRow) -> SessionInfo:
        info = self._info(row)
        live = row.open and is_held(self._sessions / row.id, self._files)
        return replace(info, live=True) if live else info

    def _read(self, identity: str, kept: KeptRow | None) -> SessionInfo | None:
        """The session now; None where there is none, or none yet: it is just being made."""
        folder = self._sessions / identity
        row = read_row(folder)
        if row is None:
            return None
        live = is_held(folder, self._files)
        if live and row.stamp.size == 0:
            return None
        return replace(self._with_cells(row.info, kept), live=live)

    def _seen(self) -> list[_Seen]:
        """All sessions with their logs' states, in no order; raises OSError."""
        names = _names(self._root)
        where = os.open(self._root, os.O_RDONLY) if _LOOKS_FROM_FOLDER else None
        above = f"{self._root}/" if where is None else ""
        found: list[_Seen] = []
        try:
            for name in names:
                # As `stamp_of` does, without what ten thousand calls of it cost.
                try:
                    log = os.lstat(f"{above}{name}/{LOG_NAME}", dir_fd=where)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                except OSError:
                    found.append((0, -1, name))
                else:
                    found.append((log.st_mtime_ns, log.st_size, name))
        finally:
            if where is not None:
                os.close(where)
        return found


def _names(folder: str) -> list[str]:
    """What may be a session's folder, as `is_session_name` says it of names; raises OSError."""
    with os.scandir(folder) as entries:
        return [
            name
            for entry in entries
            if (name := entry.name)[0] != "." and "\\" not in name and not entry.is_symlink()
        ]


def _latest_first(seen: list[_Seen], likely: int) -> Iterator[_Seen]:
    """By time; sorted only as far as `likely` items while nobody asks for more."""
    first = heapq.nlargest(likely, seen)
    yield from first
    if len(first) < len(seen):
        yield from sorted((item for item in seen if item < first[-1]), reverse=True)


def _agrees(kept: KeptRow | None, seen: _Seen) -> bool:
    return kept is not None and kept.stamp == (seen[1], seen[0])


def _is_stale(kept: KeptRow | None, seen: _Seen) -> bool:
    return kept is None or kept.open or not _agrees(kept, seen)


def _place(sessions: Path) -> Place | None:
    try:
        found = sessions.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Place(found.st_dev, found.st_ino, found.st_mtime_ns)
