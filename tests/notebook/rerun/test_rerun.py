from __future__ import annotations

import json

import pytest

from mewcode_nb.testing import fail

pytestmark = pytest.mark.kernel


def test_the_same_cell_shows_its_stored_answer_and_sends_nothing(begin, server):
    server.add("the first answer")
    cells = begin()
    assert "the first answer" in cells("one", "%%mewcode -o a\nhi").text
    again = cells("one", "%%mewcode -o b\nhi")
    assert again.status == "ok", again.text
    assert "the first answer" in again.text
    assert "stored answer" in again.text
    assert "--fresh" in again.text
    assert len(server.requests) == 1
    assert cells.value("(b.text, b.stored, a.stored, a.usage == b.usage, a.turn == b.turn)") == (
        "('the first answer', True, False, True, True)"
    )


def test_another_text_or_another_cell_runs(begin, server):
    server.add("one", "two", "three")
    cells = begin()
    cells("one", "%%mewcode\nhi")
    assert "two" in cells("one", "%%mewcode\nhi there").text
    assert "three" in cells("two", "%%mewcode\nhi").text
    assert len(server.requests) == 3


def test_run_all_in_a_new_kernel_bills_nothing_and_a_new_prompt_goes_on(begin, server, sessions):
    server.add("one", "two")
    cells = begin()
    cells("one", "%%mewcode\nfirst")
    cells("two", "%%mewcode\nsecond")
    cells.restart()
    assert "one" in cells("one", "%%mewcode\nfirst").text
    assert "two" in cells("two", "%%mewcode\nsecond").text
    assert len(server.requests) == 2
    (path,) = sessions()
    assert path.parent.name in cells("status", "%mewcode status").text
    server.add("three")
    assert "three" in cells("three", "%%mewcode\nthird").text
    assert len(server.requests[-1].body["messages"]) == 5
    assert sessions() == [path]


def test_replays_hold_nothing_and_a_prompt_beside_another_kernel_forks(begin, server, sessions):
    server.add("one", "two")
    first, second = begin(), begin()
    first("one", "%%mewcode\nfirst")
    assert "one" in second("one", "%%mewcode\nfirst").text
    assert len(sessions()) == 1
    ran = second("new", "%%mewcode\nand now")
    assert "fork" in ran.text
    assert len(server.requests[-1].body["messages"]) == 3
    assert len(sessions()) == 2
    assert "one" in second("one", "%%mewcode\nfirst").text
    assert len(server.requests) == 2


def test_a_turn_that_failed_is_run_again(begin, server):
    server.add(fail(400, message="no such thing"), "now it works")
    cells = begin()
    assert cells("one", "%%mewcode\nhi").status == "error"
    assert "now it works" in cells("one", "%%mewcode\nhi").text
    assert "stored answer" in cells("one", "%%mewcode\nhi").text


def test_the_same_words_asked_twice_in_one_cell_are_two_turns(begin, server):
    server.add("one", "two")
    cells = begin()
    code = "for _ in range(2):\n    x = %mewcode ask hi\n    print('got', x.text)"
    assert "got two" in cells("loop", code).text
    again = cells("loop", code).text
    assert again.index("got one") < again.index("got two")
    assert len(server.requests) == 2


def test_fresh_replaces_the_turn_and_undo_brings_the_branch_back(begin, server):
    server.add("one", "two", "three", "other")
    cells = begin()
    for cell in ("one", "two", "three"):
        cells(cell, f"%%mewcode\n{cell}")
    ran = cells("two", "%%mewcode --fresh\ntwo")
    assert "with the turns after it (1)" in ran.text
    assert "--undo" in ran.text
    assert [block["text"] for m in server.requests[-1].body["messages"] for block in m["content"]][
        :2
    ] == ["one", "one"]
    assert "other" in cells("two", "%%mewcode\ntwo").text
    undone = cells("undo", "%mewcode rewind --undo")
    assert undone.status == "ok", undone.text
    assert "two" in cells("two", "%%mewcode\ntwo").text
    assert "three" in cells("three", "%%mewcode\nthree").text
    assert len(server.requests) == 4


