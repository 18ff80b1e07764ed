"""The subcommands that act on stored sessions: rewind, fork, export and the doctor."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from mewcode_nb.errors import SessionError, SessionNotFound, UsageError
from mewcode_nb.notebook.page import Page
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.widgets.cards import size_words
from mewcode_nb.widgets.session_table import age_words

if TYPE_CHECKING:
    from mewcode_nb.events import Notice
    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.session.info import SessionInfo
    from mewcode_nb.session.replay import SessionState
    from mewcode_nb.transcript.export import Kind

__all__ = ["chosen_session", "doctor", "export", "fork", "rewind", "session_words", "turn_rows"]

_UNDO = "--undo"
_PROMPT_PLACES = 60


def rewind(rest: str, runtime: Runtime) -> Page:
    """`rewind [N|ID|--undo]`: list what there is, or go back; what is left can be brought back."""
    words = shlex_words("rewind", rest)
    if len(words) > 1:
        raise UsageError(f"rewind takes one word: {rest!r}", remedy="see %mewcode help rewind")
    if not words:
        return _listing(runtime)
    runtime.require_idle("a rewind")
    notices = runtime.reruns.take_up()
    said = session_words(runtime)
    if words[0] == _UNDO:
        return _with(notices, _undone(runtime, said))
    if words[0].startswith("-"):
        raise UsageError(f"rewind {words[0]!r} is not an option", remedy="did you mean --undo?")
    to = "" if words[0] == "0" else words[0]
    state = runtime.rewind(to)
    key = "rewound" if state.records else "rewound_all"
    return _with(notices, Page.fixed(said(key, number=len(state.records))))


def fork(rest: str, runtime: Runtime) -> Page:
    """`fork [N|ID]`: go on in a new session; the other stays as it is."""
    words = shlex_words("fork", rest)
    if len(words) > 1 or (words and words[0].startswith("-")):
        raise UsageError(f"fork takes one message: {rest!r}", remedy="%mewcode rewind lists them")
    runtime.require_idle("a fork")
    at, adopted = words[0] if words else "", runtime.reruns.adopted
    if runtime.conversation is None and adopted is not None:
        resumed = runtime.resume(adopted, at=at, fork=True)
    else:
        resumed = runtime.fork(at)
    said, count = session_words(runtime), len(resumed.state.records)
    page = Page.fixed(
        said("forked", session=resumed.session, parent=resumed.forked_from, count=count)
    )
    return _with(resumed.notices, page)


def export(rest: str, runtime: Runtime) -> Page:
    """`export [PATH|md|html|ipynb|jsonl] [--force] [--session ID]`, beside the notebook."""
    from mewcode_nb.transcript.export import Kind, write_export

    words, force, name = _export_words(rest)
    info = chosen_session(runtime, name)
    state = runtime.library().store_of(info).load(info.id)
    target = words[0] if words else "md"
    kind: Kind | None = cast("Kind", target) if target in get_args(Kind) else None
    folder = runtime.project().place.folder
    path = folder / f"{info.id}.{target}" if kind else folder / Path(target).expanduser()
    language = runtime.words().language
    written = write_export(state, path, kind, force, language=language)
    size = size_words(written.stat().st_size)
    return Page.fixed(session_words(runtime)("exported", path=written, size=size))


def doctor(rest: str, runtime: Runtime) -> Page:
    """`doctor [ID] [--repair TARGET]`: every defect by line; the original is never changed."""
    from mewcode_nb.session.doctor import examine, write_repaired

    words = shlex_words("doctor", rest)
    target = _value_of("doctor", words, "--repair")
    if len(words) > 1 or (words and words[0].startswith("-")):
        raise UsageError(f"doctor takes one session: {rest!r}", remedy="%mewcode doctor ID")
    folder = Path(chosen_session(runtime, words[0] if words else "").location)
    report = examine(folder).text(runtime.words().language)
    if target is None:
        return Page.fixed(report)
    place = runtime.project().place.folder / Path(target).expanduser()
    path = write_repaired(folder, place)
    return Page.fixed(f"{report}\n\n{session_words(runtime)('repaired', path=path)}")


def session_words(runtime: Runtime) -> SessionWords:
    """Our words in the language of the settings."""
    return SessionWords(runtime.words().language)


def chosen_session(runtime: Runtime, name: str) -> SessionInfo:
    """The session called so, or without a name the one at hand; raises SessionNotFound."""
    if name:
        return runtime.library().find(name)
    conversation, adopted = runtime.conversation, runtime.reruns.adopted
    if conversation is not None and conversation.folder is not None:
        conversation.journal.flush_quietly()
        return runtime.library().find(conversation.session_id)
    if conversation is not None:
        raise SessionError("this conversation is in memory only, no session holds it")
    if adopted is not None:
        return adopted
    raise SessionNotFound("there is no session at hand", remedy="name one: %resume --list")


def shlex_words(name: str, rest: str) -> list[str]:
    """The words of a line, quotes honoured; raises UsageError."""
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"{name} {rest!r}: {error}", remedy="close the quotes") from error


def _listing(runtime: Runtime) -> Page:
    from mewcode_nb.session.branches import read_branches
    from mewcode_nb.session.log import LOG_NAME
    from mewcode_nb.session.reader import read_log

    info, said = chosen_session(runtime, ""), session_words(runtime)
    state = runtime.library().store_of(info).load(info.id)
    left = read_branches(read_log(Path(info.location) / LOG_NAME).records).left
    rows = list(turn_rows(state, said))
    branches = Page.fixed(said("rewind_hint"))
    if left:
        heads = (said("turns_id"), said("branch_head"), said("turns_when"), said("turns_prompt"))
        listed = [
            (branch.tip, str(branch.messages), _when(branch.ts, said), _short(branch.prompt))
            for branch in left
        ]
        table = Page.table([heads, *listed], after=branches)
        lead = said("branches")
        branches = Page(f"{lead}\n\n{table.plain}", f"{lead}\n\n{table.markdown}")
    return Page.table(rows, after=branches) if len(rows) > 1 else branches


def turn_rows(state: SessionState, said: SessionWords) -> Iterator[tuple[str, ...]]:
    """A heading, then for each turn: its messages' numbers, when, the prompt, the last id."""
    from mewcode_nb.session.turns import turns

    yield said("turns_head"), said("turns_when"), said("turns_prompt"), said("turns_id")
    for turn in turns(state.records):
        prompt = _short(turn.prompt) or said("summary")
        if turn.prompt and not turn.complete:
            prompt = f"{prompt} ({said('turn_open')})"
        yield f"{turn.first}-{turn.last}", _when(turn.ts, said), prompt, turn.last_id


