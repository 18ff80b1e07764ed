"""Tab completion for what may follow our magics: options, modes, subcommands, session ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.getipython import get_ipython

from mewcode_nb.errors import MewcodeError
from mewcode_nb.notebook.words import MODES, OPTION_HELP, SETTING_NAMES, SUBCOMMANDS

if TYPE_CHECKING:
    from mewcode_nb.session.info import SessionInfo

__all__ = ["complete_magic", "suggestions"]

_SESSIONS = 50
_EXPORT = ("md", "html", "ipynb", "jsonl", "--force", "--session")
_FIRST_WORDS: Mapping[str, Iterable[str]] = {
    "config": SETTING_NAMES,
    "help": SUBCOMMANDS,
    "mode": MODES,
    "rewind": ("--undo",),
    "tutorial": ("on", "off"),
}
_LINE = re.compile(r"(%%?)mewcode(\s.*)")
_RESUME = re.compile(r"%resume(\s.*)")


@context_matcher()  # type: ignore[untyped-decorator,unused-ignore]
def complete_magic(context: CompletionContext) -> SimpleMatcherResult:
    """What may stand at the cursor, in IPython's own form; Python names are left out there."""
    line = context.text_until_cursor
    if line.startswith("%%") and context.cursor_line > 0:
        return SimpleMatcherResult(completions=[])
    words = suggestions(line, stored_ids, stored_titles)
    typed = re.split(r"[\s=]", line)[-1] if words else ""
    # IPython replaces `token`, which may begin after the dashes of an option.
    skip = len(typed) - len(context.token) if typed.endswith(context.token) else 0
    found = [SimpleCompletion(word[skip:], type="magic") for word in words]
    return SimpleMatcherResult(completions=found, suppress=bool(found))


def stored_ids() -> tuple[str, ...]:
    """What may stand for a session: the ids of the newest ones, and `last`."""
    infos = _newest()
    return (*(info.id for info in infos), "last") if infos else ()


def stored_titles() -> tuple[str, ...]:
    """The titles that the newest sessions were given."""
    return tuple(" ".join(info.title.split()) for info in _newest() if info.title)


def _newest() -> Sequence[SessionInfo]:
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("MewcodeMagics") if shell is not None else None
    if magics is None:
        return ()
    try:
        found: Sequence[SessionInfo] = magics.runtime.library().list(project=True, limit=_SESSIONS)
    except MewcodeError:
        return ()  # what is wrong is told when the line runs
    return found


def suggestions(
    line: str,
    sessions: Callable[[], Iterable[str]] = tuple,
    titles: Callable[[], Iterable[str]] = tuple,
) -> list[str]:
    """The words that may complete the line up to the cursor; empty for a line that is not ours.

    `sessions` and `titles` give what to choose from and are only asked where a session may stand.
    """
    if resume := _RESUME.fullmatch(line):
        *before, typed = re.split(r"\s+", resume[1])
        given = [word for word in before if word]
        names = () if typed.startswith("-") else _names(given, sessions, titles)
        candidates: Iterable[str] = (*names, *_resume_options(given, typed))
    elif match := _LINE.fullmatch(line):
        *before, typed = re.split(r"[\s=]+", match[2])
        given = [word for word in before if word]
        after = _after_option if match[1] == "%%" else _after_subcommand
        candidates = after(given, sessions)
    else:
        return []
    return [word for word in candidates if word.startswith(typed)]


def _names(
    given: list[str], sessions: Callable[[], Iterable[str]], titles: Callable[[], Iterable[str]]
) -> Iterable[str]:
    """What names a session after these words; of a title the words that are still to come."""
    if {"--at", "--search", "--rename"} & {*given}:
        return ()
    begun = "".join(f"{word} " for word in given if not word.startswith("-"))
    rest = [title[len(begun) :] for title in titles() if title.startswith(begun)]
    return rest if begun else (*sessions(), *rest)


def _resume_options(given: list[str], typed: str) -> Iterable[str]:
    from mewcode_nb.notebook.resume_words import RESUME_OPTIONS

    taking_words = {"--search", "--rename"} & {*given} or given[-1:] == ["--at"]
    if taking_words and not typed.startswith("-"):
        return ()
    return [option for option in RESUME_OPTIONS if option not in given]


def _after_option(given: list[str], sessions: Callable[[], Iterable[str]]) -> Iterable[str]:
    match given[-1:]:
        case ["--session"]:
            return sessions()
        case ["--mode"]:
            return MODES
        case ["-m" | "--model" | "-o" | "--max-steps"]:
            return ()
    return [option for option in OPTION_HELP if option not in given]


def _after_subcommand(given: list[str], sessions: Callable[[], Iterable[str]]) -> Iterable[str]:
    match given:
        case []:
            return SUBCOMMANDS
        case ["doctor"] | ["export", *_, "--session"]:
            return sessions()
        case ["export", *_]:
            return [word for word in _EXPORT if word not in given]
        case ["config", key] if key in SETTING_NAMES:
            from mewcode_nb.config.rules import RULES

            return (*RULES[key].words, "default")
        case [name]:
            return _FIRST_WORDS.get(name, ())
    return ()
