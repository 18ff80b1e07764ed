"""The files of layer 1: a plan carried out, each file on the disk before anything names it.

A file's name tells whose result it is and holds a part of the hash of what is in it, so that one
name never stands for two contents. What cannot be written stays in the conversation as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mewcode_nb.compaction.spill import Move, apply_moves, plan_moves
from mewcode_nb.context_events import Spilled
from mewcode_nb.errors import SessionError
from mewcode_nb.messages import Block
from mewcode_nb.session.files import FileOps
from mewcode_nb.session.records import SpillRecord
from mewcode_nb.session.spilled import SPILL_FOLDER
from mewcode_nb.tokens import Family, estimate

__all__ = ["SpillFiles", "Spilling", "spill_name"]

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_ID, _HASH_DIGITS = 40, 12
_NAMES = 100
"""Names tried for one content; more than one is taken only where somebody put other files there."""


@dataclass(frozen=True, slots=True)
class Spilling:
    """What became of a message's blocks."""

    content: tuple[Block, ...]
    """As they are stored and sent."""
    records: tuple[SpillRecord, ...] = ()
    events: tuple[Spilled, ...] = ()
    failed: str = ""
    """Why something that should have moved has not; empty when all is well."""


class SpillFiles:
    """The files of one session.

    Args:
        folder: The session's; None where it is not stored, and then nothing moves.
        shown: How the model names that folder.
        files: The operating system.
    """

    def __init__(self, folder: Path | None, *, shown: str, files: FileOps) -> None:
        self._folder = folder / SPILL_FOLDER if folder else None
        self._shown = shown
        self._files = files

    def spill(self, content: Sequence[Block], ts: float, family: Family) -> Spilling:
        """Move what is too big to files; `ts` is the time for the records."""
        if self._folder is None:
            return Spilling(tuple(content))
        previews: dict[Move, str] = {}
        records: list[SpillRecord] = []
        failed = ""
        for move in plan_moves(content):
            digest = hashlib.sha256(move.data).hexdigest()
            name = spill_name(move.tool_use_id, digest, move.extension)
            try:
                path = self._put(name, move.data)
            except OSError as error:
                failed = failed or (error.strerror or type(error).__name__)
                continue
            preview = previews[move] = move.preview(f"{self._shown}/{path}")
            size = len(move.data)
            record = SpillRecord(ts, move.tool_use_id, path, size, digest, preview, move.target)
            records.append(record)
        pairs = zip(previews, records, strict=True)
        events = tuple(_event(move, record, family) for move, record in pairs)
        return Spilling(apply_moves(content, previews), tuple(records), events, failed)

    def write(self, name: str, text: str) -> str:
        """Put a text into a file of that name; its path as a record has it.

        Raises:
            SessionError: it cannot be written, or the session is not stored.
        """
        try:
            return self._put(name, text.encode())
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise SessionError(f"{name} cannot be written: {reason}") from error

    def read(self, path: str) -> str:
        """The text of a file that a record names by its path.

        Raises:
            SessionError: it is not there, or is no text.
        """
        try:
            if self._folder is None:
                raise FileNotFoundError(None, "the session is not stored")
            return self._bytes(self._folder / Path(path).name).decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise SessionError(f"{path} cannot be read: {reason}") from error

    def _put(self, name: str, data: bytes) -> str:
        """Write a file unless it is there already with the same content; its relative path."""
        if self._folder is None:
            raise FileNotFoundError(None, "the session is not stored")
        self._make_folder(self._folder)
        for candidate in _candidates(name):
            path = self._folder / candidate
            try:
                fd = self._files.create(path)
            except FileExistsError:
                if self._holds(path, data):
                    return f"{SPILL_FOLDER}/{candidate}"
                continue
            self._fill(fd, path, data)
            self._files.sync_folder(self._folder)
            return f"{SPILL_FOLDER}/{candidate}"
        raise FileExistsError(None, "other files have all its names")

    def _make_folder(self, folder: Path) -> None:
        try:
            self._files.make_folder(folder)
        except FileExistsError:
            if folder.is_symlink() or not folder.is_dir():
                raise

    def _fill(self, fd: int, path: Path, data: bytes) -> None:
        """The whole content or no file: half of one would be taken for the other's."""
        try:
            try:
                left = memoryview(data)
                while left:
                    left = left[self._files.write(fd, left) :]
                self._files.sync(fd)
            finally:
                self._files.close(fd)
        except OSError:
            self._files.remove(path)
            raise

    def _holds(self, path: Path, data: bytes) -> bool:
        try:
            return self._bytes(path) == data
        except OSError:  # a link, a folder, not ours to read: its name is taken
            return False

    def _bytes(self, path: Path) -> bytes:
        with os.fdopen(self._files.open(path), "rb") as file:
            return file.read()


def spill_name(tool_use_id: str, sha256: str, extension: str) -> str:
    """A name that every file system takes, whatever the id holds."""
    safe = _UNSAFE.sub("_", tool_use_id)[:_LONGEST_ID] or "result"
    return f"{safe}-{sha256[:_HASH_DIGITS]}.{extension}"


def _candidates(name: str) -> Iterator[str]:
    yield name
    stem, _, extension = name.rpartition(".")
    yield from (f"{stem}-{number}.{extension}" for number in range(2, _NAMES))


def _event(move: Move, record: SpillRecord, family: Family) -> Spilled:
    saved = estimate(move.text, family) - estimate(record.preview, family) if move.text else 0
    return Spilled(move.tool_use_id, record.path, record.bytes, max(0, saved), record.target)
