from __future__ import annotations

import gc
import signal
import threading
import time

import pytest

from mewcode_nb.notebook.signals import AlarmClock, CodeGuard, CodeStopped, ThreadClock


def spin() -> None:
    while True:
        pass


def stubborn() -> None:
    while True:
        try:
            sum(range(100))
        except BaseException:  # noqa: BLE001
            continue


def very_stubborn() -> None:
    while True:
        try:
            stubborn()
        except BaseException:  # noqa: BLE001
            continue


@pytest.fixture(autouse=True)
def no_finalizers():
    # A limit that strikes inside a finalizer of an earlier test's garbage is reported as that
    # test's unraisable exception; the clock strikes again anyway.
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("clock", "code"),
    [
        (AlarmClock, spin),
        (AlarmClock, stubborn),
        (AlarmClock, very_stubborn),
        (ThreadClock, spin),
        (ThreadClock, stubborn),
    ],
)
def test_limit_ends_code_however_much_it_catches(clock, code):
    guard = CodeGuard(0.1, clock=clock())
    with pytest.raises(CodeStopped):
        guard.call(code)
    assert guard.timed_out
    assert not guard.interrupted


@pytest.mark.parametrize("clock", [AlarmClock, ThreadClock])
def test_handlers_and_timer_are_given_back(clock):
    rung = []
    alarm = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    interrupt = signal.getsignal(signal.SIGINT)
    earlier = signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        with pytest.raises(CodeStopped):
            CodeGuard(0.01, clock=clock()).call(spin)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, *earlier)
    assert 50 < left < 60
    assert rung == [signal.SIGALRM]
    assert signal.getsignal(signal.SIGINT) is interrupt


@pytest.mark.parametrize("clock", [AlarmClock, ThreadClock])
def test_result_passes_and_nothing_rings_later(clock):
    guard = CodeGuard(0.01, clock=clock())
    assert guard.call(sorted, [2, 1]) == [1, 2]
    time.sleep(0.4)
    assert not guard.timed_out


def test_interrupt_is_raised_in_the_code_only():
    guard = CodeGuard(10)
    with pytest.raises(CodeStopped, match="KeyboardInterrupt"):
        guard.call(lambda: signal.raise_signal(signal.SIGINT))
    assert guard.interrupted
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_interrupt_while_an_error_is_reported_goes_to_the_earlier_handler():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    guard = CodeGuard(10)

    def report() -> str:
        with guard.paused():
            signal.raise_signal(signal.SIGINT)
        return "reported"

    try:
        assert guard.call(report) == "reported"
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]
    assert not guard.interrupted


def test_limit_off_the_main_thread():
    stopped = []

    def work() -> None:
        guard = CodeGuard(0.1)
        with pytest.raises(CodeStopped):
            guard.call(stubborn)
        stopped.append(guard.timed_out)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert stopped == [True]
