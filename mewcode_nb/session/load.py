"""A session from its folder: the file is read here, what it adds up to is decided in `replay`."""

from __future__ import annotations

from pathlib import Path

from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.replay import fold, rewound
from mewcode_nb.session.state import SessionState

__all__ = ["load", "load_at", "load_whole"]


def load(folder: Path) -> SessionState:
    """The state of the session in `folder`; raises SessionNotFound or SessionError."""
    return load_whole(folder)


def load_whole(folder: Path) -> SessionState:
    """The same with all that the file holds: each line is read. Raises as `load`."""
    contents = read_log(folder / LOG_NAME)
    return fold(contents.records, contents.damage)


def load_at(folder: Path, at: str) -> SessionState:
    """The whole state as it was when message `at` was the last, of whatever branch it is.

    Raises SessionNotFound where no branch has such a message, and as `load`.
    """
    return rewound(read_log(folder / LOG_NAME).records, at)
