from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

import pytest
from jupyter_client.manager import start_new_kernel

from mewcode_nb.tools.base import CodeRun

pytestmark = pytest.mark.kernel

SETUP = """
import dataclasses as _dataclasses, json as _json
from mewcode_nb.notebook.namespace import UserNamespace as _UserNamespace
_namespace = _UserNamespace(get_ipython())
async def _agent(code, seconds=30, capture=20_000):
    run = await _namespace.run(code, seconds=seconds, capture=capture)
    return _json.dumps(_dataclasses.asdict(run))
"""

# A thread of the user's tells the front end, past the capture, that the agent's code has begun.
GO = """
import asyncio, threading, time
_go = threading.Event()
threading.Thread(target=lambda: (_go.wait(), print('GO', flush=True))).start()
"""


@dataclass
class Cell:
    """What a front end would have got from one executed cell."""

    streams: dict[str, str] = field(default_factory=lambda: {"stdout": "", "stderr": ""})
    errors: list[str] = field(default_factory=list)
    displays: list[dict] = field(default_factory=list)
    status: str = ""
    seconds: float = 0.0

    @property
    def stdout(self) -> str:
        return self.streams["stdout"]

    def add(self, kind: str, content: dict) -> None:
        if kind == "stream":
            self.streams[content["name"]] += content["text"]
        elif kind == "error":
            self.errors.append(content["ename"])
        elif kind in ("display_data", "execute_result"):
            self.displays.append(content["data"])


class Kernel:
    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        self.cell(SETUP)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def cell(self, code: str, *, interrupt_on: str = "") -> Cell:
        cell, started = Cell(), time.monotonic()

        def on_message(message: dict) -> None:
            cell.add(message["msg_type"], message["content"])
            if interrupt_on and interrupt_on in cell.stdout and not cell.seconds:
                cell.seconds = time.monotonic()
                self.manager.interrupt_kernel()

        reply = self.client.execute_interactive(code, timeout=60, output_hook=on_message)
        cell.status = reply["content"]["status"]
        cell.seconds = time.monotonic() - (cell.seconds or started)
        return cell

    def agent(self, code: str, **options: object) -> tuple[CodeRun, Cell]:
        interrupt_on = str(options.pop("interrupt_on", ""))
        arguments = "".join(f", {name}={value!r}" for name, value in options.items())
        cell = self.cell(
            f"print('RUN' + await _agent({code!r}{arguments}))", interrupt_on=interrupt_on
        )
        before, _, answer = cell.stdout.rpartition("RUN")
        cell.streams["stdout"] = before
        run = json.loads(answer)
        return CodeRun(**{k: tuple(v) if isinstance(v, list) else v for k, v in run.items()}), cell


@pytest.fixture(scope="module")
def kernel():
    kernel = Kernel()
    yield kernel
    kernel.close()


def test_agent_code_shares_the_users_names(kernel):
    kernel.cell("x = 41")
    run, _ = kernel.agent("y = x + 1\ny")
    assert (run.ok, run.result, run.created) == (True, "42", ("y",))
    assert kernel.cell("print(y)").stdout == "42\n"


def test_output_is_captured_and_nothing_reaches_the_cell(kernel):
    run, cell = kernel.agent(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\n"
        "display({'text/html': '<b>h</b>', 'text/plain': 'h'}, raw=True)\n'value'"
    )
    assert (run.stdout, run.stderr, run.result) == ("out\n", "err\n", "'value'")
    assert run.display == ({"text/html": "<b>h</b>", "text/plain": "h"},)
    assert (cell.stdout, cell.streams["stderr"], cell.displays) == ("", "", [])


def test_output_of_child_processes_is_captured(kernel):
    run, cell = kernel.agent(
        "import subprocess\nsubprocess.run(['echo', 'from a child'])\n"
        "subprocess.run('echo oops >&2', shell=True)\n!echo from the shell"
    )
    assert run.stdout.splitlines() == ["from a child", "from the shell"]
    assert run.stderr == "oops\n"
    assert cell.stdout == ""


