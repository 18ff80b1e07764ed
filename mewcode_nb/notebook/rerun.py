"""A cell that is run again: its stored answer, the session that goes on, and what a fresh run does.

Looked for first in the conversation at hand, then in the session that earlier replays took up, then
in the other sessions of this notebook, newest first. A cell with an id is looked for only in
sessions whose row names that cell, or may lack it; without ids (nbclient, papermill) the newest few
are read, and the next turn in order counts. A terminal never replays.

The session that answered is taken up only when something is to be added to it. So a Run All replays
without holding anything, and a new prompt at its end goes on where the last answer is stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mewcode_nb.errors import SessionError
from mewcode_nb.events import Notice
from mewcode_nb.notebook.locate import cell_id, frontend_kind
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.notebook.stored import Stored, find_turn
from mewcode_nb.session.records import Cell
from mewcode_nb.session.said import load_said
from mewcode_nb.session.turns import turns
from mewcode_nb.widgets.words import choose_language

if TYPE_CHECKING:
    from mewcode_nb.notebook.options import TurnOptions
    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.session.info import SessionInfo
    from mewcode_nb.session.replay import SessionState

__all__ = ["READ_SESSIONS", "Plan", "Reruns"]

_Load: TypeAlias = "Callable[[], SessionState]"
_Look: TypeAlias = "Callable[[str, Path, object, _Load], Stored | None]"
READ_SESSIONS = 20
"""The most sessions read for one cell, newest first: small ones take some milliseconds each."""
_READ_BYTES = 128 * 1024 * 1024
"""Logs are read to no more than this in all for one cell: about a second."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with a cell: show `replay`, or run it, after going back before `rewind`.

    `session` is the one to go on in, where that is not the conversation at hand.
    """

    replay: Stored | None = None
    rewind: Stored | None = None
    session: SessionInfo | None = None
    notices: tuple[Notice, ...] = ()


class Reruns:
    """What one kernel knows of the cells it ran and replayed."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._taken: tuple[SessionInfo, str] | None = None
        self._used: set[str] = set()
        """Last messages of the turns made or replayed in this kernel."""
        self._used_now: set[str] = set()
        """The same, in this execution of a cell."""
        self._execution: object = None
        self._left: dict[str, None] = {}
        """Sessions that were ended in this kernel, in order: replayed, but not gone on with."""
        self._stands_for: dict[str, str] = {}
        """Fork by the session it stands for, where another process held that one."""
        self._rows: tuple[SessionInfo, ...] | None = None
        self._hashes: dict[str, tuple[object, frozenset[str]]] = {}
        """By session: as of when, and the hashes of prompts whose turns are still to be used."""
        self._asked: dict[str, set[str]] = {}
        """By session: hashes of the prompts of turns made or replayed in this kernel."""
        self._loaded: tuple[str, object, SessionState] | None = None

    @property
    def adopted(self) -> SessionInfo | None:
        """The session whose answers were replayed last, where the next prompt goes on in it."""
        if self._taken is None or self._taken[1] != self._at_hand():
            return None
        return self._taken[0]

    @property
    def left_last(self) -> str:
        """The session that was at hand here before there was none; empty while there is one."""
        at_hand = self._at_hand() or self.adopted
        return "" if at_hand or not self._left else next(reversed(self._left))

    def plan(self, prompt: str, options: TurnOptions) -> Plan:
        """Decide what the cell with this prompt gets.

        Raises:
            SessionNotFound, AmbiguousSession: the session of `--session`.
        """
        runtime, shell = self._runtime, self._runtime.shell
        self._enter(shell)
        named = runtime.library().find(options.session) if options.session else None
        target = self._target(named)
        cell, kind = Cell(cell_id(shell), _digest(prompt)), frontend_kind(shell)
        if kind == "terminal" or (not cell.id and kind != "headless"):
            return Plan(session=target)
        notices: list[Notice] = []
        fresh = options.fresh or runtime.project().settings.rerun == "fresh"
        found = None if fresh and options.new else self._find(cell, named, notices, whole=not fresh)
        if found is None:
            return Plan(session=target, notices=tuple(notices))
        stored, info = found
        if not fresh:
            self._replays(stored, info, chosen=named is not None)
            return Plan(replay=stored, notices=tuple(notices))
        if info is not None and runtime.conversation is not None and named is None:
            # It lies in another session than the one at hand, which goes on as it is.
            return Plan(session=target, notices=tuple(notices))
        return Plan(None, stored, target or info, tuple(notices))

    def again(self, stored: Stored) -> Plan:
        """Replace the replayed turn, as the session is now; what left it meanwhile runs as new.

        Raises:
            SessionNotFound: the session is gone.
        """
        info = self._runtime.library().find(self._stands_for.get(stored.session, stored.session))
        if self._runtime.conversation is not None and self._is_other(info):
            return Plan()
        state = self._runtime.library().store_of(info).load(info.id)
        records = _said(state, Path(info.location)).records
        kept = [turn for turn in turns(records) if turn.last_id == stored.turn.last_id]
        other = info if self._is_other(info) else None
        if not kept:
            return Plan(session=other)
        return Plan(rewind=replace(stored, records=records, turn=kept[0]), session=other)

    def begin(self, plan: Plan, options: TurnOptions, prompt: str) -> tuple[Notice, ...]:
        """Make ready to run the cell: the session it belongs to, without the turn it replaces.

        Raises:
            SessionError: the session of `--session` cannot be gone on with.
            AuthenticationFailed: without a key nothing is replaced.
        """
        from mewcode_nb.notebook.parts import model_options

        runtime = self._runtime
        if options.new:
            runtime.new_session()
            return plan.notices
        notices = list(plan.notices)
        if plan.rewind is not None:
            model_options(runtime.project()).require_credentials()
        if plan.session is not None and self._is_other(plan.session):
            adopted = options.session is None
            notices += self.go_on_in(plan.session, needed=not adopted)
            if adopted and not self._is_other(plan.session):
                said = self._words(prompt)
                notices.append(Notice(said("goes_on", session=self._at_hand())))
        if plan.rewind is not None and runtime.conversation is not None:
            notices.append(self._rewound(plan.rewind, prompt))
        return tuple(notices)

    def go_on_in(self, info: SessionInfo, *, needed: bool) -> tuple[Notice, ...]:
        """Take the session up; where it is not `needed`, one that cannot be leaves a notice."""
        self._taken = None
        try:
            resumed = self._runtime.resume(info)
        except SessionError as error:
            if needed:
                raise
            return (Notice(error.message, "warning", error.remedy),)
        if resumed.session != info.id:
            self._stands_for[info.id] = resumed.session
        return resumed.notices

    def take_up(self) -> tuple[Notice, ...]:
        """Go on with the session that replays took up, where there is no conversation yet."""
        if self.adopted is None or self._runtime.conversation is not None:
            return ()
        return self.go_on_in(self.adopted, needed=True)

    def ran(self, prompt: str) -> None:
        """A turn was run, whatever came of it."""
        conversation = self._runtime.conversation
        if conversation is not None and conversation.agent.history:
            self._asked.setdefault(conversation.session_id, set()).add(_digest(prompt))
            self._used.add(conversation.agent.history[-1].id)
            self._used_now.add(conversation.agent.history[-1].id)

    def left(self) -> None:
        """The user ends the session at hand: its answers show again, but it is not gone on with."""
        for session in (self._at_hand(), self.adopted.id if self.adopted else ""):
            if session:
                self._left.pop(session, None)
                self._left[session] = None
        self._taken = self._rows = None

    def _enter(self, shell: Any) -> None:  # noqa: ANN401 - IPython has no types
        """In one run of a cell the same words may be asked several times: each in its turn."""
        kernel = getattr(shell, "kernel", None)
        parent = kernel.get_parent() if kernel is not None else {}
        execution = parent.get("header", {}).get("msg_id") if isinstance(parent, dict) else None
        if execution is None or execution != self._execution:
            self._used_now.clear()
        self._execution = execution

    def _at_hand(self) -> str:
        live = self._runtime.conversation
        return live.session_id if live is not None else ""

    def _is_other(self, info: SessionInfo) -> bool:
        return self._at_hand() not in {info.id, self._stands_for.get(info.id)}

    def _target(self, named: SessionInfo | None) -> SessionInfo | None:
        """The session a new turn of the cell belongs to; None for the conversation at hand."""
        if named is not None:
            return named if self._is_other(named) else None
        return self.adopted

    def _find(
        self, cell: Cell, named: SessionInfo | None, notices: list[Notice], *, whole: bool
    ) -> tuple[Stored, SessionInfo | None] | None:
        """The cell's stored turn, and its session's row where that is not the one at hand."""
        used = self._used_now if cell.id else self._used

        def look(session: str, folder: Path, version: object, load: _Load) -> Stored | None:
            state = self._state(session, version, cell, lambda: _said(load(), folder), notices)
            turn = find_turn(state.records, cell, used, whole=whole) if state else None
            if state is None or turn is None:
                return None
            return Stored(session, state.records, turn, folder, state.offsets, state.spills)

        if (named is None or not self._is_other(named)) and (stored := self._live(cell, look)):
            return stored, None
        for info in self._candidates(cell, notices) if named is None else (named,):
            store = self._runtime.library().store_of(info)
            version = (info.active, info.size)
            if stored := look(info.id, Path(info.location), version, partial(store.load, info.id)):
                return stored, info
        return None

    def _live(self, cell: Cell, look: _Look) -> Stored | None:
        """Of the conversation at hand, as far as it is on disk."""
        conversation = self._runtime.conversation
        if conversation is None or conversation.folder is None or not conversation.journal.stored:
            return None
        session, history = conversation.session_id, conversation.agent.history
        if session in self._hashes and not self._may_hold(session, cell):
            return None
        store = self._runtime.library().store_in(conversation.folder.parent)
        version = (len(history), history[-1].id if history else "")
        return look(session, conversation.folder, version, partial(store.load, session))

    def _state(
        self, session: str, version: object, cell: Cell, load: _Load, notices: list[Notice]
    ) -> SessionState | None:
        """The session, where the prompt was asked in it; it is read once for each version."""
        known = self._hashes.get(session)
        if known is not None and known[0] == version and not self._may_hold(session, cell):
            return None
        if self._loaded is None or self._loaded[:2] != (session, version):
            try:
                self._loaded = (session, version, load())
            except SessionError as error:
                notices.append(Notice(error.message, "warning", error.remedy))
                return None
        state = self._loaded[2]
        waiting = (turn for turn in turns(state.records) if turn.last_id not in self._used)
        asked = frozenset(turn.cell.sha256 for turn in waiting if turn.cell is not None)
        self._hashes[session] = (version, asked)
        return state

    def _may_hold(self, session: str, cell: Cell) -> bool:
        """Whether the session, read before, can have a turn for the cell.

        Turns made or replayed here answer again only to a cell with an id.
        """
        here = self._asked.get(session, set()) if cell.id else set()
        return cell.sha256 in self._hashes[session][1] or cell.sha256 in here

    def _candidates(self, cell: Cell, notices: list[Notice]) -> Iterator[SessionInfo]:
        """Sessions worth reading: the one taken up, then those of the notebook, newest first."""
        count = size = 0
        for info in self._ordered(notices):
            if not info.readable or not info.turns or not self._is_other(info):
                continue
            if cell.id and cell.id not in info.cells and info.turns <= len(info.cells):
                continue  # a row may lack cells of turns that a compaction replaced
            count, size = count + 1, size + info.size
            if count > 1 and (count > READ_SESSIONS or size > _READ_BYTES):
                return
            yield info

    def _ordered(self, notices: list[Notice]) -> list[SessionInfo]:
        if self._rows is None:
            try:
                self._rows = self._listed()
            except SessionError as error:
                notices.append(Notice(error.message, "warning", error.remedy))
                return []
        first = self.adopted.id if self.adopted else ""
        return sorted(self._rows, key=lambda info: info.id != first)

    def _listed(self) -> tuple[SessionInfo, ...]:
        from mewcode_nb.session.belongs import read_notebook

        runtime = self._runtime
        path = runtime.project().place.path
        if path is None:
            return runtime.library().list()
        return runtime.library().list(notebook=read_notebook(path))

    def _replays(self, stored: Stored, info: SessionInfo | None, *, chosen: bool) -> None:
        if stored.turn.cell is not None:
            self._asked.setdefault(stored.session, set()).add(stored.turn.cell.sha256)
        self._used.add(stored.turn.last_id)
        self._used_now.add(stored.turn.last_id)
        if info is None:
            return
        idle = self._runtime.conversation is None
        if chosen or (idle and info.id not in self._left):
            self._taken = (info, self._at_hand())

    def _rewound(self, stored: Stored, prompt: str) -> Notice:
        self._runtime.rewind(stored.before, with_next=True)
        words = self._words(prompt)
        key = "replaced_more" if stored.later else "replaced"
        return Notice(words(key, count=stored.later), remedy=words("undo_hint"))

    def _words(self, prompt: str) -> SessionWords:
        runtime = self._runtime
        language = runtime.project().settings.language
        return SessionWords(choose_language(language, runtime.environ, prompt))


def _said(state: SessionState, folder: Path) -> SessionState:
    """The session with the turns that a compaction put out of the conversation: they ran, too."""
    return load_said(folder) if state.compactions else state


def _digest(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
