"""Interrupts and time limits for code the agent runs, armed only while that code is on the stack.

An exception raised by a signal while the event loop itself runs kills the kernel, so handlers are
swapped in for each stretch of the user's code and out again before the loop goes on. One such
stretch (the whole of synchronous code, one step of a coroutine) is wrapped by `CodeGuard.call`. A
handler that finds this module's own frame interrupted raises nothing and looks again a little
later, so entering and leaving a stretch cannot be broken in the middle.

Code that never returns to Python (a long C call) cannot be stopped so; nor, where there is no alarm
signal, can `time.sleep`.
"""

from __future__ import annotations

import ctypes
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, TypeAlias, TypeVar

__all__ = ["AlarmClock", "Clock", "CodeGuard", "CodeStopped", "ThreadClock", "TimeLimit"]

T = TypeVar("T")
Tracer: TypeAlias = "Callable[[FrameType, str, object], Tracer | None]"
Handler: TypeAlias = "Callable[[int, FrameType | None], object] | int | None"

_AGAIN_SECONDS = 0.25
"""Between one stop and the next, for code that catches everything once."""
_POLITE_STOPS = 4
"""After so many stops that were swallowed, they come in quick, uneven succession, so that one may
arrive outside of every `try` of nested endless loops."""
_RAPID_SECONDS = (5e-6, 1.5e-4)
_BENEATH = frozenset({"IPython.core.interactiveshell", __name__})
"""Modules whose frames mark the lower end of the user's code on the stack."""


class TimeLimit(BaseException):
    """The code ran out of its time. Not an `Exception`, so that ordinary handlers let it pass."""


class CodeStopped(Exception):
    """A stop (limit, interrupt, exit) left the code without anything in it reporting the error."""


class Clock(Protocol):
    """Something that calls back on, or raises in, the thread that runs the code."""

    def start(self, seconds: float, ring: Callable[[FrameType | None], None]) -> None:
        """Ring once after `seconds`; a later `start` replaces an earlier one."""
        ...

    def again(self, seconds: float) -> None:
        """Ring once more after `seconds`."""
        ...

    def stop(self) -> None:
        """Never ring again, and put back what was there before."""
        ...


class AlarmClock:
    """SIGALRM by the real-time interval timer: main thread, Unix. Wakes even `time.sleep`."""

    def __init__(self) -> None:
        self._handler: Handler = None
        self._timer = (0.0, 0.0)
        self._started = 0.0

    def start(self, seconds: float, ring: Callable[[FrameType | None], None]) -> None:
        """Take over the signal and the timer."""
        self._started = time.monotonic()
        self._handler = signal.signal(signal.SIGALRM, lambda _number, frame: ring(frame))
        self._timer = signal.setitimer(signal.ITIMER_REAL, seconds)

    def again(self, seconds: float) -> None:
        """Set the timer anew."""
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        """Give both back; an earlier timer goes on with the time it has left."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self._handler is None else self._handler)
        delay, interval = self._timer
        if delay:
            left = delay - (time.monotonic() - self._started)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), interval)


class ThreadClock:
    """An exception set from another thread: any thread, any platform, only between byte codes."""

    def __init__(self) -> None:
        self._target = threading.get_ident()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._on = False
        self._ring: Callable[[FrameType | None], None] | None = None

    def start(self, seconds: float, ring: Callable[[FrameType | None], None]) -> None:
        """Start a timer thread."""
        self._on, self._ring = True, ring
        self.again(seconds)

    def again(self, seconds: float) -> None:
        """Start another one."""
        self._timer = threading.Timer(seconds, self._raise)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Cancel the timer, and take back an exception that was set too late."""
        with self._lock:
            self._on = False
            if self._timer is not None:
                self._timer.cancel()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._target), None)

    def _raise(self) -> None:
        with self._lock:
            if not self._on or self._ring is None:
                return
            try:
                self._ring(None)
            except TimeLimit:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._target), ctypes.py_object(TimeLimit)
                )


class CodeGuard:
    """One run's limit and interrupts, over as many stretches as it takes.

    `seconds` is wall-clock time from construction. The clock of the thread that makes the guard is
    used: make it where the code will run.
    """

    def __init__(self, seconds: float, *, clock: Clock | None = None) -> None:
        self.seconds = seconds
        self.timed_out = False
        self.interrupted = False
        self._deadline = time.monotonic() + seconds
        self._main = threading.current_thread() is threading.main_thread()
        alarm = self._main and hasattr(signal, "setitimer")
        self._clock: Clock = clock or (AlarmClock() if alarm else ThreadClock())
        self._armed = False
        self._paused = False
        self._stops = 0
        self._previous: Handler = None
        self._tracer: Callable[..., Any] | None = None

    @property
    def remaining(self) -> float:
        """Seconds left, at least a little, so that code over its time can still clean up."""
        return max(self._deadline - time.monotonic(), _AGAIN_SECONDS)

    def call(self, function: Callable[..., T], *args: object) -> T:
        """The function's result; its stretch of code can be interrupted and limited.

        Raises:
            CodeStopped: a stop passed through everything the function did to catch it.
        """
        self._enter()
        try:
            return function(*args)
        except (KeyboardInterrupt, SystemExit, TimeLimit) as stop:
            raise CodeStopped(repr(stop)) from None
        finally:
            try:
                self._leave()
            except TimeLimit:  # a `ThreadClock` may be a byte code late
                self._leave()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No stop while an error report is being written: it would cut the report short."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def _enter(self) -> None:
        if self._main:
            self._previous = signal.getsignal(signal.SIGINT)
            if self._previous is not None:
                signal.signal(signal.SIGINT, self._on_interrupt)
        self._tracer = sys.gettrace()
        self._armed = True
        self._clock.start(self.remaining, self._on_limit)

    def _leave(self) -> None:
        self._armed = False
        if sys.gettrace() is not self._tracer:
            sys.settrace(self._tracer)
        self._clock.stop()
        if self._main and self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _may_raise(self, frame: FrameType | None) -> bool:
        ours = frame is not None and frame.f_globals is globals()
        return self._armed and not self._paused and not ours

    def _on_limit(self, frame: FrameType | None) -> None:
        if not self._may_raise(frame):
            if self._armed:
                self._clock.again(_AGAIN_SECONDS)
            return
        self.timed_out = True
        self._stops += 1
        rapid = self._stops > _POLITE_STOPS
        self._clock.again(random.uniform(*_RAPID_SECONDS) if rapid else _AGAIN_SECONDS)  # noqa: S311
        if self._stops > 1 and frame is not None and self._tracer is None:
            self._stop_at_next_line(frame)
        raise TimeLimit(f"stopped after {self.seconds:g} s")

    def _stop_at_next_line(self, frame: FrameType | None) -> None:
        # A bare `except` in an endless loop swallows every stop that lands in its `try`. The one
        # that a tracer raises lands on the first line of the handler, and so leaves the loop.
        def at_line(where: FrameType, event: str, _argument: object) -> Tracer | None:
            if event == "line" and self._may_raise(where):
                raise TimeLimit(f"stopped after {self.seconds:g} s")
            return at_line

        while frame is not None and frame.f_globals.get("__name__") not in _BENEATH:
            frame.f_trace = at_line
            frame = frame.f_back
        sys.settrace(lambda _frame, _event, _argument: None)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._may_raise(frame):
            self.interrupted = True
            raise KeyboardInterrupt
        if callable(self._previous):
            self._previous(number, frame)
