"""All sessions of a project: the store beside this notebook, and those of the project's others.

New sessions go to the store of this folder. The others are looked for when they are first asked
for, and again when a session is in none of them; `notices` says when the search for them had to
stop early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.errors import AmbiguousSession, SessionError, SessionNotFound
from mewcode_nb.paths import real_path, sessions_folder
from mewcode_nb.session.belongs import Notebook, belongs, file_at
from mewcode_nb.session.folder_store import TRASH_DAYS, FolderStore
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.places import Places, find_places

if TYPE_CHECKING:
    from random import Random  # drags in hashlib, for an annotation

__all__ = ["Library"]


class Library:
    """The stores of a project, by folder.

    Attributes: `here`, the notebook's folder, and `root`, the project's, both as real paths; `root`
    is None where only the one folder counts. `trash_days` is how long the stores keep what they
    trash, at least.
    """

    def __init__(
        self,
        here: Path,
        root: Path | None,
        *,
        clock: Callable[[], float],
        random: Random,
        home: Path | None = None,
        trash_days: float = TRASH_DAYS,
    ) -> None:
        self.here = real_path(here)
        self.root = None if root is None else real_path(root)
        self._clock = clock
        self._random = random
        self._home = home
        self.trash_days = trash_days
        self._stores: dict[Path, FolderStore] = {}
        self._places: Places | None = None
        self._told: set[str] = set()
        self._untold: list[str] = []

    @property
    def store(self) -> FolderStore:
        """The store of this folder: where new sessions go."""
        return self._store(self.here)

    def stores(self, project: bool = False) -> tuple[FolderStore, ...]:
        """This folder's store, then with `project` those of the project's other folders."""
        others = self._others() if project else ()
        return (self.store, *(self._store(folder) for folder in others))

    def notices(self) -> tuple[str, ...]:
        """What the user should know of the stores and the search for them; each is given once."""
        own = tuple(self._untold)
        self._untold.clear()
        return (*own, *(notice for store in self._stores.values() for notice in store.notices()))

    def list(
        self, *, notebook: Notebook | None = None, project: bool = False, limit: int | None = None
    ) -> tuple[SessionInfo, ...]:
        """Sessions by last activity, newest first.

        With `notebook` only those that are its own, looked for in the whole project, since a
        notebook that was moved has left its sessions behind; else those of this folder, or with
        `project` of all folders. Raises `SessionError`.
        """
        if notebook is None:
            return self._newest(project, limit)
        found = self._newest(project=True, limit=None)
        real = {path: file_at(path) for path in {info.notebook for info in found}}
        return tuple(info for info in found if belongs(info, notebook, real.__getitem__))[:limit]

    def find(self, name: str, project: bool = True) -> SessionInfo:
        """The session meant by an id, an unambiguous start of one, a title, or `last`.

        This folder comes first: only what is not found there is looked for in the rest of the
        project. Raises `SessionNotFound`, or `AmbiguousSession` whose message lists what fits.
        """
        try:
            return self.store.find(name)
        except SessionNotFound as error:
            if not project or self.root is None:
                raise
            missing = error
        found, several = self._find_elsewhere(name)
        if not (found or several) and self._found_more():
            found, several = self._find_elsewhere(name)
        if name == "last" and found:
            return _ordered(found)[0]
        if several or len(found) > 1:
            fits = "; ".join([*several, *map(_described, found)])
            raise AmbiguousSession(
                f"{name!r} fits several sessions of the project: {fits}",
                remedy="give more of the id",
            )
        if not found:
            raise missing
        return found[0]

    def store_of(self, info: SessionInfo) -> FolderStore:
        """The store that keeps the session, listed or in its trash.

        Raises `SessionNotFound` when it is none of the library's.
        """
        place = real_path(Path(info.location).parent.parent.parent)
        known = place == self.here or place in self._others()
        if known or (self._found_more() and place in self._others()):
            return self._store(place)
        raise SessionNotFound(
            f"session {info.id} lies in {place}, outside this project",
            remedy="resume it from a notebook in that project",
        )

    def store_in(self, sessions: Path) -> FolderStore:
        """The store of that folder of sessions, be it one of the library's or not."""
        return self._store(real_path(sessions.parent.parent))

    def _find_elsewhere(self, name: str) -> tuple[Sequence[SessionInfo], Sequence[str]]:
        """What the other folders' stores answer, and what those say that have several answers."""
        found, several = [], []
        for folder in self._others():
            try:
                found.append(self._store(folder).find(name))
            except AmbiguousSession as error:
                several.append(error.message)
            except SessionNotFound:
                continue
            except SessionError as error:
                self._tell(error.message)
        return found, several

    def _newest(self, project: bool, limit: int | None) -> tuple[SessionInfo, ...]:
        """One folder that cannot be read hides none of the others; this one's own must be read."""
        lists = [self.store.list(limit)]
        for folder in self._others() if project else ():
            try:
                lists.append(self._store(folder).list(limit))
            except SessionError as error:
                self._tell(error.message)
        return _ordered(info for infos in lists for info in infos)[:limit]

    def _tell(self, problem: str) -> None:
        if problem and problem not in self._told:
            self._told.add(problem)
            self._untold.append(problem)

    def _others(self) -> tuple[Path, ...]:
        if self.root is None:
            return ()
        if self._places is None:
            self._places = find_places(self.root, self._home, timer=time.monotonic)
            self._tell(self._places.stopped)
        return tuple(folder for folder in self._places.folders if folder != self.here)

    def _found_more(self) -> bool:
        """Look again for folders, some may be new; whether there are others than before."""
        before, self._places = self._others(), None
        return self._others() != before

    def _store(self, folder: Path) -> FolderStore:
        if folder not in self._stores:
            self._stores[folder] = FolderStore(
                sessions_folder(folder),
                clock=self._clock,
                random=self._random,
                trash_days=self.trash_days,
            )
        return self._stores[folder]


def _ordered(infos: Iterable[SessionInfo]) -> tuple[SessionInfo, ...]:
    return tuple(sorted(infos, key=lambda info: (info.active, info.id), reverse=True))


def _described(info: SessionInfo) -> str:
    return f"{info.id} ({info.name}) in {info.location}"
