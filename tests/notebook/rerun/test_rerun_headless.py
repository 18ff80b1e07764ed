from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mewcode_nb.testing import reply, tool_use

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


def execute(*cells):
    from nbclient import NotebookClient

    book = notebook(*cells)
    NotebookClient(book, timeout=60, resources={"metadata": {"path": "."}}).execute()
    return ["\n".join(map(words, cell.outputs)) for cell in book.cells[1:]]


def words(output):
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def test_nbclient_replays_an_executed_notebook_turn_by_turn_and_bills_nothing(headless):
    cells = ("%%mewcode\nhi", "%%mewcode\nmore", "%%mewcode -o last\nhi", "last.text, last.stored")
    headless.add("one", "two", "three")
    assert "('three', False)" in execute(*cells)[3]
    again = execute(*cells)
    assert [name in text for name, text in zip(("one", "two", "three"), again, strict=False)] == [
        True,
        True,
        True,
    ]
    assert "('three', True)" in again[3]
    assert all("stored answer" in text for text in again[:3])
    assert len(headless.requests) == 3


def test_a_cell_that_was_added_goes_on_in_the_replayed_session(headless, in_project):
    headless.add("one", "two")
    execute("%%mewcode\nhi")
    execute("%%mewcode\nhi", "%%mewcode\nmore")
    assert len(headless.requests[-1].body["messages"]) == 3
    folder = in_project.notebooks / ".mewcode" / "sessions"
    assert len(list(folder.glob("*/conversation.jsonl"))) == 1


def test_changed_text_runs(headless):
    headless.add("one", "two")
    execute("%%mewcode\nhi")
    assert "two" in execute("%%mewcode\nhi there")[0]


def test_fresh_runs_a_notebook_again_without_the_old_turns(headless, monkeypatch):
    headless.add("one", "two", "three", "four")
    cells = ("%%mewcode\nhi", "%%mewcode\nmore")
    execute(*cells)
    monkeypatch.setenv("MEWCODE_RERUN", "fresh")
    again = execute(*cells)
    assert "three" in again[0]
    assert "four" in again[1]
    assert [len(log.body["messages"]) for log in headless.requests] == [1, 3, 1, 3]


def test_variables_are_named_and_nothing_runs_where_nobody_can_be_asked(headless):
    headless.add(reply(tool_use("run_python", code="made = 6 * 7")), "done")
    execute("%%mewcode --mode open\ngo")
    text, known = execute("%%mewcode\ngo", "'made' in dir()")
    assert "made" in text
    assert "denied" in text
    assert "False" in known


def test_papermill_bills_nothing_for_an_executed_notebook(headless, in_project):
    import nbformat

    headless.add("the only answer")
    source = in_project.notebooks / "in.ipynb"
    nbformat.write(notebook("%%mewcode\nhi"), source)
    for target in ("out.ipynb", "again.ipynb"):
        done = subprocess.run(
            [sys.executable, "-m", "papermill", "-k", "python3", str(source), target],
            cwd=in_project.notebooks,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        book = nbformat.read(in_project.notebooks / target, 4)
        assert "the only answer" in "\n".join(map(words, book.cells[1].outputs))
    assert len(headless.requests) == 1
