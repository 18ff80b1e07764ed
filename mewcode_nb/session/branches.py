"""The branches of a session that rewinds left behind, read from its records in order.

Pure. Every message follows the one that was the last when it was written, so the messages form a
tree: the live conversation is one path through it, and each path that a rewind left is a branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mewcode_nb.session.records import CompactRecord, MessageRecord, PlacedRecord, RewindRecord
from mewcode_nb.session.turns import prompt_text

__all__ = ["Branch", "Branches", "read_branches"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A path that was left: a rewind to `tip` makes it the conversation again."""

    tip: str
    """Id of its last message."""
    messages: int
    """Those that are not in the conversation now."""
    prompt: str
    """The first prompt among them."""
    ts: float
    """When its last message was written, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Branches:
    """`left` has the latest left first; `undo` is where the last rewind came from.

    `undo` is None where there was no rewind, and empty where it came from an empty conversation.
    """

    left: tuple[Branch, ...] = ()
    undo: str | None = None


def read_branches(records: Iterable[PlacedRecord]) -> Branches:
    """The branches beside the live conversation."""
    tree = _Tree()
    for placed in records:
        match placed.record:
            case MessageRecord() as record:
                tree.add(record, placed.offset)
            case RewindRecord() as record:
                tree.rewind(record.to)
            case CompactRecord() as record:
                tree.compact(record)
            case _:
                pass
    return tree.branches()


class _Tree:
    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._records: dict[str, MessageRecord] = {}
        self._at = ""
        self._left: dict[str, None] = {}
        self._undo: str | None = None
        self._summaries: dict[str, str] = {}
        self._summary = ""

    def compact(self, record: CompactRecord) -> None:
        """Where nothing is kept, the summary is all there is to come back to."""
        self._summaries[record.id] = self._at
        self._summary = "" if record.keep else record.id

    def add(self, record: MessageRecord, offset: int) -> None:
        identity = record.id or f"line-{offset}"
        if identity not in self._parents:  # else a line that was written twice
            self._parents[identity] = self._at
            self._records[identity] = record
            self._at, self._summary = identity, ""

    def rewind(self, to: str) -> None:
        if to and to not in self._parents and to not in self._summaries:
            return  # damage, which the fold passes over as well
        self._undo = self._summary or self._at
        self._left.pop(self._at, None)
        self._left[self._at] = None
        self._at, self._summary = self._summaries.get(to, to), to if to in self._summaries else ""

    def branches(self) -> Branches:
        live = set(self._path(self._at))
        inner = set(self._parents.values())
        tips = [tip for tip in reversed(self._left) if tip and tip not in live and tip not in inner]
        return Branches(tuple(self._branch(tip, live) for tip in tips), self._undo)

    def _branch(self, tip: str, live: set[str]) -> Branch:
        own = [self._records[name] for name in self._path(tip) if name not in live]
        prompts = [prompt_text(record) for record in reversed(own) if record.origin == "user"]
        return Branch(tip, len(own), prompts[0] if prompts else "", self._records[tip].ts)

    def _path(self, tip: str) -> list[str]:
        """From the message back to the first one."""
        path = []
        while tip:
            path.append(tip)
            tip = self._parents[tip]
        return path
