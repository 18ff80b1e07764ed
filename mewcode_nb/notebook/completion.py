"""Tab completion for what may follow `%%mewcode` and `%mewcode`: options, modes, subcommands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)

from mewcode_nb.notebook.words import MODES, OPTION_HELP, SETTING_NAMES, SUBCOMMANDS

__all__ = ["complete_magic", "suggestions"]

_LINE = re.compile(r"(%%?)mewcode(\s.*)")


@context_matcher()  # type: ignore[untyped-decorator,unused-ignore]
def complete_magic(context: CompletionContext) -> SimpleMatcherResult:
    """What may stand at the cursor, in IPython's own form; Python names are left out there."""
    line = context.text_until_cursor
    if line.startswith("%%") and context.cursor_line > 0:
        return SimpleMatcherResult(completions=[])
    words = suggestions(line)
    typed = re.split(r"[\s=]", line)[-1] if words else ""
    # IPython replaces `token`, which may begin after the dashes of an option.
    skip = len(typed) - len(context.token) if typed.endswith(context.token) else 0
    found = [SimpleCompletion(word[skip:], type="magic") for word in words]
    return SimpleMatcherResult(completions=found, suppress=bool(found))


def suggestions(line: str) -> list[str]:
    """The words that may complete the line up to the cursor; empty for a line that is not ours."""
    match = _LINE.fullmatch(line)
    if match is None:
        return []
    *before, typed = re.split(r"[\s=]+", match[2])
    given = [word for word in before if word]
    if match[1] == "%%":
        candidates: Iterable[str] = _after_option(given)
    else:
        candidates = _after_subcommand(given)
    return [word for word in candidates if word.startswith(typed)]


def _after_option(given: list[str]) -> Iterable[str]:
    match given[-1:]:
        case ["--mode"]:
            return MODES
        case ["-m" | "--model" | "-o" | "--max-steps"]:
            return ()
    return [option for option in OPTION_HELP if option not in given]


def _after_subcommand(given: list[str]) -> Iterable[str]:
    match given:
        case []:
            return SUBCOMMANDS
        case ["mode"]:
            return MODES
        case ["config"]:
            return SETTING_NAMES
        case ["config", key] if key in SETTING_NAMES:
            from mewcode_nb.config.rules import RULES

            return (*RULES[key].words, "default")
        case ["help"]:
            return SUBCOMMANDS
        case ["tutorial"]:
            return ("on", "off")
    return ()
