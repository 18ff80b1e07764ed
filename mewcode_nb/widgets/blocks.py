"""Where a growing Markdown text may be cut into finished pieces.

Rendering the whole answer again for each update is quadratic and freezes the page; so finished
blocks are frozen in pieces of about 1.5 KB (the size measured to keep 20 frames a second) and only
the tail is shown again. A piece never ends inside a fence, a table or a list.
"""

from __future__ import annotations

import re

__all__ = ["StreamBlocks"]

_FENCE = re.compile(r"([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})")
_BREAK = re.compile(r"#{1,6} |[^\W\d_]|[\"'(\[“「《*_`$]")
_BULLET = re.compile(r"[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$)")


class StreamBlocks:
    """Cuts a text that arrives in deltas; the work for a delta is in proportion to the delta.

    The frozen pieces in order, followed by `tail`, are always exactly the text fed so far.
    """

    def __init__(self, size: int = 1_500) -> None:
        self._size = size
        self._done: list[str] = []
        self._done_length = 0
        self._line: list[str] = []
        self._blank_before = False
        self._fence = ""
        self._fence_in_container = False

    @property
    def tail(self) -> str:
        """The text after the last frozen piece."""
        return "".join(self._done) + "".join(self._line)

    @property
    def tail_length(self) -> int:
        """Characters of the tail, up to the last line feed: cheap, for pacing."""
        return self._done_length

    def feed(self, delta: str) -> tuple[str, ...]:
        """Add text; returns the pieces that are finished now."""
        frozen: list[str] = []
        first, *rest = delta.split("\n")
        self._line.append(first)
        for part in rest:
            line = "".join(self._line)
            if self._cut_before(line):
                frozen.append("".join(self._done))
                self._done, self._done_length = [], 0
            self._take(line)
            self._line = [part]
        return tuple(frozen)

    def _cut_before(self, line: str) -> bool:
        """Whether a complete line surely begins a new block at the margin."""
        if self._done_length < self._size or not self._blank_before or self._open_fence(line):
            return False
        return _BREAK.match(line) is not None and _BULLET.match(line) is None

    def _open_fence(self, line: str) -> bool:
        if self._fence and self._fence_in_container and line[:1] not in {"", " ", "\t", ">"}:
            self._fence = ""
        return bool(self._fence)

    def _take(self, line: str) -> None:
        self._done.append(line + "\n")
        self._done_length += len(line) + 1
        blank = not line.strip()
        self._blank_before = blank
        if self._open_fence(line):
            bare = line.lstrip(" \t>").rstrip()
            if bare == self._fence[0] * len(bare) and len(bare) >= len(self._fence):
                self._fence = ""
        elif found := _FENCE.match(line):
            self._fence = found[2]
            self._fence_in_container = bool(found[1])
