"""Server-sent events from bytes, however they were cut on the way.

The SDK decodes them too, but one `await` per event; here all events of a chunk come at once, so
the watchdog's timer is set per chunk. Only what the Messages API uses is kept: name and data.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EventReader", "ServerEvent"]


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name, empty where none was given, and its data lines joined."""

    name: str
    data: bytes


class EventReader:
    """Feeds on chunks; lines end in LF, CR or CRLF, an event in an empty line.

    An event without its empty line never happened: a body that stops short must not look whole.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes."""
        lines = (self._rest + chunk).splitlines(keepends=True)
        # A CR at the end may be the first half of a CRLF: the next chunk tells.
        whole = bool(lines) and lines[-1].endswith(b"\n")
        self._rest = b"" if whole or not lines else lines.pop()
        events = []
        for line in lines:
            if (event := self._line(line.rstrip(b"\r\n"))) is not None:
                events.append(event)
        return events

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._end()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _end(self) -> ServerEvent | None:
        name, data = self._name, b"\n".join(self._data)
        self._name = ""
        self._data.clear()
        return ServerEvent(name, data) if name or data else None
