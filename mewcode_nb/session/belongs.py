"""Which sessions are this notebook's.

The path that they recorded says it, and where that file is gone, the cells their prompts came
from. A renamed or moved notebook finds its sessions again; a copy beside the original does not take
them, since the original is still there. Two copies of a notebook that is itself gone both find
them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath

from mewcode_nb.paths import read_inside, real_path
from mewcode_nb.session.info import SessionInfo

__all__ = ["NOTEBOOK_BYTES", "Notebook", "belongs", "file_at", "read_notebook"]

NOTEBOOK_BYTES = 64 * 1024 * 1024
"""A longer notebook is not parsed for its cells: that takes about a second already."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook: its file's path, absolute with links resolved, and the ids of its cells."""

    path: str
    cells: frozenset[str] = frozenset()


def belongs(info: SessionInfo, notebook: Notebook, file_at: Callable[[str], str]) -> bool:
    """Whether the session is the notebook's; `file_at` gives a file's real path, empty for none.

    It is when it recorded the notebook's path. It is as well when the path it recorded leads to no
    file any more and the notebook holds a cell that one of its prompts came from; or, where no cell
    ids are known on one of the two sides, when the file's name is still the same.
    """
    recorded = info.notebook
    if recorded and recorded == notebook.path:
        return True
    if recorded and (found := file_at(recorded)):
        return found == notebook.path
    if info.cells and notebook.cells:
        return not info.cells.isdisjoint(notebook.cells)
    return bool(recorded) and _name(recorded) == _name(notebook.path)


def file_at(path: str) -> str:
    """The real path of the file at `path`; empty where there is none. Raises nothing."""
    real = real_path(Path(path))
    return str(real) if os.path.isfile(real) else ""  # noqa: PTH113 — never raises


def read_notebook(path: Path) -> Notebook:
    """The notebook at `path` as last saved; without cells where the file tells none.

    An unsaved, unreadable or damaged file, one over `NOTEBOOK_BYTES`, and one of a format before
    4.5 all count as a notebook whose cells are not known. Raises nothing.
    """
    real = real_path(path)
    return Notebook(str(real), _cell_ids(real))


def _cell_ids(path: Path) -> frozenset[str]:
    try:
        data, _ = read_inside(path.parent, path, limit=NOTEBOOK_BYTES)
        found = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return frozenset()
    cells = found.get("cells") if isinstance(found, dict) else None
    listed = cells if isinstance(cells, list) else []
    ids = [cell.get("id") for cell in listed if isinstance(cell, dict)]
    return frozenset(identity for identity in ids if isinstance(identity, str) and identity)


def _name(path: str) -> str:
    return PurePath(path).name
