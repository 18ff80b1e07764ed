"""Bounded text for the model: cut on characters, with the true size said.

Normal text keeps its head; the output of a program keeps head and tail, because failures tell
themselves at the end. `HeadTail` does the same for a stream of bytes that never fits in memory.
"""

from __future__ import annotations

import codecs
import re

from mewcode_nb.messages import clean_text

__all__ = ["HeadTail", "counted", "cut", "one_line", "without_escapes"]

_HEAD_SHARE = 0.5
_NOTE_BYTES = 100
"""Set aside for the note, so that the whole stays within the limit."""
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)


def cut(text: str, limit: int, *, tail: bool = False, unseen: int = 0) -> str:
    """The text if it takes at most `limit` bytes of UTF-8, else its head (and tail) and a note.

    The note counts, so that what was cut once is not cut or stored aside again; `limit` is at
    least 100. `unseen` are bytes that were left out of the middle before: the note counts them in.
    """
    if len(text) * 4 <= limit:
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    limit = max(0, limit - _NOTE_BYTES)
    if not tail:
        head = raw[:limit].decode("utf-8", "ignore")
        return f"{head}\n[cut here: the first {limit:,} of {len(raw):,} bytes are shown]"
    front = int(limit * _HEAD_SHARE)
    head = raw[:front].decode("utf-8", "ignore")
    end = raw[len(raw) - (limit - front) :].decode("utf-8", "ignore")
    return f"{head}\n{_gap(len(raw) - limit + unseen, len(raw) + unseen)}\n{end}"


def one_line(text: str, limit: int = 80) -> str:
    """The text on one line of at most `limit` characters, for titles."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def counted(number: int, noun: str) -> str:
    """`1 file`, `2,000 files`: a number with its noun, whose plural takes an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def without_escapes(text: str) -> str:
    """The text without terminal control sequences and lone surrogates."""
    return clean_text(_ESCAPES.sub("", text) if "\x1b" in text else text)


class HeadTail:
    """Keeps the first and the last bytes of a stream, about `limit` in all, and counts the rest."""

    def __init__(self, limit: int) -> None:
        self._front = int(limit * _HEAD_SHARE)
        self._back = limit - self._front
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        """Bytes seen."""

    def add(self, data: bytes) -> None:
        """Take the next bytes, in constant time each; memory stays below twice the limit."""
        self.total += len(data)
        room = self._front - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail += data
        if len(self._tail) > 2 * self._back:
            del self._tail[: len(self._tail) - self._back]

    @property
    def dropped(self) -> int:
        """Bytes seen and not kept."""
        return self.total - len(self._head) - min(len(self._tail), self._back)

    def text(self) -> str:
        """What was kept, decoded, with a note in the place of what was not."""
        tail = self._tail[max(0, len(self._tail) - self._back) :]
        dropped = self.dropped
        if not dropped:
            return (bytes(self._head) + bytes(tail)).decode("utf-8", "replace")
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        while tail and 0x80 <= tail[0] < 0xC0:
            del tail[0]
        return f"{head}\n{_gap(dropped, self.total)}\n{tail.decode('utf-8', 'replace')}"


def _gap(dropped: int, total: int) -> str:
    return f"[{dropped:,} of {total:,} bytes left out here]"
