"""The one line that says what a turn is doing, and at its end what it took."""

from __future__ import annotations

from mewcode_nb.events import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Event,
    Retrying,
    SdkLoading,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolInputDelta,
    ToolStarted,
    TurnFinished,
    TurnResult,
    TurnStarted,
    Usage,
)
from mewcode_nb.widgets.cards import size_words
from mewcode_nb.widgets.words import Words

__all__ = ["StatusLine"]


class StatusLine:
    """A fold of events into one line of words. Times are seconds of the caller's clock."""

    def __init__(self, words: Words, now: float) -> None:
        self._words = words
        self._started = now
        self._since = now
        self._state = words("starting")
        self._waiting = self._running = False
        self._retry_at: float | None = None
        self._retry: Retrying | None = None
        self._head: tuple[str, ...] = ()
        self._usage = Usage()
        self._steps = 0
        self._tools = 0
        self._result: TurnResult | None = None
        self._ended = ""
        self.tone = "quiet"

    def take(self, event: Event, now: float) -> None:
        """Note what the event says of the turn's state."""
        self._retry, self._waiting, self._since = None, False, now
        self._running = isinstance(event, ToolStarted)
        match event:
            case TurnStarted():
                stored = () if event.stored else (self._words("unstored"),)
                self._head = (event.model, event.mode, *stored)
                self.tone = "error" if event.mode == "open" else "quiet"
                self._waiting = True
            case Retrying():
                self._retry, self._retry_at = event, now + event.delay
            case AssistantMessage():
                self._usage += event.usage
                self._steps += 1
            case ToolFinished():
                self._tools += 1
                self._waiting = True
            case TurnFinished():
                self._result = event.result
            case _:
                self._take_progress(event)

    def _take_progress(self, event: Event) -> None:
        words = self._words
        match event:
            case SdkLoading():
                done = words("loaded", seconds=f"{event.seconds:.1f}")
                self._state = done if event.done else words("loading")
                self._waiting = event.done
            case ThinkingDelta():
                self._state = words("thinking")
            case TextDelta():
                self._state = words("answering")
            case ToolInputDelta():
                size = size_words(event.size)
                self._state = words("writing_input", tool=event.name, size=size)
            case ApprovalAsked():
                self._state = words("asking")
            case ApprovalGiven() | ToolStarted():
                self._state = words("running")
            case _:
                return

    def end(self, now: float, *, interrupted: bool) -> None:
        """The turn is over."""
        seconds = self._result.seconds if self._result else now - self._started
        parts = [self._words("interrupted")] if interrupted else []
        parts += self._totals()
        parts.append(self._words("seconds", seconds=f"{seconds:.1f}"))
        self._ended = " · ".join(parts)
        self.tone = "warning" if interrupted else self.tone

    def words(self, now: float) -> str:
        """The line, at this moment."""
        return " · ".join((*self._head, self._ended or self._now(now)))

    def _now(self, now: float) -> str:
        if self._retry is not None and self._retry_at is not None:
            retry, left = self._retry, max(0.0, self._retry_at - now)
            return self._words(
                "retrying",
                reason=retry.reason,
                attempt=retry.attempt,
                attempts=retry.attempts,
                seconds=f"{left:.0f}",
            )
        waited = now - self._since
        if self._waiting and waited >= 1:
            return self._words("waiting", seconds=f"{waited:.0f}")
        if self._running and waited >= 1:
            return f"{self._state} · {self._words('seconds', seconds=f'{waited:.0f}')}"
        return self._state

    def _totals(self) -> list[str]:
        result = self._result
        usage = result.usage if result else self._usage
        steps = result.steps if result else self._steps
        tools = len(result.tools) if result and result.tools else self._tools
        total = usage.total_input
        cached = round(100 * usage.cache_read_input_tokens / total) if total else 0
        out = [
            self._words(
                "tokens",
                input=f"{total:,}",
                cached=cached,
                output=f"{usage.output_tokens:,}",
            )
        ]
        if steps:
            out.append(self._words("step" if steps == 1 else "steps", count=steps))
        if tools:
            out.append(self._words("call" if tools == 1 else "calls", count=tools))
        return out
