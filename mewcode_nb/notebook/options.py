"""What may stand on the magic's line, parsed without ending the process or touching the prompt.

A parser of our own over `argparse`: `--help` is an answer instead of a `SystemExit`, and each
mistake is one line that names the offending word and the remedy.
"""

from __future__ import annotations

import argparse
import difflib
import keyword
import shlex
from dataclasses import dataclass
from typing import NoReturn

from mewcode_nb.agent.approval import Mode
from mewcode_nb.config.rules import RULES, read_value
from mewcode_nb.errors import UsageError
from mewcode_nb.notebook.words import OPTION_HELP, option_help

__all__ = ["TurnOptions", "cell_help", "parse_turn_options"]


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """One turn's options; None where the session's setting holds."""

    model: str | None = None
    mode: Mode | None = None
    new: bool = False
    session: str | None = None
    """Id, start of an id, title or `last` of the session that the turn belongs to."""
    fresh: bool = False
    """Run the cell again although its answer is stored."""
    no_tools: bool = False
    max_steps: int | None = None
    output: str | None = None
    help: bool = False


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, remedy="see %%mewcode --help")


def cell_help(language: str = "en") -> str:
    """Help for the cell magic, at most a screen."""
    below, line = "the lines below are the prompt, word for word", "The line magic:"
    if language == "zh":
        below, line = "下面各行就是提示，逐字发送", "行魔法："
    options = _parser(language).format_help().partition("\n\n")[2]
    return f"%%mewcode [options]          {below}\n{options}\n{line} %mewcode help"


def parse_turn_options(line: str) -> TurnOptions:
    """The options on the line; raises `UsageError` with one line naming what was wrong."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"the options {line!r} cannot be read: {error}", remedy="close the quotes"
        ) from error
    known, rest = _parser().parse_known_args(words)
    if rest:
        raise UsageError(_unknown(rest[0]), remedy=_remedy(rest[0]))
    options = TurnOptions(**vars(known))
    if options.new and options.session is not None:
        raise UsageError("--new and --session do not go together", remedy="leave out one of them")
    return options


def _parser(language: str = "en") -> argparse.ArgumentParser:
    helps = option_help(language)
    parser = _Parser(prog="%%mewcode", add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add("-m", "--model", type=_model, metavar="MODEL", help=helps["--model"])
    add("--mode", type=_mode, metavar="MODE", help=helps["--mode"])
    add("--new", action="store_true", help=helps["--new"])
    add("--session", type=_session, metavar="ID", help=helps["--session"])
    add("--fresh", action="store_true", help=helps["--fresh"])
    add("--no-tools", action="store_true", help=helps["--no-tools"])
    add("--max-steps", type=_positive, metavar="N", help=helps["--max-steps"])
    add("-o", dest="output", type=_identifier, metavar="NAME", help=helps["-o"])
    add("-h", "--help", action="store_true", help=helps["--help"])
    return parser


def _model(text: str) -> str:
    try:
        return str(read_value(RULES["model"], text))
    except ValueError as error:
        raise UsageError(f"--model {text!r} is not a model", remedy=f"give {error}") from None


def _mode(text: str) -> Mode:
    try:
        return Mode(text)
    except ValueError:
        raise UsageError(
            f"--mode {text!r} is not a mode", remedy="use plan, ask, edit or open"
        ) from None


def _session(text: str) -> str:
    if not text.strip():
        raise UsageError("--session names no session", remedy="give an id: %resume --list")
    return text.strip()


def _positive(text: str) -> int:
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        raise UsageError(f"--max-steps {text!r} is not a whole number", remedy="give 1 or more")
    rule = RULES["max_steps"]
    if text != digits or not digits.strip("0"):
        raise UsageError(f"--max-steps {text} must be {rule.least:.0f} or more")
    try:
        return int(read_value(rule, text, words=True))
    except ValueError:
        most = f"{rule.most:,.0f}"
        raise UsageError(f"--max-steps {text[:20]} must be {most} or less") from None


def _identifier(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise UsageError(f"-o {text!r} is not a variable name", remedy="use letters, digits and _")
    return text


def _unknown(word: str) -> str:
    kind = "option" if word.startswith("-") else "word"
    return f"{kind} {word!r} is not known on the %%mewcode line"


def _remedy(word: str) -> str:
    if word.startswith("-"):
        near = difflib.get_close_matches(word, OPTION_HELP, n=1)
        return f"did you mean {near[0]}?" if near else "see %%mewcode --help"
    return "the prompt goes on the lines below"
