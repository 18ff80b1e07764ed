"""What the agent puts on disk, and when: records gathered during a step, written in one batch.

The agent decides the moments (before a request leaves, before an acting tool runs, before the turn
returns); the journal makes records of messages and hands them to the session's log. When the log
cannot write, the records stay in line and are tried again with the next batch, the user is told
once, and the conversation goes on in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from mewcode_nb.agent.turn import CellRef
from mewcode_nb.errors import RecordTooLarge, SessionError
from mewcode_nb.events import Notice
from mewcode_nb.messages import Message
from mewcode_nb.model.protocol import Completion
from mewcode_nb.session.records import (
    Cell,
    MessageRecord,
    NamespaceRecord,
    ReadRecord,
    Record,
    Variable,
    to_line,
)
from mewcode_nb.tools.base import ToolResult

__all__ = ["Describe", "Journal", "Log", "bare_names"]

Describe: TypeAlias = "Callable[[Sequence[str]], tuple[Variable, ...]]"


def bare_names(names: Sequence[str]) -> tuple[Variable, ...]:
    """Variables of which the name alone is known."""
    return tuple(map(Variable, names))


class Log(Protocol):
    """Where records go to last."""

    def append(self, records: Sequence[Record]) -> None:
        """Write the batch durably; raises `SessionError` when nothing of it counts as written."""
        ...


class Journal:
    """The records of one session on their way to disk.

    Args:
        log: the session's log, or None where no session could be created.
        session_id: the session's id; any name where there is no log.
        clock: seconds since 1970.
        describe: what the variables of these names are now.
    """

    def __init__(
        self,
        log: Log | None,
        session_id: str,
        clock: Callable[[], float],
        describe: Describe = bare_names,
    ) -> None:
        self.session_id = session_id
        self._describe = describe
        self._log = log
        self._clock = clock
        self._waiting: list[Record] = []
        self._ahead: list[Record] = []
        """What counts only together with the next message: lined up in front of it."""
        self._notices: list[Notice] = []
        self._failing = False

    @property
    def stored(self) -> bool:
        """Whether all that was kept so far is on disk."""
        return self._log is not None and not self._waiting

    def keep(
        self,
        message: Message,
        *,
        cell: CellRef | None = None,
        completion: Completion | None = None,
        incomplete: bool = False,
    ) -> None:
        """Line up a message, with what is known of its cell or of the response it came from."""
        self._waiting += self._ahead
        self._ahead.clear()
        self._add(
            MessageRecord(
                ts=self._clock(),
                id=message.id,
                role=message.role,
                content=message.content,
                origin=message.origin,
                turn=message.turn,
                cell=Cell(cell.id, cell.sha256) if cell else None,
                usage=completion.usage if completion else None,
                stop_reason=completion.stop_reason if completion else None,
                model=completion.model if completion else "",
                message_id=completion.message_id if completion else "",
                incomplete=incomplete,
            )
        )

    def note(self, result: ToolResult, turn: int) -> None:
        """Line up what a tool call has seen of files and done to the namespace."""
        now = self._clock()
        for read in result.reads:
            self._add(ReadRecord(now, read.path, read.sha256, read.mtime, read.size))
        names = result.namespace
        if any(names.values()):
            self._add(
                NamespaceRecord(
                    now,
                    turn,
                    created=self._describe(names.get("created", ())),
                    changed=self._describe(names.get("changed", ())),
                    removed=tuple(names.get("removed", ())),
                    used=self._describe(names.get("used", ())),
                )
            )

    def know(self, record: NamespaceRecord, turn: int) -> None:
        """Line up what was found of the namespace between turns, as of turn `turn`."""
        self._add(replace(record, ts=self._clock(), turn=turn))

    def precede(self, records: Sequence[Record]) -> None:
        """Hold records back until the next message, to be written in one batch with it."""
        if self._log is not None:
            self._ahead += records

    def withdraw(self) -> bool:
        """Forget what is held back; whether there was anything, so that no message has come."""
        held = bool(self._ahead)
        self._ahead.clear()
        return held

    def flush(self) -> Iterator[Notice]:
        """Write what is lined up, durably; yields what the user should be told."""
        self.flush_quietly()
        notices, self._notices = self._notices, []
        yield from notices

    def flush_quietly(self) -> None:
        """Write what is lined up; what the user should be told waits for the next `flush`."""
        if self._log is None or not self._waiting:
            return
        try:
            self._log.append(tuple(self._waiting))
        except RecordTooLarge as error:
            self._notices.append(Notice(f"not stored: {error.message}", "warning"))
            self._waiting = [record for record in self._waiting if _fits(record)]
            self.flush_quietly()
        except SessionError as error:
            if not self._failing:
                self._notices.append(
                    Notice(f"not stored: {error.message}", "warning", remedy=error.remedy)
                )
            self._failing = True
        else:
            if self._failing:
                self._notices.append(Notice("the session is stored again"))
            self._failing = False
            self._waiting.clear()

    def _add(self, record: Record) -> None:
        if self._log is not None:
            self._waiting.append(record)


def _fits(record: Record) -> bool:
    try:
        to_line(record)
    except (TypeError, ValueError):
        return False
    return True
