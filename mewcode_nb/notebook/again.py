"""The button under a stored answer: it runs the cell's prompt again, in that cell's own output.

What the button sets off counts as done by the cell that shows it: displays, questions and the
cell's id are that cell's. Imported only when a button is about to be shown: it needs anywidget.
"""

from __future__ import annotations

import asyncio
import secrets
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mewcode_nb.errors import MewcodeError
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.notebook.stored import Asked, Stored
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.again import AgainLine, AgainMessage
from mewcode_nb.widgets.cards import Bundle
from mewcode_nb.widgets.live import LiveOutput

if TYPE_CHECKING:
    from mewcode_nb.notebook.runtime import Runtime

__all__ = ["HANDSHAKE_SECONDS", "show_line"]

HANDSHAKE_SECONDS = 3.0
"""How long a page has to draw the button before the plain line takes its place."""


def show_line(runtime: Runtime, stored: Stored, asked: Asked, line: str) -> None:
    """Show the line with its button in the running cell, and return at once; needs a loop."""
    _Desk(runtime, stored, asked, line).open()


class _Desk:
    def __init__(self, runtime: Runtime, stored: Stored, asked: Asked, line: str) -> None:
        self._runtime = runtime
        self._stored = stored
        self._asked = asked
        self._said = SessionWords(asked.language)
        self._line = line
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._drawn = False
        self._running: asyncio.Task[None] | None = None
        self._widget: AgainLine
        self._live: LiveOutput

    def open(self) -> None:
        view = {
            "nonce": secrets.token_hex(16),
            "text": self._line,
            "label": self._said("again"),
            "hint": self._said("again_hint"),
        }
        self._widget = AgainLine(self._receive, **view)
        self._live = LiveOutput(self._runtime.shell, self._widget, self._static, self._loop)
        self._live.outlives_cells = True  # else a Run All would take all buttons but the last
        self._live.show()
        self._loop.call_later(HANDSHAKE_SECONDS, self._give_up_undrawn, context=self._context)

    def _receive(self, message: AgainMessage) -> None:
        self._loop.call_soon_threadsafe(self._do, message, context=self._context)

    def _do(self, message: AgainMessage) -> None:
        self._drawn = True
        if message != "again" or self._live.ended:
            return
        if self._runtime.busy:
            self._widget.refuse(self._said("again_busy"))
            return
        self._live.end()
        self._running = self._loop.create_task(self._run(), context=self._context.copy())

    async def _run(self) -> None:
        runtime, options = self._runtime, replace(self._asked.options, fresh=True)
        # As when the cell is run: what it showed goes as soon as there is something new.
        publisher: Any = runtime.shell.display_pub
        publisher.clear_output(wait=True)
        try:
            plan = runtime.reruns.again(self._stored)
            result = await runtime.turn(self._asked.prompt, options, awaited=True, plan=plan)
        except MewcodeError:
            runtime.shell.showtraceback()
            return
        if options.output:
            runtime.shell.user_ns[options.output] = result

    def _give_up_undrawn(self) -> None:
        if not self._drawn:
            self._live.end()

    def _static(self) -> Bundle:
        return cards.line(self._line, tone="quiet")
