"""Writing a session: append a batch of records, one write and one sync, and nothing else ever.

What `append` has returned from is on the disk. After a failure, or a kill in the middle of a line,
the next append first closes that line, so that a stump never swallows the record that follows.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from mewcode_nb.errors import RecordTooLarge, SessionError, SessionNotFound
from mewcode_nb.session.failure import failure
from mewcode_nb.session.files import FileOps, RealFiles
from mewcode_nb.session.lease import LEASE_NAME, Lease, take_lease
from mewcode_nb.session.naming import new_folder
from mewcode_nb.session.records import LINE_LIMIT, Record, SessionRecord, to_line

if TYPE_CHECKING:
    from random import Random  # drags in hashlib, for an annotation

__all__ = ["LOG_NAME", "SessionLog"]

LOG_NAME = "conversation.jsonl"


class SessionLog:
    """The open file of one session, held by this process alone.

    Attributes: `folder`, `path` (the file), `id` (the folder's name), `notice` (for the user; empty
    when all is well).
    Safe to use from several threads; of no use in a forked child, where it is closed.
    """

    def __init__(self, folder: Path, fd: int, lease: Lease, files: FileOps) -> None:
        self.folder = folder
        self.path = folder / LOG_NAME
        self.id = folder.name
        self.notice = lease.notice
        self._fd = fd
        self._lease = lease
        self._files = files
        self._line_open = False
        self._owner = os.getpid()
        self._mutex = threading.Lock()
        self._when_closed: Callable[[], None] | None = None
        _open_logs.add(self)

    @classmethod
    def create(
        cls,
        sessions: Path,
        header: SessionRecord,
        *,
        clock: Callable[[], float],
        random: Random,
        files: FileOps | None = None,
    ) -> SessionLog:
        """A new session below the folder `sessions`, its header written with a new id and time.

        The names reach the disk here, the header with the first batch. Raises SessionError.
        """
        ops = files or RealFiles()
        now = clock()
        try:
            folder = new_folder(sessions, now, random, ops)
            log = cls(folder, *_new_file(folder, now, ops), ops)
        except OSError as error:
            raise failure("create a session in", sessions, error) from error
        try:
            log._write_all(log._line(replace(header, id=folder.name, ts=now)))
            ops.sync_folder(folder)
            ops.sync_folder(sessions)
        except (OSError, SessionError) as error:
            log.close()
            _remove_unused(folder)
            if isinstance(error, SessionError):
                raise
            raise failure("create a session in", sessions, error) from error
        return log

    @classmethod
    def open_existing(
        cls, folder: Path, *, clock: Callable[[], float], files: FileOps | None = None
    ) -> SessionLog:
        """The session in `folder`, to go on with.

        Raises SessionNotFound, SessionLocked when another process writes it, or SessionError.
        """
        ops = files or RealFiles()
        try:
            fd = ops.open(folder / LOG_NAME)
        except FileNotFoundError as error:
            raise SessionNotFound(
                f"no session in {folder}", remedy="look in .mewcode/sessions beside the notebook"
            ) from error
        except OSError as error:
            raise failure("open the session in", folder, error) from error
        try:
            lease = take_lease(folder, clock(), ops)
        except (OSError, SessionError) as error:
            _close_quietly(fd, ops)
            if isinstance(error, SessionError):
                raise
            raise failure("open the session in", folder, error) from error
        log = cls(folder, fd, lease, ops)
        try:
            log._line_open = ops.ends_open(fd)
        except OSError as error:
            log.close()
            raise failure("open the session in", folder, error) from error
        return log

    def append(self, records: Sequence[Record]) -> None:
        """Bring the records to the disk, in one write and one sync.

        Raises SessionError when that failed: then none of them counts as stored, though a part may
        be in the file, and the same batch may be given again.
        """
        if not records:
            return
        data = b"".join(self._line(record) for record in records)
        with self._mutex:
            self._check_open()
            try:
                self._write_all(data)
                self._files.sync(self._fd)
            except OSError as error:
                self._line_open = True
                raise failure("write the session to", self.path, error) from error

    def when_closed(self, call: Callable[[], None]) -> None:
        """Have `call` run once, after the last append and before the lease is let go of."""
        self._when_closed = call

    def close(self) -> None:
        """Let go of the file and the lease; harmless when done twice."""
        with self._mutex:
            if self._fd < 0:
                return
            fd, self._fd = self._fd, -1
            _open_logs.discard(self)
            _close_quietly(fd, self._files)
            try:
                if self._when_closed:
                    self._when_closed()
            finally:  # an interrupt must not leave the session locked by nobody
                with contextlib.suppress(OSError):  # the lock ends with the process at the latest
                    self._lease.release(self._files)

    def _line(self, record: Record) -> bytes:
        try:
            return to_line(record)
        except (TypeError, ValueError) as error:
            limit = f"a record may have {LINE_LIMIT} bytes"
            raise RecordTooLarge(f"cannot store a record: {error}", remedy=limit) from error

    def _check_open(self) -> None:
        if self._owner != os.getpid():
            raise SessionError(
                f"session {self.id} belongs to process {self._owner}, not to its fork {os.getpid()}"
            )
        if self._fd < 0:
            raise SessionError(
                f"session {self.id} is closed", remedy="begin a new one: %mewcode new"
            )
        try:
            linked = self._files.is_linked(self._fd, self.path)
        except OSError as error:
            raise failure("write the session to", self.path, error) from error
        if not linked:
            raise SessionError(
                f"{self.path} was moved or deleted while in use",
                remedy="begin a new session: %mewcode new",
            )

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(b"\n" + data if self._line_open else data)
        self._line_open = True
        while rest:
            rest = rest[self._files.write(self._fd, rest) :]
        self._line_open = False

    def _abandon(self) -> None:
        """In a forked child: close the descriptors; the lock stays with the parent."""
        self._mutex = threading.Lock()
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            with contextlib.suppress(OSError):
                os.close(fd)
            with contextlib.suppress(OSError):
                self._lease.abandon()


def _new_file(folder: Path, now: float, files: FileOps) -> tuple[int, Lease]:
    try:
        fd = files.create(folder / LOG_NAME)
        try:
            return fd, take_lease(folder, now, files)
        except OSError:
            _close_quietly(fd, files)
            raise
    except OSError:
        _remove_unused(folder)
        raise


def _remove_unused(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for name in (LOG_NAME, LEASE_NAME):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _close_quietly(fd: int, files: FileOps) -> None:
    # What was acknowledged has been synced: closing can lose nothing.
    with contextlib.suppress(OSError):
        files.close(fd)


def _abandon_all() -> None:
    for log in tuple(_open_logs):
        log._abandon()
    _open_logs.clear()


# The one piece of module state: a hook for forked children cannot be taken back, so there is one
# for all logs, and it must know which are open.
_open_logs: WeakSet[SessionLog] = WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
