"""Where a growing Markdown text may be cut into finished pieces.

Rendering the whole answer again for each update is quadratic and freezes the page; so finished
blocks are frozen in pieces of about 1.5 KB (the size measured to keep 20 frames a second) and only
the tail is shown again. A piece never ends inside a fence, a table or a list: the tokenizer says
where a block at the margin begins, and it is asked at most when the tail has grown by a quarter.
"""

from __future__ import annotations

__all__ = ["StreamBlocks"]

_GROWTH = 1.25


class StreamBlocks:
    """Cuts a text that arrives in deltas; the work is in proportion to the text.

    The frozen pieces in order, followed by `tail`, are always exactly the text fed so far.
    """

    def __init__(self, size: int = 1_500) -> None:
        self._size = size
        self._line: list[str] = []
        self._done: list[str] = []
        self._length = 0
        self._next_check = float(size)
        self._after_blank = False

    @property
    def tail(self) -> str:
        """The text after the last frozen piece."""
        return "".join(self._done) + "".join(self._line)

    @property
    def tail_length(self) -> int:
        """Characters of the tail, up to the last line feed: cheap, for pacing."""
        return self._length

    def feed(self, delta: str) -> tuple[str, ...]:
        """Add text; returns the pieces that are finished now."""
        frozen: list[str] = []
        first, *rest = delta.split("\n")
        self._line.append(first)
        for part in rest:
            line = "".join(self._line) + "\n"
            if self._length >= self._next_check and self._after_blank and self._begins_block(line):
                frozen.append("".join(self._done))
                self._reset()
            self._done.append(line)
            self._length += len(line)
            self._after_blank = not line.strip()
            self._line = [part]
        return tuple(frozen)

    def _reset(self) -> None:
        self._done = []
        self._length = 0
        self._next_check = float(self._size)
        self._after_blank = False

    def _begins_block(self, line: str) -> bool:
        """Whether a new block at the margin begins with this line."""
        if line[0].isspace():
            return False
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("inline")
        source = "".join(self._done)
        number = source.count("\n")
        tokens = parser.parse(source + line)
        if any(token.level == 0 and token.map and token.map[0] == number for token in tokens):
            # A lone carriage return is a line end to the tokenizer, and its numbers differ then.
            return "\r" not in source
        self._next_check = self._length * _GROWTH
        return False
