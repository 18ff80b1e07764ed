from __future__ import annotations

import json

import pytest

from mewcode_nb.paths import project_root
from mewcode_nb.session.belongs import Notebook, belongs, file_at, read_notebook
from mewcode_nb.session.info import SessionInfo

CELLS = frozenset({"c1", "c2"})


def session(notebook="/p/a.ipynb", cells=CELLS):
    return SessionInfo("s", notebook=notebook, cells=frozenset(cells))


def save(path, *ids):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [{"cell_type": "code", "id": identity, "source": ""} for identity in ids]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("recorded", "cells", "notebook", "files", "expected"),
    [
        pytest.param("/p/a.ipynb", (), Notebook("/p/a.ipynb"), (), True, id="same path"),
        pytest.param("/p/a.ipynb", CELLS, Notebook("/p/b.ipynb", CELLS), (), True, id="renamed"),
        pytest.param(
            "/p/a.ipynb", CELLS, Notebook("/p/b.ipynb", CELLS), ("/p/a.ipynb",), False, id="copy"
        ),
        pytest.param(
            "/p/a.ipynb", CELLS, Notebook("/p/b.ipynb", frozenset({"c2", "c9"})), (), True, id="one"
        ),
        pytest.param(
            "/p/a.ipynb", CELLS, Notebook("/q/a.ipynb", frozenset({"c9"})), (), False, id="other"
        ),
        pytest.param("/p/a.ipynb", CELLS, Notebook("/q/a.ipynb"), (), True, id="moved, no ids"),
        pytest.param("/p/a.ipynb", (), Notebook("/q/a.ipynb", CELLS), (), True, id="old session"),
        pytest.param("/p/a.ipynb", (), Notebook("/p/b.ipynb", CELLS), (), False, id="other name"),
        pytest.param("", CELLS, Notebook("/p/b.ipynb", CELLS), (), True, id="path not recorded"),
        pytest.param("", (), Notebook("/p/b.ipynb", CELLS), (), False, id="nothing recorded"),
        pytest.param("", (), Notebook(""), (), False, id="nothing known"),
    ],
)
def test_whose_session_it_is(recorded, cells, notebook, files, expected):
    assert (
        belongs(session(recorded, cells), notebook, lambda path: path if path in files else "")
        is expected
    )


def test_a_path_recorded_through_a_link_is_the_notebook_s(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    notebook = read_notebook(save(tmp_path / "real" / "a.ipynb", "c1"))
    assert belongs(session(str(tmp_path / "link" / "a.ipynb"), ()), notebook, file_at)
    assert not belongs(session(str(save(tmp_path / "b.ipynb")), CELLS), notebook, file_at)


def test_where_a_file_is(tmp_path):
    path = save(tmp_path / "a.ipynb")
    assert file_at(str(path)) == str(path.resolve())
    assert [file_at(name) for name in (str(tmp_path), "/none/such", "a\0b")] == ["", "", ""]


def test_a_notebook_is_read_by_its_real_path_and_cell_ids(tmp_path):
    path = save(tmp_path / "deep" / "a.ipynb", "c1", "c2")
    link = tmp_path / "link.ipynb"
    link.symlink_to(path)
    assert read_notebook(link) == Notebook(str(path.resolve()), CELLS)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"cells": 5}', '{"cells": [1, {"id": 7}, {}]}', "[" * 100_000],
)
def test_a_notebook_that_tells_no_cells_is_read_all_the_same(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text, encoding="utf-8")
    assert read_notebook(path) == Notebook(str(path.resolve()))


def test_a_missing_notebook_and_a_folder_have_no_cells(tmp_path):
    assert read_notebook(tmp_path / "none.ipynb").cells == frozenset()
    assert read_notebook(tmp_path).cells == frozenset()


def test_the_first_prompt_leaves_the_root_where_it_was(tmp_path):
    notebooks = tmp_path / "project" / "notebooks"
    notebooks.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    before = project_root(notebooks, None)
    (notebooks / ".mewcode" / "sessions" / "20260314-120000-0001").mkdir(parents=True)
    (notebooks / ".mewcode" / ".gitignore").touch()
    assert project_root(notebooks, None) == before == (tmp_path / "project").resolve()
