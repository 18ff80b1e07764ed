"""Where the sessions of a project lie: the folders below its root that hold some.

A folder's sessions are the project's when a notebook in that folder resolves to the project's root,
the rule that put them there; so a nested project, which has a root of its own, is left out with all
below it. The walk never leaves the root, follows no link, and is bounded in folders and seconds:
what it did not get to is said, not guessed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mewcode_nb.paths import ROOT_MARKERS, project_root, real_path, sessions_folder

__all__ = ["MAX_FOLDERS", "MAX_SECONDS", "Places", "find_places", "same_project"]

MAX_FOLDERS = 20_000
MAX_SECONDS = 2.0
"""The walk ends at either: on a local disk it sees some 40,000 folders a second."""

_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_ROOT_MARKS = frozenset(marker.partition("/")[0] for marker in ROOT_MARKERS)
_ENVIRONMENT_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})


@dataclass(frozen=True, slots=True)
class Places:
    """Folders that hold sessions, the nearest to the root first, as real paths."""

    folders: tuple[Path, ...]
    folders_seen: int = 0
    stopped: str = ""
    """Why not the whole project was looked at; empty when it was."""


def find_places(
    root: Path, home: Path | None, *, timer: Callable[[], float], limit: int = MAX_FOLDERS
) -> Places:
    """The folders at or below the project's root with sessions in them.

    A root that nothing marks as a project (a lone notebook's folder, the home folder) is not
    walked: a notebook in a folder below it has that folder as its own root. `timer` in seconds;
    `limit` is the most folders looked at.
    """
    top = real_path(root)
    if not same_project(top, top / "-", home):
        return Places((top,) if sessions_folder(top).is_dir() else (), 1)
    walk = _Walk(top, home, limit)
    walk.run(timer)
    return Places(tuple(walk.found), walk.seen, walk.stopped())


def same_project(root: Path, folder: Path, home: Path | None) -> bool:
    """Whether a notebook in `folder` belongs to the project at `root`, a real path."""
    return project_root(folder, home) == root


class _Walk:
    """Breadth first, so that a walk that must stop has seen what lies nearest."""

    def __init__(self, root: Path, home: Path | None, limit: int) -> None:
        self._root = root
        self._home = home
        self._limit = limit
        self._waiting = deque([root])
        self._unread = 0
        self.found: list[Path] = []
        self.seen = 0

    def run(self, timer: Callable[[], float]) -> None:
        end = timer() + MAX_SECONDS
        while self._waiting and self.seen < self._limit and timer() < end:
            self._look_at(self._waiting.popleft())

    def stopped(self) -> str:
        if self._waiting:
            limits = f"{self._limit:,} folders or {MAX_SECONDS:g} s"
            return f"looked at {self.seen:,} folders of {self._root}; the search ends at {limits}"
        if self._unread:
            return f"{self._unread:,} folders of {self._root} could not be read"
        return ""

    def _look_at(self, folder: Path) -> None:
        self.seen += 1
        try:
            with os.scandir(folder) as entries:
                names = {entry.name: _is_folder(entry) for entry in entries}
        except OSError:
            self._unread += 1
            return
        if folder != self._root and self._is_foreign(folder, names):
            return
        if names.get(".mewcode") and sessions_folder(folder).is_dir():
            self.found.append(folder)
        below = (name for name, is_folder in names.items() if is_folder and _is_walked(name))
        self._waiting.extend(folder / name for name in sorted(below))

    def _is_foreign(self, folder: Path, names: dict[str, bool]) -> bool:
        if not _ENVIRONMENT_MARKS.isdisjoint(names):
            return True
        # The names rule most folders out before the file system is asked.
        marked = not _ROOT_MARKS.isdisjoint(names)
        return marked and not same_project(self._root, folder, self._home)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_walked(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED
