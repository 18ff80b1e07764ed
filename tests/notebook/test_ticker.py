from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time

import pytest

from mewcode_nb.errors import Interrupted
from mewcode_nb.notebook.ticker import interruptible

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends itself signals")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_cancels_the_task_promptly_and_the_handler_comes_back():
    before = signal.getsignal(signal.SIGINT)

    async def turn():
        async with interruptible(time.monotonic):
            threading.Timer(0.1, interrupt).start()
            await asyncio.sleep(30)

    async def run():
        task = asyncio.ensure_future(turn())
        with pytest.raises(Interrupted, match="stopped"):
            await task

    begun = time.monotonic()
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(run())
    finally:
        loop.close()
    assert time.monotonic() - begun < 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_does_not_disturb_the_closing_but_a_later_one_does():
    now = [0.0]
    counted = []

    async def turn():
        async with interruptible(lambda: now[0]):
            interrupt()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                counted.append("first")
            interrupt()
            await asyncio.sleep(0.2)
            counted.append("closed")
            now[0] = 5.0
            interrupt()
            await asyncio.sleep(30)

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(Interrupted):
            loop.run_until_complete(turn())
    finally:
        loop.close()
    assert counted == ["first", "closed"]


def test_an_interrupt_at_the_very_end_is_told_and_cancels_nothing_later():
    async def cell():
        with pytest.raises(Interrupted):
            async with interruptible(time.monotonic):
                interrupt()  # nothing is awaited any more
        await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
            await asyncio.sleep(0.01)
        return asyncio.current_task().cancelling()

    assert asyncio.run(cell()) == 0


def test_a_cancellation_by_somebody_else_stays_one():
    async def turn():
        async with interruptible(time.monotonic):
            await asyncio.sleep(30)

    async def cell():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(turn(), 0.05)

    asyncio.run(cell())


def test_off_the_main_thread_no_handler_is_set():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    async def turn():
        async with interruptible(time.monotonic):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=lambda: asyncio.run(turn()))
    thread.start()
    thread.join()
    assert seen == [before]
