"""Sessions that have had their time leave: at a kernel's first use, once, and never silently.

At the first prompt or session command a thread looks, and touches nothing but the index. When the
answer is there, and only if there is something to do, it is done in the user's cell and said right
there. It is bounded in time: what is left is left for the next kernel. No failure of it is one of
the cell; it is a notice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mewcode_nb.errors import SessionError
from mewcode_nb.events import Notice

if TYPE_CHECKING:
    from pathlib import Path

    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.session.folder_store import FolderStore
    from mewcode_nb.session.retention import Policy

__all__ = ["Retention"]

_WAIT_SECONDS = 1.0
"""For a look that is not finished when the first answer is; the next cell does not wait again."""
_MOVE_SECONDS = 2.0
"""Moves and removals begin for so long: some hundreds on a disk that syncs in milliseconds."""


class Retention:
    """What one kernel does for retention; `clock` in seconds since 1970, `timer` in seconds."""

    def __init__(
        self,
        runtime: Runtime,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._timer = timer
        self._begun = False
        self._look: _Look | None = None
        self._patience = _WAIT_SECONDS

    def begin(self) -> None:
        """Look for what has had its time, on a thread; does nothing but at the first use."""
        if self._begun or self._runtime.busy:
            return
        self._begun = True
        project = self._runtime.project()
        from mewcode_nb.paths import real_path, sessions_folder

        sessions = sessions_folder(real_path(project.place.folder))
        if not (sessions.is_dir() or (sessions.parent / "trash").is_dir()):
            return
        from mewcode_nb.session.retention import Policy

        policy = Policy.of(project.settings)
        self._look = _Look(sessions, policy, project.settings.trash_days, self._clock)
        self._look.start()

    def finish(self) -> None:
        """Once the look is through, do what it found, and say so."""
        look, patience = self._look, self._patience
        if look is None or self._runtime.busy:
            return
        self._patience = 0.0
        if not look.done.wait(patience):
            return
        self._look = None
        if look.problem or look.found:
            for notice in self._act(look):
                self._publish(notice)

    def _act(self, look: _Look) -> tuple[Notice, ...]:
        from mewcode_nb.session.sweep import sweep
        from mewcode_nb.widgets.retention_words import report_notices, retention_words

        language = self._runtime.words().language
        problem, end = look.problem, self._timer() + _MOVE_SECONDS
        if not problem:
            try:
                report = sweep(
                    look.store, look.policy, self._clock(), stop=lambda: self._timer() >= end
                )
            except (SessionError, OSError) as error:
                problem = _reason(error)
            else:
                return report_notices(report, look.trash_days, language)
        return (Notice(retention_words(language)["failed"].format(why=problem), "warning"),)

    def _publish(self, notice: Notice) -> None:
        from mewcode_nb.widgets import cards

        text = f"{notice.text} — {notice.remedy}" if notice.remedy else notice.text
        tone = "warning" if notice.level == "warning" else "normal"
        self._runtime.shell.display_pub.publish(dict(cards.line(text, tone=tone)))


class _Look:
    """One look at the folder of sessions, with a store of its own: the kernel uses another."""

    def __init__(
        self, sessions: Path, policy: Policy, trash_days: float, clock: Callable[[], float]
    ) -> None:
        from random import Random

        from mewcode_nb.session.folder_store import FolderStore

        self.policy = policy
        self.trash_days = trash_days
        self.store: FolderStore = FolderStore(
            sessions,
            clock=clock,
            random=Random(),  # noqa: S311 - for names, no secrets
            trash_days=trash_days,
        )
        self.done = threading.Event()
        self.found = False
        """Whether there is something to tell of or to do."""
        self.problem = ""
        self._clock = clock

    def start(self) -> None:
        """Begin; a daemon, since a kernel that ends waits for nothing of this."""
        threading.Thread(target=self._run, name="mewcode-retention", daemon=True).start()

    def _run(self) -> None:
        from mewcode_nb.session.sweep import look_ahead

        try:
            self.store.reindex()
            self.found = not look_ahead(self.store, self.policy, self._clock()).idle
        except (SessionError, OSError) as error:
            self.problem = _reason(error)
        finally:
            self.done.set()


def _reason(error: SessionError | OSError) -> str:
    if isinstance(error, SessionError):
        return error.message
    return error.strerror or type(error).__name__
