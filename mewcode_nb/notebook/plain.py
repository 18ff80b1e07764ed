"""Shows a turn as a stream of plain text: for terminal IPython and wherever nothing is displayed.

Text is written as it arrives, character by character safe: no escape sequence of a model or a tool
reaches the terminal, and nothing is ever rewritten.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from mewcode_nb.events import (
    ApprovalGiven,
    AssistantMessage,
    Event,
    Notice,
    Retrying,
    SdkLoading,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from mewcode_nb.notebook.status import StatusLine
from mewcode_nb.widgets.cards import output_fold
from mewcode_nb.widgets.html import prose, visible
from mewcode_nb.widgets.words import Words

__all__ = ["PlainRenderer"]


class PlainRenderer:
    """Writes one turn to a function such as `sys.stdout.write`."""

    def __init__(
        self,
        write: Callable[[str], object],
        words: Words,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write_out = write
        self._words = words
        self._clock = clock
        self._status = StatusLine(words, clock())
        self._at_margin = True
        self._closed = False
        self._denied: set[str] = set()
        """Calls whose line has said already why they did not run."""

    def show(self, event: Event) -> None:
        """Write what the event adds."""
        self._status.take(event, self._clock())
        match event:
            case TextDelta():
                self._write(prose(event.text))
            case AssistantMessage():
                self._margin()
            case SdkLoading(done=False) | Retrying() | TurnStarted():
                self._line(self._status.words(self._clock()))
            case ToolStarted():
                self._line(f"{event.title} · {self._words('running')}")
            case ApprovalGiven(proposal, decision) if not decision.allow:
                self._denied.add(proposal.tool_use_id)
                denied = self._words("denied", by=self._words.giver(decision.by))
                self._line(
                    " · ".join(part for part in (proposal.title, denied, decision.reason) if part)
                )
            case ToolFinished() if event.tool_use_id not in self._denied:
                self._tool(event)
            case Notice():
                self._line(f"{event.text} — {event.remedy}" if event.remedy else event.text)
            case TurnFinished():
                self.close()
            case _:
                return

    def close(self, *, interrupted: bool = False) -> None:
        """Write the last line, once."""
        if self._closed:
            return
        self._closed = True
        self._status.end(self._clock(), interrupted=interrupted)
        self._line(self._status.words(self._clock()))

    def _tool(self, event: ToolFinished) -> None:
        state = self._words("failed" if event.is_error else "done")
        took = self._words("seconds", seconds=f"{event.seconds:.1f}")
        self._line(" · ".join(part for part in (event.title, state, event.summary, took) if part))
        for fold in output_fold(self._words, event.output):
            for row in fold.body.split("\n"):
                self._write(f"    {row}\n")
            if fold.rest:
                self._line(fold.rest)

    def _line(self, words: str) -> None:
        self._margin()
        self._write(f"[{visible(' '.join(words.split(chr(10))))}]\n")

    def _margin(self) -> None:
        if not self._at_margin:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._write_out(text)
            self._at_margin = text.endswith("\n")
