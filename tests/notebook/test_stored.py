from __future__ import annotations

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.notebook.stored import (
    Stored,
    find_turn,
    names_made,
    recorded_calls,
    shown_richly,
    turn_result,
)
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.records import (
    Cell,
    MessageRecord,
    NamespaceRecord,
    SpillRecord,
    Variable,
    to_line,
)
from mewcode_nb.session.turns import turns


def text(words):
    return {"type": "text", "text": words}


def asked(turn, cell, sha, words="hi"):
    return MessageRecord(
        float(turn), f"q{turn}", "user", (text(words),), "user", turn, Cell(cell, sha)
    )


def answered(turn, words="yes", **more):
    facts = {"usage": Usage(10, 0, 5, 3), "model": "m-1", "stop_reason": "end_turn", **more}
    return MessageRecord(
        turn + 0.5, f"a{turn}", "assistant", (text(words),), "assistant", turn, **facts
    )


def called(turn, *codes, name="run_python"):
    blocks = [
        {"type": "tool_use", "id": f"t{number}", "name": name, "input": {"code": code}}
        for number, code in enumerate(codes)
    ]
    return MessageRecord(float(turn), f"c{turn}", "assistant", tuple(blocks), "assistant", turn)


def results(turn, *contents, errors=()):
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": content,
            "is_error": number in errors,
        }
        for number, content in enumerate(contents)
    ]
    return MessageRecord(float(turn), f"r{turn}", "user", tuple(blocks), "tool", turn)


TALK = (
    asked(1, "one", "s1"),
    answered(1),
    asked(2, "two", "s2"),
    answered(2, incomplete=True),
    asked(3, "three", "s1"),
    answered(3),
)


@pytest.mark.parametrize(
    ("cell", "sha", "used", "number"),
    [
        ("one", "s1", (), 1),
        ("three", "s1", (), 3),
        ("one", "other", (), None),
        ("four", "s1", (), None),
        ("", "s1", (), 1),
        ("", "s1", ("a1",), 3),
        ("", "s1", ("a1", "a3"), None),
        ("two", "s2", (), None),
    ],
)
def test_a_turn_is_found_by_cell_and_text_in_order_and_only_when_whole(cell, sha, used, number):
    found = find_turn(TALK, Cell(cell, sha), used)
    assert (found and found.number) == number


def test_a_broken_turn_is_found_where_it_is_to_be_replaced():
    found = find_turn(TALK, Cell("two", "s2"), (), whole=False)
    assert found is not None
    stored = Stored("s", TALK, found)
    assert (stored.before, stored.later) == ("a1", 1)
    assert Stored("s", TALK, turns(TALK)[0]).before == ""


def test_the_result_is_the_turns_own_and_says_that_it_is_stored():
    result = turn_result(turns(TALK)[0], "20261201-000000-abcd")
    assert (result.text, result.model, result.turn, result.steps) == ("yes", "m-1", 1, 1)
    assert result.usage == Usage(10, 0, 5, 3)
    assert result.seconds == 0.5
    assert result.stored


def test_only_code_that_ran_well_is_recorded():
    records = (
        asked(1, "one", "s1"),
        called(1, "x = 1", "1/0", "y = 2"),
        results(1, "ok", "Traceback", "ok", errors=(1,)),
        answered(1),
    )
    stored = Stored("s", records, turns(records)[0])
    assert [call["input"]["code"] for call in recorded_calls(stored)] == ["x = 1", "y = 2"]
    spilled = {("t0", "input/code"): SpillRecord(1.0, "t0", "p", 1, "", "x…", "input/code")}
    assert recorded_calls(Stored("s", records, turns(records)[0], spills=spilled)) == ()
    other = (asked(1, "one", "s1"), called(1, "ls", name="shell"), results(1, "ok"), answered(1))
    assert recorded_calls(Stored("s", other, turns(other)[0])) == ()


def test_names_are_those_of_the_turns_own_part_of_the_log(tmp_path):
    made = NamespaceRecord(1.0, 1, (Variable("x"), Variable("gone")), (Variable("old"),))
    lines = [
        NamespaceRecord(0.0, 1, (Variable("before"),)),
        asked(1, "one", "s1"),
        made,
        NamespaceRecord(1.0, 1, removed=("gone",)),
        answered(1),
        NamespaceRecord(2.0, 2, (Variable("after"),)),
    ]
    data, offsets = b"", {}
    for record in lines:
        if isinstance(record, MessageRecord):
            offsets[record.id] = len(data)
        data += to_line(record)
    (tmp_path / LOG_NAME).write_bytes(data)
    records = (lines[1], lines[4])
    turn = turns(records)[0]
    assert names_made(Stored("s", records, turn, tmp_path, offsets)) == ("x", "old")
    assert names_made(Stored("s", records, turn, tmp_path / "gone", offsets)) == ()
    assert names_made(Stored("s", records, turn, tmp_path, {})) == ()


@pytest.mark.parametrize(
    ("content", "rich"),
    [
        ("plain", False),
        ("x\n[display]\n<Figure>", True),
        ([{"type": "text", "text": "ok"}, {"type": "image", "source": {}}], True),
        ([{"type": "text", "text": "ok"}], False),
        (None, False),
    ],
)
def test_displays_that_no_session_keeps_are_known_by_what_the_model_was_told(content, rich):
    records = (asked(1, "one", "s1"), called(1, "plot()"), results(1, content), answered(1))
    assert shown_richly(turns(records)[0]) is rich
