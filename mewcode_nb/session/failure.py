"""How an error of the file system is told to the user: one line, with a remedy."""

from __future__ import annotations

from pathlib import Path

from mewcode_nb.errors import SessionError

__all__ = ["WHERE_LISTED", "failure"]

WHERE_LISTED = "%resume --list shows what there is, and so does mewcode-nb sessions list"
"""The remedy for a session that is not there, in a notebook and on the command line."""

_ROOM = "make room or choose a folder that can be written; the answer itself is not lost"


def failure(action: str, path: Path, error: OSError, *, remedy: str = _ROOM) -> SessionError:
    """The error for `cannot ACTION PATH`."""
    reason = error.strerror or type(error).__name__
    return SessionError(f"cannot {action} {path}: {reason}", remedy=remedy)
