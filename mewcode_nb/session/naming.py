"""Names of session folders: how a new one is claimed, and what an existing one tells."""

from __future__ import annotations

import contextlib
import errno
import re
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.session.failure import failure
from mewcode_nb.session.files import FileOps

if TYPE_CHECKING:
    from random import Random  # drags in hashlib, for an annotation

__all__ = ["is_session_folder", "is_session_name", "make_parents", "new_folder", "time_in_name"]

_ATTEMPTS = 256
_NAME = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-[0-9a-f]+")
_OLD_NAME = re.compile(r"(\d{9,11})-[0-9a-f]+")
"""Of the Go program: seconds since 1970 and hexadecimal digits."""
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP})
"""What the system says of a name that nothing has, or nothing can have."""
_FORBIDDEN = re.compile(r"[/\\\x00]")


def new_folder(sessions: Path, now: float, random: Random, files: FileOps) -> Path:
    """A folder below `sessions` with a name nobody else has; raises OSError."""
    make_parents(sessions, files)
    stamp = datetime.fromtimestamp(now, UTC).astimezone().strftime("%Y%m%d-%H%M%S")
    for attempt in range(_ATTEMPTS):
        # The attempt is added so that two kernels with one random seed part ways.
        suffix = (random.getrandbits(16) + attempt) & 0xFFFF
        folder = sessions / f"{stamp}-{suffix:04x}"
        try:
            files.make_folder(folder)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(0, f"no free session id in {_ATTEMPTS} attempts", str(sessions))


def make_parents(folder: Path, files: FileOps) -> None:
    """The folder and what is missing above it, durably; raises OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.is_dir()]
    for path in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another kernel was quicker
            files.make_folder(path)
            files.sync_folder(path.parent)


def is_session_name(name: str) -> bool:
    """Whether it can be the name of one folder of sessions; hidden ones are half-made things."""
    return bool(name) and not name.startswith(".") and not _FORBIDDEN.search(name)


def is_session_folder(sessions: Path, identity: str) -> bool:
    """Whether there is a folder of that name, itself and no link; raises SessionError.

    Where the answer may not be known it is not guessed: no session would seem to be there, or any.
    """
    if not is_session_name(identity):
        return False
    try:
        found = (sessions / identity).stat(follow_symlinks=False)
    except UnicodeEncodeError:
        return False
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        remedy = "see who may enter the folders on the way to it"
        raise failure("look for a session in", sessions, error, remedy=remedy) from error
    return stat.S_ISDIR(found.st_mode)


def time_in_name(name: str) -> float:
    """The time a session's name tells, in seconds since 1970; 0 where it tells none."""
    if found := _OLD_NAME.fullmatch(name):
        return float(found[1])
    if not (found := _NAME.fullmatch(name)):
        return 0.0
    try:
        # Names hold local time, as people read it.
        year, month, day, hour, minute, second = map(int, found.groups())
        # The constructor and not `strptime`, which takes ten times as long.
        return datetime(year, month, day, hour, minute, second).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
