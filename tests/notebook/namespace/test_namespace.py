from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.kernel


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
        "class Rich:\n    def _repr_html_(self): return '<i>r</i>'\n"
        "    def __repr__(self): return 'r'\n"
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


def test_created_changed_and_removed_names(kernel):
    kernel.cell("kept = [1, 2]; gone = 1; grown = {'a': 1}; same = 'text'")
    run, _ = kernel.agent("del gone\ngrown['b'] = 2\nkept[0] = 5\nsame = 'text'\nimport colorsys")
    assert run.created == ("colorsys",)
    assert set(run.changed) == {"kept", "grown"}
    assert run.removed == ("gone",)


def test_agent_code_is_known_while_it_runs_and_in_what_it_leaves_behind(kernel):
    kernel.cell("_seen = []")
    kernel.cell(
        "import asyncio, threading\nfrom mewcode_nb.notebook.authority import from_a_users_cell\n"
        "_users = lambda: from_a_users_cell(threading.main_thread())"
    )
    kernel.agent("_seen.append(_users())")
    kernel.agent(
        "async def late():\n    await asyncio.sleep(0.05)\n"
        "    _seen.append(_users())\n"
        "_late = asyncio.ensure_future(late())\nawait asyncio.sleep(0)"
    )
    seen = kernel.cell("await _late\nprint(_seen, _users())")
    assert seen.stdout == "[False, False] True\n"


def test_a_stop_that_is_on_its_way_keeps_the_code_from_running(kernel):
    seen = kernel.cell(
        "import asyncio\nasync def _stopped():\n"
        "    asyncio.get_running_loop().call_soon_threadsafe(asyncio.current_task().cancel)\n"
        "    await _agent('ran_all_the_same = 1')\n"
        "try: await asyncio.ensure_future(_stopped())\n"
        "except asyncio.CancelledError: print('stopped')\n"
        "print('ran_all_the_same' in globals())"
    )
    assert seen.stdout == "stopped\nFalse\n"


def test_outer_cell_is_unchanged_when_the_magic_is_not_awaited(kernel):
    cell = kernel.cell(
        "class _Loop:\n    def run(self, c):\n        try:\n            while True: c.send(None)\n"
        "        except StopIteration as end: return end.value\n"
        "print(_Loop().run(_namespace.run('6 * 7', seconds=5, capture=100)).result)\n'mine'"
    )
    assert cell.stdout == "42\n"
    assert cell.displays == [{"text/plain": "'mine'"}]
    assert kernel.cell("print(_)").stdout == "mine\n"


def test_names_that_the_code_read_and_left_alone(kernel):
    kernel.cell("rows = [1, 2]; grown = []; unread = 3")
    run, _ = kernel.agent("total = sum(rows)\ngrown.append(total)")
    assert run.used == ("rows",)
