"""One process writes a session: the lease that says which, and keeps the others out.

The operating system's lock decides, so a killed holder never leaves one behind and a paused one
never loses it; the JSON beside it only names the holder for people. Where the file system cannot
lock, the session is written all the same and the user is told.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from mewcode_nb.errors import SessionLocked
from mewcode_nb.session.files import FileOps, Held

__all__ = ["LEASE_NAME", "Lease", "hold_still", "is_held", "take_lease"]

LEASE_NAME = "lease.lock"
_CANNOT_LOCK = frozenset(
    {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, getattr(errno, "ENOTSUP", errno.EOPNOTSUPP)}
)
_HOLDER_BYTES = 4096
_PAUSES = tuple(n / 1000 for n in (1, 2, 3, 1, 5, 2, 8, 3, 13, 5, 21, 8, 34))
"""Seconds before each further try; unequal ones, so as not to keep step with somebody who looks."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A session that is ours to write; `notice` is for the user where that could not be ensured."""

    path: Path
    held: Held | None
    notice: str = ""
    signed: bool = True
    """Whether our name is in it."""

    def abandon(self) -> None:
        """In a forked child: the lock is the parent's; raises OSError."""
        if self.held is not None:
            self.held.abandon()

    def release(self, files: FileOps) -> None:
        """Name no holder any more, and let go; raises OSError."""
        if self.held is None:
            return
        try:
            if self.signed:
                files.replace_text(self.path, "")
        finally:
            self.held.release()


def take_lease(folder: Path, started: float, files: FileOps) -> Lease:
    """The lease of the session in `folder`; `started` in seconds since 1970.

    Raises SessionLocked, naming the holder, when another process has it; OSError when the lock file
    cannot be made.
    """
    path = folder / LEASE_NAME
    try:
        held = _lock(path, files)
    except BlockingIOError as error:
        raise _locked(folder) from error
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            raise
        return Lease(path, None, _unlocked_notice(folder, error))
    return Lease(path, held, _sign(path, started, files))


def hold_still(folder: Path, files: FileOps) -> Lease:
    """The lease of a session that is about to be moved: no name is written into it.

    Raises SessionLocked when another process has it, and where the file system cannot lock as long
    as one is named as its holder; OSError.
    """
    path = folder / LEASE_NAME
    try:
        return Lease(path, _lock(path, files), signed=False)
    except BlockingIOError as error:
        raise _locked(folder) from error
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            raise
        if path.exists() and path.stat().st_size:
            raise _locked(folder, f"remove {path} if nothing uses it any more") from error
        return Lease(path, None, signed=False)


def is_held(folder: Path, files: FileOps) -> bool:
    """Whether some process, this one included, holds the session now; it is not disturbed.

    Holders name themselves, so a lease without a name is not even tried.
    """
    path = folder / LEASE_NAME
    try:
        return path.stat().st_size > 0 and files.is_locked(path)
    except OSError:
        return False


def _lock(path: Path, files: FileOps) -> Held:
    """A lock that is only looked at by another process is free again in a moment."""
    for pause in _PAUSES:
        try:
            return files.lock(path)
        except BlockingIOError:
            time.sleep(pause)
    return files.lock(path)


def _locked(folder: Path, remedy: str = "") -> SessionLocked:
    return SessionLocked(
        f"session {folder.name} is being written by {_holder(folder / LEASE_NAME)}",
        remedy=remedy or "close it there first, or fork it and go on in the copy",
    )


def _sign(path: Path, started: float, files: FileOps) -> str:
    holder = {"host": socket.gethostname(), "pid": os.getpid(), "started": started}
    try:
        files.replace_text(path, json.dumps(holder) + "\n")
    except OSError as error:
        return f"the holder of {path} could not be written down: {error.strerror}"
    return ""


def _unlocked_notice(folder: Path, error: OSError) -> str:
    return (
        f"the file system of {folder} cannot lock ({error.strerror}): "
        "open this session in one kernel at a time"
    )


def _holder(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            holder = json.loads(handle.read(_HOLDER_BYTES))
    except (OSError, ValueError, RecursionError):
        return "another process"
    if not isinstance(holder, dict):
        return "another process"
    return f"process {holder.get('pid')} on {holder.get('host')}"
