"""What every store of sessions does: the seam for backends other than folders.

`mewcode_nb.testing` has a conformance suite for it. The store of this package is
`folder_store.FolderStore`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mewcode_nb.messages import JsonObject
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.records import Record, SessionRecord
from mewcode_nb.session.replay import SessionState

__all__ = ["SessionStore", "SessionWriter"]


class SessionWriter(Protocol):
    """A session held for writing, by this process alone, until closed."""

    id: str
    notice: str
    """For the user; empty when all is well."""

    def append(self, records: Sequence[Record]) -> None:
        """Store the batch durably; raises `SessionError` when nothing of it counts as stored."""
        ...

    def close(self) -> None:
        """Let go of the session; harmless when done twice."""
        ...


class SessionStore(Protocol):
    """Sessions by id. Every method raises `SessionError` or one of its kinds, and nothing else."""

    def create(self, header: SessionRecord) -> SessionWriter:
        """A new session; id and time of the header are given by the store."""
        ...

    def open(self, identity: str) -> SessionWriter:
        """The session, to go on with; `SessionNotFound`, `SessionLocked`."""
        ...

    def load(self, identity: str, *, whole: bool = False) -> SessionState:
        """What the session's records add up to; `SessionNotFound`.

        Without `whole` a store may leave out what its last compaction put out of the conversation;
        `SessionState.begin` then is above 0.
        """
        ...

    def load_at(self, identity: str, at: str) -> SessionState:
        """What the records would add up to after a rewind to message `at` (its id).

        Empty for the very beginning. Nothing is written. Raises `SessionNotFound` for a session or
        message that is not there.
        """
        ...

    def list(self, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """The sessions by last activity, newest first, unreadable ones with their reason."""
        ...

    def find(self, name: str) -> SessionInfo:
        """The session meant by an id, an unambiguous start of one, a title, or `last`.

        Raises `SessionNotFound`, or `AmbiguousSession` whose message lists what fits.
        """
        ...

    def annotate(self, identity: str, facts: JsonObject) -> None:
        """Set `title`, `pin` or another fact; null removes one.

        Raises `SessionNotFound`, `SessionLocked`.
        """
        ...

    def fork(self, identity: str, at: str = "") -> SessionWriter:
        """A new session with the conversation up to message `at` (its id), or all of it.

        `at` may be in a branch that a rewind left, or be older than a compaction. The original
        stays as it is and may be held by another process meanwhile. Raises `SessionNotFound` for a
        session or message that is not there.
        """
        ...

    def trash(self, identity: str, reason: str) -> None:
        """Take the session out of the list, whole, to be restored; `SessionLocked` while held."""
        ...

    def trashed(self) -> tuple[TrashedSession, ...]:
        """What is in the trash, the latest first."""
        ...

    def restore(self, identity: str) -> None:
        """Back from the trash under its old id; `SessionNotFound`."""
        ...

    def purge(self, identity: str) -> None:
        """Remove a session that is in the trash for good; `SessionNotFound`."""
        ...
