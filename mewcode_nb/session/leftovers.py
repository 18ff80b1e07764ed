"""What a fork or an import that was killed leaves behind, found and removed.

A hidden folder in which the copy was made, and an empty one that held its name. Neither was ever a
session: what was being copied is whole where it lies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from mewcode_nb.session.naming import is_session_name, time_in_name

__all__ = ["find_leftovers", "remove_leftovers"]

_AGE = 86_400.0
"""A copy is made in seconds; what is so much older has nobody who works on it."""
_ASIDE = re.compile(r"\.(.+)\.new")


def find_leftovers(sessions: Path, now: float) -> tuple[Path, ...]:
    """Those of more than a day before `now`; none where the folder cannot be looked at.

    Only names that this program gives: what anybody else put there is not ours to remove.
    """
    try:
        with os.scandir(sessions) as entries:
            folders = [Path(item.path) for item in entries if item.is_dir(follow_symlinks=False)]
    except OSError:
        return ()
    return tuple(folder for folder in folders if _is_leftover(folder, now - _AGE))


def remove_leftovers(leftovers: Iterable[Path]) -> None:
    """Remove them, as far as they let themselves be removed; the rest is found again."""
    from shutil import rmtree

    for folder in leftovers:
        with suppress(OSError):
            if folder.name.startswith("."):
                rmtree(folder)
            else:
                folder.rmdir()  # only ever removes an empty one


def _is_leftover(folder: Path, limit: float) -> bool:
    aside = _ASIDE.fullmatch(folder.name)
    name = aside[1] if aside else folder.name
    if not is_session_name(name) or not 0 < time_in_name(name) < limit:
        return False
    try:
        return max(_times(folder)) < limit and (bool(aside) or not any(folder.iterdir()))
    except OSError:
        return False


def _times(folder: Path) -> Iterator[float]:
    """When it and the folders in it last changed: a copy that is being made adds names to them.

    Not those of the files: what is linked into a copy is as old as in the original.
    """
    for top, _, _ in os.walk(folder):
        yield os.stat(top, follow_symlinks=False).st_mtime  # noqa: PTH116 - a name of `walk`
