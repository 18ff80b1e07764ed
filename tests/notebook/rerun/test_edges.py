from __future__ import annotations

import json
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from mewcode_nb.session.records import CompactRecord, Section, to_line
from mewcode_nb.testing import Fault, reply, tool_use

pytestmark = pytest.mark.kernel

HEADLESS = {"allow_stdin": False}


def sent(server):
    """How many messages each request had."""
    return [len(log.body["messages"]) for log in server.requests]


def test_five_prompts_are_billed_once_here_and_after_a_restart(begin, server, sessions):
    server.add(*"abcde")
    cells = begin()
    prompts = {name: f"%%mewcode\nprompt {name}" for name in "abcde"}
    for _ in range(2):
        for name, code in prompts.items():
            assert cells(name, code).status == "ok"
    cells.restart()
    for name, code in prompts.items():
        ran = cells(name, code)
        assert ran.text.strip().startswith(name), ran.text
        assert "stored answer" in ran.text
    assert sent(server) == [1, 3, 5, 7, 9]
    server.add("f")
    assert "goes on here" in cells("f", "%%mewcode\nprompt f").text
    assert sent(server)[-1] == 11
    assert len(sessions()) == 1


def test_an_edited_cell_is_a_new_turn_and_edited_back_shows_the_old_answer(begin, server):
    server.add("one", "two", "three")
    cells = begin()
    cells("a", "%%mewcode\nhi")
    cells("b", "%%mewcode\nmore")
    assert "three" in cells("a", "%%mewcode\nhi there").text
    assert sent(server) == [1, 3, 5]
    assert "one" in cells("a", "%%mewcode --mode plan\nhi").text
    assert len(server.requests) == 3


def test_a_cell_without_an_id_is_asked_again_by_a_person_but_not_by_run_all(begin, server):
    server.add("one", "two")
    cells = begin()
    kernel = cells.kernel
    assert "one" in kernel.run("%%mewcode\nhi", allow_stdin=True).text
    assert "two" in kernel.run("%%mewcode\nhi", allow_stdin=True).text
    after = begin().kernel
    replayed = [after.run("%%mewcode\nhi", **HEADLESS).text for _ in range(2)]
    assert ["one" in replayed[0], "two" in replayed[1]] == [True, True]
    assert len(server.requests) == 2


def test_two_notebooks_in_one_folder_keep_their_answers_apart(begin, server, sessions, in_project):
    server.add("of one", "of two")
    names = [str(in_project.notebooks / f"{name}.ipynb") for name in ("one", "two")]
    for name in names:
        nbformat.write(new_notebook(), name)
    first, second = (begin(JPY_SESSION_NAME=name) for name in names)
    assert "of one" in first("same", "%%mewcode\nhi", **HEADLESS).text
    assert "of two" in second("same", "%%mewcode\nhi", **HEADLESS).text
    assert "of one" in first("same", "%%mewcode\nhi").text
    assert (len(server.requests), len(sessions())) == (2, 2)


def test_a_notebook_that_was_moved_and_renamed_finds_its_answers(begin, server, in_project):
    server.add("one", "two")
    old, new = in_project.notebooks / "old.ipynb", in_project.root / "else" / "new.ipynb"
    book = new_notebook(cells=[new_code_cell("%%mewcode\nhi", id="cell-a")])
    nbformat.write(book, old)
    begin(JPY_SESSION_NAME=str(old))("cell-a", "%%mewcode\nhi")
    new.parent.mkdir()
    old.rename(new)
    after = begin(JPY_SESSION_NAME=str(new))
    assert "one" in after("cell-a", "%%mewcode\nhi").text
    assert "two" in after("cell-b", "%%mewcode\nmore").text
    assert sent(server) == [1, 3]


def spoil(path, wanted):
    """Damage the lines of a log in which the words stand, as a bad disk does."""
    lines = path.read_bytes().split(b"\n")
    spoilt = [b"\x00" + line[9:-9] + b"\xff" if wanted in line else line for line in lines]
    path.write_bytes(b"\n".join(spoilt))


