"""Going on with a stored session: hold it, read it, see what changed, make it the shell's own.

A session that another process holds is not waited for: a fork of it is opened, and the user is
told. Nothing here asks the model anything; what changed travels with the next prompt.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.agent.approval import Mode
from mewcode_nb.errors import SessionLocked, SessionNotFound
from mewcode_nb.events import Notice, TurnResult
from mewcode_nb.messages import block_text
from mewcode_nb.prompt import is_reminder
from mewcode_nb.session.changes import Changes, Present, changes_since, reminder_text, untold
from mewcode_nb.session.git import read_git
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.present import file_states
from mewcode_nb.session.records import RewindRecord, Variable
from mewcode_nb.session.replay import SessionState
from mewcode_nb.session.turns import message_id, turns

if TYPE_CHECKING:
    from mewcode_nb.session.store import SessionStore, SessionWriter

__all__ = [
    "REMINDER_HOURS",
    "Held",
    "Resumed",
    "find_message",
    "hold",
    "last_result",
    "reminders",
    "rewound",
    "told_mode",
    "what_changed",
]

REMINDER_HOURS = 6.0
"""After so long the model is told of the time that passed even where nothing else changed."""

_MODE_TOLD = re.compile(r'<mewcode-reminder kind="mode">\s*The mode is now (\w+):')


@dataclass(frozen=True, slots=True)
class Held:
    """A session that is ours to write, and what it holds."""

    writer: SessionWriter
    state: SessionState
    forked_from: str = ""
    """The session this one is a fork of, made just now."""
    notices: tuple[Notice, ...] = ()
    rewind: tuple[RewindRecord, ...] = ()
    """What made `state` of the stored session, still to be written once all else has succeeded."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session that goes on: what the card shows of it."""

    info: SessionInfo
    """The session that was asked for, as listed."""
    session: str
    """The id of the session that is written from now on; another one than `info.id` in a fork."""
    state: SessionState
    """What the conversation begins with."""
    changes: Changes = field(default_factory=Changes)
    forked_from: str = ""
    notices: tuple[Notice, ...] = ()
    told: bool = False
    """Whether the model will be told of what changed, or of the time that passed."""


def hold(store: SessionStore, info: SessionInfo, *, at: str = "", fork: bool = False) -> Held:
    """Open the session, or a fork of it, up to message `at` (its number or id; empty for all).

    Raises SessionNotFound for a session or message that is not there, SessionError.
    """
    if fork:
        return _forked(store, info, at, ())
    try:
        writer = store.open(info.id)
    except SessionLocked as error:
        notice = Notice(f"{error.message}; this is a fork of it", "warning")
        return _forked(store, info, at, (notice,))
    with ExitStack() as undo:  # of an interrupt as well: a long session takes a while to read
        undo.callback(writer.close)
        held = rewound(store, writer, at) if at else Held(writer, store.load(info.id))
        undo.pop_all()
    return replace(held, notices=_writer_notices(writer))


def rewound(store: SessionStore, writer: SessionWriter, to: str) -> Held:
    """The session without what follows message `to`; an abandoned branch is taken up again.

    `to` is a number, an id, or empty for the very beginning. Nothing is written here: the record to
    write is `rewind`, empty where the conversation ends there already. Raises SessionNotFound,
    SessionError.
    """
    state = store.load(writer.id, whole=True)
    target = find_message(state, to) if to else ""
    if target == _last_id(state):
        return Held(writer, state)
    left = RewindRecord(time.time(), target)
    return Held(writer, store.load_at(writer.id, target), rewind=(left,))


def find_message(state: SessionState, named: str) -> str:
    """The id meant by a number or an id; of messages that were left behind by a rewind as well.

    Raises SessionNotFound.
    """
    try:
        return message_id(state.records, named)
    except SessionNotFound:
        if named in state.offsets:
            return named
        raise


def what_changed(
    state: SessionState,
    root: Path,
    variables: Mapping[str, Variable] | None,
    *,
    now: float,
    timer: Callable[[], float],
) -> Changes:
    """What differs between the end of the session and now, in seconds since 1970."""
    present = Present(
        now=now,
        files=file_states(state.reads.values(), timer=timer),
        variables=variables,
        git=read_git(root),
    )
    return changes_since(state, present)


def reminders(changes: Changes, state: SessionState, now: float) -> tuple[tuple[str, str], ...]:
    """What the model is to be told with the next prompt, as (kind, text); empty for nothing.

    What an earlier reminder in the conversation says is no news, until more hours have passed.
    """
    if changes.hours <= REMINDER_HOURS:
        changes = untold(changes, state)
        if changes.empty:
            return ()
    local = time.strftime("%A %Y-%m-%d %H:%M %z", time.localtime(now))
    return (("resume", f"{reminder_text(changes)}\nThe local time is now {local}."),)


def last_result(state: SessionState, session: str) -> TurnResult | None:
    """The last turn as its cell would have given it; None before the first answer."""
    cut = turns(state.records)
    if not cut or not cut[-1].answer:
        return None
    turn = cut[-1]
    said = [record for record in turn.records if record.role == "assistant"]
    return TurnResult(
        text=turn.answer,
        blocks=tuple(block for record in said for block in record.content),
        usage=turn.usage,
        stop_reason=said[-1].stop_reason,
        steps=len(said),
        seconds=max(turn.records[-1].ts - turn.ts, 0.0),
        session=session,
        turn=turn.number,
        model=said[-1].model,
        tools=tuple(called.call["name"] for called in turn.calls()),
    )


def told_mode(state: SessionState) -> Mode:
    """The mode the model was told last; a session begins in mode `ask`."""
    for record in reversed(state.records):
        for block in reversed(record.content):
            text = block_text(block) if record.role == "user" else ""
            found = _MODE_TOLD.match(text) if is_reminder(text) else None
            if found and found[1] in {mode.value for mode in Mode}:
                return Mode(found[1])
    return Mode.ASK


def _forked(store: SessionStore, info: SessionInfo, at: str, notices: tuple[Notice, ...]) -> Held:
    to = find_message(store.load(info.id, whole=True), at) if at else ""
    writer = store.fork(info.id, to)
    with ExitStack() as undo:
        undo.callback(writer.close)
        state = store.load(writer.id)
        undo.pop_all()
    return Held(writer, state, info.id, (*notices, *_writer_notices(writer)))


def _writer_notices(writer: SessionWriter) -> tuple[Notice, ...]:
    return (Notice(writer.notice, "warning"),) if writer.notice else ()


def _last_id(state: SessionState) -> str:
    return state.records[-1].id if state.records else ""
