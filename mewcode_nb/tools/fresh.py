"""The rule that a change rests on a fresh read, and the one way a changed file reaches the disk.

The model may change a file only when it has seen it in this session and the bytes on disk are still
those it saw: checked when the change is proposed, again when it runs, and once more just before the
new file takes the old one's place.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from mewcode_nb.errors import ToolError
from mewcode_nb.tools.base import FileRead, FileReads
from mewcode_nb.tools.roots import (
    Folder,
    Target,
    check_new_names,
    explain,
    open_folder,
    open_regular,
    replace_file,
)
from mewcode_nb.tools.textfile import TextFile, binary_kind, decode

__all__ = ["Snapshot", "demand_fresh", "load", "note_of", "store", "text_of"]

_LARGEST = 8 * 1024 * 1024
"""Bytes of a file that can be changed here: the loop waits while it is read and compared."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file's bytes and state at one moment."""

    raw: bytes
    sha256: str
    mode: int
    """Permission bits."""


def load(target: Target) -> Snapshot | None:
    """The file as it is now; `None` when there is none. Raises `ToolError`."""
    try:
        fd = open_regular(target.path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, target.shown) from None
    with os.fdopen(fd, "rb") as stream:
        state = os.fstat(stream.fileno())
        if state.st_size > _LARGEST:
            raise ToolError(
                f"{target.shown} has {state.st_size:,} bytes, too big to change here (at most "
                f"{_LARGEST:,}); use run_python or shell"
            )
        raw = stream.read()
    return Snapshot(raw, hashlib.sha256(raw).hexdigest(), stat.S_IMODE(state.st_mode))


def demand_fresh(target: Target, snapshot: Snapshot, reads: FileReads) -> None:
    """Refuse to change a file that was not read, was changed since, or may not be written."""
    seen = reads.get(target.path)
    if seen is None:
        raise ToolError(f"{target.shown} was not read in this session; read_file it first")
    if seen.sha256 != snapshot.sha256:
        raise ToolError(f"{target.shown} was changed since it was read; read_file it again")
    if not snapshot.mode & 0o222:
        raise ToolError(f"{target.shown} is read-only; ask the user before making it writable")


def text_of(target: Target, snapshot: Snapshot) -> TextFile:
    """The file as text; raises `ToolError` for binary data."""
    if kind := binary_kind(snapshot.raw):
        raise ToolError(f"{target.shown} is {kind}, not text; use run_python or shell to change it")
    return decode(snapshot.raw)


def store(target: Target, data: bytes, before: Snapshot | None) -> FileRead:
    """Put the bytes in the place of the file as it was in `before`; raises `ToolError`."""
    if before is None:
        check_new_names(target.path)
    try:
        with open_folder(target.path.parent, create=before is None) as folder:
            _demand_unchanged(folder, target, before)
            mode = None if before is None else before.mode
            state = replace_file(folder, target.path.name, data, mode)
    except OSError as error:
        raise explain(error, target.shown) from None
    return note_of(target.path, hashlib.sha256(data).hexdigest(), state)


def note_of(path: Path, sha256: str, state: os.stat_result) -> FileRead:
    """What the model now knows of the file."""
    return FileRead(str(path), sha256, state.st_mtime, state.st_size)


def _demand_unchanged(folder: Folder, target: Target, before: Snapshot | None) -> None:
    try:
        fd = folder.open(target.path.name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        if before is None:
            return
        raise ToolError(f"{target.shown} was removed meanwhile; nothing was written") from None
    with os.fdopen(fd, "rb") as stream:
        now = hashlib.file_digest(stream, "sha256").hexdigest() if before else ""
    if before is None or now != before.sha256:
        raise ToolError(f"{target.shown} was changed meanwhile; nothing was written, read it again")
