"""What stays in the conversation of a text or an image that was moved to a file. Pure.

Ordinary output is told by its beginning, a failure by both ends, since a traceback says what went
wrong in its last lines.
"""

from __future__ import annotations

from mewcode_nb.compaction.limits import PREVIEW_BYTES, PREVIEW_LINES

__all__ = ["head_of", "image_preview", "tail_of", "text_preview"]

_INPUT = (
    "[This argument was used whole. Here it is shortened: its {size:,} bytes ({lines:,} lines) "
    "are in {path}, which read_file reads. It begins:]\n{head}"
)
_WHOLE = (
    "[{size:,} bytes ({lines:,} lines) were moved to {path}. What follows is only {shown}. Read "
    "the file (read_file with offset and limit, or search) before concluding anything from it.]"
)
_IMAGE = (
    "[An image ({media}, {size:,} bytes) was moved to {path}: too much for one message. Look at "
    "it with read_file, by itself.]"
)
_GAP = "\n[... {left:,} bytes left out ...]\n"


def text_preview(text: str, size: int, path: str, *, failed: bool, argument: bool = False) -> str:
    """The words in place of a text of `size` bytes that now is in the file at `path`.

    Of the text itself at most `PREVIEW_LINES` lines and `PREVIEW_BYTES` bytes are in it.
    """
    lines = text.count("\n") + (not text.endswith("\n"))
    if argument:
        head = head_of(text, PREVIEW_LINES, PREVIEW_BYTES)
        return _INPUT.format(size=size, lines=lines, path=path, head=head)
    if not failed:
        head = head_of(text, PREVIEW_LINES, PREVIEW_BYTES)
        return _WHOLE.format(size=size, lines=lines, path=path, shown="its beginning") + f"\n{head}"
    head = head_of(text, PREVIEW_LINES // 2, PREVIEW_BYTES // 2)
    tail = tail_of(text, PREVIEW_LINES // 2, PREVIEW_BYTES // 2)
    words = _WHOLE.format(size=size, lines=lines, path=path, shown="its beginning and its end")
    gap = _GAP.format(left=size - len(head.encode()) - len(tail.encode()))
    return f"{words}\n{head}{gap}{tail}"


def image_preview(media: str, size: int, path: str) -> str:
    """The words in place of an image."""
    return _IMAGE.format(media=media, size=size, path=path)


def head_of(text: str, lines: int, size: int) -> str:
    """The beginning, at most that many lines and bytes of UTF-8, cut between characters."""
    # A character is at least one byte: what is beyond `size` of them need not be looked at.
    first = text[:size].split("\n", lines)[:lines]
    return "\n".join(first).encode()[:size].decode("utf-8", "ignore")


def tail_of(text: str, lines: int, size: int) -> str:
    """The end, likewise; a last newline does not make a line of its own."""
    end = text[-size:]
    last = end.removesuffix("\n").rsplit("\n", lines)[-lines:]
    return "\n".join(last).encode()[-size:].decode("utf-8", "ignore")
