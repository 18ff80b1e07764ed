from __future__ import annotations

import os
import sys
import time

import pytest

from mewcode_nb.testing import fail, reply, tool_use

pytestmark = pytest.mark.kernel


@pytest.fixture
def headless(in_project, mewcode_server, monkeypatch):
    server = mewcode_server()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(in_project.home / "runtime"))
    return server


def notebook(*cells):
    from nbformat.v4 import new_code_cell, new_notebook

    return new_notebook(cells=[new_code_cell(cell) for cell in ("%load_ext mewcode_nb", *cells)])


def shown(cell):
    parts = []
    for output in cell.outputs:
        parts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
        parts.append(output.get("evalue", ""))
    return "\n".join(parts)


def test_w_05_nbclient_is_denied_at_once_unless_the_mode_given_allows_it(headless, in_project):
    from nbclient import NotebookClient

    headless.add(reply(tool_use("shell", command="touch made")), "so I could not do it")
    headless.add(reply(tool_use("run_python", code="made = 6 * 7")), "made it")
    book = notebook(
        "%%mewcode -o answer\nmake a file", "answer.text", "%%mewcode --mode open\ngo", "made"
    )
    begun = time.monotonic()
    NotebookClient(book, timeout=60, resources={"metadata": {"path": "."}}).execute()
    assert time.monotonic() - begun < 30
    assert not (in_project.notebooks / "made").exists()
    (result,) = headless.requests[1].body["messages"][-1]["content"]
    assert "refused" in str(result)
    assert "so I could not do it" in shown(book.cells[1])
    assert "so I could not do it" in shown(book.cells[2])
    assert "42" in shown(book.cells[4])
    kinds = {key for output in book.cells[1].outputs for key in output.get("data", {})}
    assert "application/vnd.jupyter.widget-view+json" not in kinds


def test_a_failed_turn_fails_the_cell_with_one_line_and_stops_the_run(headless):
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    headless.add(fail(400, message="no such thing"))
    book = notebook("%%mewcode\ngo", "print('went on')")
    with pytest.raises(CellExecutionError, match="no such thing"):
        NotebookClient(book, timeout=60, resources={"metadata": {"path": "."}}).execute()
    (error,) = [item for item in book.cells[1].outputs if item.output_type == "error"]
    assert len(error.traceback) == 1
    assert book.cells[2].outputs == []


def test_w_05_papermill_is_denied_at_once(headless, in_project):
    import subprocess

    import nbformat

    headless.add(reply(tool_use("shell", command="touch made")), "denied, as I see")
    source = in_project.notebooks / "in.ipynb"
    nbformat.write(notebook("%%mewcode\nmake a file"), source)
    done = subprocess.run(
        [sys.executable, "-m", "papermill", "-k", "python3", str(source), "out.ipynb"],
        cwd=in_project.notebooks,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    book = nbformat.read(in_project.notebooks / "out.ipynb", 4)
    assert "denied, as I see" in shown(book.cells[1])
    assert not (in_project.notebooks / "made").exists()
