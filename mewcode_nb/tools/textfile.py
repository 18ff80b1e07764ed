"""Text files as bytes that must come back unchanged: encoding, byte order mark and line ends.

A file is decoded to text that maps back to exactly the same bytes, also where it is not UTF-8:
other bytes become lone surrogates (`surrogateescape`) and return as what they were. The model sees
every line end as a plain newline; the file keeps its own, line by line. Nothing here touches the
disk.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mewcode_nb.errors import ToolError
from mewcode_nb.messages import clean_text

__all__ = [
    "TextFile",
    "binary_kind",
    "check_new_text",
    "decode",
    "encode",
    "line_end_name",
    "normal",
    "replace_spans",
    "shown_text",
    "with_line_ends",
]

_LINE_END = re.compile(r"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "zip archive (or xlsx, docx, npz)"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "ELF program"),
    (b"PAR1", "parquet data"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\x89HDF\r\n\x1a\n", "HDF5 data"),
    (b"\x93NUMPY", "NumPy array"),
)
_SAMPLE = 65_536
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\b\x1b")
_MOST_CONTROLS = 0.05


@dataclass(frozen=True, slots=True)
class TextFile:
    """A decoded file. `text` has the line ends of the file; the byte order mark is apart."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    escaped: int = 0
    """Bytes that are no UTF-8, held in `text` as lone surrogates."""


def binary_kind(head: bytes) -> str:
    """What kind of binary data a file's first bytes show; empty for text."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WebP image"
    if any(head.startswith(bom) for bom, _ in _BOMS):
        return ""
    sample = head[:_SAMPLE]
    if b"\x00" in sample:
        return "binary data"
    controls = sum(count for byte, count in Counter(sample).items() if _is_control(byte))
    return "binary data" if controls > len(sample) * _MOST_CONTROLS else ""


def decode(raw: bytes) -> TextFile:
    """The bytes as text that `encode` turns back into the same bytes.

    Raises `ToolError` when a byte order mark promises an encoding that the rest does not keep.
    """
    marks = (mark for mark in _BOMS if raw.startswith(mark[0]))
    bom, encoding = next(marks, (b"", "utf-8"))
    body = raw[len(bom) :]
    if encoding == "utf-8":
        text = body.decode("utf-8", "surrogateescape")
        escaped = 0 if text.isascii() else len(_SURROGATE.findall(text))
        return TextFile(text, encoding, bom, escaped)
    try:
        return TextFile(body.decode(encoding, "surrogatepass"), encoding, bom)
    except UnicodeDecodeError as error:
        raise ToolError(
            f"the file starts like {encoding} text but is not: {error.reason}"
        ) from None


def encode(file: TextFile, text: str) -> bytes:
    """The text in the file's encoding, its byte order mark in front."""
    errors = "surrogateescape" if file.encoding == "utf-8" else "surrogatepass"
    return file.bom + text.encode(file.encoding, errors)


def check_new_text(file: TextFile, new: str) -> None:
    """Refuse new text that the file's encoding cannot hold, or that no file should hold."""
    if file.escaped and not new.isascii():
        raise ToolError(
            f"the file is not UTF-8 ({file.escaped} bytes are in another encoding), so only ASCII "
            "text can be put into it here; use run_python with the right codec for anything else"
        )
    if _SURROGATE.search(new):
        raise ToolError("the new text holds half of a character (a lone surrogate)")


def normal(text: str) -> str:
    r"""The text with every line end as `\n`."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def shown_text(text: str) -> str:
    r"""The text as the model sees it: `\n` line ends, undecodable bytes as U+FFFD."""
    return clean_text(normal(text))


def line_end_name(text: str) -> str:
    """`LF`, `CRLF`, `CR` or `mixed`; empty for text of one line."""
    kinds = set(_LINE_END.findall(text))
    if len(kinds) > 1:
        return "mixed"
    return {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}[kinds.pop()] if kinds else ""


def with_line_ends(content: str, existing: str) -> str:
    """New content with the line ends of the text it replaces.

    A line that was there keeps the end it had; a new line takes the commonest end.
    """
    lines = normal(content).split("\n")
    ends = _LINE_END.findall(existing)
    if set(ends) <= {"\n"}:
        return "\n".join(lines)
    common = Counter(ends).most_common(1)[0][0]
    known = dict(zip(_LINE_END.split(existing), ends, strict=False))
    return "".join(line + known.get(line, common) for line in lines[:-1]) + lines[-1]


def replace_spans(text: str, starts: Sequence[int], old: str, new: str) -> str:
    """Replace `old` by `new` at positions of `normal(text)`, keeping every other byte.

    `old` and `new` have normal line ends. What both have in common at their ends is left alone, so
    that its line ends stay; a replaced line end gives its kind to the one that takes its place.
    """
    lead, old, new = _differing(old, new)
    ends = _Ends(text)
    parts: list[str] = []
    last = 0
    for start in starts:
        begin, end = start + lead, start + lead + len(old)
        parts.append(text[last : ends.raw(begin)])
        parts.append(ends.apply(new, begin, end))
        last = ends.raw(end)
    parts.append(text[last:])
    return "".join(parts)


class _Ends:
    """The line ends of a text, by their position in its normal form."""

    def __init__(self, text: str) -> None:
        self._plain = "\r" not in text
        self._at: list[int] = []
        self._kind: list[str] = []
        self._long: list[int] = []
        if self._plain:
            return
        for match in _LINE_END.finditer(text):
            position = match.start() - len(self._long)
            self._at.append(position)
            self._kind.append(match.group())
            if match.group() == "\r\n":
                self._long.append(position)

    def raw(self, position: int) -> int:
        """The position in the text for one in its normal form."""
        return position + bisect_left(self._long, position)

    def apply(self, new: str, begin: int, end: int) -> str:
        """`new` with the line ends of the span it replaces, then of the line it stands on."""
        if self._plain or "\n" not in new:
            return new
        first, after = bisect_left(self._at, begin), bisect_left(self._at, end)
        replaced = self._kind[first:after]
        neighbour = replaced[-1:] or self._kind[after : after + 1] or self._kind[-1:] or ["\n"]
        lines = new.split("\n")
        kinds = replaced[: len(lines) - 1]
        kinds += neighbour * (len(lines) - 1 - len(kinds))
        return "".join(line + kind for line, kind in zip(lines, kinds, strict=False)) + lines[-1]


def _differing(old: str, new: str) -> tuple[int, str, str]:
    shorter = min(len(old), len(new))
    lead = 0
    while lead < shorter and old[lead] == new[lead]:
        lead += 1
    tail = 0
    while tail < shorter - lead and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return lead, old[lead : len(old) - tail], new[lead : len(new) - tail]


def _is_control(byte: int) -> bool:
    return byte < 0x20 and byte not in _TEXT_CONTROLS
