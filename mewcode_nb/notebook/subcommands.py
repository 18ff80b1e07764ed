"""What the subcommands of `%mewcode` do. Each reads the rest of its line and gives a page to show.

Those that change something are refused while a turn runs: mode, model and settings change only from
a cell that the user ran, never from code the agent runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mewcode_nb.agent.approval import Mode
from mewcode_nb.errors import UsageError
from mewcode_nb.notebook.locate import frontend_kind
from mewcode_nb.notebook.page import Page
from mewcode_nb.notebook.words import FIXED_SETTINGS, SETTING_NAMES, line_help

if TYPE_CHECKING:
    from mewcode_nb.notebook.runtime import Runtime

__all__ = ["COMMANDS", "run"]

_OPEN = "mode open: the agent's edits, commands and code run WITHOUT asking you"


def run(name: str, rest: str, runtime: Runtime) -> Page:
    """Do the subcommand; raises `UsageError` for a name that is none and for unfit words."""
    command = COMMANDS.get(name)
    if command is None:
        raise UsageError(
            f"{name!r} is not a subcommand of %mewcode",
            remedy="a prompt goes into a cell that starts with %%mewcode",
        )
    return command(rest, runtime)


def _status(rest: str, runtime: Runtime) -> Page:
    project = runtime.project()
    conversation, spent = runtime.conversation, runtime.spent
    if conversation is None:
        session = "none yet: the first prompt begins one"
    elif conversation.folder is None:
        session = f"{conversation.session_id} (in memory only)"
    else:
        session = f"{conversation.session_id} in {conversation.folder}"
    key = project.credentials.origin if project.credentials.found else "not set"
    if runtime.in_tutorial:
        key = "none needed: recorded answers, not a model"
    rows = [
        ("session", session),
        ("model", project.settings.model),
        ("service", project.service),
        ("key", key),
        ("mode", project.settings.mode),
        ("front end", frontend_kind(runtime.shell)),
        ("notebook", str(project.place.path or "unknown")),
        ("found by", project.place.source),
        ("project root", str(project.root)),
        ("tokens", f"{spent.total_input:,} in, {spent.output_tokens:,} out"),
        ("SDK", "loaded" if runtime.sdk_loaded() else "not loaded yet"),
    ]
    last = runtime.last
    return Page.table(rows, after=f"Last answer (turn {last.turn}):\n\n{last.text}" if last else "")


def _new(rest: str, runtime: Runtime) -> Page:
    _no_words("new", rest)
    runtime.new_session()
    return Page.fixed("The next prompt begins a new session.")


def _model(rest: str, runtime: Runtime) -> Page:
    if rest:
        runtime.choose("model", rest)
    project = runtime.project()
    origin = project.loaded.origins["model"]
    return Page.table([("model", project.settings.model), ("from", str(origin))])


def _mode(rest: str, runtime: Runtime) -> Page:
    if rest:
        runtime.choose("mode", rest)
    project = runtime.project()
    if project.settings.mode == Mode.OPEN:
        return Page.warning(_OPEN)
    origin = project.loaded.origins["mode"]
    meaning = _MEANING[Mode(project.settings.mode)]
    return Page.table([("mode", project.settings.mode), ("means", meaning), ("from", str(origin))])


_MEANING = {
    Mode.PLAN: "read only: everything else is refused",
    Mode.ASK: "reads are free, the rest asks",
    Mode.EDIT: "reads and file edits inside the project are free, the rest asks",
    Mode.OPEN: "everything is free",
}


def _config(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.config.table import settings_table

    key, _, value = rest.partition(" ")
    if key and key not in SETTING_NAMES:
        raise UsageError(f"{key!r} is not a setting", remedy="%mewcode config lists them")
    if value.strip():
        runtime.choose(key, value.strip())
    project = runtime.project()
    table = settings_table(project.loaded, project.credentials)
    if key:
        kept = [line for line in table.splitlines() if line.split()[0] in {"setting", key}]
        if value.strip() and key in FIXED_SETTINGS and runtime.conversation is not None:
            kept.append("It holds from the next session on: %mewcode new")
        return Page.fixed("\n".join(kept))
    notices = [f"! {notice.text}" for notice in project.loaded.notices]
    return Page.fixed("\n".join([table, *notices]))


def _instructions(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.instructions import (
        instructions_markdown,
        instructions_table,
        load_instructions,
    )

    _no_words("instructions", rest)
    project = runtime.project()
    fallback = project.settings.instructions_fallback
    rows = load_instructions(project.root, project.home, fallback=fallback).rows
    return Page(instructions_table(rows), instructions_markdown(rows))


def _tutorial(rest: str, runtime: Runtime) -> Page:
    if rest not in {"", "on", "off"}:
        raise UsageError(f"tutorial {rest!r}", remedy="use %mewcode tutorial on, or off")
    if rest == "off":
        runtime.stop_tutorial()
        return Page.fixed("The tutorial is off. The next prompt goes to the configured model.")
    project = runtime.project()
    configured = project.credentials.found or project.settings.base_url
    if not rest and configured and not runtime.in_tutorial:
        return Page.fixed(
            f"{project.settings.model} at {project.service} is in use.\n"
            "%mewcode tutorial on switches to recorded answers instead."
        )
    runtime.start_tutorial()
    return Page.fixed(
        "Tutorial: what answers now is NOT a model but a recording on this machine.\n"
        "It knows the prompts of the first notebook; nothing leaves this computer.\n"
        "%mewcode tutorial off ends it."
    )


def _help(rest: str, runtime: Runtime) -> Page:
    return Page.fixed(line_help())


def _ask(rest: str, runtime: Runtime) -> Page:
    raise UsageError("there is nothing to ask", remedy="%mewcode ask TEXT")


def _no_words(name: str, rest: str) -> None:
    if rest:
        raise UsageError(f"{name} takes no words: {rest!r}", remedy="see %mewcode help")


COMMANDS: dict[str, Callable[[str, Runtime], Page]] = {
    "ask": _ask,
    "config": _config,
    "help": _help,
    "instructions": _instructions,
    "mode": _mode,
    "model": _model,
    "new": _new,
    "status": _status,
    "tutorial": _tutorial,
}
