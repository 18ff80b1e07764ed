"""What `%resume` does with its options: the picker, the card, or a line of text.

The picker answers clicks after the cell has ended, so the magic needs no `await`. Whatever the
picker does can be done here by words alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mewcode_nb.errors import SessionNotFound, UsageError
from mewcode_nb.notebook.page import Page
from mewcode_nb.notebook.picker import Scope, sessions_bundle, show_picker
from mewcode_nb.notebook.resume_options import ResumeOptions, parse_resume_options
from mewcode_nb.notebook.resume_words import ResumeWords, resume_help
from mewcode_nb.notebook.session_actions import SessionActions
from mewcode_nb.notebook.session_commands import chosen_session, turn_rows
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.widgets import cards

if TYPE_CHECKING:
    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.session.info import SessionInfo
    from mewcode_nb.widgets.cards import Bundle

__all__ = ["LISTED", "resume"]

LISTED = 100
"""Sessions that `--list` shows."""
HITS = 50
"""Places that `--search` shows."""


def resume(line: str, runtime: Runtime) -> None:
    """Do what the line asks for and show what came of it.

    Raises:
        MewcodeError: shown by IPython as one line.
    """
    words = ResumeWords(runtime.words().language)
    try:
        options = parse_resume_options(line, words)
    except UsageError:
        _publish(runtime, Page.fixed(resume_help(words.language)).bundle())
        raise
    if options.action == "help":
        _publish(runtime, Page.fixed(resume_help(words.language)).bundle())
        return
    runtime.require_idle("%resume")
    runtime.retention.begin()
    desk = _Desk(runtime, words)
    if options.picks:
        scope: Scope = "project" if options.project else "notebook"
        show_picker(runtime.shell, desk.actions, language=words.language, scope=scope)
    else:
        _publish(runtime, desk.do(options))
    for notice in runtime.library().notices():
        _publish(runtime, cards.line(notice, tone="warning"))
    runtime.retention.finish()


class _Desk:
    """The text ways: each gives the bundle to show."""

    def __init__(self, runtime: Runtime, words: ResumeWords) -> None:
        self.actions = SessionActions(runtime, words)
        self._runtime = runtime
        self._words = words

    def do(self, options: ResumeOptions) -> Bundle:
        """Do the action and say what came of it."""
        ways: dict[str, Callable[[ResumeOptions], Bundle]] = {
            "resume": self._resume,
            "list": self._list,
            "search": self._search,
            "rename": self._rename,
            "pin": self._pin,
            "unpin": self._pin,
            "delete": self._delete,
            "restore": self._restore,
        }
        return ways[options.action](options)

    def _resume(self, options: ResumeOptions) -> Bundle:
        info = self._session(options.name, "--fork" if options.fork else "--at")
        return self.actions.resume(info.id, options.fork, options.at)

    def _list(self, options: ResumeOptions) -> Bundle:
        if options.name:
            return self._turns(self.actions.find(options.name))
        infos = self.actions.rows("project" if options.project else "notebook")
        lead = ""
        if not infos and not options.project:
            infos = self.actions.rows("project")
            lead = self._words("none_here") if infos else ""
        bundle = sessions_bundle(
            infos, now=time.time(), language=self._words.language, limit=LISTED
        )
        return _above(lead, bundle) if lead else bundle

    def _turns(self, info: SessionInfo) -> Bundle:
        rows = list(turn_rows(self.actions.load(info), SessionWords(self._words.language)))
        if len(rows) == 1:
            return cards.line(self._words("no_turns", id=info.id))
        hint = Page.fixed(self._words("turns_hint", id=info.id))
        return dict(Page.table(rows, after=hint).bundle())

    def _search(self, options: ResumeOptions) -> Bundle:
        from mewcode_nb.session.search import Progress, search
        from mewcode_nb.widgets.search_hits import hits_bundle

        infos, progress = self.actions.rows("project"), list[Progress]()
        hits = list(search(infos, options.text, limit=HITS, progress=progress.append))
        unread = progress[-1].unread if progress else ()
        after = [self._words("not_searched", what=what) for what in unread]
        if not hits:
            return cards.line(" ".join([self._words("no_hits", count=len(infos)), *after]))
        after.append(self._words("hit_hint"))
        return hits_bundle(hits, after, now=time.time(), language=self._words.language)

    def _rename(self, options: ResumeOptions) -> Bundle:
        info = self._session(options.name, "--rename")
        title = self.actions.rename(info.id, options.text).title
        return self._said("renamed" if title else "unnamed", id=info.id, title=title)

    def _pin(self, options: ResumeOptions) -> Bundle:
        on = options.action == "pin"
        info = self._session(options.name, f"--{options.action}")
        self.actions.pin(info.id, on)
        return self._said("pinned" if on else "unpinned", id=info.id)

    def _delete(self, options: ResumeOptions) -> Bundle:
        info = self.actions.find(options.name)
        self.actions.delete(info.id)
        return self._said("deleted", id=info.id, name=info.name)

    def _restore(self, options: ResumeOptions) -> Bundle:
        if options.name:
            item = self.actions.find_trashed(options.name)
            info = self.actions.restore(item.info.id)
            return self._said("restored", id=info.id, name=info.name)
        from mewcode_nb.widgets.session_table import trash_table

        items = self.actions.trashed()
        if not items:
            return self._said("trash_empty")
        rows = trash_table(items, now=time.time(), language=self._words.language)
        return dict(Page.table(rows, after=Page.fixed(self._words("trash_hint"))).bundle())

    def _session(self, name: str, option: str) -> SessionInfo:
        """The one named, else the one at hand."""
        if name:
            return self.actions.find(name)
        try:
            info = chosen_session(self._runtime, "")
        except SessionNotFound as error:
            raise UsageError(
                self._words("which", option=option), remedy=self._words("give_id", option=option)
            ) from error
        return self.actions.find(info.id)

    def _said(self, key: str, **values: object) -> Bundle:
        return cards.line(self._words(key, **values))


def _above(lead: str, bundle: Bundle) -> Bundle:
    line = cards.line(lead, tone="quiet")
    return {
        kind: f"{line[kind]}{'' if kind == 'text/html' else chr(10) * 2}{text}"
        for kind, text in bundle.items()
    }


def _publish(runtime: Runtime, bundle: Bundle | dict[str, str]) -> None:
    runtime.shell.display_pub.publish(dict(bundle))
