"""What the subcommands of `%mewcode` do. Each reads the rest of its line and gives a page to show.

Those that change something are refused while a turn runs: mode, model and settings change only from
a cell that the user ran, never from code the agent runs.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from mewcode_nb.agent.approval import Mode
from mewcode_nb.errors import UsageError
from mewcode_nb.notebook.locate import frontend_kind
from mewcode_nb.notebook.page import Page
from mewcode_nb.notebook.words import (
    FIXED_SETTINGS,
    SETTING_NAMES,
    SUBCOMMANDS,
    line_help,
    status_words,
    subcommand_help,
)

if TYPE_CHECKING:
    from mewcode_nb.events import Notice
    from mewcode_nb.notebook.locate import NotebookPlace
    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.widgets.words import Words

__all__ = ["COMMANDS", "run"]

_DEFAULT = "default"
"""In place of a value: take back what was chosen in this kernel."""


def run(name: str, rest: str, runtime: Runtime) -> Page:
    """Do the subcommand; raises `UsageError` for a name that is none and for unfit words."""
    command = COMMANDS.get(name)
    if command is None:
        raise UsageError(
            f"{name!r} is not a subcommand of %mewcode",
            remedy=_meant(name, SUBCOMMANDS)
            or "a prompt goes into a cell that starts with %%mewcode",
        )
    return command(rest, runtime)


def _status(rest: str, runtime: Runtime) -> Page:
    _no_words("status", rest)
    project, words = runtime.project(), runtime.words()
    key = project.credentials.origin if project.credentials.found else words("no_key")
    spent = runtime.spent
    values = {
        "session": _session(runtime, words),
        "model": project.settings.model,
        "service": project.service,
        "key": words("no_key_needed") if runtime.in_tutorial else key,
        "mode": project.settings.mode,
        "front_end": frontend_kind(runtime.shell),
        **_notebook(project.place, words),
        "root": str(project.root),
        "tokens": words("spent", input=f"{spent.total_input:,}", output=f"{spent.output_tokens:,}"),
        "sdk": words("sdk_loaded" if runtime.sdk_loaded() else "sdk_not_loaded"),
    }
    rows = [(words(f"status_{name}"), value) for name, value in values.items()]
    if ended := _ended(runtime):
        rows.append((status_words(words.language)["last_turn"], words(ended)))
    last = runtime.last
    answer = Page.answer(words("last_answer", turn=last.turn), last.text) if last else None
    return Page.table(rows, after=answer)


def _notebook(place: NotebookPlace, words: Words) -> dict[str, str]:
    if place.path is not None:
        return {"notebook": str(place.path), "found_by": place.source}
    stands_in = status_words(words.language)["stands_in"]
    return {"notebook": stands_in.format(folder=place.folder)}


def _ended(runtime: Runtime) -> str:
    """How the session's last turn broke off, as a key of `Words`; empty when it did not."""
    if runtime.conversation is None or runtime.busy:
        return ""
    from mewcode_nb.agent.stops import INTERRUPTED

    history = runtime.conversation.agent.history
    finished = runtime.last.turn if runtime.last else 0
    if not history or history[-1].turn <= finished:
        return ""
    # A turn that broke off leaves a remark to the model as the last message.
    remark = "".join(str(block.get("text", "")) for block in history[-1].content)
    return "interrupted" if INTERRUPTED in remark else "failed"


def _session(runtime: Runtime, words: Words) -> str:
    conversation = runtime.conversation
    if conversation is None:
        adopted = runtime.reruns.adopted
        if adopted is None:
            return words("no_session")
        from mewcode_nb.notebook.session_words import SessionWords

        return SessionWords(words.language)("next_goes_on", session=adopted.id)
    if conversation.folder is None:
        return words("in_memory", session=conversation.session_id)
    return words("stored_in", session=conversation.session_id, folder=conversation.folder.parent)


def _new(rest: str, runtime: Runtime) -> Page:
    _no_words("new", rest)
    runtime.new_session()
    return Page.fixed(runtime.words()("new_next"))


