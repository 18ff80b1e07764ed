from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mewcode_nb.notebook.awaiting import claim_cell

HEAVY = ("anthropic", "httpx", "httpx2", "pydantic", "yaml", "ipywidgets", "anywidget", "nbformat")

PROBE = """
import json, os, sys, threading, time
from IPython.core.interactiveshell import InteractiveShell
import ipykernel.ipkernel, types
floor = types.ModuleType("floor")
floor.load_ipython_extension = lambda shell: None
sys.modules["floor"] = floor
shell = InteractiveShell.instance()
shell.run_cell("%load_ext floor")
opened = []
def watch(event, args):
    if event == "open" and isinstance(args[0], str) and args[2] & (os.O_WRONLY | os.O_RDWR):
        if not args[0].startswith("/dev/") and "__pycache__" not in args[0]:
            opened.append(args[0])
sys.addaudithook(watch)
before, threads = set(sys.modules), threading.active_count()
start = time.perf_counter()
result = shell.run_cell("%load_ext mewcode_nb")
seconds = time.perf_counter() - start
print(json.dumps({
    "ok": result.success,
    "new": sorted(set(sys.modules) - before),
    "loaded": sorted(sys.modules),
    "opened": opened,
    "threads": threading.active_count() - threads,
    "seconds": seconds,
}))
status = shell.run_cell("%mewcode status")
assert status.success
"""


def probe(folder, *, wrap=(), **environ):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "MEWCODE"))}
    environment = {**inherited, "IPYTHONDIR": str(folder / "ipy"), **environ}
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run(
        [*wrap, sys.executable, "-B", "-c", PROBE],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[0]), done.stdout


def test_loading_is_light_writes_nothing_and_starts_no_thread(tmp_path):
    seen, _ = probe(tmp_path)
    assert seen["ok"]
    ours = [name for name in seen["new"] if name.startswith("mewcode_nb")]
    assert len(seen["new"]) <= 40, seen["new"]
    assert "mewcode_nb.notebook.magics" in ours
    assert [name for name in HEAVY if name in seen["loaded"]] == []
    assert seen["opened"] == []
    assert seen["threads"] == 0


@pytest.mark.parametrize("home", [None, "", "relative", "/nonexistent"])
def test_l_04_loading_and_status_work_without_a_usable_home(tmp_path, home):
    seen, shown = probe(tmp_path, HOME=home)
    assert seen["ok"]
    assert "not set" in shown


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs to become another user",
)
def test_l_04_loading_works_where_neither_home_nor_project_can_be_written(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path("/") and folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o055)
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    wrap = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    reachable = subprocess.run(
        [*wrap, sys.executable, "-c", "import mewcode_nb"], check=False, capture_output=True
    )
    if reachable.returncode != 0:
        pytest.skip("another user cannot reach this interpreter")
    seen, shown = probe(locked, wrap=wrap, HOME=str(locked), IPYTHONDIR="/tmp/ipy-of-nobody")
    assert seen["ok"]
    assert "not set" in shown


def test_loading_twice_and_reloading_leave_one_of_each(ipython_shell, in_project):
    for _ in range(2):
        ipython_shell.run_line_magic("load_ext", "mewcode_nb")
        ipython_shell.run_line_magic("reload_ext", "mewcode_nb")
    ours = [f for f in ipython_shell.input_transformers_post if "mewcode" in type(f).__module__]
    assert len(ours) == 1
    cleanup = ipython_shell.input_transformers_cleanup
    assert cleanup.count(claim_cell) == 1
    assert len(ipython_shell.Completer.custom_matchers) == 1
    named = [type(item).__name__ for item in ipython_shell.configurables]
    assert named.count("MewcodeMagics") == 1


def test_unloading_leaves_nothing_behind(ipython_shell, in_project):
    ipython_shell.run_line_magic("load_ext", "autoreload")  # IPython's own magics come when needed
    before = (
        list(ipython_shell.input_transformers_post),
        list(ipython_shell.input_transformers_cleanup),
        list(ipython_shell.Completer.custom_matchers),
        {name: list(calls) for name, calls in ipython_shell.events.callbacks.items()},
        len(ipython_shell.configurables),
        sorted(ipython_shell.magics_manager.magics["cell"]),
        sorted(ipython_shell.magics_manager.magics["line"]),
    )
    ipython_shell.run_line_magic("load_ext", "mewcode_nb")
    ipython_shell.run_line_magic("unload_ext", "mewcode_nb")
    after = (
        list(ipython_shell.input_transformers_post),
        list(ipython_shell.input_transformers_cleanup),
        list(ipython_shell.Completer.custom_matchers),
        {name: list(calls) for name, calls in ipython_shell.events.callbacks.items()},
        len(ipython_shell.configurables),
        sorted(ipython_shell.magics_manager.magics["cell"]),
        sorted(ipython_shell.magics_manager.magics["line"]),
    )
    assert after == before


def test_a_reload_keeps_the_conversation(loaded):
    loaded.run("%%mewcode\none")
    loaded.run("%reload_ext mewcode_nb")
    loaded.run("%%mewcode\ntwo")
    assert len(loaded.server.requests[1].body["messages"]) == 3


def test_a_terminal_cell_is_complete_only_after_an_empty_line(loaded):
    check = loaded.shell.check_complete
    assert check("%%mewcode\nhi")[0] == "incomplete"
    assert check("%%mewcode\nhi\n\n")[0] == "complete"


@pytest.mark.kernel
@pytest.mark.parametrize(("setting", "expected"), [("true", True), ("false", False)])
def test_an_idle_kernel_preloads_the_sdk_where_the_setting_allows_it(
    start_kernel, setting, expected
):
    kernel = start_kernel(cold=True, MEWCODE_PRELOAD=setting)
    loading = kernel.run("%load_ext mewcode_nb\nimport sys; print('anthropic' in sys.modules)")
    assert "False" in loading.text
    wait = (
        "import asyncio, sys\n"
        "async def wait():\n"
        "    while 'anthropic' not in sys.modules: await asyncio.sleep(0.05)\n"
    )
    kernel.run("1")
    threading.Event().wait(1.5)  # the idle time itself is what is tested
    found = kernel.run(
        f"{wait}try: await asyncio.wait_for(wait(), {20 if expected else 0.5}); print('there')\n"
        "except TimeoutError: print('missing')"
    )
    assert ("there" in found.text) == expected


def test_a_timer_that_outlives_unloading_starts_nothing(ipython_shell, in_project):
    from mewcode_nb.notebook.extension import IdlePreload

    class Recorder:
        def __init__(self):
            self.runtime = self
            self.count = 0

        def preload(self):
            self.count += 1

    recorder = Recorder()
    ipython_shell.kernel = object()
    idle = IdlePreload(ipython_shell, recorder)

    async def cell():
        idle.register()
        ipython_shell.events.trigger("post_run_cell", None)
        idle.unregister()
        return idle._timer

    try:
        assert asyncio.run(cell()) is None
    finally:
        del ipython_shell.kernel
    assert recorder.count == 0
