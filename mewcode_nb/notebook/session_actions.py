"""What a user does with stored sessions, in the picker and by `%resume`: one way for both.

The session at hand is written by this kernel already, so its title and pin go through the log that
is open; any other one is opened for a moment. What changes something is refused while a turn runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.errors import AmbiguousSession, SessionError, SessionNotFound, UsageError
from mewcode_nb.model.limits import choose_limits
from mewcode_nb.notebook.cell_names import cell_names
from mewcode_nb.notebook.picker import Scope, SearchHit, SearchStep
from mewcode_nb.notebook.resume_words import ResumeWords
from mewcode_nb.session.belongs import read_notebook
from mewcode_nb.session.find import LAST, choose, in_trash
from mewcode_nb.session.query import parse_query
from mewcode_nb.session.records import MetaRecord
from mewcode_nb.session.search import search_session
from mewcode_nb.session.turns import Turn, turns
from mewcode_nb.widgets.cards import Bundle
from mewcode_nb.widgets.resume_card import ResumedTalk, resume_card

if TYPE_CHECKING:
    from mewcode_nb.messages import Json
    from mewcode_nb.notebook.resume import Resumed
    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.session.folder_store import FolderStore
    from mewcode_nb.session.info import SessionInfo, TrashedSession
    from mewcode_nb.session.replay import SessionState

__all__ = ["PREVIEW_TURNS", "SessionActions"]

PREVIEW_TURNS = 5


class SessionActions:
    """The `PickerActions` of one shell; `clock` in seconds since 1970.

    Methods take the id of a session that `rows`, `search` or `find` gave. All raise `MewcodeError`.
    """

    def __init__(
        self, runtime: Runtime, words: ResumeWords, clock: Callable[[], float] = time.time
    ) -> None:
        self._runtime = runtime
        self._words = words
        self._clock = clock
        self._known: dict[str, SessionInfo] = {}
        self._twins: dict[str, SessionInfo] = {}
        """Of ids that a list held twice: a session that lies in another folder too, as a copy."""

    def rows(self, scope: Scope) -> Sequence[SessionInfo]:
        """The sessions of a scope, newest activity first."""
        library, path = self._runtime.library(), self._runtime.project().place.path
        if scope == "project":
            infos = library.list(project=True)
        elif scope == "folder" or path is None:
            infos = library.list()
        else:
            infos = library.list(notebook=read_notebook(path))
        return self._keep(infos)

    def preview(self, identity: str) -> Sequence[Turn]:
        """The last few turns, oldest first."""
        return turns(self.load(self._info(identity)).records)[-PREVIEW_TURNS:]

    def search(self, query: str) -> Iterator[SearchStep]:
        """Look into one session after another, newest first; what cannot be read is passed over."""
        wanted, infos = parse_query(query), self.rows("project")
        for done, info in enumerate(infos, start=1):
            try:
                found = search_session(info, wanted, each=1)
            except SessionError:
                found = ()  # its row says that it cannot be read, and why
            hits = tuple(SearchHit(hit.info, hit.match.snippet) for hit in found)
            yield SearchStep(done, len(infos), hits)

    def resume(self, identity: str, fork: bool = False, at: str = "") -> Bundle:
        """Go on with the session, or a fork of it, up to message `at`; the card that says so."""
        info = self._info(identity)
        if not info.readable:
            reason = info.damage or "?"
            raise SessionError(
                self._words("unreadable", id=info.id, reason=reason),
                remedy=self._words("doctor", id=info.id),
            )
        return self._card(self._runtime.resume(info, at=at, fork=fork))

    def rename(self, identity: str, title: str) -> SessionInfo:
        """Give the session a title; an empty one takes it away."""
        return self._annotate(self._info(identity), "title", " ".join(title.split()) or None)

    def pin(self, identity: str, on: bool) -> SessionInfo:
        """Keep the session for ever, or no longer."""
        return self._annotate(self._info(identity), "pin", True if on else None)

    def delete(self, identity: str) -> None:
        """Move the session to the trash; not the one at hand."""
        self._runtime.require_idle("deleting a session")
        info = self._info(identity)
        if self._at_hand(info):
            raise UsageError(
                self._words("deleting_own", id=info.id), remedy=self._words("end_first")
            )
        self._store(info).trash(info.id, self._words("by_user"))

    def restore(self, identity: str) -> SessionInfo:
        """Take the session out of the trash."""
        self._runtime.require_idle("restoring a session")
        info = self._info(identity)
        self._store(info).restore(info.id)
        return self._fresh(info)

    def find(self, name: str) -> SessionInfo:
        """The session called so: by id, its start, title, first prompt, or `last`.

        `last` is the one that was just left here, else this notebook's newest, if it has any that
        can be read. Raises SessionNotFound, AmbiguousSession.
        """
        own = [info for info in self.rows("notebook") if info.readable] if name == LAST else []
        left = self._runtime.reruns.left_last
        own.sort(key=lambda info: info.id != left)
        return self._mean(own[0] if own else self._named(name))

    def find_trashed(self, name: str) -> TrashedSession:
        """The one in the trash with this id or title; SessionNotFound, AmbiguousSession."""
        found = in_trash(self.trashed(), name)
        if not found:
            text = self._words("not_trashed", name=repr(name))
            raise SessionNotFound(text, remedy=self._words("see_trash"))
        if len(found) > 1:
            ids = ", ".join(item.info.id for item in found)
            text = self._words("several_trashed", name=repr(name), ids=ids)
            raise AmbiguousSession(text, remedy=self._words("more_id"))
        self._mean(found[0].info)
        return found[0]

    def trashed(self) -> Sequence[TrashedSession]:
        """What is in the trash of the project, the latest first."""
        stores = self._runtime.library().stores(project=True)
        items = [item for store in stores for item in store.trashed()]
        return sorted(items, key=lambda item: item.trashed, reverse=True)

    def load(self, info: SessionInfo) -> SessionState:
        """The session as its records leave it."""
        return self._store(info).load(info.id)

    def _named(self, name: str) -> SessionInfo:
        try:
            return self._runtime.library().find(name)
        except SessionNotFound as missing:
            wanted = _folded(name).removesuffix("…")
            infos = self._runtime.library().list(project=True)
            prompted = [info for info in infos if _folded(info.first_prompt).startswith(wanted)]
            if prompted and wanted:
                return choose(prompted, name)
            raise self._not_there(name) from missing

    def _not_there(self, name: str) -> SessionNotFound:
        text = self._words("none_called", name=repr(name))
        if found := in_trash(self.trashed(), name):
            return SessionNotFound(text, remedy=self._words("in_trash", id=found[0].info.id))
        return SessionNotFound(text, remedy=self._words("list_them"))

    def _annotate(self, info: SessionInfo, key: str, value: Json) -> SessionInfo:
        self._runtime.require_idle("changing a session")
        conversation = self._runtime.conversation
        if self._at_hand(info) and conversation is not None and conversation.log is not None:
            conversation.log.append((MetaRecord(self._clock(), {key: value}),))
        else:
            self._store(info).annotate(info.id, {key: value})
        return self._fresh(info)

    def _at_hand(self, info: SessionInfo) -> bool:
        conversation = self._runtime.conversation
        return conversation is not None and conversation.is_stored_as(info)

    def _card(self, resumed: Resumed) -> Bundle:
        project, state = self._runtime.project(), resumed.state
        said = turns(state.records)
        talk = ResumedTalk(
            session=resumed.session,
            name=resumed.info.name,
            age=max(self._clock() - resumed.info.active, 0.0),
            turns=len(said),
            messages=len(state.records),
            model=state.model,
            tokens=self._tokens(state),
            window=choose_limits(state.model, (0, 0), project.settings.context_window).window,
            prompt=said[-1].prompt if said else "",
            answer=said[-1].answer if said else "",
            changes=resumed.changes,
            told=resumed.told,
            forked_from=resumed.forked_from,
            damage=resumed.info.damage,
            notices=resumed.notices,
            cells=cell_names(project.place.path) if resumed.changes.missing else {},
        )
        return resume_card(talk, self._words.language)

    def _tokens(self, state: SessionState) -> int:
        """What the next request carries at least; 0 for an empty conversation."""
        from mewcode_nb.notebook.room import tokens_taken

        conversation = self._runtime.conversation
        if conversation is None or not state.records:
            return 0
        return tokens_taken(conversation.agent, state, state.model)

    def _fresh(self, info: SessionInfo) -> SessionInfo:
        return self._mean(self._store(info).find(info.id))

    def _info(self, identity: str) -> SessionInfo:
        """The session; where a copy of it was listed as well, nobody can tell which is meant."""
        info = self._known[identity]
        if twin := self._twins.get(identity):
            places = f"{Path(info.location).parent}; {Path(twin.location).parent}"
            raise AmbiguousSession(
                self._words("copied", id=identity, places=places), remedy=self._words("from_there")
            )
        return info

    def _store(self, info: SessionInfo) -> FolderStore:
        return self._runtime.library().store_of(info)

    def _keep(self, infos: Sequence[SessionInfo]) -> Sequence[SessionInfo]:
        """The same, known by id; the session at hand is in use, but not by anyone else."""
        kept = [replace(info, live=False) if self._at_hand(info) else info for info in infos]
        listed: dict[str, SessionInfo] = {}
        for info in kept:
            first = listed.setdefault(info.id, info)
            if first is not info:
                self._twins[info.id] = info
        self._known |= listed
        return kept

    def _mean(self, info: SessionInfo) -> SessionInfo:
        """Know the session as the one that its id means from now on."""
        self._twins.pop(info.id, None)
        return self._keep([info])[0]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
