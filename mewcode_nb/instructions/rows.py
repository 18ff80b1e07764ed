"""What came of each instruction file: the values, and their tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from mewcode_nb.events import Notice
from mewcode_nb.instructions.grammar import printable

__all__ = [
    "IncludeLimits",
    "InstructionRow",
    "Instructions",
    "Outcome",
    "instruction_notices",
    "instructions_markdown",
    "instructions_table",
]

Outcome = Literal["loaded", "skipped", "repeated", "absent"]
"""`repeated`: already in the text above. `absent`: a level that has no file, which is no fault."""

_HEADINGS = ("level", "file", "from line", "depth", "outcome", "reason", "size", "sha256")


@dataclass(frozen=True, slots=True)
class IncludeLimits:
    """Bounds on one level. Decided here: three full levels still fit a window of 200,000 tokens."""

    depth: int = 5
    """Files within files; the level's own file is the first."""
    files: int = 64
    file_bytes: int = 64 * 1024
    total_bytes: int = 128 * 1024
    """Bytes of all files read for the level."""
    skips: int = 200
    """Skipped includes that are noted one by one; after them the level expands no further."""


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """One file of a level, or one include that led to none."""

    file: str
    """Absolute real path; for a line that names no path, the line's words."""
    line: int
    """Line of the `@include` in `included_from`, counted from 1; 0 for a level's own file."""
    outcome: Outcome
    reason: str
    """Why it was skipped or is absent; for a loaded file, what was noticed. May be empty."""
    size: int
    """Bytes on disk; 0 where nothing was read."""
    sha256: str
    """Of the bytes on disk; empty where nothing was read."""
    level: int
    """1 project file, 2 the project's `.mewcode` file, 3 the user's file."""
    depth: int
    included_from: str = ""


@dataclass(frozen=True, slots=True)
class Instructions:
    """All levels as one text for the model, and how it came about."""

    text: str
    rows: tuple[InstructionRow, ...]
    sha256: str
    """Of the text in UTF-8: the same words give the same value."""

    @property
    def files(self) -> tuple[str, ...]:
        """Real paths of the files the text was made from, in order."""
        return tuple(row.file for row in self.rows if row.outcome == "loaded")


def instruction_notices(rows: Iterable[InstructionRow]) -> tuple[Notice, ...]:
    """One notice for all that was skipped, else for what was noticed in files that were loaded."""
    noted = [row for row in rows if row.reason and row.outcome in ("skipped", "loaded")]
    skipped = [row for row in noted if row.outcome == "skipped"]
    told = skipped or noted
    if not told:
        return ()
    first = told[0]
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    text = f"instructions: {printable(first.file)}: {printable(first.reason)}{more}"
    level: Literal["info", "warning"] = "warning" if skipped else "info"
    return (Notice(text, level, remedy="%mewcode instructions lists every file"),)


def instructions_table(rows: Sequence[InstructionRow]) -> str:
    """A plain table, one line a row, columns padded; control characters made visible."""
    cells = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def instructions_markdown(rows: Sequence[InstructionRow]) -> str:
    """The same table in Markdown, with what Markdown or HTML would act on escaped."""
    lines = [_HEADINGS, tuple("---" for _ in _HEADINGS)]
    lines += [tuple(_markdown_text(cell) for cell in _cells(row)) for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: InstructionRow) -> tuple[str, ...]:
    return (
        str(row.level),
        printable(row.file),
        str(row.line or ""),
        str(row.depth),
        row.outcome,
        printable(row.reason),
        f"{row.size:,}" if row.sha256 else "",
        row.sha256[:12],
    )


def _markdown_text(cell: str) -> str:
    return "".join(f"&#{ord(c)};" if c in "&<>`|*_[]\\~!$:@" else c for c in cell)
