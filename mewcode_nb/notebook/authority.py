"""Who may change modes and settings: only a cell that the user ran.

Code that the agent runs is told apart by a mark in its context, which tasks and callbacks inherit,
and by its thread: all cells run on one, and what a run leaves behind on another has no say.
Where it reaches for the sources instead (environment variables, IPython's configuration), they are
put back after the run. This keeps approved code from loosening the rules by accident or in passing.
It is no sandbox: such code has the user's rights, so the boundary stays the approval.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["AGENT_CODE", "SECTION", "from_a_users_cell", "settings_kept"]

AGENT_CODE: ContextVar[bool] = ContextVar("mewcode_agent_code", default=False)
"""Set in the context of code the agent runs. One for all sessions: a task outlives its own."""

SECTION = "MewcodeMagics"
"""Our part of IPython's configuration."""
_PREFIXES = ("MEWCODE_", "ANTHROPIC_")
_HOMES = frozenset({"HOME", "USERPROFILE"})
"""Variables that settings and credentials, or the user's file of them, are found by."""


def from_a_users_cell(cells: threading.Thread) -> bool:
    """Whether the caller can be a cell: on the thread of `cells`, and not begun by agent code."""
    return threading.current_thread() is cells and not AGENT_CODE.get()


@contextmanager
def settings_kept(shell: InteractiveShell) -> Iterator[list[str]]:
    """Put variables and configuration of ours back at the end; the list then names what was."""
    put_back: list[str] = []
    variables, section = _ours(os.environ), copy.deepcopy(shell.config.get(SECTION))
    try:
        yield put_back
    finally:
        put_back += _restore(os.environ, variables)
        if shell.config.get(SECTION) != section:
            put_back.append(f"c.{SECTION}")
            _put(shell.config, SECTION, section)


def _ours(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(_PREFIXES) or name in _HOMES
    }


def _restore(environ: MutableMapping[str, str], before: Mapping[str, str]) -> list[str]:
    now = _ours(environ)
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    for name in changed:
        _put(environ, name, before.get(name))
    return changed


def _put(values: MutableMapping[str, Any], name: str, value: object) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value
