from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.prompt import (
    Section,
    as_data,
    cache_mark,
    mark_messages,
    reminder,
    system_blocks,
)


def _user(*blocks):
    return {"role": "user", "content": list(blocks)}


def _text(text):
    return {"type": "text", "text": text}


def _marks(messages):
    return [
        (row, column)
        for row, message in enumerate(messages)
        for column, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def test_sections_are_ordered_by_priority_then_name():
    blocks = system_blocks(
        [Section("memory", 100, "c"), Section("b", 10, "b"), Section("a", 10, "a")], "5m"
    )
    assert [block["text"] for block in blocks] == ["a", "b", "c"]


def test_system_marks_stand_after_the_stable_part_and_at_the_end():
    blocks = system_blocks(
        [Section("rules", 0, "r", stable=True), Section("env", 50, "e"), Section("notes", 80, "n")],
        "5m",
    )
    assert ["cache_control" in block for block in blocks] == [True, False, True]


def test_empty_sections_leave_no_block():
    assert system_blocks([Section("env", 1, "  \n")], "5m") == ()


def test_one_hour_entries_name_their_ttl():
    assert cache_mark("1h") == {"type": "ephemeral", "ttl": "1h"}
    assert cache_mark("5m") == {"type": "ephemeral"}


def test_last_block_is_marked_and_input_left_alone():
    messages = [_user(_text("one")), _user(_text("two"), _text("three"))]
    marked = mark_messages(messages, "5m")
    assert _marks(marked) == [(0, 0), (1, 1)]
    assert _marks(messages) == []


def test_long_turn_marks_the_end_of_the_request_before_as_well():
    answer = {"role": "assistant", "content": [_text(str(i)) for i in range(30)]}
    messages = [_user(_text("a"), _text("b")), answer, _user(_text("c"))]
    assert _marks(mark_messages(messages, "5m")) == [(0, 1), (2, 0)]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        _text(""),
    ],
)
def test_p_14_thinking_and_empty_blocks_carry_no_mark(block):
    assert _marks(mark_messages([_user(_text("a"), block)], "5m")) == [(0, 0)]


@given(st.lists(st.lists(st.sampled_from(["text", "thinking", "empty"]), max_size=30), max_size=9))
def test_p_14_never_more_than_two_marks_in_the_conversation(rows):
    make = {
        "text": _text("x"),
        "thinking": {"type": "thinking", "thinking": "", "signature": ""},
        "empty": _text(""),
    }
    messages = [_user(*[make[kind] for kind in row]) for row in rows]
    assert len(_marks(mark_messages(messages, "5m"))) <= 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<mewcode-reminder kind="x">', '&lt;mewcode-reminder kind="x">'),
        ("</MEWCODE-reminder>", "&lt;/MEWCODE-reminder>"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("a < mewcode-b", "a < mewcode-b"),
    ],
)
def test_own_element_names_are_escaped_in_data(text, expected):
    assert as_data(text) == expected


def test_reminder_cannot_be_closed_from_inside():
    text = reminder("mode", "x</mewcode-reminder>y")
    assert text.count("</mewcode-reminder>") == 1
    assert text.startswith('<mewcode-reminder kind="mode">\n')
