"""Where sessions lie and which are a notebook's, seen from real kernels."""

from __future__ import annotations

import json
import shutil

import pytest

pytestmark = pytest.mark.kernel

ROOT = "print(get_ipython().meta['mewcode_runtime'].project().root)"


@pytest.mark.parametrize("marker", [".git", "MEWCODE.md", ".mewcode/config.toml"])
def test_the_root_of_a_notebook_in_a_subfolder_is_the_same_before_and_after_the_first_prompt(
    begin, server, in_project, marker
):
    (in_project.root / "pyproject.toml").unlink()
    if marker == ".git":
        (in_project.root / marker).mkdir()
    else:
        in_project.write(marker, "")
    talk = begin("deep/below/analysis.ipynb")
    talk.cell("%mewcode mode")
    before = talk.cell(ROOT).text.strip()
    server.add("hello")
    talk.cell("%%mewcode\nhi")
    talk.cell("%mewcode new")
    assert talk.cell(ROOT).text.strip() == before == str(in_project.root)
    later = begin("deep/below/analysis.ipynb")
    later.cell("%resume last")
    assert later.cell(ROOT).text.strip() == before


def notebook(path, cell):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [{"id": cell, "cell_type": "code", "source": "", "metadata": {}, "outputs": []}]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))


def test_a_notebook_that_was_moved_and_renamed_goes_on_with_its_last_session(
    begin, server, in_project
):
    notebook(in_project.notebooks / "old.ipynb", "cell-one")
    notebook(in_project.notebooks / "other.ipynb", "cell-other")
    server.add("one", "two", "three")
    old = begin("old.ipynb")
    old.cell("%%mewcode\nmine", "cell-one")
    other = begin("other.ipynb")
    other.cell("%%mewcode\nanother notebook's", "cell-other")
    old.kill()
    other.kill()
    moved = in_project.notebooks / "kept" / "renamed.ipynb"
    moved.parent.mkdir()
    shutil.move(in_project.notebooks / "old.ipynb", moved)
    talk = begin("kept/renamed.ipynb")
    talk.cell("%resume last")
    talk.cell("%%mewcode\ngo on", "cell-two")
    assert talk.said() == ["mine", "one", "go on"]
