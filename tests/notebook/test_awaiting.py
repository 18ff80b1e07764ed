from __future__ import annotations

import asyncio
import threading
import time

import pytest

from mewcode_nb.notebook.awaiting import CallAwaiter, can_await, claim_cell, run_on_own_loop

AWAITED = "await get_ipython().magics_manager.registry['MewcodeMagics'].awaited"


@pytest.mark.parametrize(
    ("cell", "claimed"),
    [
        ("%%mewcode -m x\nhi\n", "get_ipython().run_cell_magic('mewcode', '-m x', 'hi\\n')\n"),
        ("\n\n%%mewcode\nhi\n", "get_ipython().run_cell_magic('mewcode', '', 'hi\\n')\n"),
        ("%%mewcode\n", "get_ipython().run_cell_magic('mewcode', '', '\\n')\n"),
        ("%%mewcode\n>>> 1\n", "get_ipython().run_cell_magic('mewcode', '', '>>> 1\\n')\n"),
        ("%%mewcodes\nhi\n", "%%mewcodes\nhi\n"),
        ("%%mewcode?\n", "%%mewcode?\n"),
        ("x = 1\n%%mewcode\n", "x = 1\n%%mewcode\n"),
        ("%mewcode ask why?\n", "get_ipython().run_line_magic('mewcode', 'ask why?')\n"),
        ("%resume so wet?\n1\n", "get_ipython().run_line_magic('resume', 'so wet?')\n1\n"),
        ("%resume so wet\n", "%resume so wet\n"),
        ("%resume?\n", "%resume?\n"),
        ("%resume ?\n", "%resume ?\n"),
        ("%resumes x?\n", "%resumes x?\n"),
        ("%mewcode status\n", "%mewcode status\n"),
        ("\n", "\n"),
        ("", ""),
    ],
)
def test_claim_cell_takes_our_magic_before_ipython_edits_the_text(cell, claimed):
    assert "".join(claim_cell(cell.splitlines(keepends=True))) == claimed


@pytest.mark.parametrize(
    ("source", "awaited"),
    [
        (
            "get_ipython().run_cell_magic('mewcode', '', 'a, (b')\n",
            f"{AWAITED}('', 'a, (b')\n",
        ),
        ("get_ipython().run_line_magic('mewcode', 'status')\n", f"{AWAITED}('status')\n"),
        (
            "s = 'é'\nfor i in s:\n    get_ipython().run_line_magic('mewcode', 'new')\n",
            f"s = 'é'\nfor i in s:\n    {AWAITED}('new')\n",
        ),
        (
            "async def f():\n    get_ipython().run_line_magic('mewcode', 'new')\n",
            f"async def f():\n    {AWAITED}('new')\n",
        ),
    ],
)
def test_statements_that_call_the_magic_are_awaited(ipython_shell, source, awaited):
    awaiter = CallAwaiter(ipython_shell)
    once = awaiter(source.splitlines(keepends=True))
    assert "".join(once) == awaited
    assert awaiter(once) == once


@pytest.mark.parametrize(
    "source",
    [
        "x = get_ipython().run_line_magic('mewcode', 'ask hi')\n",
        "def f():\n    get_ipython().run_line_magic('mewcode', 'new')\n",
        "s = '''\nget_ipython().run_line_magic('mewcode', 'new')\n'''\n",
        "get_ipython().run_line_magic('other', 'mewcode')\n",
        "get_ipython().run_line_magic('mewcode', 'new'\n",
        "shell.run_line_magic('mewcode', 'new')\n",
    ],
)
def test_other_code_is_left_alone(ipython_shell, source):
    lines = source.splitlines(keepends=True)
    assert CallAwaiter(ipython_shell)(lines) == lines


def test_autoawait_off_leaves_the_plain_call(ipython_shell):
    ipython_shell.autoawait = False
    line = "get_ipython().run_line_magic('mewcode', 'new')\n"
    assert CallAwaiter(ipython_shell)([line]) == [line]


def test_a_running_loop_without_a_kernel_cannot_await(ipython_shell):
    async def inside():
        return can_await(ipython_shell)

    assert can_await(ipython_shell)
    assert not asyncio.run(inside())


def test_own_loop_runs_inside_a_running_loop_and_gives_it_back():
    async def turn():
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    async def outer():
        loop = asyncio.get_running_loop()
        inner = run_on_own_loop(turn)
        await asyncio.sleep(0)
        return loop is asyncio.get_running_loop(), inner is loop, inner.is_closed()

    assert asyncio.run(outer()) == (True, False, True)


def test_own_loop_does_not_wait_for_a_thread_that_is_still_busy():
    held = threading.Event()

    async def turn():
        waiting = asyncio.create_task(asyncio.to_thread(held.wait, 20))
        await asyncio.wait({waiting}, timeout=0.05)

    begun = time.monotonic()
    try:
        run_on_own_loop(turn)
        assert time.monotonic() - begun < 5
    finally:
        held.set()


def test_own_loop_gives_the_outer_loop_back_after_an_error():
    async def turn():
        raise LookupError("inner")

    async def outer():
        with pytest.raises(LookupError, match="inner"):
            run_on_own_loop(turn)
        await asyncio.sleep(0)

    asyncio.run(outer())
