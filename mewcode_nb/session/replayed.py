"""When a session's answers were last shown again: a use of it that its log knows nothing of.

The time stands in a file of its own in the session's folder: the log stays as it is, whoever holds
it, and lists are sorted as before, so that the same cell is answered by the same session. The file
goes to the trash and comes back with the folder.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mewcode_nb.session.files import FileOps, RealFiles
from mewcode_nb.session.info import SessionInfo

__all__ = ["REPLAYED_NAME", "last_replay", "note_replay", "with_replay"]

REPLAYED_NAME = "replayed"
_EVERY = 86_400.0
"""Retention counts in days: a finer note would cost a sync for each cell and tell no more."""
_TIME_BYTES = 64


def note_replay(folder: Path, now: float, files: FileOps | None = None) -> None:
    """Note that the session in `folder` was replayed at `now`, in seconds since 1970.

    Written at most once a day. Where nothing can be written, nothing can be moved to the trash
    either, so a failure is none.
    """
    if 0 <= now - last_replay(folder) < _EVERY:
        return
    with suppress(OSError):
        (files or RealFiles()).write_text(folder / REPLAYED_NAME, f"{now:.0f}\n")


def last_replay(folder: Path) -> float:
    """When it was last replayed, in seconds since 1970; 0 where that is not known."""
    try:
        with (folder / REPLAYED_NAME).open("rb") as file:
            time = float(file.read(_TIME_BYTES))
    except (OSError, ValueError):
        return 0.0
    return time if math.isfinite(time) else 0.0


def with_replay(info: SessionInfo) -> SessionInfo:
    """The row with the last replay as its last activity, where that is later."""
    if not info.location:
        return info
    return replace(info, active=max(info.active, last_replay(Path(info.location))))