def _model(rest: str, runtime: Runtime) -> Page:
    if rest:
        runtime.choose("model", rest)
    project, words = runtime.project(), runtime.words()
    origin = project.loaded.origins["model"]
    return Page.table(
        [(words("status_model"), project.settings.model), (words("from"), str(origin))]
    )


def _mode(rest: str, runtime: Runtime) -> Page:
    if rest:
        runtime.choose("mode", rest)
    project, words = runtime.project(), runtime.words()
    mode, origin = project.settings.mode, project.loaded.origins["mode"]
    if mode == Mode.OPEN:
        return Page.warning(words("open_mode"))
    return Page.table(
        [
            (words("status_mode"), mode),
            (words("means"), words(f"mode_{mode}")),
            (words("from"), str(origin)),
        ]
    )


def _config(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.config.table import settings_table

    key, _, value = rest.partition(" ")
    if key and key not in SETTING_NAMES:
        near = _meant(key, SETTING_NAMES)
        raise UsageError(f"{key!r} is not a setting", remedy=near or "%mewcode config lists them")
    if value := value.strip():
        runtime.choose(key, None if value == _DEFAULT else value)
    project = runtime.project()
    table = settings_table(project.loaded, project.credentials)
    notices = [f"! {_sentence(notice)}" for notice in project.loaded.notices]
    if key:
        kept = [line for line in table.splitlines() if line.split()[0] in {"setting", key}]
        kept += [notice for notice in notices if notice.startswith(f"! {key} ")]
        if value and key in FIXED_SETTINGS and runtime.conversation is not None:
            kept.append(runtime.words()("holds_next"))
        return Page.fixed("\n".join(kept))
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
        return Page.fixed(runtime.words()("tutorial_off"))
    project = runtime.project()
    configured = project.credentials.found or project.settings.base_url
    if not rest and configured and not runtime.in_tutorial:
        model, service = project.settings.model, project.service
        return Page.fixed(runtime.words()("tutorial_idle", model=model, service=service))
    runtime.start_tutorial()
    return Page.fixed(runtime.words()("tutorial_on"))


def _help(rest: str, runtime: Runtime) -> Page:
    language = runtime.words().language
    if not rest:
        return Page.fixed(line_help(language))
    if rest not in SUBCOMMANDS:
        remedy = _meant(rest, SUBCOMMANDS) or "see %mewcode help"
        raise UsageError(f"{rest!r} is not a subcommand of %mewcode", remedy=remedy)
    return Page.fixed(subcommand_help(rest, language))


def _rewind(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.notebook.session_commands import rewind

    return rewind(rest, runtime)


def _fork(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.notebook.session_commands import fork

    return fork(rest, runtime)


def _export(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.notebook.session_commands import export

    return export(rest, runtime)


def _doctor(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.notebook.session_commands import doctor

    return doctor(rest, runtime)


def _storage(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.notebook.storage_commands import storage

    return storage(rest, runtime)


def _cost(rest: str, runtime: Runtime) -> Page:
    from mewcode_nb.notebook.storage_commands import cost

    return cost(rest, runtime)


def _ask(rest: str, runtime: Runtime) -> Page:
    raise UsageError("there is nothing to ask", remedy="%mewcode ask TEXT")


def _no_words(name: str, rest: str) -> None:
    if rest:
        raise UsageError(f"{name} takes no words: {rest!r}", remedy="see %mewcode help")


def _meant(typed: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(typed, list(names), n=1)
    return f"did you mean {near[0]}?" if near else ""


def _sentence(notice: Notice) -> str:
    return f"{notice.text} — {notice.remedy}" if notice.remedy else notice.text


COMMANDS: dict[str, Callable[[str, Runtime], Page]] = {
    "ask": _ask,
    "config": _config,
    "cost": _cost,
    "doctor": _doctor,
    "export": _export,
    "fork": _fork,
    "help": _help,
    "instructions": _instructions,
    "mode": _mode,
    "model": _model,
    "new": _new,
    "rewind": _rewind,
    "status": _status,
    "storage": _storage,
    "tutorial": _tutorial,
}
