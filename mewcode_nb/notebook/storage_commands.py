"""The subcommands that count: `storage` what is kept on disk, `cost` what it took in tokens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.errors import UsageError
from mewcode_nb.events import Usage
from mewcode_nb.notebook.page import Page
from mewcode_nb.notebook.session_commands import chosen_session, session_words
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.session.row import folder_size
from mewcode_nb.session.spilled import SPILL_FOLDER
from mewcode_nb.widgets.cards import size_words

if TYPE_CHECKING:
    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.session.folder_store import FolderStore
    from mewcode_nb.session.info import SessionInfo

__all__ = ["cost", "storage"]

_SHOWN = 10
_NAME_PLACES = 60


@dataclass(frozen=True, slots=True)
class _Kept:
    """What one folder keeps; sizes in bytes."""

    folder: Path
    infos: tuple[SessionInfo, ...]
    sessions: int
    spills: int
    trash: int
    cache: int


def storage(rest: str, runtime: Runtime) -> Page:
    """What is kept, folder by folder, the largest sessions, and what leaves next."""
    if rest:
        raise UsageError(f"storage takes no words: {rest!r}", remedy="see %mewcode help storage")
    said = session_words(runtime)
    kept = [_kept(store) for store in runtime.library().stores(project=True)]
    infos = [info for part in kept for info in part.infos]
    largest = sorted(infos, key=lambda info: info.size, reverse=True)[:_SHOWN]
    rows = [(info.id, size_words(info.size), _short(info.name)) for info in largest]
    lines = [said("free"), said("pinned_hint")]
    lines += [f"! {notice}" for notice in runtime.library().notices()]
    after = _leaving(runtime, Page.fixed("\n".join(lines)))
    if rows:
        head = (said("cost_session"), said("log_size"), said("turns_prompt"))
        after = _led(said("largest"), Page.table([head, *rows], after=after))
    return Page.table(list(_folder_rows(kept, said)), after=after)


def cost(rest: str, runtime: Runtime) -> Page:
    """Tokens of the session at hand by turn, and of the project's sessions."""
    if rest:
        raise UsageError(f"cost takes no words: {rest!r}", remedy="see %mewcode help cost")
    said = session_words(runtime)
    infos = [i for i in runtime.library().list(project=True) if i.usage != Usage()]
    if not infos and runtime.conversation is None:
        return Page.fixed(said("cost_none"))
    heads = (said("cost_input"), said("cost_cached"), said("cost_output"))
    total = sum((info.usage for info in infos), start=Usage())
    shown = [(info.id, *_tokens(info.usage), _short(info.name)) for info in infos[:_SHOWN]]
    if len(infos) > _SHOWN:
        shown.append((f"+{len(infos) - _SHOWN}", "", "", "", ""))
    shown.append((said("total"), *_tokens(total), ""))
    head = (said("cost_session"), *heads, said("turns_prompt"))
    project = Page.table([head, *shown], after=Page.fixed(said("cost_note")))
    project = _led(said("cost_project"), project)
    rows = list(_turn_rows(runtime, said))
    if not rows:
        return project
    return Page.table([(said("cost_turn"), *heads, said("turns_prompt")), *rows], after=project)


def _turn_rows(runtime: Runtime, said: SessionWords) -> Iterator[tuple[str, ...]]:
    from mewcode_nb.session.turns import turns

    conversation = runtime.conversation
    if conversation is None and runtime.reruns.adopted is None:
        return
    if conversation is not None and conversation.folder is None:
        yield (said("cost_all"), *_tokens(runtime.spent), "")
        return
    info = chosen_session(runtime, "")
    state = runtime.library().store_of(info).load(info.id)
    for turn in turns(state.records):
        yield (str(turn.number), *_tokens(turn.usage), _short(turn.prompt) or said("summary"))
    yield (said("cost_all"), *_tokens(state.usage), "")


def _leaving(runtime: Runtime, after: Page) -> Page:
    """What retention will do next in the folders of the project, above `after`."""
    from mewcode_nb.session.retention import Policy
    from mewcode_nb.session.sweep import look_ahead
    from mewcode_nb.widgets.retention_words import outlook_lines, outlook_rows

    policy, now = Policy.of(runtime.project().settings), time.time()
    language = runtime.words().language
    stores = runtime.library().stores(project=True)
    outlooks = [look_ahead(store, policy, now) for store in stores]
    trashed = [item for store in stores for item in store.trashed()]
    above, below = outlook_lines(outlooks, policy, trashed, language)
    rows = outlook_rows(outlooks, now, language)
    if below:
        after = _led("\n".join(below), after)
    return _led(above, Page.table(rows, after=after) if rows else after)


def _folder_rows(kept: list[_Kept], said: SessionWords) -> Iterator[tuple[str, ...]]:
    names = ("folder", "sessions", "log_size", "spills", "trash", "cache")
    yield tuple(said(name) for name in names)
    for part in kept:
        sizes = (part.sessions, part.spills, part.trash, part.cache)
        yield (str(part.folder), str(len(part.infos)), *map(size_words, sizes))
    if len(kept) > 1:
        sums = [
            sum(getattr(part, name) for part in kept)
            for name in ("sessions", "spills", "trash", "cache")
        ]
        count = sum(len(part.infos) for part in kept)
        yield (said("total"), str(count), *map(size_words, sums))


def _kept(store: FolderStore) -> _Kept:
    home = store.sessions.parent
    return _Kept(
        home.parent,
        store.list(),
        folder_size(store.sessions),
        sum(folder_size(folder) for folder in store.sessions.glob(f"*/{SPILL_FOLDER}")),
        folder_size(home / "trash"),
        folder_size(home / "cache"),
    )


def _tokens(usage: Usage) -> tuple[str, str, str]:
    numbers = (usage.total_input, usage.cache_read_input_tokens, usage.output_tokens)
    return tuple(f"{number:,}" for number in numbers)  # type: ignore[return-value]


def _led(heading: str, page: Page) -> Page:
    return Page(f"{heading}\n\n{page.plain}", f"{heading}\n\n{page.markdown}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"{flat[: _NAME_PLACES - 1]}…" if len(flat) > _NAME_PLACES else flat
