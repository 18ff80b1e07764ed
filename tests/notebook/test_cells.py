from __future__ import annotations

import hashlib

import pytest

from mewcode_nb.notebook.authority import AGENT_CODE
from mewcode_nb.notebook.cells import DefiningCell, kept_cells


@pytest.fixture
def cells(ipython_shell):
    cells = kept_cells(ipython_shell)
    cells.register()
    yield cells
    cells.unregister()


@pytest.fixture
def run(ipython_shell):
    def run(code, cell="", **options):
        result = ipython_shell.run_cell(code, store_history=True, cell_id=cell or None, **options)
        assert result.error_before_exec is None
        return result

    return run


def ids(cells):
    return {name: cell.id for name, cell in cells.defining().items()}


def test_a_name_is_of_the_cell_that_bound_it_last(cells, run):
    run("a = 1\nb = [2]", "c1")
    run("b = [3]", "c2")
    run("a", "c3")
    assert ids(cells) == {"a": "c1", "b": "c2"}


def test_a_cell_is_known_by_id_text_and_number(cells, run, ipython_shell):
    number = ipython_shell.execution_count
    run("a = 1", "c1")
    digest = hashlib.sha256(b"a = 1").hexdigest()
    assert cells.defining()["a"] == DefiningCell("c1", digest, number)


def test_without_ids_text_and_number_are_known(cells, run):
    run("a = 1")
    cell = cells.defining()["a"]
    assert (cell.id, cell.sha256) == ("", hashlib.sha256(b"a = 1").hexdigest())


def test_a_removed_name_has_no_cell_and_neither_has_one_bound_between_cells(
    cells, run, ipython_shell
):
    run("a = 1\nb = 2\nc = object()", "c1")
    run("del a", "c2")
    ipython_shell.user_ns["c"] = object()
    run("d = 4", "c3")
    assert ids(cells) == {"b": "c1", "d": "c3"}


def test_a_cell_that_fails_keeps_what_it_had_bound(cells, run):
    run("a = 1\n1 / 0", "c1")
    run("b = 2", "c2")
    assert ids(cells) == {"a": "c1", "b": "c2"}


def test_empty_cells_and_private_names_do_not_count(cells, run):
    run("", "c1")
    run("_hidden = 1\na = 1", "c2")
    assert ids(cells) == {"a": "c2"}


def test_a_cell_run_by_a_cell_is_part_of_the_notebook_cell(cells, run):
    run("a = 1\nget_ipython().run_cell('b = 2')\nc = 3", "c1")
    assert ids(cells) == {"a": "c1", "b": "c1", "c": "c1"}


def test_what_the_agents_code_binds_belongs_to_the_cell_that_asked(
    cells, run, ipython_shell, monkeypatch
):
    seen = {}

    def as_agent():
        token = AGENT_CODE.set(True)
        ipython_shell.run_cell("made = 1")
        AGENT_CODE.reset(token)
        seen.update(ids(cells))  # as a record would be written within the cell

    monkeypatch.setitem(ipython_shell.user_ns, "_as_agent", as_agent)
    run("_as_agent()", "c1")
    assert seen == {"made": "c1"}
    run("other = 1", "c2")
    assert ids(cells) == {"made": "c1", "other": "c2"}


def test_a_cancelled_cell_ends_for_us_too(cells, run, ipython_shell):
    ipython_shell.events.trigger("pre_run_cell", run("a = 1", "c1").info)
    ipython_shell.events.trigger("post_run_cell", None)
    ipython_shell.user_ns["b"] = 2
    assert ids(cells) == {"a": "c1"}


def test_loading_again_keeps_what_is_known_and_follows_once(ipython_shell, run):
    ipython_shell.run_line_magic("load_ext", "mewcode_nb")
    run("a = 1", "c1")
    ipython_shell.run_line_magic("reload_ext", "mewcode_nb")
    run("b = 1", "c2")
    assert ids(kept_cells(ipython_shell)) == {"a": "c1", "b": "c2"}
    begin = kept_cells(ipython_shell).begin
    assert ipython_shell.events.callbacks["pre_run_cell"].count(begin) == 1
    ipython_shell.run_line_magic("unload_ext", "mewcode_nb")
    assert begin not in ipython_shell.events.callbacks["pre_run_cell"]


def test_no_value_is_kept_alive(cells, run, ipython_shell):
    import weakref

    run("class Big: pass\nbig = Big()", "c1")
    watched = weakref.ref(ipython_shell.user_ns["big"])
    run("big = None", "c2")
    assert watched() is None