def test_prompt_state_does_not_notice(kernel):
    state = "print([_, __, sorted(Out), len(In), get_ipython().execution_count])"
    kernel.cell("'last value'")
    before = json.loads(kernel.cell(state).stdout.replace("'", '"'))
    run, _ = kernel.agent("'agent value'")
    after = json.loads(kernel.cell(state).stdout.replace("'", '"'))
    assert run.result == "'agent value'"
    assert after == [before[0], before[1], before[2], before[3] + 2, before[4] + 2]


def test_traceback_is_captured_whole_and_does_not_leak(kernel):
    run, cell = kernel.agent("def f():\n    return 1/0\nprint('before')\nf()")
    assert not run.ok
    assert run.stdout == "before\n"
    assert "ZeroDivisionError: division by zero" in run.traceback
    assert "return 1/0" in run.traceback
    assert "\x1b" not in run.traceback
    assert (cell.status, cell.errors) == ("ok", [])


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("for:", "SyntaxError"),
        ("import not_there_at_all", "ModuleNotFoundError"),
        ("%not_a_magic", "UsageError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("exit()", "SystemExit"),
        ("quit", "SystemExit"),
        ("raise ExceptionGroup('several', [ValueError('one')])", "ValueError: one"),
        ("await missing", "NameError"),
        ("import asyncio\nawait asyncio.sleep(0)\n1/0", "ZeroDivisionError"),
    ],
)
def test_errors_become_tracebacks(kernel, code, error):
    run, cell = kernel.agent(code)
    assert (run.ok, run.interrupted, run.timed_out) == (False, False, False)
    assert error in run.traceback
    assert (cell.status, cell.errors) == ("ok", [])


@pytest.mark.parametrize(
    "code",
    [
        "input('name? ')",
        "import getpass; getpass.getpass()",
        "from getpass import getpass as ask\nask()",
        "import asyncio\nawait asyncio.sleep(0)\ninput()",
    ],
)
def test_t_13_input_is_refused_at_once(kernel, code):
    run, cell = kernel.agent(code)
    assert "is not available to code the agent runs" in run.traceback
    assert cell.seconds < 5


def test_the_user_can_still_be_asked_after_a_refusal(kernel):
    kernel.cell("_before = __builtins__.input")
    kernel.agent("input()")
    assert kernel.cell("print(__builtins__.input.__self__ is _before.__self__)").stdout == "True\n"


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


def test_awaiting_code_gives_its_value_and_names(kernel):
    run, _ = kernel.agent("await asyncio.sleep(0.01)\nfresh_name = 9\nfresh_name")
    assert (run.ok, run.result, run.created) == (True, "9", ("fresh_name",))


def test_tasks_of_the_turn_show_to_the_cell_while_code_awaits(kernel):
    cell = kernel.cell(
        "async def _status():\n    await asyncio.sleep(0.1)\n    print('from the turn')\n"
        "    display({'text/plain': 'shown'}, raw=True)\n"
        "_task = asyncio.ensure_future(_status())\n"
        "_run = await _agent('print(\"agent\")\\nawait asyncio.sleep(0.3)')"
    )
    assert cell.stdout == "from the turn\n"
    assert cell.displays == [{"text/plain": "shown"}]
    assert json.loads(kernel.cell("print(_run)").stdout)["stdout"] == "agent\n"


def test_n_08_threads_that_ran_before_keep_their_cell(kernel):
    cell = kernel.cell(
        "import threading, time\n_go, _done = threading.Event(), threading.Event()\n"
        "def _work():\n    _go.wait(); print('old thread'); _done.set()\n"
        "threading.Thread(target=_work).start()\n"
        "_run = await _agent('_go.set(); _done.wait()\\n"
        't = threading.Thread(target=lambda: print("new thread"))\\nt.start(); t.join()\')'
    )
    assert cell.stdout == "old thread\n"
    assert json.loads(kernel.cell("print(_run)").stdout)["stdout"] == "new thread\n"


def test_values_and_displays_in_order(kernel):
    run, _ = kernel.agent(
        "class Rich:\n    def _repr_html_(self): return '<i>r</i>'\n    def __repr__(self): return 'r'\n"
        "display(1)\nshown = display(2, display_id='d')\nshown.update(3)\nRich()"
    )
    assert run.display == (
        {"text/plain": "1"},
        {"text/plain": "3"},
        {"text/html": "<i>r</i>", "text/plain": "r"},
    )
    assert run.result == "r"


