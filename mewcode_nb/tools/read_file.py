"""The `read_file` tool: text by lines, images as images, everything else refused with advice.

The file is read in one pass that keeps only the lines asked for and the hash of the whole, so that
a range of a very big file costs time but no memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from pydantic import Field

from mewcode_nb.errors import ToolError
from mewcode_nb.events import Effect, Proposal
from mewcode_nb.messages import Json
from mewcode_nb.tools.base import ToolContext, ToolInput, ToolResult
from mewcode_nb.tools.cut import counted, one_line
from mewcode_nb.tools.fresh import note_of
from mewcode_nb.tools.images import image_block, image_fault, image_type
from mewcode_nb.tools.roots import Target, explain, open_regular, target_of
from mewcode_nb.tools.textfile import (
    TextFile,
    binary_kind,
    decode,
    line_end_name,
    shown_text,
)

__all__ = ["ReadFile", "ReadFileInput"]

_WHOLE = 8 * 1024 * 1024
_CHUNK = 1024 * 1024
_HEAD = 65_536
_LARGEST_IMAGE = 64 * 1024 * 1024
_LARGEST = 4 * 1024 * 1024 * 1024
"""Bytes of a file that is read at all: its hash takes all of it, some 10 s for this much."""


class ReadFileInput(ToolInput):
    """What to read."""

    path: str = Field(description="File to read; relative to the working folder, or absolute.")
    offset: int | None = Field(
        default=None, ge=1, description="First line to give, counted from 1. Default: 1."
    )
    limit: int | None = Field(
        default=None, ge=1, description="Most lines to give. Default: as many as fit."
    )


@dataclass(frozen=True, slots=True)
class _Range:
    text: str
    first: int
    last: int
    total: int
    cut: bool
    """The last line given was too long to give whole."""
    file: TextFile
    ends: str


@dataclass(frozen=True, slots=True)
class _Chunks:
    """A file piece by piece, no longer than it was said to be and than somebody waits for it."""

    file: BinaryIO
    left: threading.Event

    def __iter__(self) -> Iterator[bytes]:
        most = max(os.fstat(self.file.fileno()).st_size, _WHOLE)
        # Files of /proc say that they have no bytes, and some of them never end.
        while most > 0 and not self.left.is_set() and (chunk := self.file.read(min(_CHUNK, most))):
            most -= len(chunk)
            yield chunk


class ReadFile:
    """Reads one file."""

    name = "read_file"
    description = (
        "Read a text file, or look at an image (png, jpeg, gif, webp). Text comes exactly as it is "
        "in the file, without line numbers, after one bracketed line that states the range given, "
        "the number of lines and the encoding; so any piece of it can be passed to edit_file as "
        "`old`. Line ends always show as plain newlines; edit_file keeps those of the file. "
        "Long files come in ranges: pass offset and limit to go on. Reading is needed before "
        "edit_file or before write_file over an existing file. For folders use list_files, to find "
        "text use search, for data files (csv, parquet, ...) prefer run_python."
    )
    input_model: type[ToolInput] = ReadFileInput

    def propose(self, tool_use_id: str, args: ReadFileInput, context: ToolContext) -> Proposal:
        """A read of one file; nothing is opened yet."""
        target = target_of(args.path, context)
        return Proposal(
            tool_use_id,
            self.name,
            Effect.READ,
            f"read {one_line(target.shown)}",
            targets=(str(target.path),),
            risks=target.risks,
            outside_root=target.outside,
            protected=bool(target.protected),
        )

    async def run(self, args: ReadFileInput, context: ToolContext) -> ToolResult:
        """The lines asked for, or the image."""
        left = threading.Event()
        try:
            return await asyncio.to_thread(_read, args, context, left)
        finally:
            left.set()  # nobody waits any more: the thread must not read on


def _read(args: ReadFileInput, context: ToolContext, left: threading.Event) -> ToolResult:
    target = target_of(args.path, context, judged=True)
    try:
        fd = open_regular(target.path)
    except IsADirectoryError:
        raise ToolError(f"{target.shown} is a folder; use list_files") from None
    except OSError as error:
        raise explain(error, target.shown) from None
    with os.fdopen(fd, "rb") as stream:
        state = os.fstat(stream.fileno())
        head = stream.read(_HEAD)
        stream.seek(0)
        if media := image_type(head):
            return _image(target, stream, state, media)
        if kind := binary_kind(head):
            raise ToolError(
                f"{target.shown} is {kind} of {state.st_size:,} bytes, not text; "
                "look into it with run_python or shell"
            )
        if state.st_size > _LARGEST:
            raise ToolError(
                f"{target.shown} has {state.st_size:,} bytes, too many to read here (at most "
                f"{_LARGEST:,}); take a part of it with shell (head, sed -n) or run_python"
            )
        return _text(target, _Chunks(stream, left), args, context)


def _image(target: Target, stream: BinaryIO, state: os.stat_result, media: str) -> ToolResult:
    raw = stream.read(_LARGEST_IMAGE)
    block = image_block(media, raw)
    if block is None:
        raise ToolError(
            f"{target.shown} is an image of {state.st_size:,} bytes that cannot be sent: "
            f"{image_fault(raw)}. Make a smaller copy with run_python (Pillow: thumbnail) "
            "and read that"
        )
    note: dict[str, Json] = {
        "type": "text",
        "text": f"[{target.shown}: {media}, {len(raw):,} bytes]",
    }
    read = note_of(target.path, hashlib.sha256(raw).hexdigest(), state)
    return ToolResult([note, block], f"{media}, {len(raw):,} bytes", reads=(read,))


def _text(target: Target, stream: _Chunks, args: ReadFileInput, context: ToolContext) -> ToolResult:
    first = args.offset or 1
    lines = min(args.limit or context.limits.read_lines, context.limits.result_bytes)
    room = context.limits.result_bytes - 1_000
    state = os.fstat(stream.file.fileno())
    if state.st_size <= _WHOLE:
        raw = b"".join(stream)
        sha256 = hashlib.sha256(raw).hexdigest()
        part = _whole_range(raw, first, lines, room)
    else:
        part, sha256 = _streamed_range(stream, first, lines, room)
    if first > max(part.total, 1):
        raise ToolError(f"{target.shown} has {part.total} lines; there is no line {first}")
    given = max(0, part.last - part.first + 1)
    return ToolResult(
        f"{_header(target, part, state.st_size)}\n{part.text}",
        f"{given} of {part.total} lines" if given < part.total else counted(given, "line"),
        reads=(note_of(target.path, sha256, state),),
    )


def _whole_range(raw: bytes, first: int, count: int, room: int) -> _Range:
    file = decode(raw)
    lines = shown_text(file.text).split("\n")
    total = len(lines) - (not lines[-1])
    text, last, cut = _fitting(lines[first - 1 : first - 1 + count], first, room, len(lines))
    last = min(last, total)
    return _Range(text, first, last, total, cut, file, line_end_name(file.text))


def _fitting(lines: list[str], first: int, room: int, total: int) -> tuple[str, int, bool]:
    """The lines that take at most `room` bytes, the last one's number, whether it is cut."""
    kept: list[str] = []
    for line in lines:
        size = len(line.encode()) + 1
        if size > room:
            if kept:
                break
            return line.encode()[:room].decode("utf-8", "ignore"), first, True
        room -= size
        kept.append(line)
    last = first + len(kept) - 1
    more = last < total and bool(kept)
    return "\n".join(kept) + ("\n" if more else ""), last, False


