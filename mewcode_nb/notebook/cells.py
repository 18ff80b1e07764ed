"""Which cell gave each of the user's names its present value, as long as the kernel lives.

Before and after a cell the names are looked at, by the identity of their values only: a name that
is new or bound to another object was defined by that cell. What the agent's code defines belongs to
the cell that asked for it. Not seen: a value changed in place, and a new value that was given the
very memory of the old one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mewcode_nb.notebook.authority import AGENT_CODE
from mewcode_nb.notebook.variables import own_names

if TYPE_CHECKING:
    from IPython.core.interactiveshell import (
        ExecutionInfo,
        ExecutionResult,
        InteractiveShell,
    )

__all__ = ["Cells", "DefiningCell", "kept_cells"]

_KEPT = "mewcode_cells"


@dataclass(frozen=True, slots=True)
class DefiningCell:
    """A cell that ran. `id` is empty where the front end tells none, `count` is its number."""

    id: str
    sha256: str
    """Of its text, in hexadecimal."""
    count: int


class Cells:
    """Follows the cells of one shell; of no use before `register`."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._running: list[tuple[object, DefiningCell]] = []
        self._defined: dict[str, DefiningCell] = {}
        self._seen = self._look()

    def register(self) -> None:
        """Follow from now on; harmless when that is so already."""
        self.unregister()
        for event, callback in self._callbacks():
            self._shell.events.register(event, callback)

    def unregister(self) -> None:
        """Follow no longer; what is known stays."""
        for event, callback in self._callbacks():
            if callback in self._shell.events.callbacks[event]:
                self._shell.events.unregister(event, callback)

    def defining(self) -> Mapping[str, DefiningCell]:
        """The defining cell of each name whose cell ran since we follow, as of now."""
        self._settle()
        return self._defined

    def begin(self, info: ExecutionInfo) -> None:
        """A cell is about to run."""
        if AGENT_CODE.get():
            return
        self._settle()
        self._running.append((info, self._describe(info)))

    def _end(self, result: ExecutionResult | None) -> None:
        """`result` is None where the cell was cancelled: then the outermost one has ended."""
        if AGENT_CODE.get():
            return
        self._settle()
        ended = result.info if result is not None else None
        for place, (info, _cell) in enumerate(self._running):
            if ended is None or info is ended:
                del self._running[place:]
                return

    def _settle(self) -> None:
        """Put down to the running cell what has changed since the last look."""
        before, self._seen = self._seen, self._look()
        cell = self._running[-1][1] if self._running else None
        for name in before.keys() | self._seen.keys():
            if before.get(name) == self._seen.get(name):
                continue
            if cell is not None and name in self._seen:
                self._defined[name] = cell
            else:
                self._defined.pop(name, None)

    def _callbacks(self) -> tuple[tuple[str, Callable[..., None]], ...]:
        return (("pre_run_cell", self.begin), ("post_run_cell", self._end))

    def _look(self) -> dict[str, int]:
        shell = self._shell
        return {name: id(value) for name, value in own_names(shell.user_ns, shell.user_ns_hidden)}

    def _describe(self, info: ExecutionInfo) -> DefiningCell:
        text = info.raw_cell or ""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        # The shell has counted this cell already where it counts it at all.
        count = self._shell.execution_count - bool(info.store_history)
        outer = self._running[-1][1].id if self._running else ""
        return DefiningCell(info.cell_id or outer, digest, count)


def kept_cells(shell: InteractiveShell) -> Cells:
    """The shell's own; one for as long as the kernel lives."""
    kept: Cells | None = shell.meta.get(_KEPT)
    if kept is None:
        kept = shell.meta[_KEPT] = Cells(shell)
    return kept
