"""What may stand on the line of `%resume`, read without touching anything.

A title may be typed without quotes, and so may what is searched for: the words that follow belong
together up to the next option. A word that begins with two dashes is an option, whatever stands
around it, unless quotes keep a whole title together.
"""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

from mewcode_nb.errors import UsageError
from mewcode_nb.notebook.resume_words import RESUME_OPTIONS, ResumeWords

__all__ = ["Action", "ResumeOptions", "parse_resume_options"]

Action: TypeAlias = Literal[
    "resume", "list", "search", "rename", "pin", "unpin", "delete", "restore", "help"
]

_TEXT = {"--at": "give_at", "--search": "give_words", "--rename": "give_title"}
"""Options with a value, and what to say where it is missing."""
_WITH_PROJECT = frozenset({"resume", "list", "search", "restore"})


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """What is asked for. Bare, it is the picker."""

    action: Action = "resume"
    name: str = ""
    """Id, start of an id, title or `last`; empty for none."""
    text: str = ""
    """The words to look for, or the new title."""
    at: str = ""
    """Number or id of the last message that stays."""
    fork: bool = False
    project: bool = False

    @property
    def picks(self) -> bool:
        """Whether the picker is meant."""
        return self.action == "resume" and not (self.name or self.at or self.fork)


def parse_resume_options(line: str, words: ResumeWords) -> ResumeOptions:
    """The options on the line; raises `UsageError` with one line naming what was wrong."""
    try:
        typed = shlex.split(line)
    except ValueError as error:
        raise UsageError(
            words("quotes", line=repr(line), error=error), remedy=words("close_quotes")
        ) from error
    if {"--help", "-h"} & {*typed}:
        return ResumeOptions("help")
    found = _Found(words)
    for word in typed:
        found.take(word)
    return _checked(found.options(), words)


class _Found:
    """The words seen so far: those that belong to an option, and the name."""

    def __init__(self, words: ResumeWords) -> None:
        self._words = words
        self._name: list[str] = []
        self._values: dict[str, list[str]] = {}
        self._open = ""
        """The option that takes what follows."""

    def take(self, word: str) -> None:
        """The next word of the line."""
        option, equals, value = word.partition("=")
        if not word.startswith("--") or any(character.isspace() for character in option):
            self._add(word)
            return
        if option not in RESUME_OPTIONS:
            self._refuse(option)
        if equals and option not in _TEXT:
            shown = self._words("no_value", option=option, value=repr(value))
            raise UsageError(shown, remedy=self._words("name_first", value=value, option=option))
        self._values.setdefault(option, [])
        if option in _TEXT:
            self._open = option
        if equals:
            self._add(value)

    def options(self) -> ResumeOptions:
        """What the words ask for; raises UsageError for two actions, or one without its value."""
        words = self._words
        for option, remedy in _TEXT.items():
            if option in self._values and not self._given(option):
                raise UsageError(words("lacks", option=option), remedy=words(remedy))
        actions = [option for option in self._values if option[2:] in get_args(Action)]
        if len(actions) > 1:
            several = words("several", first=actions[0], second=actions[1])
            raise UsageError(several, remedy=words("one_only"))
        action = cast("Action", actions[0][2:] if actions else "resume")
        text = self._values.get(f"--{action}", [])
        return ResumeOptions(
            action=action,
            name=" ".join(self._name).strip(),
            text=" ".join(map(_phrase, text) if action == "search" else text).strip(),
            at="".join(self._values.get("--at", [])),
            fork="--fork" in self._values,
            project="--project" in self._values,
        )

    def _add(self, word: str) -> None:
        if not self._open:
            self._name.append(word)
            return
        self._values[self._open].append(word)
        if self._open == "--at":
            self._open = ""

    def _given(self, option: str) -> bool:
        """Whether it has its value; of a title that may be an empty one."""
        return bool(self._values[option]) and (
            option == "--rename" or bool("".join(self._values[option]).strip())
        )

    def _refuse(self, option: str) -> None:
        near = difflib.get_close_matches(option, RESUME_OPTIONS, n=1)
        remedy = self._words("meant", near=near[0]) if near else self._words("see_help")
        raise UsageError(self._words("unknown", word=repr(option)), remedy=remedy)


def _checked(options: ResumeOptions, words: ResumeWords) -> ResumeOptions:
    """The same, if its parts go together."""
    if options.action != "resume":
        for given, option in ((options.at, "--at"), (options.fork, "--fork")):
            if given:
                _not_with(option, options, words)
    if options.project and options.action not in _WITH_PROJECT:
        _not_with("--project", options, words)
    if options.action == "search" and options.name:
        # `join --search slow`: both are looked for, as they would be the other way round.
        return replace(options, name="", text=f"{options.name} {options.text}")
    if options.action == "delete" and not options.name:
        raise UsageError(
            words("which", option="--delete"), remedy=words("give_id", option="--delete")
        )
    return options


def _not_with(option: str, options: ResumeOptions, words: ResumeWords) -> None:
    text = words("not_with", option=option, action=f"--{options.action}")
    raise UsageError(text, remedy=words("one_only"))


def _phrase(word: str) -> str:
    """What quotes kept together is looked for as a phrase."""
    return f'"{word}"' if any(character.isspace() for character in word) else word
