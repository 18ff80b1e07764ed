"""A session from its folder: the file is read here, what it adds up to is decided in `replay`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.reader import open_log, read_log
from mewcode_nb.session.replay import fold, rewound
from mewcode_nb.session.state import SessionState
from mewcode_nb.session.tail import read_tail

__all__ = ["load", "load_at", "load_whole"]


def load(folder: Path) -> SessionState:
    """The state of the session in `folder`, read from the end where a compaction permits.

    What the last compaction put out of the conversation then is not in it (`SessionState.begin`).
    Raises SessionNotFound or SessionError.
    """
    with open_log(folder / LOG_NAME) as handle:
        state = read_tail(handle)
    return load_whole(folder) if state is None else state


def load_whole(folder: Path) -> SessionState:
    """The same from all of the file, whatever was compacted. Raises as `load`."""
    contents = read_log(folder / LOG_NAME)
    return fold(contents.records, contents.damage)


def load_at(folder: Path, at: str) -> SessionState:
    """The whole state as it was when message `at` was the last, of whatever branch it is.

    Empty for the very beginning. Raises SessionNotFound where no branch has such a message, and as
    `load`.
    """
    contents = read_log(folder / LOG_NAME)
    state = rewound(contents.records, at)
    damage = sorted((*contents.damage, *state.damage), key=lambda item: item.line)
    return replace(state, damage=tuple(damage))
