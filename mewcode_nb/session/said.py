"""All that was said in a session's live branch, as if nothing had ever been compacted.

What a cell was answered stays its answer when a summary has taken the turn's place for the model.
"""

from __future__ import annotations

from pathlib import Path

from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.records import CompactRecord, UncompactRecord
from mewcode_nb.session.replay import fold
from mewcode_nb.session.state import SessionState

__all__ = ["load_said"]


def load_said(folder: Path) -> SessionState:
    """The state of the session in `folder` without its compactions; reads the whole file.

    A rewind to a summary itself counts for nothing here. In a fork the turns before its summary
    are not in the file, so they are missing. Raises SessionNotFound or SessionError.
    """
    contents = read_log(folder / LOG_NAME)
    kept = (
        placed
        for placed in contents.records
        if not isinstance(placed.record, CompactRecord | UncompactRecord)
    )
    return fold(kept, contents.damage)
