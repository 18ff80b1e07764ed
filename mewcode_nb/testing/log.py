"""The record of what a fake server was asked: one entry per request, a summary, and waiting."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mewcode_nb.testing.limits import Violation
from mewcode_nb.testing.prompt import Item, first_change
from mewcode_nb.testing.script import Ask, Body

__all__ = ["RequestLog", "Summary", "Traffic"]


@dataclass(slots=True)
class RequestLog:
    """One request to `/v1/messages` or its `count_tokens`, and what became of it."""

    number: int
    """Counted from 1 in order of arrival."""
    time: float
    """Seconds, by the server's clock."""
    path: str
    raw: bytes
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Body = field(default_factory=dict)
    """Empty when the body was no JSON object."""
    violations: tuple[Violation, ...] = ()
    kind: str = ""
    """`text`, `tool_use`, `thinking`, `empty`; `fault:KIND`; `refused`; `count`."""
    status: int = 0
    usage: Mapping[str, int] = field(default_factory=dict)
    """The input of this request: `input_tokens`, and the two cache counters."""
    conversation: int = 0
    """Which conversation it belongs to, counted from 1; told by its first message."""
    prefix_change: str | None = None
    """The first item that differs from the conversation's last request, such as `system[0]`."""
    aborted: bool = False
    """The client went away before the answer was whole."""

    @property
    def ask(self) -> Ask:
        """The request as scripts see it: `last_text`, `results`, `text`."""
        return Ask(self.body, self.number)

    @property
    def messages(self) -> list[Body]:
        """The messages sent."""
        return list(self.body.get("messages") or [])


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over all requests for messages so far; `count_tokens` is counted apart."""

    requests: int
    answered: int
    """Answers begun with status 200, faults in the stream included."""
    failed: int
    """Scripted errors: a status, a reset before the headers."""
    counted: int
    """Calls of `count_tokens`."""
    invalid: list[str]
    """`request N: reason` for every reason to refuse a request."""
    input_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    prefix_changes: list[str]
    """`request N: item` for every request that was no continuation of the one before."""


class Traffic:
    """All entries, in order, for any number of threads."""

    def __init__(self) -> None:
        self._entries: list[RequestLog] = []
        self._last: dict[str, tuple[int, Sequence[Item]]] = {}
        self._changed = threading.Condition()

    @property
    def entries(self) -> list[RequestLog]:
        """Requests for messages, in order; a copy."""
        with self._changed:
            return [entry for entry in self._entries if entry.kind != "count"]

    def add(self, entry: RequestLog) -> None:
        """Append an entry."""
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()

    def compare(self, entry: RequestLog, conversation: str, items: Sequence[Item]) -> None:
        """Place an accepted request in its conversation and note what changed since the last."""
        number, before = self._last.get(conversation, (len(self._last) + 1, ()))
        entry.conversation = number
        entry.prefix_change = first_change(before, items)
        self._last[conversation] = (number, items)

    def wait(self, count: int, timeout: float) -> RequestLog:
        """The `count`th request for messages, when it has come; `TimeoutError` otherwise."""

        def there() -> bool:
            return sum(entry.kind != "count" for entry in self._entries) >= count

        with self._changed:
            if not self._changed.wait_for(there, timeout):
                message = f"{len(self._entries)} requests after {timeout} s, not {count}"
                raise TimeoutError(message)
        return self.entries[count - 1]

    def summary(self) -> Summary:
        """The counts so far."""
        with self._changed:
            everything = list(self._entries)
        entries = [entry for entry in everything if entry.kind != "count"]
        return Summary(
            requests=len(entries),
            answered=sum(e.status == 200 for e in entries),
            failed=sum(e.status != 200 and not e.violations for e in entries),
            counted=len(everything) - len(entries),
            invalid=[f"request {e.number}: {v.message}" for e in everything for v in e.violations],
            input_tokens=_total(entries, "input_tokens"),
            cache_creation_input_tokens=_total(entries, "cache_creation_input_tokens"),
            cache_read_input_tokens=_total(entries, "cache_read_input_tokens"),
            prefix_changes=[
                f"request {e.number}: {e.prefix_change}" for e in entries if e.prefix_change
            ],
        )


def _total(entries: Sequence[RequestLog], name: str) -> int:
    return sum(entry.usage.get(name, 0) for entry in entries)
