from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import mewcode_nb

PACKAGE = Path(mewcode_nb.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
HEAVY = (
    "anthropic",
    "anywidget",
    "httpx",
    "httpx2",
    "ipywidgets",
    "markdown_it",
    "nbformat",
    "numpy",
    "pydantic",
    "yaml",
)

LOAD = """
import json, os, sys, threading
import ipykernel.kernelapp  # a kernel has its own modules already
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before, threads = set(sys.modules), threading.active_count()
opened = []
def hook(event, args):
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    if event == "open" and isinstance(args[2], int) and args[2] & writing:
        opened.append(str(args[0]))
    if event in ("os.mkdir", "os.rename", "os.remove", "socket.connect", "subprocess.Popen"):
        opened.append(event)
sys.addaudithook(hook)
sys.dont_write_bytecode = True
shell.run_line_magic("load_ext", "mewcode_nb")
print(json.dumps({
    "new": sorted(set(sys.modules) - before),
    "threads": threading.active_count() - threads,
    "opened": opened,
}))
"""


def _identify(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    result = subprocess.run(
        [sys.executable, "-c", LOAD],
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "IPYTHONDIR": str(home / "ipython")},
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(result.stdout.splitlines()[-1])


def test_loading_the_extension_imports_nothing_heavy(loaded):
    roots = {name.partition(".")[0] for name in loaded["new"]}
    assert roots & set(HEAVY) == set()


def test_loading_the_extension_adds_fewer_than_40_modules(loaded):
    assert len(loaded["new"]) < 40, loaded["new"]


def test_loading_the_extension_starts_no_thread(loaded):
    assert loaded["threads"] == 0


def test_loading_the_extension_writes_nothing(loaded):
    assert loaded["opened"] == []


def test_importing_the_package_imports_no_front_end():
    names = ("IPython", *HEAVY)
    code = f"import sys, mewcode_nb; print([m for m in {names} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("path", SOURCES, ids=_identify)
def test_file_has_at_most_400_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", SOURCES, ids=_identify)
def test_functions_have_at_most_40_lines(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > 40
    }
    assert long == {}


@pytest.mark.parametrize(
    "name",
    sorted(
        module.name
        for module in pkgutil.walk_packages([str(PACKAGE)], "mewcode_nb.")
        if not module.name.endswith("__main__")
    ),
)
def test_exported_names_exist(name):
    module = importlib.import_module(name)
    assert [item for item in module.__all__ if not hasattr(module, item)] == []


def test_only_the_two_boundaries_catch_everything():
    allowed = {"agent/calls.py", "memory/update.py"}
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ExceptHandler):
                continue
            broad = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
            )
            reraises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            if broad and not reraises:
                found.add(_identify(path))
    assert found <= allowed
