"""The index of a folder of sessions: rows kept in SQLite, so that a list opens no session.

It is derived: safe to delete, to lose and to distrust. It says at which time of the sessions folder
it was made, and for each row at which size and time of its log; what does not agree is read anew.
A row flagged `open` is looked at again at every listing, because somebody may be writing it; the
flag is set before a session that the index knows is written to. The journal is rolled back, not
written ahead: with a connection for each use that is twice as fast to read, and works on network
drives.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.row import Row, Stamp, info_from_text, info_to_text, with_cells

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["EMPTY", "Index", "IndexUnusable", "KeptRow", "Place", "Snapshot"]

_VERSION = 2
_READ_SECONDS = 0.25
_WRITE_SECONDS = 2.0
_SCHEMA = """
create table if not exists place (version integer, device text, inode text, mtime_ns integer);
create table if not exists session (
  id text primary key, active real, size integer, mtime_ns integer, open integer, info text
) without rowid;
create index if not exists by_activity on session (active desc, id desc);
create index if not exists opened on session (id) where open;
"""
_COLUMNS = "id, active, size, mtime_ns, open, info"
_ALL = f"select {_COLUMNS} from session"  # noqa: S608 - a constant
_NEWEST = f"{_ALL} order by active desc, id desc limit ?"
_OPEN = f"{_ALL} where open"
_PLACE = (
    "select version, device, inode, mtime_ns, exists (select 1 from session where open) from place"
)


class IndexUnusable(Exception):
    """The index cannot be used now.

    `broken` where it must be made anew, `expected` where that is nothing the user need know of.
    """

    def __init__(self, reason: str, *, broken: bool = False, expected: bool = False) -> None:
        super().__init__(reason)
        self.broken = broken
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of sessions as the file system sees it."""

    device: int
    inode: int
    mtime_ns: int


