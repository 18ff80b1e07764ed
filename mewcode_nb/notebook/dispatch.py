"""From a magic's words to what they ask for (a turn, a subcommand, help) and to what is shown."""

from __future__ import annotations

from mewcode_nb.errors import UsageError
from mewcode_nb.events import TurnResult
from mewcode_nb.notebook import subcommands
from mewcode_nb.notebook.options import TurnOptions, cell_help, parse_turn_options
from mewcode_nb.notebook.page import Page
from mewcode_nb.notebook.runtime import Runtime
from mewcode_nb.notebook.words import SUBCOMMANDS, line_help

__all__ = ["answer"]

_HELP = frozenset({"--help", "-h"})
_OF_SESSIONS = frozenset({"rewind", "fork", "export", "doctor", "storage", "cost"})


async def answer(
    runtime: Runtime, line: str, cell: str | None, *, awaited: bool
) -> TurnResult | None:
    """Do what the magic was called for; the result of `%mewcode ask`, else None.

    Raises:
        MewcodeError: shown by IPython as one line.
    """
    if cell is not None:
        await _cell(runtime, line, cell, awaited=awaited)
        return None
    name, rest = (*line.split(None, 1), "", "")[:2]
    rest = rest.strip()
    if name in {"", *_HELP} or rest in _HELP:
        _show(runtime, Page.fixed(line_help(runtime.words().language)))
        return None
    if name == "ask" and rest:
        return await _turn(runtime, rest, TurnOptions(), awaited=awaited)
    if name not in SUBCOMMANDS:
        _show(runtime, Page.fixed(line_help(runtime.words().language)))
    if name in _OF_SESSIONS:
        runtime.retention.begin()
    _show(runtime, subcommands.run(name, rest, runtime))
    runtime.retention.finish()
    return None


async def _cell(runtime: Runtime, line: str, cell: str, *, awaited: bool) -> None:
    try:
        options = parse_turn_options(line)
    except UsageError:
        _show(runtime, Page.fixed(cell_help(runtime.words().language)))
        raise
    if options.help or not cell.strip():
        _show(runtime, Page.fixed(cell_help(runtime.words().language)))
        return
    result = await _turn(runtime, cell.strip("\n"), options, awaited=awaited)
    if options.output:
        runtime.shell.user_ns[options.output] = result


async def _turn(
    runtime: Runtime, prompt: str, options: TurnOptions, *, awaited: bool
) -> TurnResult:
    runtime.retention.begin()
    result = await runtime.turn(prompt, options, awaited=awaited)
    runtime.retention.finish()
    return result


def _show(runtime: Runtime, page: Page) -> None:
    runtime.shell.display_pub.publish(page.bundle())
