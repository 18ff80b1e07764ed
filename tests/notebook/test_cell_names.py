from __future__ import annotations

import json

import pytest

from mewcode_nb.notebook.cell_names import cell_names


def test_cells_are_told_by_place_and_first_line_of_words(tmp_path):
    sources = [
        "# Title\nmore",
        ["\n", "df = 1\n", "df"],
        "%%mewcode -m x\n\nPlot it.\n",
        "%%time",
        "",
    ]
    cells = [{"id": f"c{n}", "source": source} for n, source in enumerate(sources)]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [*cells, {"source": "no id"}, 7]}), encoding="utf-8")
    assert cell_names(path) == {
        "c0": (1, "# Title"),
        "c1": (2, "df = 1"),
        "c2": (3, "Plot it."),
        "c3": (4, "%%time"),
        "c4": (5, ""),
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 1}', "[" * 100_000])
def test_a_file_that_is_no_notebook_names_nothing(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text, encoding="utf-8")
    assert cell_names(path) == {}
    assert cell_names(tmp_path / "none.ipynb") == {}
    assert cell_names(None) == {}
