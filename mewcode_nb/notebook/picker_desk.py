"""What one picker's page asks for, done on the loop of the cells.

Messages come in on any thread (JupyterLab's on a subshell) and wait until the kernel's own loop is
free; those that had come before a cell was run are still done before it. Imported only when a
picker is about to be shown, since it needs anywidget.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, cast

from mewcode_nb.errors import MewcodeError, SessionError
from mewcode_nb.notebook.picker import (
    PickerActions,
    Scope,
    SearchHit,
    SearchStep,
    sessions_bundle,
)
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.cards import Bundle
from mewcode_nb.widgets.html import visible
from mewcode_nb.widgets.live import LiveOutput
from mewcode_nb.widgets.picker import (
    PickerMessage,
    SessionPicker,
    found_row,
    picker_rows,
    preview_turns,
)
from mewcode_nb.widgets.picker_words import picker_words

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["PickerDesk"]

SEARCH_SLICE = 0.05
"""Seconds a search may take before the kernel listens again."""


class PickerDesk:
    """Does what one picker's page asks for, on the loop of the cells."""

    def __init__(
        self,
        actions: PickerActions,
        language: str,
        clock: Callable[[], float],
        loop: asyncio.AbstractEventLoop,
        *,
        widget: type[SessionPicker] = SessionPicker,
    ) -> None:
        self._actions = actions
        self._language = language
        self._words = picker_words(language)
        self._clock = clock
        self._loop = loop
        self._widget = widget
        self._infos: dict[str, SessionInfo] = {}
        """What the table that stays behind shows, by id."""
        self._others: dict[str, SessionInfo] = {}
        """Shown earlier in another scope, found by a search, or deleted."""
        self._deleted: set[str] = set()
        self._waiting: deque[PickerMessage] = deque()
        self._drawn = False
        self._search: tuple[int, Iterator[SearchStep]] | None = None
        self._read = (0, 0)
        self._resuming: asyncio.Task[None] | None = None
        # What a page's message sets off counts as done by the cell that shows the picker.
        self._context = copy_context()
        self._scope: Scope = "notebook"
        self._picker: SessionPicker
        self._live: LiveOutput

    def open(
        self, shell: InteractiveShell, infos: Sequence[SessionInfo], scope: Scope, patience: float
    ) -> None:
        """Show the picker and listen."""
        self._infos, self._scope = {info.id: info for info in infos}, scope
        view = {"nonce": secrets.token_hex(16), "language": self._language, "scope": scope}
        self._picker = self._widget(self._rows(infos), self._receive, **view)
        self._live = LiveOutput(shell, self._picker, self._static, self._loop)
        self._live.before_cell = lambda: self._context.copy().run(self._pump)
        self._live.show()
        self._loop.call_later(patience, self._give_up_undrawn, context=self._context)

    def _receive(self, message: PickerMessage) -> None:
        self._waiting.append(message)
        self._loop.call_soon_threadsafe(self._pump, context=self._context)

    def _pump(self) -> None:
        while self._waiting:
            message = self._waiting.popleft()
            if self._live.ended:
                return
            self._live.touch()
            with self._shown_errors():
                self._do(message)

    def _do(self, message: PickerMessage) -> None:
        match message.kind:
            case "rendered":
                self._rendered()
            case "close":
                self._live.end(cards.line(f"{self._words['closed']} {self._words['hint']}"))
            case "rows":
                self._show_scope(cast("Scope", message.text))
            case "search":
                self._begin_search(message)
            case "active":
                return
            case _:
                self._do_with_session(message)

    def _do_with_session(self, message: PickerMessage) -> None:
        info = self._infos.get(message.id) or self._others[message.id]
        if (message.kind == "restore") != (info.id in self._deleted):
            return  # a second click on what was done already
        if message.kind not in {"delete", "restore"} and not info.readable:
            raise SessionError(self._words["is_unreadable"].format(reason=info.damage or "?"))
        match message.kind:
            case "preview":
                turns = preview_turns(self._actions.preview(info.id))
                self._picker.tell("preview", id=info.id, turns=turns)
            case "resume":
                self._resume(info, message.on)
            case "rename":
                self._show_row(self._actions.rename(info.id, message.text))
            case "pin":
                self._show_row(self._actions.pin(info.id, message.on))
            case "delete":
                self._delete(info)
            case "restore":
                self._restore(info)

    def _rendered(self) -> None:
        self._drawn = True
        if self._picker.seen:  # by a page that was loaded again: it has the rows of the beginning
            self._tell_rows()
        else:
            self._picker.drawn()

    def _show_scope(self, scope: Scope) -> None:
        infos = self._actions.rows(scope)
        self._others |= self._infos
        self._infos, self._scope = {info.id: info for info in infos}, scope
        self._live.keep(self._static())
        self._tell_rows()

    def _tell_rows(self) -> None:
        self._picker.tell("rows", scope=self._scope, rows=self._rows(self._infos.values()))

    def _show_row(self, info: SessionInfo, *, restored: bool = False) -> None:
        where = self._infos if info.id in self._infos or restored else self._others
        where[info.id] = info
        self._live.keep(self._static())
        self._picker.tell("row", row=self._rows([info])[0], restored=restored)

    def _delete(self, info: SessionInfo) -> None:
        self._actions.delete(info.id)
        self._deleted.add(info.id)
        self._others[info.id] = self._infos.pop(info.id, info)
        self._live.keep(self._static())
        self._picker.tell("deleted", id=info.id)

    def _restore(self, info: SessionInfo) -> None:
        restored = self._actions.restore(info.id)
        self._deleted.discard(info.id)
        self._show_row(restored, restored=True)

    def _begin_search(self, message: PickerMessage) -> None:
        self._search = None
        if message.text:
            self._read = (0, 0)
            self._search = message.number, self._actions.search(message.text)
            self._loop.call_soon(self._go_on_searching, context=self._context)

    def _go_on_searching(self) -> None:
        if self._search is None or self._live.ended:
            return
        number, steps = self._search
        rows: list[dict[str, object]] = []
        until, finished = self._loop.time() + SEARCH_SLICE, True
        with self._shown_errors():
            for step in steps:
                self._read = step.done, step.total
                rows += [self._found(hit) for hit in step.hits]
                if self._loop.time() >= until:
                    finished = False
                    break
            done, total = self._read
            self._picker.tell(
                "search", number=number, done=done, total=total, rows=rows, finished=finished
            )
            if not finished:
                # Not at once: what the user does meanwhile comes first.
                self._loop.call_later(0.001, self._go_on_searching, context=self._context)

    def _found(self, hit: SearchHit) -> dict[str, object]:
        if hit.info.id not in self._infos:
            self._others[hit.info.id] = hit.info
        return found_row(hit.info, hit.snippet, self._clock(), self._language)

    def _resume(self, info: SessionInfo, fork: bool) -> None:
        if self._resuming is not None:
            return
        self._search = None
        result = self._actions.resume(info.id, fork)
        if isinstance(result, dict):
            self._live.end(result)
            return
        self._live.held = True
        self._resuming = self._loop.create_task(self._finish(result))

    async def _finish(self, result: Awaitable[Bundle]) -> None:
        try:
            with self._shown_errors():
                self._live.end(await result)
        finally:
            self._live.held, self._resuming = False, None

    def _give_up_undrawn(self) -> None:
        if not self._drawn:
            self._live.end()

    @contextmanager
    def _shown_errors(self) -> Iterator[None]:
        """An error for the user is a line in the picker; of a fault the picker only knows that."""
        try:
            yield
        except MewcodeError as error:
            self._picker.tell("line", text=visible(str(error)))
        except BaseException:
            self._picker.tell("line", text=self._words["fault"])
            raise

    def _rows(self, infos: Iterable[SessionInfo]) -> list[dict[str, object]]:
        return picker_rows(infos, self._clock(), self._language)

    def _static(self) -> Bundle:
        infos = tuple(self._infos.values())
        return sessions_bundle(infos, now=self._clock(), language=self._language)