def test_damage_elsewhere_hides_no_answer_and_a_damaged_answer_is_asked_for_again(
    begin, server, sessions
):
    server.add("answer one", "answer two", "answer anew")
    begin_here = begin()
    begin_here("a", "%%mewcode\nfirst")
    begin_here("b", "%%mewcode\nsecond")
    (path,) = sessions()
    begin_here.restart()
    spoil(path, b"answer two")
    with path.open("ab") as file:
        file.write(b'garbage\n{"type":"message"')
    before = path.read_bytes()
    assert "answer one" in begin_here("a", "%%mewcode\nfirst").text
    assert len(server.requests) == 2
    assert path.read_bytes() == before
    assert "answer anew" in begin_here("b", "%%mewcode\nsecond").text
    assert len(server.requests) == 3


def test_a_session_that_cannot_be_read_at_all_costs_a_new_turn_and_no_error(
    begin, server, sessions
):
    server.add("one", "two")
    cells = begin()
    cells("a", "%%mewcode\nfirst")
    (path,) = sessions()
    cells.restart()
    path.write_bytes(b"\xff" * 4096)
    ran = cells("a", "%%mewcode\nfirst")
    assert (ran.status, "two" in ran.text) == ("ok", True), ran.text
    assert len(sessions()) == 2


def test_a_turn_that_was_interrupted_is_never_replayed(begin, server):
    server.add(reply("begun and stalled", fault=Fault("stall", after="middle")), "whole")
    cells = begin()
    message = cells.start("a", "%%mewcode\nhi")
    server.wait_for_request(1, timeout=30)
    cells.kernel.interrupt()
    assert cells.kernel.finish(message).ename == "Interrupted"
    cells.restart()
    assert "whole" in cells("a", "%%mewcode\nhi").text
    assert len(server.requests) == 2


def test_code_that_the_agent_runs_gets_no_stored_answer(begin, server):
    code = "get_ipython().run_line_magic('mewcode', 'ask hi')"
    server.add("one", reply(tool_use("run_python", code=code)), "done")
    cells = begin()
    cells("a", "%%mewcode\nhi")
    ran = cells("b", "%%mewcode --mode open\nrun it")
    assert ran.status == "ok", ran.text
    assert "not possible from a running turn" in json.dumps(server.requests[-1].body)
    assert len(server.requests) == 3


def test_new_and_session_say_where_a_fresh_run_goes(begin, server, sessions):
    server.add("one", "two", "three", "four")
    cells = begin()
    cells("a", "%%mewcode\nhi")
    cells("b", "%%mewcode\nmore")
    name = sessions()[0].parent.name
    assert "three" in cells("b", "%%mewcode --new --fresh\nmore").text
    assert sent(server) == [1, 3, 1]
    assert "four" in cells("b", f"%%mewcode --session {name} --fresh\nmore").text
    assert sent(server) == [1, 3, 1, 3]
    undone = cells("undo", "%mewcode rewind --undo")
    assert undone.status == "ok", undone.text
    assert "two" in cells("b", f"%%mewcode --session {name}\nmore").text
    assert len(sessions()) == 2


def test_a_turn_that_was_compacted_away_still_shows_its_answer_and_can_be_replaced(
    begin, server, sessions
):
    server.add("one", "two", "anew")
    cells = begin()
    cells("a", "%%mewcode\nfirst")
    cells("b", "%%mewcode\nsecond")
    (path,) = sessions()
    cells.restart()
    summary = CompactRecord(time.time(), "c1", "manual", (Section("goal", "g"),))
    with path.open("ab") as file:
        file.write(to_line(summary))
    for name, words, answer in (("a", "first", "one"), ("b", "second", "two")):
        assert answer in cells(name, f"%%mewcode\n{words}").text
    assert len(server.requests) == 2
    ran = cells("b", "%%mewcode --fresh\nsecond")
    assert "anew" in ran.text, ran.text
    assert sent(server)[-1] == 3
