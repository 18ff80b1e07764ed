"""The magics: how the words reach the agent, and the settings IPython may configure.

Kept so thin because loading the extension imports it: what is done with the words is in `dispatch`,
imported when the first ones come. The traits are the settings that IPython's own configuration
(`c.MewcodeMagics.model = …`) and `%config MewcodeMagics` may set.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.magic import (
    Magics,
    line_cell_magic,
    line_magic,
    magics_class,
    no_var_expand,
)
from traitlets import Bool, Float, Int, TraitError, Unicode, validate

from mewcode_nb.notebook.awaiting import run_on_own_loop
from mewcode_nb.notebook.words import SETTING_NAMES

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from mewcode_nb.events import TurnResult
    from mewcode_nb.notebook.extension import IdlePreload, LateCells
    from mewcode_nb.notebook.runtime import Runtime

__all__ = ["MewcodeMagics", "kept_runtime"]

_KEPT = "mewcode_runtime"


def kept_runtime(shell: InteractiveShell) -> Runtime | None:
    """The agent of this shell, if a magic has been used on it; it outlives a reload."""
    kept: Runtime | None = shell.meta.get(_KEPT)
    return kept


def _text(words: str) -> Any:  # noqa: ANN401
    return Unicode(None, allow_none=True, help=words).tag(config=True)


def _count(words: str) -> Any:  # noqa: ANN401
    return Int(None, allow_none=True, help=words).tag(config=True)


def _seconds(words: str) -> Any:  # noqa: ANN401
    return Float(None, allow_none=True, help=words).tag(config=True)


def _switch(words: str) -> Any:  # noqa: ANN401
    return Bool(None, allow_none=True, help=words).tag(config=True)


@magics_class
class MewcodeMagics(Magics):
    """A coding agent in this kernel. None leaves a setting to the files and the environment."""

    model = _text("The model to talk to.")
    mode = _text("What runs without asking: plan, ask, edit or open.")
    base_url = _text("The Messages API to talk to.")
    max_tokens = _count("The most tokens one response may have.")
    context_window = _count("The model's window in tokens, where its record cannot be read.")
    max_steps = _count("Requests in one turn before it stops.")
    max_retries = _count("Attempts after the first for failures that may pass.")
    max_wait = _seconds("The longest single wait before a retry.")
    stall_seconds = _seconds("Silence in a stream after which it is given up.")
    connect_seconds = _seconds("Time to reach the service.")
    cache_ttl = _text("How long prompt cache entries live: 5m or 1h.")
    thinking = _text("off or adaptive.")
    approval = _text("How a person is asked: auto, buttons, input or deny.")
    approval_seconds = _seconds("How long an approval card stays open.")
    language = _text("The language of our own words: auto, en or zh.")
    preload = _switch("Import the SDK on a quiet kernel after the loading cell has ended.")
    instructions_fallback = _switch("Read AGENTS.md or CLAUDE.md where there is no MEWCODE.md.")
    rerun = _text("What an unchanged cell that is run again gets: stored or fresh.")
    retention_days = _count("Days without use after which a session leaves; 0 for never.")
    keep_last = _count("So many of the newest sessions of a folder stay whatever their age.")
    sessions_quota_mb = _count("Megabytes for the sessions of a folder; 0 for no limit.")
    trash_days = _count("Days that a session stays in the trash at least.")
    count_tokens = _text("Ask the service to count a request near a limit: off or on.")
    prices = _text("USD per million tokens: MODEL=INPUT/OUTPUT or MODEL=INPUT/OUTPUT/CACHED, ...")
    local = _switch("For small local models: recover tool calls that were written as text.")

    idle_preload: IdlePreload
    late_cells: LateCells

    def __init__(self, shell: InteractiveShell) -> None:
        self._home = shell
        super().__init__(shell)

    @property
    def runtime(self) -> Runtime:
        """The agent of this shell; it hangs there, so that a reload keeps the conversation."""
        kept = kept_runtime(self._home)
        if kept is None:
            from mewcode_nb.notebook.runtime import Runtime

            kept = Runtime(self._home, os.environ, time.monotonic)
            self._home.meta[_KEPT] = kept
        kept.configured = self.configured
        return kept

    def configured(self) -> Mapping[str, object]:
        """The settings that IPython's configuration holds, by name."""
        values = {name: getattr(self, name) for name in SETTING_NAMES}
        return {name: value for name, value in values.items() if value is not None}

    @validate(*SETTING_NAMES)
    def _only_from_a_users_cell(self, proposal: Mapping[str, Any]) -> object:
        kept = kept_runtime(self._home)
        if kept is not None and kept.busy:
            raise TraitError("settings change only from a cell that you run, not during a turn")
        return proposal["value"]

    @no_var_expand
    @line_cell_magic
    def mewcode(self, line: str, cell: str | None = None) -> TurnResult | None:
        """Talk to the agent: %%mewcode --help, %mewcode help."""
        from mewcode_nb.notebook.dispatch import answer

        return run_on_own_loop(lambda: answer(self.runtime, line, cell, awaited=False))

    async def awaited(self, line: str, cell: str | None = None) -> None:
        """The same, awaited by the cell so that the shell's loop goes on turning."""
        from mewcode_nb.notebook.dispatch import answer

        await answer(self.runtime, line, cell, awaited=True)

    @no_var_expand
    @line_magic
    def resume(self, line: str) -> None:
        """Come back to a stored session: %resume shows them, %resume --help tells the rest."""
        from mewcode_nb.notebook.resume_command import resume

        resume(line, self.runtime)
