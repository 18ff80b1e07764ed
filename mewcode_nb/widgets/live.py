"""Widgets that are live for a while and leave a static bundle: no saved file shows a dead widget.

A widget's output becomes "model not found" once its kernel is gone, whatever else its bundle holds.
So a live output gives way to a static bundle in its place when an action ends it, when the next
cell runs, after two idle minutes and when the kernel shuts down. What only the page can do is done
by `static/live.js` in front of the widget's own script: it has the bundle stored wherever the
notebook is saved meanwhile (JupyterLab, Notebook 7), and puts it in place itself when the kernel
restarts, dies or is replaced.

Imported only when a widget is about to be shown, since it needs anywidget.
"""

from __future__ import annotations

import asyncio
import atexit
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import anywidget
import traitlets

from mewcode_nb.widgets.cards import Bundle

__all__ = ["IDLE_SECONDS", "LiveOutput", "LiveWidget", "Page", "live_script"]

IDLE_SECONDS = 120.0
_STATIC = Path(__file__).parent / "static"


def live_script(name: str) -> str:
    """A script of `static/`, after the part that all live widgets share."""
    return "\n".join((_STATIC / part).read_text(encoding="utf-8") for part in ("live.js", name))


class LiveWidget(anywidget.AnyWidget):
    """A widget that knows what is to stand in its place: `static`, for good once `settled`."""

    static = traitlets.Dict().tag(sync=True)
    settled = traitlets.Bool(False).tag(sync=True)
    identity = traitlets.Unicode("").tag(sync=True)
    """Its model's id: how a page finds the output that shows it."""

    def __init__(self, **state: object) -> None:
        super().__init__(**state)
        self.identity = self.model_id
        self.unpin()

    def bundle(self) -> tuple[Bundle, dict[str, object]]:
        """Data and metadata that show the widget, or its text where widgets are unknown."""
        data, metadata = self._repr_mimebundle_() or ({}, {})
        return {**data, "text/plain": str(self.static.get("text/plain", ""))}, metadata

    def settle(self, bundle: Bundle) -> None:
        """Let a page put the bundle in the widget's place; nothing is heard after that.

        The comm stays open: another page may still show the widget (a second tab, a file stored by
        a front end of another kind), and this is how it learns what belongs there.
        """
        with self.hold_sync():
            self.static = dict(bundle)
            self.settled = True

    def unpin(self) -> None:
        """Let the page's own choice of subshell win (ipykernel 7.4 keeps the last publisher's).

        The attribute is private, hence the guard.
        """
        comm = self.comm
        if comm is not None and hasattr(comm, "_reply_subshell_id"):
            del comm._reply_subshell_id


class Page(Protocol):
    """The part of IPython's shell that is used."""

    display_pub: Any
    events: Any


class LiveOutput:
    """One live widget in the output of the running cell, until its bundle takes its place.

    `static` gives that bundle as things are at the time. Everything but `touch` belongs on the
    thread of the cells; `loop` is theirs.
    """

    def __init__(
        self,
        shell: Page,
        widget: LiveWidget,
        static: Callable[[], Bundle],
        loop: asyncio.AbstractEventLoop,
        *,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.before_cell: Callable[[], None] = _nothing
        """Called when the next cell is about to run, before the widget gives way to it."""
        self.ended = False
        self.held = False
        """An action is under way that ends it itself: neither a cell nor idle time does."""
        self.outlives_cells = False
        """Other cells may run beneath it: only idle time and the kernel's end count."""
        self._shell = shell
        self._widget = widget
        self._static = static
        self._loop = loop
        self._idle_seconds = idle_seconds
        self._display = secrets.token_hex(16)
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def show(self) -> None:
        """Publish the widget in the running cell and watch for the events that end it."""
        self._widget.static = dict(self._static())
        data, metadata = self._widget.bundle()
        self._publish(data, metadata, update=False)
        self._widget.unpin()
        self._shell.events.register("pre_run_cell", self._on_cell)
        atexit.register(self._on_exit)
        self.touch()
        self._timer = self._loop.call_later(self._idle_seconds, self._on_idle)

    def touch(self) -> None:
        """The user did something: the idle time begins anew."""
        self._last = self._loop.time()

    def keep(self, bundle: Bundle) -> None:
        """Say what a page should put in place if it alone sees the kernel go."""
        self._widget.static = dict(bundle)
        self._widget.unpin()

    def end(self, bundle: Bundle | None = None) -> None:
        """Give way to the bundle, or to the static one; only the first call counts."""
        if self.ended:
            return
        self.ended = True
        self._forget()
        bundle = self._static() if bundle is None else bundle
        # First the widget, so that a page has let go of its keys when the output changes.
        self._widget.settle(bundle)
        self._widget.unpin()
        self._publish(bundle, {}, update=True)

    def _publish(self, data: Bundle, metadata: Mapping[str, object], *, update: bool) -> None:
        transient = {"display_id": self._display}
        self._shell.display_pub.publish(data, metadata, transient=transient, update=update)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        atexit.unregister(self._on_exit)
        if self._on_cell in self._shell.events.callbacks["pre_run_cell"]:
            self._shell.events.unregister("pre_run_cell", self._on_cell)

    def _on_cell(self, info: object) -> None:
        self.before_cell()
        if not (self.held or self.outlives_cells):
            self.end()

    def _on_exit(self) -> None:
        self.end()

    def _on_idle(self) -> None:
        if self.held:
            self.touch()
        left = self._last + self._idle_seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._on_idle)
        else:
            self.end()


def _nothing() -> None:
    """What happens before the next cell where nobody asked for more."""