@pytest.mark.parametrize(
    ("code", "result"), [("7;", ""), ("7", "7"), ("x = 7", ""), ("None", ""), ("';'", "';'")]
)
def test_value_of_the_last_expression(kernel, code, result):
    assert kernel.agent(code)[0].result == result


def test_images_become_base64_text(kernel):
    run, _ = kernel.agent("display({'image/png': b'png', 'text/plain': 'i'}, raw=True)")
    assert run.display == ({"image/png": "cG5n", "text/plain": "i"},)


def test_inline_figures_are_displayed(kernel):
    pytest.importorskip("matplotlib")
    run, cell = kernel.agent(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    )
    assert [set(bundle) for bundle in run.display] == [{"image/png", "text/plain"}]
    assert cell.displays == []


def test_long_output_keeps_head_and_tail(kernel):
    run, _ = kernel.agent("for i in range(10_000): print(i)", capture=1_000)
    assert run.stdout.startswith("0\n1\n2\n")
    assert run.stdout.endswith("9998\n9999\n")
    assert run.dropped == 48_890 - 1_000
    assert "[... 47,890 characters not kept ...]" in run.stdout


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


def test_created_changed_and_removed_names(kernel):
    kernel.cell("kept = [1, 2]; gone = 1; grown = {'a': 1}; same = 'text'")
    run, _ = kernel.agent("del gone\ngrown['b'] = 2\nkept[0] = 5\nsame = 'text'\nimport colorsys")
    assert run.created == ("colorsys",)
    assert set(run.changed) == {"kept", "grown"}
    assert run.removed == ("gone",)


def test_agent_code_is_known_while_it_runs_and_in_what_it_leaves_behind(kernel):
    kernel.cell("_seen = []")
    kernel.agent("_seen.append(_namespace.agent_code_running)")
    kernel.agent(
        "async def late():\n    await asyncio.sleep(0.05)\n"
        "    _seen.append(_namespace.agent_code_running)\n"
        "_late = asyncio.ensure_future(late())\nawait asyncio.sleep(0)"
    )
    seen = kernel.cell("await _late\nprint(_seen, _namespace.agent_code_running)")
    assert seen.stdout == "[True, True] False\n"


def test_run_from_another_threads_loop_is_handed_to_the_main_thread(kernel):
    cell = kernel.cell(
        "import queue as _queue\n_jobs = _queue.Queue()\n"
        "async def _on_main(function):\n"
        "    future = asyncio.get_running_loop().create_future()\n"
        "    loop = asyncio.get_running_loop()\n"
        "    _jobs.put(lambda r=None: loop.call_soon_threadsafe(future.set_result, function()))\n"
        "    return await future\n"
        "_other = _UserNamespace(get_ipython(), call_on_main=_on_main)\n"
        "_out = []\n"
        "def _turn():\n"
        "    _out.append(asyncio.run(_other.run('import threading\\n"
        "threading.current_thread() is threading.main_thread()', seconds=5, capture=1000)))\n"
        "_thread = threading.Thread(target=_turn); _thread.start()\n"
        "_jobs.get(timeout=5)(); _thread.join(); print(_out[0].result, _out[0].ok)"
    )
    assert cell.stdout == "True True\n"


def test_off_the_main_thread_the_limit_still_holds(kernel):
    cell = kernel.cell(
        "_out = []\n"
        "def _turn(): _out.append(asyncio.run(_namespace.run('while True: pass', seconds=0.3, "
        "capture=1000)))\n"
        "_thread = threading.Thread(target=_turn); _thread.start()\n"
        "_thread.join(); print(_out[0].timed_out, 'TimeLimit' in _out[0].traceback)"
    )
    assert cell.stdout == "True True\n"


def test_outer_cell_is_unchanged_when_the_magic_is_not_awaited(kernel):
    cell = kernel.cell(
        "class _Loop:\n    def run(self, c):\n        try: c.send(None)\n"
        "        except StopIteration as end: return end.value\n"
        "print(_Loop().run(_namespace.run('6 * 7', seconds=5, capture=100)).result)\n'mine'"
    )
    assert cell.stdout == "42\n"
    assert cell.displays == [{"text/plain": "'mine'"}]
    assert kernel.cell("print(_)").stdout == "mine\n"
