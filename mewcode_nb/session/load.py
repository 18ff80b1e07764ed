"""A session from its folder: the file is read here, what it adds up to is decided in `replay`."""

from __future__ import annotations

from pathlib import Path

from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.replay import SessionState, fold

__all__ = ["load"]


def load(folder: Path) -> SessionState:
    """The state of the session in `folder`; raises SessionNotFound or SessionError."""
    contents = read_log(folder / LOG_NAME)
    return fold(contents.records, contents.damage)
