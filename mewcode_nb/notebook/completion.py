"""Tab completion for what may follow our magics: options, modes, subcommands, session ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)
from IPython.core.getipython import get_ipython

from mewcode_nb.errors import MewcodeError
from mewcode_nb.notebook.words import MODES, OPTION_HELP, SETTING_NAMES, SUBCOMMANDS

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


@context_matcher()  # type: ignore[untyped-decorator,unused-ignore]
def complete_magic(context: CompletionContext) -> SimpleMatcherResult:
    """What may stand at the cursor, in IPython's own form; Python names are left out there."""
    line = context.text_until_cursor
    if line.startswith("%%") and context.cursor_line > 0:
        return SimpleMatcherResult(completions=[])
    words = suggestions(line, stored_ids)
    typed = re.split(r"[\s=]", line)[-1] if words else ""
    # IPython replaces `token`, which may begin after the dashes of an option.
    skip = len(typed) - len(context.token) if typed.endswith(context.token) else 0
    found = [SimpleCompletion(word[skip:], type="magic") for word in words]
    return SimpleMatcherResult(completions=found, suppress=bool(found))


def stored_ids() -> tuple[str, ...]:
    """What may stand for a session: the ids of the newest ones, and `last`."""
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("MewcodeMagics") if shell is not None else None
    if magics is None:
        return ()
    try:
        infos = magics.runtime.library().list(project=True, limit=_SESSIONS)
    except MewcodeError:
        return ()  # what is wrong is told when the line runs
    return (*(info.id for info in infos), "last") if infos else ()


def suggestions(line: str, sessions: Callable[[], Iterable[str]] = tuple) -> list[str]:
    """The words that may complete the line up to the cursor; empty for a line that is not ours.

    `sessions` gives the ids to choose from and is only asked where one may stand.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return []
    *before, typed = re.split(r"[\s=]+", match[2])
    given = [word for word in before if word]
    if match[1] == "%%":
        candidates: Iterable[str] = _after_option(given, sessions)
    else:
        candidates = _after_subcommand(given, sessions)
    return [word for word in candidates if word.startswith(typed)]


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
