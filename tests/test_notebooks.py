from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from mewcode_nb.session.load import load

ROOT = Path(__file__).parents[1]
CLEAN = ("ANTHROPIC", "MEWCODE")

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("notebooks"),  # executed once, looked at by several tests
]


def _plain(cell):
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(CLEAN)}
    home = folder / "home"
    home.mkdir()
    result = subprocess.run(
        [sys.executable, "-m", "mewcode_nb", "demo", "--headless", "--folder", str(folder / "out")],
        cwd=ROOT,
        env={
            **environ,
            "HOME": str(home),
            "IPYTHONDIR": str(home / "ipython"),
            # Nobody is there to be asked, so no model may answer, though one is configured.
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=170,
    )
    notebook = nbformat.read(folder / "out" / "01_first_steps.executed.ipynb", 4)
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    return notebook, list(cells.values()), folder / "out", result.stdout


def test_headless_demo_says_where_the_notebook_and_the_session_are(executed):
    _, _, out, printed = executed
    assert str(out / "01_first_steps.executed.ipynb") in printed
    assert str(out / ".mewcode" / "sessions") in printed


def test_executed_notebook_is_valid_and_holds_no_widget(executed):
    notebook, cells, _, _ = executed
    nbformat.validate(notebook)
    kinds = {kind for cell in cells for output in cell.outputs for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "text/markdown", "text/html"}
    assert "text/markdown" in kinds


def test_tutorial_says_that_it_is_not_a_model(executed):
    _, cells, _, _ = executed
    assert "NOT a model" in _plain(cells[1])


def test_answers_hold_what_the_code_really_printed(executed):
    _, cells, _, _ = executed
    assert "far from the rest: [98.6]" in _plain(cells[3])
    assert _plain(cells[5]) == "[21.4, 21.9, 22.1, 37.0, 22.4, 21.7, 22.0]"
    assert _plain(cells[6]) == "(('run_python',), True)"


def test_every_acting_call_shows_who_allowed_or_denied_it(executed):
    _, cells, _, _ = executed
    assert "allowed by mode open" in _plain(cells[3])
    assert "denied by mode plan" in _plain(cells[7])
    assert "Nothing was written." in _plain(cells[7])
    assert "allowed by mode open" in _plain(cells[8])


def test_file_was_written_once_it_was_allowed(executed):
    _, _, out, _ = executed
    assert (out / "notes.md").read_text(encoding="utf-8").startswith("# Temperatures\n")


def test_session_on_disk_holds_the_whole_talk(executed):
    _, _, out, _ = executed
    (folder,) = (out / ".mewcode" / "sessions").iterdir()
    state = load(folder)
    prompts = [m.content[0]["text"] for m in state.messages if m.origin == "user"]
    assert len(prompts) == 4
    assert prompts[0].endswith("Is anything off?")
    assert state.damage == ()
    assert state.messages[-1].role == "assistant"


def test_stored_notebook_in_the_repository_has_no_outputs():
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, 4)
        assert [cell.outputs for cell in notebook.cells if cell.get("outputs")] == [], path.name
