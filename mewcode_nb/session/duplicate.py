"""Writing a fork or an import: a whole new session made aside and put in its place in one step.

A kill before that step leaves a hidden folder that no list shows and nobody waits for; after it the
session is complete.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from mewcode_nb.errors import RecordTooLarge, SessionError
from mewcode_nb.paths import real_path
from mewcode_nb.session.failure import failure
from mewcode_nb.session.files import FileOps
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.naming import new_folder
from mewcode_nb.session.records import Record, SessionRecord, SpillRecord, to_line

if TYPE_CHECKING:
    from random import Random  # drags in hashlib, for an annotation

__all__ = ["Fork", "write_fork"]


@dataclass(frozen=True, slots=True)
class Fork:
    """What a copy is made of: its header, its other records, the folder its files come from."""

    header: SessionRecord
    records: Sequence[Record]
    source: Path


def write_fork(
    sessions: Path,
    fork: Fork,
    *,
    clock: Callable[[], float],
    random: Random,
    files: FileOps,
) -> Path:
    """The new session's folder; raises SessionError, and then nothing is left of it."""
    now = clock()
    try:
        folder = new_folder(sessions, now, random, files)
    except OSError as error:
        raise failure("create a session in", sessions, error) from error
    aside = sessions / f".{folder.name}.new"
    try:
        header = replace(fork.header, id=folder.name, ts=now)
        data = b"".join(to_line(record) for record in (header, *fork.records))
        files.make_folder(aside)
        _bring_spills(fork, aside, files)
        _write(aside / LOG_NAME, data, files)
        files.sync_folder(aside)
        files.rename(aside, folder)
    except (OSError, TypeError, ValueError) as error:
        _clear(aside, folder, files)
        raise _told(sessions, error) from error
    with contextlib.suppress(OSError):  # the first append syncs the folder's names again
        files.sync_folder(sessions)
    return folder


def _bring_spills(fork: Fork, aside: Path, files: FileOps) -> None:
    """Hard links: spilled results never change. Copies where the file system has none."""
    for name in _spills(fork.records):
        source, target = fork.source / name, aside / name
        inside = real_path(source).is_relative_to(real_path(fork.source))
        if source.is_symlink() or not source.is_file() or not inside:
            continue  # its preview says that there was one, as in the original
        for part in reversed(target.relative_to(aside).parents[:-1]):
            with contextlib.suppress(FileExistsError):
                files.make_folder(aside / part)
        try:
            files.link(source, target)
        except FileNotFoundError:
            continue
        except OSError:
            files.copy(source, target)
        files.sync_folder(target.parent)


def _spills(records: Iterable[Record]) -> list[PurePosixPath]:
    """Paths that stay inside the session's folder, each once, whatever a record says."""
    named = [PurePosixPath(item.path) for item in records if isinstance(item, SpillRecord)]
    return [
        path
        for path in dict.fromkeys(named)
        if not path.is_absolute() and path.parts and ".." not in path.parts and len(path.parts) > 1
    ]


def _write(path: Path, data: bytes, files: FileOps) -> None:
    fd = files.create(path)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[files.write(fd, rest) :]
        files.sync(fd)
    finally:
        files.close(fd)


def _clear(aside: Path, folder: Path, files: FileOps) -> None:
    with contextlib.suppress(OSError):
        files.remove_tree(aside)
    with contextlib.suppress(OSError):
        files.remove(folder)  # only ever removes an empty one


def _told(sessions: Path, error: Exception) -> SessionError:
    if isinstance(error, OSError):
        return failure("create a session in", sessions, error)
    return RecordTooLarge(
        f"cannot store a record: {error}", remedy="leave that message out: fork before it"
    )
