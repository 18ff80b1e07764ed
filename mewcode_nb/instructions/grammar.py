"""Which lines of a Markdown text are `@include` directives, and how a skipped one is said.

A directive stands alone on its line, indented by three spaces at most. Whether a line is text of a
paragraph or lies in code (fences in lists, longer fences, indented code) is CommonMark's question,
so CommonMark's block rules answer it; code spans and comments that run over several lines are found
here. Pure; the tokenizer is imported only when a text has an `@include` at all.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "Directive",
    "directives",
    "front_matter_keys",
    "normalise_text",
    "printable",
    "skip_comment",
]

_DIRECTIVE = re.compile(r" {0,3}@include(?=\s|$)(.*)")
_LITERAL_HTML = re.compile(r"\s*<(?:[!?]|(?:script|pre|style|textarea)(?![\w-]))", re.IGNORECASE)
_SPAN_START = re.compile(r"\\[\\`<]|`+|<!--")
_FRONT_KEY = re.compile(r"([A-Za-z_][\w-]*)\s*[:=]")
_SHOWN_CHARACTERS = 200
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Directive:
    """One `@include` line: the path it names, or what is wrong with it."""

    line: int
    """Counted from 1."""
    target: str
    """The path as written, quotes off; where `problem` is set, the rest of the line as written."""
    problem: str = ""


def normalise_text(text: str) -> str:
    r"""The text with `\n` line ends only, no byte order mark, and U+FFFD for NUL."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\x00", "\ufffd")


def directives(text: str) -> tuple[Directive, ...]:
    """The directives of a text in normal form (`normalise_text`), in order."""
    if "@include" not in text:
        return ()
    lines = text.split("\n")
    found = []
    for first, end in _text_regions(text):
        covered = _covered_lines(lines[first:end])
        for offset, line in enumerate(lines[first:end]):
            match = _DIRECTIVE.fullmatch(line)
            if match and offset not in covered:
                found.append(_read_directive(first + offset + 1, match[1].strip()))
    return tuple(found)


def front_matter_keys(text: str) -> tuple[str, ...]:
    """The top-level keys of a `---` block at the very start of the text; empty without one."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return ()
    keys: list[str] = []
    for line in lines[1:]:
        if line.rstrip() in ("---", "..."):
            return tuple(keys)
        match = _FRONT_KEY.match(line)
        if match:
            keys.append(match[1])
    return ()


def printable(text: str) -> str:
    r"""The text on one line: control, format and line-separating characters as `\u{…}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\\u{{{ord(character):x}}}" if unicodedata.category(character) in _HIDDEN else character
        for character in text
    )


def skip_comment(target: str, reason: str) -> str:
    """One line of HTML comment that says what was skipped; neither word can end the comment."""
    shown = target if len(target) <= _SHOWN_CHARACTERS else target[:_SHOWN_CHARACTERS] + "…"
    return f"<!-- @include skipped: {_escape(shown)} ({_escape(reason)}) -->"


def _read_directive(line: int, rest: str) -> Directive:
    if not rest:
        return Directive(line, "", "no path given")
    if rest[0] in "\"'":
        if len(rest) < 2 or rest.find(rest[0], 1) != len(rest) - 1:
            return Directive(line, rest, "the closing quote must end the line")
        if len(rest) == 2:
            return Directive(line, rest, "no path given")
        return Directive(line, rest[1:-1])
    if re.search(r"\s", rest):
        return Directive(line, rest, "nothing may follow the path; a path with spaces needs quotes")
    return Directive(line, rest)


def _text_regions(text: str) -> Iterator[tuple[int, int]]:
    """Line ranges (first, end) that CommonMark reads as paragraphs or as open HTML markup."""
    from markdown_it import MarkdownIt

    tokenizer = MarkdownIt("commonmark")
    # Underlined headings and link definitions would swallow a directive next to `---` or `[a]:`.
    tokenizer.disable(["inline", "lheading", "reference"], ignoreInvalid=True)
    before = ""
    for token in tokenizer.parse(text):
        paragraph = token.type == "inline" and before == "paragraph_open"
        markup = token.type == "html_block" and not _LITERAL_HTML.match(token.content)
        if token.map and (paragraph or markup):
            yield token.map[0], token.map[1]
        before = token.type


def _covered_lines(lines: list[str]) -> frozenset[int]:
    """Offsets of lines whose start lies in a code span or a comment begun on an earlier line."""
    text = "\n".join(lines)
    covered: set[int] = set()
    if "`" not in text and "<!--" not in text:
        return frozenset()
    line_of = _LineIndex(lines)
    for start, end in _spans(text):
        covered.update(range(line_of(start) + 1, line_of(end - 1) + 1))
    return frozenset(covered)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Code spans and comments as (start, end), left to right, in linear time."""
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    position, last_comment_end = 0, text.rfind("-->")
    while match := _SPAN_START.search(text, position):
        position = match.end()
        if match[0].startswith("`"):
            same = runs.get(len(match[0]), [])
            index = bisect_right(same, match.start())
            if index == len(same):
                continue
            position = same[index] + len(match[0])
            yield match.start(), position
        elif match[0] == "<!--" and last_comment_end >= position:
            position = text.index("-->", position) + 3
            yield match.start(), position


class _LineIndex:
    """From an offset in the joined text to the offset of its line."""

    def __init__(self, lines: list[str]) -> None:
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def __call__(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1


def _escape(text: str) -> str:
    marked = (f"&#{ord(character)};" if character in "&<>`" else character for character in text)
    return printable("".join(marked)).replace("--", "-&#45;")
