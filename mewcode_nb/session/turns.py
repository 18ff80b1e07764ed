"""A session as turns: what the user asked, what the agent did, what it answered.

Pure. Previews, exports, the stored answer of a cell and the numbers that `--at N` takes all read
the same turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mewcode_nb.errors import SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.messages import (
    ToolUseBlock,
    block_text,
    is_text,
    is_tool_result,
    message_text,
    tool_uses,
)
from mewcode_nb.prompt import is_reminder
from mewcode_nb.session.records import Cell, MessageRecord

__all__ = ["Turn", "TurnCall", "message_id", "prompt_text", "turns"]

_DIGITS = 16
"""Characters of a message's id, which may happen to be digits only."""


@dataclass(frozen=True, slots=True)
class TurnCall:
    """One tool call and what the model was told of it; `output` is None where nothing came back."""

    call: ToolUseBlock
    output: str | None
    is_error: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt until the model stopped, or was stopped."""

    number: int
    records: tuple[MessageRecord, ...]
    first: int
    """Number of its first message in the conversation, counted from 1."""

    @property
    def last(self) -> int:
        """Number of its last message: `--at` this keeps the turn and nothing after it."""
        return self.first + len(self.records) - 1

    @property
    def last_id(self) -> str:
        """Id of its last message."""
        return self.records[-1].id

    @property
    def ts(self) -> float:
        """When it began, in seconds since 1970."""
        return self.records[0].ts

    @property
    def prompt(self) -> str:
        """The user's words, without the reminders that travelled with them."""
        return next((prompt_text(r) for r in self.records if r.origin == "user"), "")

    @property
    def cell(self) -> Cell | None:
        """The cell the prompt came from."""
        return next((record.cell for record in self.records if record.cell), None)

    @property
    def answer(self) -> str:
        """The words of the last answer."""
        said = (r for r in reversed(self.records) if r.role == "assistant")
        return next((message_text(record.content) for record in said), "")

    @property
    def complete(self) -> bool:
        """Whether it ended by itself: its last message is a whole answer without open calls."""
        last = self.records[-1]
        return last.role == "assistant" and not last.incomplete and not tool_uses(last.content)

    @property
    def usage(self) -> Usage:
        """What its answers took."""
        return sum((r.usage for r in self.records if r.usage is not None), start=Usage())

    def calls(self) -> Iterator[TurnCall]:
        """Its tool calls, in order, with their results."""
        results = {
            block["tool_use_id"]: block
            for record in self.records
            for block in record.content
            if is_tool_result(block)
        }
        for record in self.records:
            for call in tool_uses(record.content):
                found = results.get(call["id"])
                output = None if found is None else block_text(found)
                yield TurnCall(call, output, bool(found and found.get("is_error")))


def turns(records: Sequence[MessageRecord]) -> tuple[Turn, ...]:
    """The conversation cut into turns; a summary stands as a turn of its own, without a prompt."""
    cut: list[tuple[int, list[MessageRecord]]] = []
    for number, record in enumerate(records, start=1):
        if not cut or record.turn != cut[-1][1][-1].turn or cut[-1][1][-1].origin == "summary":
            cut.append((number, []))
        cut[-1][1].append(record)
    return tuple(Turn(part[0].turn, tuple(part), first) for first, part in cut)


def message_id(records: Sequence[MessageRecord], named: str) -> str:
    """The id of the message meant by a number (from 1) or an id; raises `SessionNotFound`."""
    if any(record.id == named for record in records):
        return named
    if named.isascii() and named.isdigit() and len(named) < _DIGITS:
        number = int(named)
        if 1 <= number <= len(records):
            return records[number - 1].id
    count = len(records)
    raise SessionNotFound(
        f"no message {named} in this conversation of {count} messages",
        remedy="%mewcode rewind lists the numbers",
    )


def prompt_text(record: MessageRecord) -> str:
    """The words of a prompt; the reminders that may follow its first block are left out."""
    texts = [block["text"] for block in record.content if is_text(block)]
    return "\n\n".join([*texts[:1], *(text for text in texts[1:] if not is_reminder(text))])