class KeptRow(NamedTuple):
    """A row of the index; its text is read only when it is shown."""

    id: str
    active: float
    stamp: Stamp
    open: bool
    text: str

    def info(self, location: str) -> SessionInfo:
        """The session in that folder; raises IndexUnusable when the text is not one of ours."""
        try:
            return info_from_text(self.id, location, self.text)
        except (ValueError, RecursionError) as error:
            raise IndexUnusable("a row cannot be read", broken=True) from error


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the index said: all rows, or the newest and all open ones."""

    rows: tuple[KeptRow, ...] = ()
    current: bool = False
    """Whether the folder has not changed since: no session came or went."""


EMPTY = Snapshot()


class Index:
    """The file at `path`; a connection lives no longer than a call. Raises IndexUnusable."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = str(path)
        self._uri = path.absolute().as_uri()

    @property
    def exists(self) -> bool:
        """Whether there is one."""
        return os.path.lexists(self._name)

    def read(self, place: Place, limit: int | None = None) -> Snapshot:
        """Its rows; with `limit`, where it is current, only the newest and all open ones."""
        if not self.exists:
            return EMPTY
        with self._connected("ro", _READ_SECONDS) as connection:
            known = connection.execute(_PLACE).fetchone() or (0, "", "", 0, 0)
            version, device, inode, mtime_ns, some_open = known
            if version != _VERSION or (device, inode) != (str(place.device), str(place.inode)):
                raise IndexUnusable("made for another folder", broken=True, expected=True)
            current = mtime_ns == place.mtime_ns
            if not current or limit is None:
                return Snapshot(tuple(map(_kept, connection.execute(_ALL))), current)
            # Two statements: their union would be sorted once more, texts and all.
            opened = connection.execute(_OPEN) if some_open else ()
            found = {values[0]: values for values in opened}
            found.update({values[0]: values for values in connection.execute(_NEWEST, (limit,))})
            return Snapshot(tuple(map(_kept, found.values())), current)

    def flag(self, identity: str) -> None:
        """Somebody writes this session from now on; durable when it returns."""
        if self.exists:
            with self._writing() as connection:
                connection.execute("update session set open = 1 where id = ?", (identity,))

    def settle(self, row: Row) -> None:
        """The session is as `row` says, and nobody writes it any more."""
        if self.exists:
            with self._writing() as connection:
                known = connection.execute(f"{_ALL} where id = ?", (row.info.id,)).fetchone()
                if known is None:
                    return
                before = _kept(known).info("")
                row = Row(with_cells(row.info, before), row.stamp)
                connection.execute(
                    "update session set active = ?, size = ?, mtime_ns = ?, info = ?, open = 0"
                    " where id = ?",
                    (*_values(row)[1:], row.info.id),
                )

    def write(
        self, rows: Sequence[Row], gone: Iterable[str], place: Place, is_open: Callable[[Row], bool]
    ) -> None:
        """Put rows in and take others out; `is_open` is asked while writers wait to set the flag.

        The index counts as current for `place`, which has the time 0 where it should not.
        """
        with self._writing(create=True) as connection:
            connection.executemany(
                "insert or replace into session (id, active, size, mtime_ns, info, open)"
                " values (?, ?, ?, ?, ?, ?)",
                [(*_values(row), is_open(row)) for row in rows],
            )
            connection.executemany("delete from session where id = ?", [(name,) for name in gone])
            connection.execute("delete from place")
            connection.execute(
                "insert into place values (?, ?, ?, ?)",
                (_VERSION, str(place.device), str(place.inode), place.mtime_ns),
            )

    def discard(self) -> None:
        """Remove what is there, to begin anew."""
        try:
            for suffix in ("-journal", ""):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            raise IndexUnusable(error.strerror or type(error).__name__) from error

    @contextlib.contextmanager
    def _writing(self, *, create: bool = False) -> Iterator[Connection]:
        if create and not self.exists:
            self._create()
        with self._connected("rw", _WRITE_SECONDS) as connection:
            connection.execute("pragma synchronous = normal")
            if create:
                connection.executescript(_SCHEMA)
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit")

    def _create(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(self.path, flags, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise IndexUnusable(error.strerror or type(error).__name__) from error

    @contextlib.contextmanager
    def _connected(self, mode: str, seconds: float) -> Iterator[Connection]:
        """A connection; not committed means rolled back."""
        import sqlite3  # costs 10 ms, and most kernels list no sessions

        self._check_file()
        connection = None
        try:
            connection = sqlite3.connect(
                f"{self._uri}?mode={mode}",
                uri=True,
                timeout=seconds,
                isolation_level=None,
            )
            connection.execute("pragma trusted_schema = off")  # it may come with a cloned project
            yield connection
        except sqlite3.Error as error:
            raise _unusable(error) from error
        finally:
            if connection is not None:
                connection.close()

    def _check_file(self) -> None:
        """Only a file of the user's own is read: others could make lists say anything."""
        try:
            found = os.stat(self._name, follow_symlinks=False)  # noqa: PTH116 - for speed
        except OSError as error:
            raise IndexUnusable(error.strerror or type(error).__name__) from error
        mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not mine or not stat.S_ISREG(found.st_mode):
            raise IndexUnusable("not a file of this user")


def _kept(values: tuple[Any, ...]) -> KeptRow:
    identity, active, size, mtime_ns, opened, text = values
    if (
        type(identity) is type(text) is str
        and type(active) is float
        and type(size) is type(mtime_ns) is type(opened) is int
    ):
        return KeptRow(identity, active, Stamp(size, mtime_ns), opened != 0, text)
    raise IndexUnusable("a row cannot be read", broken=True)


def _values(row: Row) -> tuple[str, float, int, int, str]:
    info, stamp = row.info, row.stamp
    return info.id, float(info.active), stamp.size, stamp.mtime_ns, info_to_text(info)


def _unusable(error: Exception) -> IndexUnusable:
    import sqlite3

    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    unmade = code == sqlite3.SQLITE_ERROR  # no tables: its making is under way or was cut short
    broken = unmade or code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
    return IndexUnusable(str(error), broken=broken, expected=unmade)
