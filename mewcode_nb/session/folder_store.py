"""The sessions of one notebook folder, each a folder of its own, with an index and a trash beside.

Everything is in the sessions' own files; the index only makes lists fast. Whatever goes wrong is a
`SessionError`, but for the index: without it the files are read, and `notices` says so once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.errors import SessionNotFound
from mewcode_nb.messages import JsonObject
from mewcode_nb.session.duplicate import Fork, write_fork
from mewcode_nb.session.failure import WHERE_LISTED, failure
from mewcode_nb.session.files import FileOps, RealFiles
from mewcode_nb.session.find import LAST, by_id, by_title, choose
from mewcode_nb.session.index import Index, IndexUnusable
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.lease import LEASE_NAME, is_held
from mewcode_nb.session.listing import Listing
from mewcode_nb.session.load import load, load_at, load_whole
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.naming import is_session_folder, is_session_name, time_in_name
from mewcode_nb.session.records import FORMAT_VERSION, MetaRecord, Parent, Record, SessionRecord
from mewcode_nb.session.replay import SessionState
from mewcode_nb.session.retention import Orphan
from mewcode_nb.session.row import folder_size, read_row, stamp_of
from mewcode_nb.session.trash import NOTE_NAME, Trash

if TYPE_CHECKING:
    from random import Random  # drags in hashlib, for an annotation

__all__ = ["TRASH_DAYS", "FolderStore"]

TRASH_DAYS = 30.0


class FolderStore:
    """A `SessionStore` of the folder `sessions`, which need not exist yet.

    `trash_days` is how long a session stays in the trash at least. Attribute: `sessions`.
    """

    def __init__(
        self,
        sessions: Path,
        *,
        clock: Callable[[], float],
        random: Random,
        files: FileOps | None = None,
        trash_days: float = TRASH_DAYS,
    ) -> None:
        self.sessions = sessions
        self._clock = clock
        self._random = random
        self._files = files or RealFiles()
        self._index = Index(sessions.parent / "cache" / "sessions.sqlite")
        self._listing = Listing(sessions, self._index, self._files)
        self._trash = Trash(sessions, self._files, clock, trash_days)
        self._told: set[str] = set()
        self._untold: list[str] = []

    def create(self, header: SessionRecord) -> SessionLog:
        """A new session; id and time of the header are given here."""
        log = SessionLog.create(
            self.sessions, header, clock=self._clock, random=self._random, files=self._files
        )
        return self._watched(log)

    def open(self, identity: str) -> SessionLog:
        """The session, to go on with; `SessionNotFound`, `SessionLocked`."""
        folder = self._folder(identity)
        log = SessionLog.open_existing(folder, clock=self._clock, files=self._files)
        self._flag(identity)
        return self._watched(log)

    def load(self, identity: str, *, whole: bool = False) -> SessionState:
        """What the session's records add up to; `SessionNotFound`.

        Without `whole`, what the last compaction put out of the conversation is not looked at.
        """
        folder = self._folder(identity)
        return load_whole(folder) if whole else load(folder)

    def load_at(self, identity: str, at: str) -> SessionState:
        """What the records would add up to after a rewind to `at`; empty for the beginning.

        Raises `SessionNotFound` for a session or message that is not there.
        """
        return load_at(self._folder(identity), at)

    def list(self, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """The sessions by last activity, newest first, unreadable ones with their reason."""
        try:
            found = self._listing.newest(limit)
        except OSError as error:
            raise failure("list the sessions in", self.sessions, error) from error
        self._note(self._listing.problem)
        return found

    def find(self, name: str) -> SessionInfo:
        """The session meant by an id, a start of one, a title, a start of one, or `last`.

        Raises `SessionNotFound`, `AmbiguousSession` whose message lists what fits, or
        `SessionError` where the sessions cannot be looked at.
        """
        if info := self._info(name):
            return info
        if name == LAST:
            return self._last()
        begun = [info for found in by_id(self._names(), name) if (info := self._info(found))]
        return choose(begun or by_title(self.list(), name), name)

    def annotate(self, identity: str, facts: JsonObject) -> None:
        """Set `title`, `pin` or another fact; null removes one.

        Raises `SessionNotFound`, `SessionLocked`.
        """
        log = self.open(identity)
        try:
            log.append([MetaRecord(self._clock(), facts)])
        finally:
            log.close()

    def fork(self, identity: str, at: str = "") -> SessionLog:
        """A new session with the conversation up to message `at` (its id), or all of it.

        `at` may be in an abandoned branch, or be older than a compaction. Raises `SessionNotFound`
        for a session or message that is not there.
        """
        from mewcode_nb.session.fork import fork_records

        source = self._folder(identity)
        state = load_at(source, at) if at else load(source)
        records = fork_records(state, at)
        last = at or (state.records[-1].id if state.records else "")
        header = replace(
            state.header or SessionRecord(0.0, ""),
            v=FORMAT_VERSION,
            model=state.model,
            parent=Parent(identity, last),
        )
        return self._written(Fork(header, records, source))

    def bring(self, header: SessionRecord, records: Sequence[Record], source: Path) -> SessionLog:
        """A new session made of records from elsewhere, with the spills that lie in `source`.

        All of it or nothing comes to be; id and time of the header are given here.
        """
        return self._written(Fork(header, records, source))

    def trash(self, identity: str, reason: str) -> None:
        """Take the session out of the list, whole, to be restored; `SessionLocked` while held."""
        self._trash.take(identity, reason)

    def trashed(self) -> tuple[TrashedSession, ...]:
        """What is in the trash, the latest first."""
        return self._trash.items()

    def restore(self, identity: str) -> None:
        """Back from the trash under its old id; `SessionNotFound`."""
        self._trash.give_back(identity)

    def purge(self, identity: str) -> None:
        """Remove a session that is in the trash for good; `SessionNotFound`."""
        self._trash.purge(identity)

    def orphans(self) -> tuple[Orphan, ...]:
        """Folders that hold a session's results but not its log; they can be trashed as well."""
        folders = (self.sessions / name for name in self._names(logged=False))
        return tuple(found for folder in folders if (found := _orphan(folder)))

    def reindex(self) -> None:
        """Bring the index up to date; for moments when nobody waits. Raises nothing."""
        try:
            self._listing.reindex()
        except IndexUnusable as error:
            self._note(str(error))
        except OSError as error:
            self._note(error.strerror or type(error).__name__)

    def notices(self) -> tuple[str, ...]:
        """What the user should know; each is given once."""
        notices, self._untold = tuple(self._untold), []
        return notices

    def _folder(self, identity: str) -> Path:
        if not is_session_folder(self.sessions, identity):
            raise SessionNotFound(
                f"no session {identity!r} in {self.sessions}", remedy=WHERE_LISTED
            )
        return self.sessions / identity

    def _written(self, fork: Fork) -> SessionLog:
        folder = write_fork(
            self.sessions, fork, clock=self._clock, random=self._random, files=self._files
        )
        log = SessionLog.open_existing(folder, clock=self._clock, files=self._files)
        return self._watched(log)

    def _watched(self, log: SessionLog) -> SessionLog:
        log.when_closed(lambda: self._settle(log.folder))
        return log

    def _flag(self, identity: str) -> None:
        """Where the index cannot be told, a new time of the folder makes it be distrusted."""
        try:
            self._index.flag(identity)
        except IndexUnusable as error:
            if not error.expected:
                self._note(str(error))
            self._distrust()

    def _distrust(self) -> None:
        try:
            self._files.touch(self.sessions)
        except OSError as error:
            self._note(f"{error.strerror}; {self._index.path} may be out of date: delete it")

    def _settle(self, folder: Path) -> None:
        if not self._index.exists:
            return
        row = read_row(folder)
        try:
            if row is not None:
                self._index.settle(row)
        except IndexUnusable:
            return  # it stays flagged, and is looked at again

    def _last(self) -> SessionInfo:
        few, found = 20, self.list(20)
        if len(found) == few and not any(info.readable for info in found):
            found = self.list()
        if info := next((info for info in found if info.readable), None):
            return info
        raise SessionNotFound(
            f"no session in {self.sessions}", remedy="the first prompt in a notebook begins one"
        )

    def _names(self, *, logged: bool = True) -> Iterable[str]:
        """Names of all session folders, those without a log too when not `logged`."""
        try:
            with os.scandir(self.sessions) as entries:
                return [
                    entry.name
                    for entry in entries
                    if is_session_name(entry.name)
                    and entry.is_dir(follow_symlinks=False)
                    and (not logged or stamp_of(entry.path) is not None)
                ]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise failure("list the sessions in", self.sessions, error) from error

    def _info(self, identity: str) -> SessionInfo | None:
        """The session of exactly that id; None where there is none."""
        folder = self.sessions / identity
        row = read_row(folder) if is_session_folder(self.sessions, identity) else None
        return None if row is None else replace(row.info, live=is_held(folder, self._files))

    def _note(self, problem: str) -> None:
        if problem and problem not in self._told:
            self._told.add(problem)
            self._untold.append(
                f"lists of sessions are slower: their index {self._index.path} cannot be used"
                f" ({problem})"
            )


def _orphan(folder: Path) -> Orphan | None:
    """The folder as an orphan, when something of a session is in it; its log is not."""
    if stamp_of(str(folder)) is not None:
        return None
    newest, something = 0.0, False
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name in {LEASE_NAME, NOTE_NAME}:
                        continue
                    something = True
                    newest = max(newest, entry.stat(follow_symlinks=False).st_mtime)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue
    if not something:
        return None
    return Orphan(folder.name, folder_size(folder), newest or time_in_name(folder.name))
