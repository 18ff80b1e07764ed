"""What `%load_ext mewcode_nb` costs, beside two empty magics and IPython's own start."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Budget, Report, main, middle, ratio

ROUNDS = 11
FLOOR = "floor_extension"
PEERS = ("jupyter_cc", "cellmage", "jupyter_ai_magics")

FLOOR_SOURCE = """
def load_ipython_extension(shell):
    shell.register_magic_function(lambda line, cell=None: None, "line_cell", "floor_one")
    shell.register_magic_function(lambda line: None, "line", "floor_two")
"""

CHILD = """
import json, sys, time
def resident():
    try:
        with open("/proc/self/statm") as file: return int(file.read().split()[1]) * 4096
    except OSError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
bare = time.perf_counter() - start
import ipykernel.zmqshell, ipykernel.ipkernel
modules, memory = set(sys.modules), resident()
start = time.perf_counter()
shell.extension_manager.load_extension(sys.argv[1])
seconds = time.perf_counter() - start
print("RESULT" + json.dumps([bare, seconds, (resident() - memory) / 1e6,
                             len(set(sys.modules) - modules)]))
"""


def measure() -> Report:
    """Fresh process each time, byte code compiled, ipykernel's modules already loaded."""
    peers = [name for name in PEERS if importlib.util.find_spec(name)]
    names = [FLOOR, "mewcode_nb", *peers]
    runs: dict[str, list[list[float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{FLOOR}.py").write_text(FLOOR_SOURCE, encoding="utf-8")
        for name in names:
            _run(name, folder)
        for turn in range(ROUNDS):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                runs[name].append(_run(name, folder))
        written = list(Path(folder, "home").rglob("*mewcode*"))
    return _report(runs, len(written))


def _run(name: str, folder: str) -> list[float]:
    home = Path(folder, "home")
    home.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": folder,
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode")),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, name],
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
        env=environment,
    )
    return json.loads(done.stdout.rpartition("RESULT")[2])


def _report(runs: dict[str, list[list[float]]], written: int) -> Report:
    starts = [run[0] for found in runs.values() for run in found]
    bare, floor = min(starts), min(run[1] for run in runs[FLOOR])
    start = f"{middle(starts) * 1e3:.0f}", f"{bare * 1e3:.0f}"
    rows, figures = [("bare IPython shell", *start, "", "", "", "1.00x")], {}
    for name, found in runs.items():
        usual, memory, modules = (middle([run[column] for run in found]) for column in (1, 2, 3))
        seconds = min(run[1] for run in found)
        figures[name] = (seconds, memory, modules)
        rows.append(
            (
                name,
                f"{usual * 1e3:.1f}",
                f"{seconds * 1e3:.1f}",
                f"{memory:.1f}",
                f"{modules:.0f}",
                ratio(seconds, floor),
                ratio(seconds, bare),
            )
        )
    seconds, memory, modules = figures["mewcode_nb"]
    return Report(
        "`%load_ext`",
        (
            "what",
            "median ms",
            "least ms",
            "MB added",
            "modules added",
            "vs two-magic floor",
            "vs IPython's start",
        ),
        tuple(rows),
        (
            Budget("time vs floor", seconds / floor, 20),
            Budget("time vs bare IPython", seconds / bare, 0.15),
            Budget("MB added", memory, 3),
            Budget("modules added", modules, 40),
            Budget("files written", written, 0),
        ),
        (
            f"{ROUNDS} fresh processes each, byte code compiled, in rotated order.",
            "Ratios are of the least times: a median of milliseconds measures the machine's load.",
            "Other extensions are measured where they are installed.",
        ),
    )


if __name__ == "__main__":
    main(measure)
