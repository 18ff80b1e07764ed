"""Find the file a path names, also where the disk spells the same letters another way.

macOS and some archives store `é` as two characters; an include written with one would miss the file
on a system that compares bytes. Only folders inside the boundary are ever listed.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from mewcode_nb.paths import inside

__all__ = ["find_file", "near_name"]

_LISTED_NAMES = 10_000
"""Names looked through in one folder; a folder with more is left to exact names."""


def find_file(path: Path, boundary: Path) -> Path:
    """The path, each missing part replaced by the one name of equal characters, if there is one."""
    if os.path.lexists(path) or path.as_posix().isascii():
        return path
    found = Path(path.anchor)
    for part in path.parts[1:]:
        candidate = found / part
        if not os.path.lexists(candidate) and inside(boundary, found):
            same = _names_like(found, part, lambda name: unicodedata.normalize("NFC", name))
            candidate = found / same[0] if len(same) == 1 else candidate
        found = candidate
    return found


def near_name(path: Path) -> str:
    """A name in the path's folder that differs in case only; empty without one."""
    names = _names_like(
        path.parent, path.name, lambda name: unicodedata.normalize("NFC", name).casefold()
    )
    return names[0] if names else ""


def _names_like(folder: Path, name: str, key: Callable[[str], str]) -> list[str]:
    wanted = key(name)
    return sorted(other for other in _names(folder) if key(other) == wanted)


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in islice(entries, _LISTED_NAMES))
    except OSError:
        return
