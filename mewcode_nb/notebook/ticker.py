"""Prompt interrupts for an awaiting cell, told apart from other cancellations.

ipykernel notices an interrupt of an awaiting cell only when its event loop next wakes, and a
terminal's Ctrl-C would tear the loop away under the turn and leave it half done. So for the time of
a turn the interrupt cancels exactly the turn's task, waking the loop itself, and a 50 ms ticker
wakes it where no signal handler can be set (a thread) or a signal does not end the wait (Windows).
With the ticker alone 0.03 to 0.09 s were measured from the signal to the end of the cell.

An interrupt ends in `Interrupted`: a front end drops the cells that are queued behind an error, and
who presses Stop during Run All means all of it. A cancellation by anybody else (a time limit around
the turn) passes through as it is.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType

from mewcode_nb.errors import Interrupted

__all__ = ["TICK_SECONDS", "interruptible"]

TICK_SECONDS = 0.05
REPEAT_SECONDS = 2.0
"""A second interrupt sooner than this does not disturb the closing that the first began."""


@asynccontextmanager
async def interruptible(clock: Callable[[], float]) -> AsyncIterator[None]:
    """Make the current task the one that an interrupt cancels, promptly; `clock` in seconds.

    Raises:
        Interrupted: there was an interrupt, even one that came when all was done.
    """
    task = asyncio.current_task()
    assert task is not None
    ticker = asyncio.create_task(_tick())
    stops = _Stops(task, clock)
    restore = stops.listen()
    try:
        try:
            yield
        finally:
            restore()
            stops.end()
            ticker.cancel()
    except asyncio.CancelledError:
        # A line of input raises it without any cancellation of the task.
        if not stops.asked and task.cancelling():
            raise
        raise _interrupted() from None
    if stops.asked:
        raise _interrupted()


def _interrupted() -> Interrupted:
    return Interrupted("the turn was stopped", remedy="the next prompt goes on from here")


async def _tick() -> None:
    while True:  # noqa: ASYNC110 - nothing is waited for: the wake-up is the point
        await asyncio.sleep(TICK_SECONDS)


class _Stops:
    """The interrupts of one turn, and what they did to its task."""

    def __init__(self, task: asyncio.Task[object], clock: Callable[[], float]) -> None:
        self.asked = False
        self._task = task
        self._clock = clock
        self._last = -REPEAT_SECONDS
        self._cancels = 0
        self._over = False

    def listen(self) -> Callable[[], None]:
        """Take interrupts from now on; the function returned gives them back."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        previous = signal.signal(signal.SIGINT, self._take)
        return lambda: _put_back(previous)

    def end(self) -> None:
        """Leave the task as it was: later time limits in it work as usual."""
        self._over = True
        for _ in range(self._cancels):
            self._task.uncancel()

    def _take(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        if now - self._last >= REPEAT_SECONDS:
            self._last, self.asked = now, True
            self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if not self._over:
            self._cancels += 1
            self._task.cancel()


def _put_back(previous: object) -> None:
    # None means that the earlier handler was not set from Python and cannot be put back.
    signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)  # type: ignore[arg-type]
