"""A search query against texts: all words must occur, without regard to case.

Texts and words are compared in Unicode's composed form, case folded, anywhere in a word, so that
Chinese of any length is found. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["Match", "Query", "parse_query"]

_TERM = re.compile(r'"([^"]*)"?|(\S+)')
_PIECE = re.compile(r"\w+")
_BEFORE = 60
_AFTER = 140
"""Characters of a snippet before and after the beginning of the first match."""


@dataclass(frozen=True, slots=True)
class Match:
    """A part of a text on one line, and where in it the words stand, as (start, end)."""

    snippet: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for; empty `terms` match nothing."""

    terms: tuple[str, ...]
    """Words and phrases, folded."""
    pieces: tuple[str, ...]
    """Runs of letters and digits in them: those stand in a JSON line as they do in a text."""

    def may_be_in(self, line: bytes) -> bool:
        """Whether a line of a session file can hold a match: cheap, and never wrongly no."""
        if b"\\u" in line:
            return True
        if line.isascii():
            lowered = line.lower().decode("ascii")
        else:
            lowered = _fold(line.decode("utf-8", "replace"))
        return all(piece in lowered for piece in self.pieces)

    def match(self, text: str) -> Match | None:
        """The first place in the text, where all terms occur in it; else None."""
        composed = unicodedata.normalize("NFC", text)
        folded = composed.casefold()
        if not self.terms or not all(term in folded for term in self.terms):
            return None
        first = min(folded.index(term) for term in self.terms)
        spans = _spans(folded, self.terms, max(first - _BEFORE, 0), first + _AFTER)
        if len(folded) == len(composed):
            return _cut(composed, first, spans)
        origins = [n for n, c in enumerate(composed) for _ in c.casefold()]
        return _cut(composed, origins[first], [(origins[a], origins[b - 1] + 1) for a, b in spans])


def parse_query(text: str) -> Query:
    """Words apart by spaces; what stands between double quotes is one phrase."""
    found = (match[1] if match[1] is not None else match[2] for match in _TERM.finditer(text))
    terms = tuple(dict.fromkeys(term for term in map(_fold, found) if term.strip()))
    pieces = tuple(dict.fromkeys(piece for term in terms for piece in _PIECE.findall(term)))
    return Query(terms, pieces)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _spans(folded: str, terms: tuple[str, ...], start: int, end: int) -> list[tuple[int, int]]:
    """Where the terms stand in the window, in order; those that touch or overlap as one."""
    found = sorted(
        (match.start(), match.end())
        for term in terms
        for match in re.finditer(re.escape(term), folded[start:end])
    )
    merged: list[tuple[int, int]] = []
    for left, right in ((a + start, b + start) for a, b in found):
        if merged and left <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    return merged


def _cut(text: str, first: int, spans: list[tuple[int, int]]) -> Match:
    start, end = max(first - _BEFORE, 0), first + _AFTER
    head, tail = "…" if start else "", "…" if end < len(text) else ""
    shown = "".join(c if c.isprintable() else " " for c in text[start:end])
    clipped = ((max(a, start), min(b, end, len(text))) for a, b in spans)
    shift = len(head) - start
    marks = tuple((a + shift, b + shift) for a, b in clipped if a < b)
    return Match(f"{head}{shown}{tail}", marks)