def _undone(runtime: Runtime, said: SessionWords) -> Page:
    from mewcode_nb.session.branches import read_branches
    from mewcode_nb.session.log import LOG_NAME
    from mewcode_nb.session.reader import read_log

    info = chosen_session(runtime, "")
    undo = read_branches(read_log(Path(info.location) / LOG_NAME).records).undo
    if undo is None:
        raise UsageError("there is no rewind to undo", remedy="%mewcode rewind lists the turns")
    state = runtime.rewind(undo)
    return Page.fixed(said("undone", count=len(state.records), turns=state.turns))


def _export_words(rest: str) -> tuple[list[str], bool, str]:
    words = shlex_words("export", rest)
    name = _value_of("export", words, "--session")
    force = "--force" in words
    words = [word for word in words if word != "--force"]
    if unknown := [word for word in words if word.startswith("-")]:
        raise UsageError(f"export {unknown[0]!r} is no option", remedy="see %mewcode help export")
    if len(words) > 1:
        raise UsageError(f"export takes one path: {rest!r}", remedy="put a path in quotes")
    return words, force, name or ""


def _value_of(name: str, words: list[str], option: str) -> str | None:
    """Take the option and its value out of the words; None where it is not given."""
    for place, word in enumerate(words):
        if word.startswith(f"{option}="):
            del words[place]
            return word.partition("=")[2]
        if word == option:
            if place + 1 == len(words):
                raise UsageError(f"{name} {option} lacks a value", remedy=f"%mewcode help {name}")
            value = words[place + 1]
            del words[place : place + 2]
            return value
    return None


def _with(notices: tuple[Notice, ...], page: Page) -> Page:
    if not notices:
        return page
    lines = [f"{n.text} — {n.remedy}" if n.remedy else n.text for n in notices]
    return Page.fixed("\n".join([*lines, page.plain]))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"{flat[: _PROMPT_PLACES - 1]}…" if len(flat) > _PROMPT_PLACES else flat


def _when(ts: float, said: SessionWords) -> str:
    return age_words(max(time.time() - ts, 0.0), said.language)
