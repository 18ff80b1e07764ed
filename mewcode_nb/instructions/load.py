"""Read the three levels of instructions and expand their `@include` lines, whatever they hold.

Nothing here raises for the sake of a file: what cannot be read, must not be read or is too much
leaves one comment in the text, for the model, and one row, for the user.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from mewcode_nb.instructions.decode import NotText, decode_instructions
from mewcode_nb.instructions.find import find_file, near_name
from mewcode_nb.instructions.grammar import (
    Directive,
    directives,
    front_matter_keys,
    skip_comment,
)
from mewcode_nb.instructions.rows import IncludeLimits, InstructionRow, Instructions, Outcome
from mewcode_nb.paths import (
    INSTRUCTION_NAMES,
    NotRegularFile,
    OutsideFolder,
    TooLarge,
    inside,
    read_inside,
    real_path,
)

__all__ = ["load_instructions"]

_DEFAULT_LIMITS = IncludeLimits()


def load_instructions(
    root: Path,
    home: Path | None,
    *,
    fallback: bool = True,
    limits: IncludeLimits = _DEFAULT_LIMITS,
) -> Instructions:
    """The project file, the project's `.mewcode` file and the user's file, in this order.

    Args:
        root: The project root; levels 1 and 2 may read nothing outside it.
        home: The home folder or None; level 3 may read nothing outside its `.mewcode`.
        fallback: Read `AGENTS.md`, else `CLAUDE.md`, of the root where it has no `MEWCODE.md`.
        limits: Bounds for each level.
    """
    own = INSTRUCTION_NAMES[0]
    levels = [
        (root, [root / name for name in (INSTRUCTION_NAMES if fallback else [own])]),
        (root, [root / ".mewcode" / own]),
    ]
    if home is not None:
        levels.append((home / ".mewcode", [home / ".mewcode" / own]))
    shared = _Shared()
    texts = []
    for number, (boundary, names) in enumerate(levels, start=1):
        text = _Level(number, boundary, limits, shared).load(names)
        texts.append(text.strip("\n"))
    text = "\n\n".join(text for text in texts if text.strip())
    return Instructions(text, tuple(shared.rows), hashlib.sha256(text.encode()).hexdigest())


@dataclass(slots=True)
class _Shared:
    """What the levels have in common: the rows, and the files whose text already stands above."""

    rows: list[InstructionRow] = field(default_factory=list)
    included: set[tuple[int, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an include stands: the including file, the line, and the depth of what it names."""

    file: str = ""
    line: int = 0
    depth: int = 1


@dataclass(slots=True)
class _Level:
    """The expansion of one level, with what is left of its limits."""

    number: int
    boundary: Path
    limits: IncludeLimits
    shared: _Shared
    stack: list[tuple[int, int]] = field(default_factory=list)
    files: int = 0
    size: int = 0
    skips: int = 0

    def load(self, names: list[Path]) -> str:
        """The expanded text of the first file that exists; empty where none does."""
        for path in names:
            if os.path.lexists(path):
                return self._expand(path, str(path), _Place())
        near = near_name(names[0])
        reason = f"found {near}: the name must be {names[0].name}" if near else "no such file"
        self._add_row(names[0], _Place(), "absent", reason)
        return ""

    def _expand(self, path: Path, written: str, place: _Place) -> str:
        found = find_file(path, self.boundary)
        real = real_path(found)
        if place.depth > self.limits.depth:
            return self._skip(real, written, place, f"nested deeper than {self.limits.depth} files")
        if self.files >= self.limits.files:
            return self._skip(real, written, place, f"over the limit of {self.limits.files} files")
        try:
            data, key = read_inside(self.boundary, found, limit=self.limits.file_bytes)
        except OSError as error:
            return self._skip(real, written, place, self._failure(error, found, written))
        if key in self.stack:
            return self._skip(real, written, place, "loop: this file is being included")
        if key in self.shared.included:
            return self._skip(real, written, place, "already included above", "repeated")
        if self.size + len(data) > self.limits.total_bytes:
            reason = f"over the limit of {self.limits.total_bytes:,} bytes for this level"
            return self._skip(real, written, place, reason)
        return self._expand_data(real, written, place, data, key)

    def _expand_data(
        self, real: Path, written: str, place: _Place, data: bytes, key: tuple[int, int]
    ) -> str:
        try:
            text, remark = decode_instructions(data)
        except NotText as error:
            return self._skip(real, written, place, str(error))
        self.files += 1
        self.size += len(data)
        self.shared.included.add(key)
        keys = front_matter_keys(text)
        front = f"front matter has no effect ({', '.join(keys)})" if keys else ""
        remark = "; ".join(part for part in (remark, front) if part)
        self._add_row(real, place, "loaded", remark, data)
        self.stack.append(key)
        try:
            return self._expand_text(real, text, place.depth)
        finally:
            self.stack.pop()

    def _expand_text(self, real: Path, text: str, depth: int) -> str:
        lines = text.split("\n")
        drop = []
        for directive in directives(text):
            index = directive.line - 1
            if self.skips > self.limits.skips:
                drop.append(index)
                continue
            place = _Place(str(real), directive.line, depth + 1)
            lines[index] = self._expand_directive(real.parent, directive, place)
        for index in reversed(drop):
            del lines[index]
        return "\n".join(lines).rstrip("\n")

    def _expand_directive(self, folder: Path, directive: Directive, place: _Place) -> str:
        if directive.problem:
            return self._skip(directive.target, directive.target, place, directive.problem)
        return self._expand(folder / directive.target, directive.target, place)

    def _failure(self, error: OSError, path: Path, written: str) -> str:
        match error:
            case OutsideFolder():
                return "outside the folder this level may read"
            case TooLarge():
                return f"{error}: over the limit of {self.limits.file_bytes:,} bytes for a file"
            case NotRegularFile():
                return str(error)
            case FileNotFoundError() | NotADirectoryError():
                return self._missing(path, written)
            case PermissionError():
                return "no permission to read it"
        return error.strerror or "cannot be read"

    def _missing(self, path: Path, written: str) -> str:
        if os.path.islink(path):  # noqa: PTH114 — never raises
            return "a link that leads nowhere"
        if written.startswith("~"):
            return "no such file (~ is not expanded)"
        near = near_name(path) if inside(self.boundary, path) else ""
        return f"no such file (there is {near})" if near else "no such file"

    def _skip(
        self,
        file: Path | str,
        written: str,
        place: _Place,
        reason: str,
        outcome: Outcome = "skipped",
    ) -> str:
        self.skips += 1
        if self.skips > self.limits.skips:
            reason = (
                f"over the limit of {self.limits.skips} skipped includes; no further ones are read"
            )
        self._add_row(file, place, outcome, reason)
        return skip_comment(written, reason)

    def _add_row(
        self, file: Path | str, place: _Place, outcome: Outcome, reason: str, data: bytes = b""
    ) -> None:
        read = outcome == "loaded"
        self.shared.rows.append(
            InstructionRow(
                file=str(file),
                line=place.line,
                outcome=outcome,
                reason=reason,
                size=len(data),
                sha256=hashlib.sha256(data).hexdigest() if read else "",
                level=self.number,
                depth=place.depth,
                included_from=place.file,
            )
        )
