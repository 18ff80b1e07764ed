from __future__ import annotations

import asyncio
import time

import pytest

from mewcode_nb.events import Retrying, TextDelta
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.testing.script import Fault, fail, reply
from mewcode_nb.testing.server import FakeServer

LONG = "The quick brown fox jumps over the lazy dog, again and again and again."


async def interrupted(server, given, request, at):
    """Cancel the turn once `at` has happened; how long it took to end, and a turn after it."""
    model = AnthropicModel(given)
    seen = asyncio.Event()

    async def turn():
        async for event in model.stream(request):
            if at is not None and isinstance(event, at):
                seen.set()

    task = asyncio.create_task(turn())
    if at is None:
        await asyncio.to_thread(server.wait_for_request)
    else:
        await asyncio.wait_for(seen.wait(), 10)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    took = time.monotonic() - began
    after = [event async for event in model.stream(request)]
    await model.close()
    return took, after


@pytest.mark.parametrize(
    ("first", "at"),
    [
        (reply("x", fault=Fault("late", seconds=60.0)), None),
        (reply(LONG, fault=Fault("stall", after="start")), None),
        (reply(LONG, fault=Fault("stall")), TextDelta),
        (reply(LONG, fault=Fault("pings", seconds=0.02)), TextDelta),
        (reply(LONG * 50, delay=0.02), TextDelta),
        (fail(429, headers={"retry-after": "50"}), Retrying),
    ],
    ids=["headers", "first event", "silence", "pings", "streaming", "retry wait"],
)
def test_p_04_p_08_an_interrupt_ends_the_turn_at_once_and_the_next_one_works(
    ask, options, first, at
):
    with FakeServer([first, "again"]) as server:
        given = options(server, stall_seconds=60.0, max_wait=60.0)
        took, after = asyncio.run(interrupted(server, given, ask(), at))
    assert took < 1.0
    assert after[-1].content == ({"type": "text", "text": "again"},)


def test_a_reader_that_stops_early_leaves_nothing_behind(ask, options):
    async def turn(server):
        model = AnthropicModel(options(server))
        stream = model.stream(ask())
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        await stream.aclose()
        after = [event async for event in model.stream(ask())]
        await model.close()
        return after

    with FakeServer([reply(LONG, delay=0.02), "again"]) as server:
        after = asyncio.run(turn(server))
    assert after[-1].stop_reason == "end_turn"
