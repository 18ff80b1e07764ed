"""Unified diffs of whole texts, in time that does not explode where much has changed.

`difflib` alone takes minutes for a few ten thousand lines of which every second one differs. So
lines that occur once in both texts are paired first, in order, and only the small gaps between
them are left to `difflib`, within a budget; a gap beyond it is shown as replaced whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

from mewcode_nb.messages import clean_text

__all__ = ["changed_lines", "unified_diff"]

_CONTEXT = 3
_GAP_COST = 10_000_000
"""Steps for all gaps together, by the worst case: lines of both times the fewer; about 0.3 s."""
_NO_END = "\\ No newline at end of file"


class _Paired(SequenceMatcher[str]):
    """`difflib`'s grouping of changes over pairs that are found here, not by its own search."""

    def __init__(self, matches: Sequence[Match], old: int, new: int) -> None:
        super().__init__()
        self._matches = [*matches, Match(old, new, 0)]

    def get_matching_blocks(self) -> list[Match]:
        """The pairs given, and the end mark."""
        return self._matches


def unified_diff(before: str | None, after: str, name: str) -> str:
    """The change of a file as a unified diff; `before` is `None` where the file is new."""
    old, new = _lines(before or ""), _lines(after)
    names = ("/dev/null" if before is None else f"a/{name}", f"b/{name}")
    body = list(_hunks(old, new))
    head = [f"--- {names[0]}", f"+++ {names[1]}"] if body else []
    return clean_text("\n".join([*head, *body]))


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


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for group in _Paired(_matches(old, new), len(old), len(new)).get_grouped_opcodes(_CONTEXT):
        (_, a, _, b, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        yield f"@@ -{_span(a, a_end)} +{_span(b, b_end)} @@"
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                yield from (" " + line for line in old[i:i_end])
                continue
            yield from ("-" + line for line in old[i:i_end])
            yield from ("+" + line for line in new[j:j_end])


def _span(start: int, end: int) -> str:
    """Lines from `start` (counted from 0) to before `end`, as a hunk's head names them."""
    size = end - start
    first = start + 1 if size else start
    return str(first) if size == 1 else f"{first},{size}"


def _matches(old: Sequence[str], new: Sequence[str]) -> list[Match]:
    """Runs of equal lines, in order; none touches the one before it."""
    pairs = list(_equal_ends(old, new))
    joined: list[Match] = []
    for a, b, size in pairs:
        last = joined[-1] if joined else Match(-1, -1, 0)
        if (last.a + last.size, last.b + last.size) == (a, b):
            joined[-1] = Match(last.a, last.b, last.size + size)
        elif size:
            joined.append(Match(a, b, size))
    return joined


def _equal_ends(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    lead = _shared(old, new)
    tail = _shared(old[lead:][::-1], new[lead:][::-1])
    a_end, b_end = len(old) - tail, len(new) - tail
    yield 0, 0, lead
    budget, a, b = _GAP_COST, lead, lead
    anchors = [(lead + i, lead + j) for i, j in _anchors(old[lead:a_end], new[lead:b_end])]
    for a_next, b_next in [*anchors, (a_end, b_end)]:
        rows, columns = a_next - a, b_next - b
        cost = rows * columns * min(rows, columns)
        if 0 < cost <= budget:
            budget -= cost
            gap = SequenceMatcher(None, old[a:a_next], new[b:b_next], autojunk=False)
            for block in gap.get_matching_blocks():
                yield a + block.a, b + block.b, block.size
        if (a_next, b_next) != (a_end, b_end):
            yield a_next, b_next, 1
        a, b = a_next + 1, b_next + 1
    yield a_end, b_end, tail


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Places of lines that occur once in each, as many as keep their order in both."""
    here, there = Counter(old), Counter(new)
    where = {line: j for j, line in enumerate(new) if there[line] == 1}
    pairs = [(i, where[line]) for i, line in enumerate(old) if here[line] == 1 and line in where]
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for place, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(tops[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        tops[length : length + 1] = [place]
    chain: list[tuple[int, int]] = []
    at = tops[-1] if tops else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]
