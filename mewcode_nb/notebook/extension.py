"""What `%load_ext mewcode_nb` does: magics, two input transformers, a completer. Nothing else yet.

Loading must never fail or be slow: no file is opened, no key or home folder is looked for, no heavy
package is imported. The engine is built at the first prompt. Only a kernel that has been idle for a
moment imports the SDK ahead of need, on a daemon thread (setting `preload`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mewcode_nb.notebook.awaiting import CallAwaiter, claim_cell
from mewcode_nb.notebook.completion import complete_magic
from mewcode_nb.notebook.magics import MewcodeMagics, kept_runtime

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell

__all__ = ["IdlePreload", "load", "unload"]

IDLE_SECONDS = 1.0
"""Quiet after a cell before the SDK is imported: long enough that Run All is not slowed."""


class IdlePreload:
    """Imports the SDK once, when the kernel has been idle for a moment after a cell."""

    def __init__(self, shell: InteractiveShell, magics: MewcodeMagics) -> None:
        self._shell = shell
        self._magics = magics
        self._timer: asyncio.TimerHandle | None = None

    def register(self) -> None:
        """Begin to watch for an idle moment; starts nothing by itself."""
        self._shell.events.register("pre_run_cell", self._on_busy)
        self._shell.events.register("post_run_cell", self._on_idle)

    def unregister(self) -> None:
        """Stop watching; harmless when that has happened already."""
        self._cancel()
        for event, callback in (("pre_run_cell", self._on_busy), ("post_run_cell", self._on_idle)):
            if callback in self._shell.events.callbacks[event]:
                self._shell.events.unregister(event, callback)

    def _on_busy(self, info: object) -> None:
        self._cancel()

    def _on_idle(self, result: object) -> None:
        self._cancel()
        loop = asyncio.events._get_running_loop()
        if loop is not None and getattr(self._shell, "kernel", None) is not None:
            self._timer = loop.call_later(IDLE_SECONDS, self._start)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self) -> None:
        self.unregister()
        self._magics.runtime.preload()


class LateCells:
    """Begins to follow which cell defines which name when the first cell after loading runs.

    By then loading is over, so what it takes to follow cells costs loading nothing.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def register(self) -> None:
        """Wait for the next cell."""
        self._shell.events.register("pre_run_cell", self._on_cell)

    def unregister(self) -> None:
        """Follow no longer, and wait for no cell; harmless when that has happened already."""
        if self._on_cell in self._shell.events.callbacks["pre_run_cell"]:
            self._shell.events.unregister("pre_run_cell", self._on_cell)
        else:
            from mewcode_nb.notebook.cells import kept_cells

            kept_cells(self._shell).unregister()

    def _on_cell(self, info: ExecutionInfo) -> None:
        from mewcode_nb.notebook.cells import kept_cells

        self.unregister()
        cells = kept_cells(self._shell)
        cells.register()
        cells.begin(info)  # what is registered while an event is told is told of the next one


def load(shell: InteractiveShell) -> None:
    """Register on the shell, in place of what an earlier load registered there."""
    unload(shell)
    magics = MewcodeMagics(shell)
    shell.register_magics(magics)
    shell.input_transformers_cleanup.insert(0, claim_cell)
    shell.input_transformers_post.append(CallAwaiter(shell))
    if shell.Completer is not None:
        shell.Completer.custom_matchers.append(complete_magic)
    magics.idle_preload = IdlePreload(shell, magics)
    magics.idle_preload.register()
    magics.late_cells = LateCells(shell)
    magics.late_cells.register()


def unload(shell: InteractiveShell) -> None:
    """Take everything away again. The conversation stays with the kernel for the next load.

    Raises:
        UsageError: not from a user's cell.
    """
    if (runtime := kept_runtime(shell)) is not None:
        runtime.require_idle("loading or unloading the extension")
    magics = shell.magics_manager.registry.pop(MewcodeMagics.__name__, None)
    if magics is not None:
        magics.idle_preload.unregister()
        magics.late_cells.unregister()
        shell.configurables.remove(magics)
        for kind, names in magics.magics.items():
            for name in names:
                shell.magics_manager.magics[kind].pop(name, None)
    if claim_cell in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(claim_cell)
    shell.input_transformers_post[:] = [
        transform
        for transform in shell.input_transformers_post
        if not isinstance(transform, CallAwaiter)
    ]
    if shell.Completer is not None and complete_magic in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(complete_magic)
