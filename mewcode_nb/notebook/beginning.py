"""Where a conversation begins: in a new session, or in one that goes on, with what changed since.

Everything that can fail is done here, before the conversation at hand is given up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.errors import SessionError
from mewcode_nb.events import Notice
from mewcode_nb.notebook.cells import kept_cells
from mewcode_nb.notebook.described import known_variables
from mewcode_nb.notebook.project import Project
from mewcode_nb.notebook.resume import Held, Resumed, reminders, what_changed
from mewcode_nb.paths import sessions_folder, write_gitignore
from mewcode_nb.session.changes import Changes, last_git
from mewcode_nb.session.git import read_git
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.records import Git, NamespaceRecord, SessionRecord
from mewcode_nb.session.state import SessionState

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from mewcode_nb.session.store import SessionStore, SessionWriter

__all__ = ["Beginning", "begin_session", "go_on_in", "look_again"]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The session a conversation is written to, and what it holds already."""

    writer: SessionWriter | None
    """None where no session could be created: the conversation is in memory only."""
    folder: Path | None
    """Where the session is stored."""
    state: SessionState | None = None
    """Of a session that goes on."""
    reminders: tuple[tuple[str, str], ...] = ()
    """For the model, with the first prompt, as (kind, text)."""
    known: NamespaceRecord | None = None
    """What the reminders say of the user's variables."""
    notices: tuple[Notice, ...] = ()
    git: Git | None = None
    """Where the repository stood, as far as the session's records say."""


def begin_session(project: Project, store: SessionStore) -> Beginning:
    """Create a session on disk.

    Never fails for the disk's sake: without a session the conversation is kept in memory, and a
    notice says so.
    """
    git = read_git(project.root)
    header = SessionRecord(
        ts=0.0,  # the store sets time and id
        id="",
        notebook=str(project.place.path or ""),
        project=str(project.root),
        model=project.settings.model,
        git=git if git != Git() else None,
    )
    try:
        writer = store.create(header)
    except SessionError as error:
        text = f"this conversation is kept in memory only: {error.message}"
        return Beginning(None, None, notices=(Notice(text, "warning", remedy=error.remedy),))
    notices = [Notice(writer.notice, "warning")] if writer.notice else []
    sessions = sessions_folder(project.place.folder)
    try:
        write_gitignore(sessions.parent)
    except OSError as error:
        notices.append(Notice(f"no .gitignore in {sessions.parent}: {error.strerror}", "warning"))
    return Beginning(writer, sessions / writer.id, notices=tuple(notices), git=header.git)


def go_on_in(
    shell: InteractiveShell,
    project: Project,
    info: SessionInfo,
    held: Held,
    timer: Callable[[], float],
) -> tuple[Beginning, Resumed]:
    """The held session as a beginning, and what the user should see of it; `timer` in seconds."""
    beginning = Beginning(held.writer, Path(info.location).parent / held.writer.id, held.state)
    beginning, changes = look_again(shell, project, beginning, timer)
    resumed = Resumed(
        info,
        held.writer.id,
        held.state,
        changes,
        forked_from=held.forked_from,
        notices=held.notices,
        told=bool(beginning.reminders),
    )
    return beginning, resumed


def look_again(
    shell: InteractiveShell, project: Project, beginning: Beginning, timer: Callable[[], float]
) -> tuple[Beginning, Changes]:
    """The beginning of a session that goes on, with reminders of what is not as it was."""
    state, now = beginning.state, time.time()
    if state is None:
        return beginning, Changes()
    cells = kept_cells(shell).defining()
    variables = known_variables(shell.user_ns, state.namespace, cells)
    changes = what_changed(state, project.root, variables, now=now, timer=timer)
    beginning = replace(beginning, git=last_git(state))
    told = reminders(changes, state, now)
    known = _namespace(changes) if told else None
    return replace(beginning, reminders=told, known=known), changes


def _namespace(changes: Changes) -> NamespaceRecord | None:
    """The variables as the model then knows them: said once, they are no news the next time."""
    if not (changes.missing or changes.different):
        return None
    return NamespaceRecord(
        0.0,
        removed=tuple(variable.name for variable in changes.missing),
        used=tuple(pair.now for pair in changes.different),
    )
