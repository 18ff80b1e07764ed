"""Shows the session picker in a notebook, and the text table where no widget can live.

What the picker can do is behind `PickerActions`, so that it knows neither stores nor the runtime.
Every action runs on the shell's own loop, one after the other, whichever thread the page's message
came in on. An error for the user is a line in the picker; only a fault of ours reaches the log.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.turns import Turn
from mewcode_nb.widgets.cards import Bundle

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["PickerActions", "Scope", "SearchHit", "SearchStep", "show_picker"]

Scope: TypeAlias = Literal["notebook", "folder", "project"]
"""Sessions of this notebook, of its folder, of the whole project."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A session in which the words were found, and where: a few words around, on one line."""

    info: SessionInfo
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchStep:
    """How far a search is: sessions read so far, of how many, and what was found since the last."""

    done: int
    total: int
    hits: tuple[SearchHit, ...] = ()


class PickerActions(Protocol):
    """What the picker asks for. Each may raise `MewcodeError`, shown as a line in the picker.

    All are called on the thread and loop of the shell's cells, never while another one runs.
    """

    def rows(self, scope: Scope) -> Sequence[SessionInfo]:
        """The sessions of a scope, newest activity first, damaged ones with their reason."""
        ...

    def preview(self, identity: str) -> Sequence[Turn]:
        """The last few turns (five are enough), oldest first."""
        ...

    def search(self, query: str) -> Iterator[SearchStep]:
        """Look for the words in all sessions of the project.

        Gives a step after each session or few that it read, so that progress shows; it is closed
        early when the user types another query.
        """
        ...

    def resume(self, identity: str, fork: bool = False) -> Bundle | Awaitable[Bundle]:
        """Go on with the session, or with a fork of it; the bundle then takes the picker's place."""
        ...

    def rename(self, identity: str, title: str) -> SessionInfo:
        """Give the session a title (an empty one takes it away); the row as it is now."""
        ...

    def pin(self, identity: str, on: bool) -> SessionInfo:
        """Pin the session or let it go; the row as it is now."""
        ...

    def delete(self, identity: str) -> None:
        """Move the session to the trash."""
        ...

    def restore(self, identity: str) -> SessionInfo:
        """Take it back out of the trash, as long as the picker is open; its row."""
        ...


def show_picker(
    shell: InteractiveShell,
    actions: PickerActions,
    *,
    language: str = "en",
    scope: Scope = "notebook",
    clock: Callable[[], float] = time.time,
) -> None:
    """Show the picker as an output of the running cell, and return at once.

    Where no widget can live (a terminal, nbclient, papermill, no anywidget) the sessions are shown
    as a table of text; so they are when no page has drawn the picker within three seconds. The
    first rows are asked for here, so an error of `rows` is raised to the cell. An empty scope is
    widened once, from the notebook to the project.
    """
    raise NotImplementedError
