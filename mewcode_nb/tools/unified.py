"""Unified diffs of whole texts, fast where little changed.

The lines that both texts share at their ends are set aside first, because the comparison behind
`difflib` costs far more than linear time in what it is given.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from mewcode_nb.messages import clean_text

__all__ = ["changed_lines", "unified_diff"]

_CONTEXT = 3
_MOST_COMPARED = 20_000
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")
_NO_END = "\\ No newline at end of file"


def unified_diff(before: str | None, after: str, name: str) -> str:
    """The change of a file as a unified diff; `before` is `None` where the file is new."""
    old, new = _lines(before or ""), _lines(after)
    lead = _shared(old, new)
    tail = _shared(old[lead:][::-1], new[lead:][::-1])
    skip = max(0, lead - _CONTEXT)
    old_part = old[skip : len(old) - max(0, tail - _CONTEXT)]
    new_part = new[skip : len(new) - max(0, tail - _CONTEXT)]
    names = ("/dev/null" if before is None else f"a/{name}", f"b/{name}")
    if max(len(old_part), len(new_part)) > _MOST_COMPARED:
        lines = iter(_whole(old_part, new_part, names))
    else:
        lines = difflib.unified_diff(old_part, new_part, *names, lineterm="", n=_CONTEXT)
    return clean_text("\n".join(_shifted(lines, skip)))


def changed_lines(diff: str) -> tuple[int, int]:
    """Lines added and removed by a unified diff."""
    body = diff.split("\n")[2:]
    added = sum(line.startswith("+") for line in body)
    return added, sum(line.startswith("-") for line in body)


def _lines(text: str) -> list[str]:
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += f"\n{_NO_END}"
        return lines
    return lines[:-1]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _whole(old: Sequence[str], new: Sequence[str], names: tuple[str, str]) -> Iterator[str]:
    yield f"--- {names[0]}"
    yield f"+++ {names[1]}"
    yield f"@@ -{1 if old else 0},{len(old)} +{1 if new else 0},{len(new)} @@"
    yield from ("-" + line for line in old)
    yield from ("+" + line for line in new)


def _shifted(lines: Iterator[str], skip: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        match = _HUNK.match(line) if skip and number >= 2 else None
        if match is None:
            yield line
            continue
        old, old_size, new, new_size = match.groups("")
        yield f"@@ -{int(old) + skip}{old_size} +{int(new) + skip}{new_size} @@"
