"""Text in columns, measured as a terminal shows it: a Chinese character takes two places."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

__all__ = ["align", "display_width", "fit"]

_GAP = "  "


def display_width(text: str) -> int:
    """Places the text takes in a terminal: two for a wide character, none for a joined mark."""
    if text.isascii():
        return len(text)
    return sum(_places(char) for char in text)


def fit(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis, in at most `width` places."""
    if display_width(text) <= width:
        return text
    kept, used = [], 1
    for char in text:
        used += _places(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


def align(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """The rows as lines with even columns; columns whose number is in `right` end evenly.

    Rows may be of different length. No line ends in blanks.
    """
    columns = max((len(row) for row in rows), default=0)
    widths = [
        max((display_width(row[column]) for row in rows if column < len(row)), default=0)
        for column in range(columns)
    ]
    return "\n".join(
        _GAP.join(
            _padded(cell, widths[column], at_end=column in right) for column, cell in enumerate(row)
        ).rstrip()
        for row in rows
    )


def _padded(cell: str, width: int, *, at_end: bool) -> str:
    blanks = " " * (width - display_width(cell))
    return blanks + cell if at_end else cell + blanks


def _places(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