def test_a_fresh_run_that_never_begins_replaces_nothing(begin, server, sessions):
    server.add("one", "two")
    cells = begin()
    cells("one", "%%mewcode\none")
    cells("two", "%%mewcode\ntwo")
    (log,) = sessions()
    before = log.read_bytes()
    cells(
        "break",
        "pub = get_ipython().display_pub\ndef gone(*a, **k): raise OSError('no screen')\n"
        "pub.publish = gone",
    )
    assert cells("one", "%%mewcode --fresh\none").status == "error"
    assert cells("mend", "del pub.publish").status == "ok"
    assert log.read_bytes() == before
    server.add("three")
    cells("three", "%%mewcode\nthree")
    assert len(server.requests[-1].body["messages"]) == 5
    assert len(server.requests) == 3


def test_a_refused_fresh_run_is_stored_with_its_prompt_and_can_be_undone(begin, server, sessions):
    server.add("one", fail(400, message="no such thing"))
    cells = begin()
    cells("one", "%%mewcode\none")
    assert "--undo" in cells("one", "%%mewcode --fresh\none").text
    (log,) = sessions()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    place = [line["type"] for line in lines].index("rewind")
    assert lines[place]["to"] == ""
    assert lines[place + 1]["content"][0]["text"].strip() == "one"
    assert cells("undo", "%mewcode rewind --undo").status == "ok"
    assert "stored answer" in cells("one", "%%mewcode\none").text


def test_the_setting_fresh_runs_every_cell_again(begin, server):
    server.add("one", "two")
    cells = begin(MEWCODE_RERUN="fresh")
    cells("one", "%%mewcode\nhi")
    assert "two" in cells("one", "%%mewcode\nhi").text
    assert len(server.requests[-1].body["messages"]) == 1


def test_a_cell_that_begins_a_session_replays_too(begin, server, sessions):
    server.add("one", "two")
    cells = begin()
    cells("one", "%%mewcode\nhi")
    cells("two", "%%mewcode --new\nhello")
    after = begin()
    assert "one" in after("one", "%%mewcode\nhi").text
    assert "two" in after("two", "%%mewcode --new\nhello").text
    assert (len(server.requests), len(sessions())) == (2, 2)


def test_a_session_left_with_new_replays_but_is_not_gone_on_with(begin, server, sessions):
    server.add("one", "two")
    cells = begin()
    cells("one", "%%mewcode\nhi")
    cells("new", "%mewcode new")
    assert "stored answer" in cells("one", "%%mewcode\nhi").text
    cells("two", "%%mewcode\nhello")
    assert len(server.requests[-1].body["messages"]) == 1
    assert len(sessions()) == 2


def test_a_cell_may_name_its_session(begin, server, sessions):
    server.add("one", "two", "three")
    cells = begin()
    cells("one", "%%mewcode\nhi")
    (path,) = sessions()
    name = path.parent.name
    cells("two", "%%mewcode --new\nhello")
    cells("three", f"%%mewcode --session {name[:-1]}\nand?")
    assert len(server.requests[-1].body["messages"]) == 3
    assert "three" in cells("three", f"%%mewcode --session {name[:-1]}\nand?").text
    assert len(server.requests) == 3
    wrong = cells("four", "%%mewcode --session nonsense\nand?")
    assert (wrong.status, wrong.ename) == ("error", "SessionNotFound")


def test_a_fork_leaves_the_bytes_of_its_parent_alone(begin, server, sessions):
    server.add("one", "two", "three")
    cells = begin()
    cells("one", "%%mewcode\nhi")
    cells("two", "%%mewcode\nmore")
    (parent,) = sessions()
    before = parent.read_bytes()
    forked = cells("fork", "%mewcode fork 2")
    assert forked.status == "ok", forked.text
    cells("three", "%%mewcode\nelse")
    assert parent.read_bytes() == before
    assert len(server.requests[-1].body["messages"]) == 3
    assert len(sessions()) == 2
