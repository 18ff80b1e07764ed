from __future__ import annotations

import sys

import pytest

from mewcode_nb.errors import MewcodeError
from mewcode_nb.tutorial.demo import find_notebook, lab_command, working_copy


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


def test_installed_package_finds_the_environments_copy(tmp_path):
    package, shared = tmp_path / "lib" / "mewcode_nb", tmp_path / "share" / "mewcode_nb"
    with pytest.raises(MewcodeError, match=r"01_first_steps\.ipynb was not found"):
        find_notebook(package, tmp_path)
    shared.mkdir(parents=True)
    (shared / "01_first_steps.ipynb").write_text("{}", encoding="utf-8")
    assert find_notebook(package, tmp_path).parent == shared
