"""Shows the session picker in a notebook, and the text table where no widget can live.

What the picker can do is behind `PickerActions`, so that it knows neither stores nor the runtime.
Every action runs on the shell's own loop, one after the other, whichever thread the page's message
came in on. An error for the user is a line in the picker; only a fault of ours reaches the log.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from mewcode_nb.notebook.page import Page
from mewcode_nb.notebook.surroundings import surroundings
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.turns import Turn
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.cards import Bundle
from mewcode_nb.widgets.html import escape
from mewcode_nb.widgets.markdown import inert_inline
from mewcode_nb.widgets.picker_words import picker_words
from mewcode_nb.widgets.session_table import session_table, session_text

if TYPE_CHECKING:
    import asyncio

    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["PickerActions", "Scope", "SearchHit", "SearchStep", "sessions_bundle", "show_picker"]

HANDSHAKE_SECONDS = 3.0
STATIC_ROWS = 20
"""Sessions that the table left behind shows."""
_LIST = "list-style:none;margin:0 0 6px;padding:0"
_LINE = "margin:0;padding:4px 0;border-bottom:1px solid rgba(128,128,128,.25)"
_SMALL = "font-size:90%;opacity:.8"

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
        """Go on with the session or a fork of it; the bundle then takes the picker's place."""
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
    patience: float = HANDSHAKE_SECONDS,
) -> None:
    """Show the picker as an output of the running cell, and return at once.

    Where no widget can live (a terminal, nbclient, papermill, no anywidget) the sessions are shown
    as a table of text; so they are when no page has drawn the picker within `patience` seconds. The
    first rows are asked for here, so an error of `rows` is raised to the cell. A notebook without
    sessions shows those of the whole project; a project without any, one line that says so.
    """
    infos = actions.rows(scope)
    if not infos and scope == "notebook":
        infos, scope = actions.rows("project"), "project"
    loop = _loop_of(shell) if infos else None
    if loop is None:
        bundle = sessions_bundle(infos, now=clock(), language=language)
        shell.display_pub.publish(bundle)
        return
    from mewcode_nb.notebook.picker_desk import PickerDesk

    PickerDesk(actions, language, clock, loop).open(shell, infos, scope, patience)


def sessions_bundle(
    infos: Sequence[SessionInfo], *, now: float, language: str, limit: int = STATIC_ROWS
) -> Bundle:
    """The first sessions as a static table in every form, and how to go on with one."""
    words = picker_words(language)
    if not infos:
        return cards.line(words["none"], tone="quiet")
    table = session_table(infos[:limit], now=now, language=language, notebook_column=True)
    after = [words["hint"]]
    if len(infos) > limit:
        after.insert(0, words["more"].format(count=len(infos) - limit))
    items = "".join(_item(row, words) for row in table[1:])
    markdown = Page.table(table).markdown
    return {
        "text/html": f'<ul class="tex2jax_ignore mathjax_ignore" style="{_LIST}">{items}</ul>'
        + "".join(f'<div style="{_SMALL}">{escape(line)}</div>' for line in after),
        "text/markdown": "\n\n".join([markdown, *(inert_inline(line) for line in after)]),
        "text/plain": "\n".join([session_text(table), *after]),
    }


def _item(row: Sequence[str], words: Mapping[str, str]) -> str:
    """A row of `session_table` on two lines, as the picker has it."""
    name, age, turns, tokens, size, model, notebook, identity, marks = row
    counted = words["turn"] if turns == "1" else words["turns"].format(count=turns)
    facts = [age, counted, words["tokens"].format(count=tokens), size, model, notebook]
    meta = " · ".join(escape(fact) for fact in facts if fact)
    noted = f' <span style="{_SMALL}">({escape(marks)})</span>' if marks else ""
    return (
        f'<li style="{_LINE}">{escape(name)}{noted}'
        f'<div style="{_SMALL}">{meta} · <code>{escape(identity)}</code></div></li>'
    )


def _loop_of(shell: InteractiveShell) -> asyncio.AbstractEventLoop | None:
    """The loop on which the shell's cells run, where a picker can live; else None."""
    where = surroundings(shell)
    if not (where.kernel and where.can_type and where.widgets):
        return None
    kernel: Any = getattr(shell, "kernel", None)
    loop: asyncio.AbstractEventLoop = kernel.io_loop.asyncio_loop
    return loop
