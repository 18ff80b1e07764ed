"""A session as JSONL: the live conversation as records, which load again as a session.

Left out: abandoned branches, what compactions replaced, and spill records, whose files stay behind
(the text that took their place is in the messages). Characters that do not show are written as JSON
escapes: the same text to a parser, and nothing that a terminal would act on.
"""

from __future__ import annotations

from collections.abc import Iterator

from mewcode_nb.session.records import (
    MetaRecord,
    NamespaceRecord,
    Record,
    SessionRecord,
    to_line,
)
from mewcode_nb.session.replay import SessionState

__all__ = ["lines_text", "live_records", "printable_json"]


def lines_text(state: SessionState) -> str:
    """One record a line."""
    return "".join(printable_json(to_line(record).decode()) for record in live_records(state))


def live_records(state: SessionState) -> Iterator[Record]:
    """A header, the facts, the messages, then what they read and the variables they know."""
    header = state.header
    first = state.records[0].ts if state.records else state.last_ts
    yield header or SessionRecord(first, "", model=state.model)
    if state.meta:
        yield MetaRecord(header.ts if header else first, state.meta)
    yield from state.records
    yield from state.reads.values()
    if state.namespace:
        yield NamespaceRecord(state.last_ts, state.turns, tuple(state.namespace.values()))


def printable_json(line: str) -> str:
    """The JSON with each character in it that does not show as an escape: the same value."""
    if line.isascii():
        return line.replace("\x7f", "\\u007f")
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in line)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be")
    pairs = (units[place : place + 2] for place in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair):04x}" for pair in pairs)
