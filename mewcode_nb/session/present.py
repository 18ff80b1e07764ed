"""The files a conversation has read, looked at again: which are still as it saw them.

A file of the same size and modification time counts as the same; one of another size as changed;
only the rest is read and hashed, within bounds of size and time. Nothing of a file's content leaves
this module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from mewcode_nb.paths import TooLarge, read_inside
from mewcode_nb.session.changes import FileState
from mewcode_nb.session.records import ReadRecord

__all__ = ["HASHED_BYTES", "HASHED_SECONDS", "file_states"]

HASHED_BYTES = 32 * 1024 * 1024
"""A longer file is not hashed; tools read at most 8 MB."""

HASHED_SECONDS = 1.0
"""After so long, files that would have to be hashed stay unchecked."""


def file_states(reads: Iterable[ReadRecord], *, timer: Callable[[], float]) -> dict[str, FileState]:
    """What became of each file since it was read, by its recorded path; `timer` in seconds."""
    end = timer() + HASHED_SECONDS
    return {read.path: _state(read, timer, end) for read in reads}


def _state(read: ReadRecord, timer: Callable[[], float], end: float) -> FileState:
    path = Path(read.path)
    if timer() >= end:
        return "unchecked"
    try:
        found = path.stat()
        if read.bytes and found.st_size != read.bytes:
            return "changed"
        if found.st_mtime == read.mtime:
            return "same"
        if not read.sha256:
            return "unchecked"
        data, _ = read_inside(path.parent, path, limit=HASHED_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except TooLarge:
        return "unchecked"
    except (OSError, ValueError):
        return "unreadable"
    return "same" if hashlib.sha256(data).hexdigest() == read.sha256 else "changed"
