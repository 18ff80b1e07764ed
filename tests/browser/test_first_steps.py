from __future__ import annotations

import shutil
from pathlib import Path

import nbformat

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_first_steps.ipynb"


def _code_cells(name):
    cells = nbformat.read(name, 4).cells
    return [index for index, cell in enumerate(cells) if cell.cell_type == "code"]


def test_newcomer_without_a_key_runs_the_first_notebook_and_clicks(jupyter, open_notebook):
    shutil.copy(NOTEBOOK, jupyter.root)
    page = open_notebook(NOTEBOOK.name)
    load, tutorial, data, look, convert, clean, turn, plan, write, status, files = _code_cells(
        NOTEBOOK
    )
    for index in (load, tutorial, data):
        page.run(index)
    page.wait_text(tutorial, "NOT a model")

    page.run(look, wait=False)
    page.button("Allow once").wait_for()
    page.picture("first-steps-approval")
    page.button("Allow once").click()
    page.wait_done(look)
    page.wait_text(look, "far from the rest: [98.6]")

    page.run(convert, wait=False)
    page.button("Deny").wait_for()
    page.button("Deny").click()
    page.wait_done(convert)
    page.wait_text(convert, "Then clean does not exist")

    page.run(convert)
    page.wait_text(convert, "stored answer")
    page.button("Run again").click()
    page.button("Allow once").wait_for()
    page.button("Allow once").click()
    page.wait_text(convert, "clean is now in your namespace")
    page.wait_text(convert, "2 steps")
    page.run(clean)
    assert page.output(clean).endswith("[21.4, 21.9, 22.1, 37.0, 22.4, 21.7, 22.0]")
    page.run(turn)
    page.run(plan)
    page.wait_text(plan, "Nothing was written.")
    assert not (jupyter.root / "notes.md").exists()

    page.run(write, wait=False)
    page.button("Allow once").wait_for()
    page.picture("first-steps-diff")
    page.button("Allow once").click()
    page.wait_done(write)
    assert (jupyter.root / "notes.md").is_file()
    page.run(status)
    page.wait_text(status, NOTEBOOK.name)
    page.run(files)
    page.wait_text(files, "MEWCODE.md")
    (jupyter.root / "notes.md").unlink()
