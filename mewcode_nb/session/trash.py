"""The trash: whole session folders, moved in one step with a note of why and until when.

The note is written into the folder first and means nothing until the folder lies in the trash, so a
kill at any moment leaves a session in the list or in the trash, never in both or in none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mewcode_nb.errors import SessionError, SessionNotFound
from mewcode_nb.session.failure import WHERE_LISTED, failure
from mewcode_nb.session.files import FileOps
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.lease import LEASE_NAME, hold_still
from mewcode_nb.session.naming import is_session_folder, is_session_name, make_parents
from mewcode_nb.session.row import folder_size, info_from_text, info_to_text, read_row

__all__ = ["NOTE_NAME", "Trash"]

NOTE_NAME = "trash.json"
_NOTE_BYTES = 1024 * 1024
_DOOMED = ".purged-"
_DAY = 86_400.0
_WHERE_TRASHED = "mewcode-nb sessions trash shows what is in the trash"


@dataclass(frozen=True, slots=True)
class Trash:
    """The trash of the folder `sessions`, beside it; `days` is how long a thing stays at least."""

    sessions: Path
    files: FileOps
    clock: Callable[[], float]
    days: float

    @property
    def folder(self) -> Path:
        """Where the trashed sessions lie."""
        return self.sessions.parent / "trash"

    def take(self, identity: str, reason: str) -> None:
        """Move a session here; raises SessionNotFound, SessionLocked or SessionError."""
        source, target = self.sessions / identity, self.folder / identity
        if not is_session_folder(self.sessions, identity):
            raise _not_there(identity, "session", WHERE_LISTED)
        if os.path.lexists(target):
            raise SessionError(
                f"there is a session {identity} in the trash already",
                remedy=f"remove or rename {target}",
            )
        with self._held(source, "move to the trash"):
            self.files.write_text(source / NOTE_NAME, self._note(source, reason))
            make_parents(self.folder, self.files)
            self.files.rename(source, target)
            with suppress(OSError):  # it is here: a crash may undo the move, and lose nothing
                self.files.sync_folder(self.folder)
                self.files.sync_folder(self.sessions)

    def items(self) -> tuple[TrashedSession, ...]:
        """What lies here, the latest first; raises SessionError."""
        try:
            names = [name for name in os.listdir(self.folder) if is_session_name(name)]  # noqa: PTH208 - names only
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise failure("read the trash", self.folder, error) from error
        items = [self._item(self.folder / name) for name in names]
        return tuple(sorted(items, key=lambda item: (item.trashed, item.info.id), reverse=True))

    def give_back(self, identity: str) -> None:
        """Move a session back where it was.

        Raises SessionNotFound, or SessionError where its place is taken.
        """
        source, target = self.folder / identity, self.sessions / identity
        if not is_session_folder(self.folder, identity):
            raise _not_there(identity, "trashed session")
        try:
            self._claim(target)
            self.files.rename(source, target)
        except FileNotFoundError as error:
            raise _not_there(identity, "trashed session") from error
        except OSError as error:
            raise failure("restore", source, error) from error
        with suppress(OSError):  # it is back: what is left to do is tidying
            self.files.sync_folder(self.sessions)
            self.files.sync_folder(self.folder)
            self.files.remove(target / NOTE_NAME)

    def purge(self, identity: str) -> None:
        """Remove a session from here for good; raises SessionNotFound or SessionError."""
        source = self.folder / identity
        if not is_session_folder(self.folder, identity):
            raise _not_there(identity, "trashed session")
        doomed = self.folder / f"{_DOOMED}{identity}"
        with self._held(source, "remove"):
            self._sweep_up()
            self.files.rename(source, doomed)
        try:
            self.files.remove_tree(doomed)
            self.files.sync_folder(self.folder)
        except OSError as error:
            raise failure("remove all of", doomed, error, remedy=f"remove {doomed}") from error

    def _sweep_up(self) -> None:
        """Remove what purges that were cut short have left, as far as it lets itself be removed."""
        for left in self.folder.glob(f"{_DOOMED}*"):
            with suppress(OSError):  # else one such leftover would keep all others in the trash
                self.files.remove_tree(left)

    def _claim(self, target: Path) -> None:
        """Raises OSError unless the name is free, or an empty folder stands there."""
        make_parents(self.sessions, self.files)
        try:
            self.files.make_folder(target)
        except FileExistsError as error:
            if target.is_symlink() or not target.is_dir() or os.listdir(target):  # noqa: PTH208
                raise FileExistsError(
                    error.errno, f"there is a session {target.name} already"
                ) from error

    @contextmanager
    def _held(self, folder: Path, action: str) -> Iterator[None]:
        """With the lease of the session in `folder`; an OSError becomes a SessionError."""
        made = not os.path.lexists(folder / LEASE_NAME)
        try:
            lease = hold_still(folder, self.files)
        except OSError as error:
            raise failure(action, folder, error) from error
        try:
            if os.name == "nt":  # a folder with an open file in it cannot be moved there
                lease.release(self.files)
            yield
        except OSError as error:
            if made:
                with suppress(OSError):
                    self.files.remove(folder / LEASE_NAME)
            raise failure(action, folder, error) from error
        finally:
            if os.name != "nt":
                with suppress(OSError):  # the lock ends with the process at the latest
                    lease.release(self.files)

    def _note(self, folder: Path, reason: str) -> str:
        now = self.clock()
        row = read_row(folder)
        info = row.info if row else SessionInfo(folder.name, size=folder_size(folder))
        note = {
            "reason": reason,
            "trashed": now,
            "purge_after": now + self.days * _DAY,
            "size": info.size,
            "session": info_to_text(info),
        }
        return json.dumps(note, ensure_ascii=False, indent=1) + "\n"

    def _item(self, folder: Path) -> TrashedSession:
        """A folder without a sound note is in the trash all the same; it is never due to go."""
        try:
            with (folder / NOTE_NAME).open("rb") as file:
                note = json.loads(file.read(_NOTE_BYTES))
            info = info_from_text(folder.name, str(folder), note["session"])
            times = float(note["trashed"]), float(note["purge_after"])
            return TrashedSession(info, str(note["reason"]), *times)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            row = read_row(folder)
            info = row.info if row else SessionInfo(folder.name, str(folder))
            return TrashedSession(replace(info, live=False), "", 0.0, 0.0)


def _not_there(identity: str, what: str, remedy: str = "") -> SessionNotFound:
    return SessionNotFound(f"no {what} {identity}", remedy=remedy or _WHERE_TRASHED)
