from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.kernel

# A thread of the user's tells the front end, past the capture, that the agent's code has begun.
GO = """
import asyncio, threading, time
_go = threading.Event()
threading.Thread(target=lambda: (_go.wait(), print('GO', flush=True))).start()
"""


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(30)",
        "while True:\n    try:\n        time.sleep(30)\n    except Exception: pass",
        "while True:\n    try:\n        time.sleep(30)\n    except: pass",
        "while True:\n    try:\n        sum(range(1000))\n    except BaseException: continue",
        "import asyncio\nawait asyncio.sleep(30)",
        "await asyncio.sleep(0)\nwhile True: pass",
        "await asyncio.sleep(0)\ntime.sleep(30)",
        "while True:\n    try:\n        await asyncio.sleep(0.05)\n    except Exception: pass",
    ],
)
def test_time_limit_ends_the_code_and_not_the_cell(kernel, code):
    run, cell = kernel.agent(code, seconds=0.5)
    assert (run.ok, run.timed_out, run.interrupted) == (False, True, False)
    assert run.traceback
    assert cell.seconds < 10
    assert kernel.cell("print('alive')").stdout == "alive\n"


def test_code_that_refuses_cancellation_is_left_behind_and_said_so(kernel):
    run, _ = kernel.agent(
        "_stop = asyncio.Event()\nwhile not _stop.is_set():\n"
        "    try:\n        await asyncio.sleep(0.05)\n    except asyncio.CancelledError: pass",
        seconds=0.3,
    )
    kernel.cell("_stop.set()")
    assert run.timed_out
    assert "goes on in the background" in run.traceback


def test_earlier_alarm_and_handlers_are_restored(kernel):
    kernel.cell(
        "import signal as _signal\n_rang = []\n"
        "_signal.signal(_signal.SIGALRM, lambda *a: _rang.append(1))\n"
        "_signal.setitimer(_signal.ITIMER_REAL, 60)"
    )
    kernel.agent("while True: pass", seconds=0.3)
    left = kernel.cell("print(_signal.getitimer(_signal.ITIMER_REAL)[0])")
    rings = "_signal.raise_signal(_signal.SIGALRM); _signal.setitimer(_signal.ITIMER_REAL, 0)"
    assert 0 < float(left.stdout) < 60
    assert kernel.cell(f"{rings}; print(_rang)").stdout == "[1]\n"


def test_n_09_interrupt_ends_running_code_and_the_turn_goes_on(kernel):
    cell = kernel.cell(
        f"{GO}_run = await _agent('_go.set(); time.sleep(30)')\n"
        "await __import__('asyncio').sleep(0.1)\nprint('turn goes on')",
        interrupt_on="GO",
    )
    run = json.loads(kernel.cell("print(_run)").stdout)
    assert cell.stdout == "GO\nturn goes on\n"
    assert (run["ok"], run["interrupted"], run["timed_out"]) == (False, True, False)
    assert "KeyboardInterrupt" in run["traceback"]
    assert cell.seconds < 2
    assert kernel.cell("print(1+1)").stdout == "2\n"


def test_n_09_interrupt_while_awaiting_cancels_the_turn(kernel):
    cell = kernel.cell(
        "async def _tick():\n    while True: await asyncio.sleep(0.05)\n"
        f"_ticker = asyncio.ensure_future(_tick())\n{GO}"
        "try:\n    await _agent('_go.set()\\nawait asyncio.sleep(30)')\n"
        "except asyncio.CancelledError: print('cancelled')\n"
        "finally: _ticker.cancel()",
        interrupt_on="GO",
    )
    assert cell.stdout == "GO\ncancelled\n"
    assert cell.seconds < 2
    assert kernel.cell("print('not captured')").stdout == "not captured\n"


def test_interrupt_of_a_synchronous_stretch_between_awaits(kernel):
    cell = kernel.cell(
        f"{GO}_run = await _agent('await asyncio.sleep(0)\\n_go.set()\\ntime.sleep(30)')\n"
        "print('turn goes on')",
        interrupt_on="GO",
    )
    assert cell.stdout == "GO\nturn goes on\n"
    assert json.loads(kernel.cell("print(_run)").stdout)["interrupted"] is True


@pytest.mark.parametrize(
    "code",
    [
        "for _ in range(2_000): print('x' * 100_000)",
        "import sys\nfor _ in range(2_000): sys.stderr.write('y' * 100_000)",
        "import subprocess\nsubprocess.run('yes | head -c 200M', shell=True)",
    ],
)
def test_t_10_hundreds_of_megabytes_cost_bounded_memory(kernel, code):
    peak = "import resource as _r; print(_r.getrusage(_r.RUSAGE_SELF).ru_maxrss)"
    before = int(kernel.cell(peak).stdout)
    run, cell = kernel.agent(code, capture=100_000)
    grown = int(kernel.cell(peak).stdout) - before
    assert len(run.stdout) + len(run.stderr) < 100_200
    assert run.dropped > 199_000_000
    assert grown < 40_000
    assert cell.stdout == ""


def test_t_10_time_limit_fires_during_endless_printing(kernel):
    run, cell = kernel.agent("while True: print('x' * 1000)", seconds=0.5, capture=10_000)
    assert run.timed_out
    assert len(run.stdout) < 10_100
    assert cell.seconds < 5


def test_off_the_main_thread_the_limit_still_holds(kernel):
    cell = kernel.cell(
        "_out = []\n"
        "def _turn(): _out.append(asyncio.run(_namespace.run('while True: pass', seconds=0.3, "
        "capture=1000)))\n"
        "_thread = threading.Thread(target=_turn); _thread.start()\n"
        "_thread.join(); print(_out[0].timed_out, 'TimeLimit' in _out[0].traceback)"
    )
    assert cell.stdout == "True True\n"
