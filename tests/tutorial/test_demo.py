from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mewcode_nb.errors import MewcodeError
from mewcode_nb.tutorial.demo import NOTEBOOKS, find_notebook, lab_command, working_copy


def test_lab_opens_on_the_notebook_and_takes_further_words(tmp_path):
    command = lab_command(tmp_path / "a b.ipynb", ["--no-browser"])
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert "--LabApp.default_url=/lab/tree/a%20b.ipynb" in command
    assert "--no-browser" in command


def test_working_copy_keeps_what_the_user_did_there(tmp_path):
    notebook = tmp_path / "first.ipynb"
    notebook.write_text("original", encoding="utf-8")
    copy = working_copy(notebook, tmp_path / "demo")
    copy.write_text("mine", encoding="utf-8")
    assert working_copy(notebook, tmp_path / "demo").read_text(encoding="utf-8") == "mine"
    assert notebook.read_text(encoding="utf-8") == "original"


@pytest.mark.parametrize("name", NOTEBOOKS.values())
def test_installed_package_finds_the_environments_copy(tmp_path, name):
    package, shared = tmp_path / "lib" / "mewcode_nb", tmp_path / "share" / "mewcode_nb"
    with pytest.raises(MewcodeError, match=f"{name} was not found"):
        find_notebook(package, tmp_path, name)
    shared.mkdir(parents=True)
    (shared / name).write_text("{}", encoding="utf-8")
    assert find_notebook(package, tmp_path, name) == shared / name


@pytest.mark.parametrize("name", NOTEBOOKS.values())
def test_source_tree_has_every_notebook_that_the_wheel_ships(name):
    root = Path(__file__).parents[2]
    assert find_notebook(root / "mewcode_nb", root / "nowhere", name).parent.name == "notebooks"
    assert f'"share/mewcode_nb/{name}"' in (root / "pyproject.toml").read_text(encoding="utf-8")
