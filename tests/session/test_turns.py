from __future__ import annotations

import pytest

from mewcode_nb.errors import SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block, tool_result
from mewcode_nb.prompt import reminder
from mewcode_nb.session.records import Cell, MessageRecord
from mewcode_nb.session.turns import message_id, turns


def message(identity, role, blocks, turn, origin=None, **more):
    return MessageRecord(1.0, identity, role, tuple(blocks), origin or role, turn=turn, **more)


CALL = {"type": "tool_use", "id": "t1", "name": "run_python", "input": {"code": "1"}}
TALK = (
    message(
        "m1",
        "user",
        [text_block("count"), text_block(reminder("mode", "ask"))],
        1,
        cell=Cell("c1", "ff"),
    ),
    message(
        "m2", "assistant", [text_block("let me see"), CALL], 1, usage=Usage(5, output_tokens=2)
    ),
    message("m3", "user", [tool_result("t1", "1", is_error=True)], 1, origin="tool"),
    message("m4", "assistant", [text_block("one")], 1, usage=Usage(7, output_tokens=1)),
    message("m5", "user", [text_block("and now?")], 2),
    message("m6", "assistant", [text_block("it st")], 2, incomplete=True),
    message("m7", "user", [text_block(reminder("interrupted", "stopped"))], 2, origin="reminder"),
)


def test_turns_tell_prompt_answer_calls_cell_and_cost():
    first, second = turns(TALK)
    assert (first.number, first.first, first.last, first.last_id) == (1, 1, 4, "m4")
    assert first.prompt == "count"
    assert first.answer == "one"
    assert first.cell == Cell("c1", "ff")
    assert first.usage == Usage(12, output_tokens=3)
    assert first.complete
    assert [(c.call["name"], c.output, c.is_error) for c in first.calls()] == [
        ("run_python", "1", True)
    ]
    assert (second.first, second.last, second.prompt, second.answer) == (5, 7, "and now?", "it st")
    assert not second.complete


def test_a_summary_is_no_part_of_the_turn_that_follows():
    summary = message("c9", "user", [text_block("so far")], 2, origin="summary")
    cut = turns((summary, *TALK[4:]))
    assert [(turn.prompt, turn.first, turn.last) for turn in cut] == [
        ("", 1, 1),
        ("and now?", 2, 4),
    ]


def test_an_unanswered_call_has_no_output():
    assert [call.output for turn in turns(TALK[:2]) for call in turn.calls()] == [None]


@pytest.mark.parametrize(("named", "found"), [("1", "m1"), ("7", "m7"), ("m4", "m4")])
def test_messages_are_named_by_number_or_id(named, found):
    assert message_id(TALK, named) == found


@pytest.mark.parametrize("named", ["0", "8", "-1", "", "m8", "9" * 5000, "٣"])
def test_a_wrong_message_name_says_what_there_is(named):
    with pytest.raises(SessionNotFound, match="this conversation of 7 messages"):
        message_id(TALK, named)


@pytest.mark.parametrize("named", ["0000000018", "10000000000", "8", "0"])
def test_a_number_that_no_message_has_is_refused_however_it_is_written(named):
    with pytest.raises(SessionNotFound, match=f"no message {named} in this conversation of 7"):
        message_id(TALK, named)


def test_an_id_made_of_digits_is_an_id():
    digits = message("0000000000000002", "user", [text_block("again")], 3)
    assert message_id((*TALK, digits), digits.id) == digits.id
    assert message_id((*TALK, digits), "2") == "m2"