def _streamed_range(stream: _Chunks, first: int, count: int, room: int) -> tuple[_Range, str]:
    digest = hashlib.sha256()
    number, kept, bom = 1, bytearray(), stream.file.read(4)
    if bom[:2] in {b"\xff\xfe", b"\xfe\xff"} or bom == b"\x00\x00\xfe\xff":
        raise ToolError(
            "a UTF-16 or UTF-32 file over 8 MB cannot be read in ranges; use run_python"
        )
    stream.file.seek(0)
    ended = True
    for chunk in stream:
        digest.update(chunk)
        breaks = chunk.count(b"\n")
        if number + breaks >= first and number < first + count and len(kept) <= room:
            kept += _lines_between(chunk, first - number, first + count - number)[: room + 4]
        number += breaks
        ended = chunk.endswith(b"\n")
    total = number - ended
    file = decode(bytes(kept))
    lines = shown_text(file.text).split("\n")
    text, last, cut = _fitting(lines[:count], first, room, total + ended)
    part = _Range(text, first, min(last, total), total, cut, file, line_end_name(file.text))
    return part, digest.hexdigest()


def _lines_between(chunk: bytes, skip: int, stop: int) -> bytes:
    """The chunk from after its `skip`-th line break (its start for 0 or less) to its `stop`-th."""
    start = 0
    for _ in range(skip):
        start = chunk.find(b"\n", start) + 1
    end = start
    for _ in range(max(skip, 0), stop):
        end = chunk.find(b"\n", end) + 1
        if not end:
            return chunk[start:]
    return chunk[start:end]


def _header(target: Target, part: _Range, size: int) -> str:
    facts = [f"lines {part.first}-{part.last} of {part.total}" if part.total else "empty file"]
    if part.cut:
        facts.append(f"line {part.first} is cut, too long to show whole")
    elif part.last < part.total:
        facts.append(f"go on with offset {part.last + 1}")
    if part.file.escaped:
        facts.append(
            f"not UTF-8: {part.file.escaped} bytes are shown as \ufffd; edit_file leaves them alone"
        )
    elif part.file.encoding != "utf-8" or part.file.bom:
        facts.append(part.file.encoding + (" with byte order mark" if part.file.bom else ""))
    if part.ends not in {"", "LF"}:
        facts.append(f"{part.ends} line ends")
    if part.total and part.last == part.total and not part.text.endswith("\n") and not part.cut:
        facts.append("no newline at the end")
    if target.path.suffix == ".ipynb":
        facts.append("notebook file as JSON; use cells for the open notebook")
    return f"[{target.shown}: {', '.join(facts)}; {size:,} bytes]"
