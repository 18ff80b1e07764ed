"""Which sessions are this notebook's.

The path that they recorded says it, and where that file is gone, the cells their prompts came
from. A renamed or moved notebook finds its sessions again; a copy beside the original does not take
them, since the original is still there. Two copies of a notebook that is itself gone both find
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath

from mewcode_nb.paths import read_inside, real_path
from mewcode_nb.session.info import SessionInfo

__all__ = ["NOTEBOOK_BYTES", "Notebook", "belongs", "read_notebook"]

NOTEBOOK_BYTES = 64 * 1024 * 1024
"""A longer notebook is not parsed for its cells: that takes about a second already."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook: its file's path, absolute with links resolved, and the ids of its cells."""

    path: str
    cells: frozenset[str] = frozenset()


def belongs(info: SessionInfo, notebook: Notebook, is_file: Callable[[str], bool]) -> bool:
    """Whether the session is the notebook's; `is_file` says what is still there.

    It is when it recorded the notebook's path. It is as well when the path it recorded leads to no
    file any more and the notebook holds a cell that one of its prompts came from; or, where no cell
    ids are known on one of the two sides, when the file's name is still the same.
    """
    if info.notebook == notebook.path and info.notebook:
        return True
    if info.notebook and is_file(info.notebook):
        return False
    if info.cells and notebook.cells:
        return not info.cells.isdisjoint(notebook.cells)
    return bool(info.notebook) and _name(info.notebook) == _name(notebook.path)


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
