from __future__ import annotations

import json

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.messages import Message
from mewcode_nb.repair import repair
from mewcode_nb.session.load import load
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    PlacedRecord,
    ReadRecord,
    RewindRecord,
    Section,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    UnknownRecord,
    Variable,
)
from mewcode_nb.session.replay import fold


def state_of(*records):
    placed = (
        PlacedRecord(record, number * 100, number + 1) for number, record in enumerate(records)
    )
    return fold(placed)


def ids(state):
    return [message.id for message in state.messages]


def user(identity, turn=0, **more):
    content = ({"type": "text", "text": identity},)
    return MessageRecord(1.0, identity, "user", content, "user", turn=turn, **more)


def answer(identity, *blocks, turn=0, **more):
    content = blocks or ({"type": "text", "text": identity},)
    return MessageRecord(1.0, identity, "assistant", content, "assistant", turn=turn, **more)


def compact(identity="c1", keep=(), **more):
    sections = (Section("", "What happened:"), Section("1. Goal", "Ship it."))
    return CompactRecord(2.0, identity, "manual", sections, keep=tuple(keep), **more)


TALK = (user("u1", 1), answer("a1", turn=1), user("u2", 2), answer("a2", turn=2))


def test_messages_come_back_as_they_were_said():
    state = state_of(SessionRecord(0.5, "s", model="m"), *TALK)
    assert state.messages[1] == Message(
        "assistant", ({"type": "text", "text": "a1"},), "assistant", "a1", 1
    )
    assert state.header.id == "s"
    assert state.model == "m"
    assert state.turns == 2
    assert state.offsets["u2"] == 300
    assert state.last_ts == 1.0
    assert state.damage == ()


def test_row_33_usage_counts_once_for_each_response_and_the_last_line_wins():
    state = state_of(
        user("u1"),
        answer("a1", message_id="msg_1", usage=Usage(10, 100, 1000, 1)),
        answer("a2", message_id="msg_1", usage=Usage(10, 100, 1000, 7)),
        answer("a3", message_id="msg_2", usage=Usage(1, 0, 0, 1)),
        answer("a4", usage=Usage(1, 0, 0, 1)),
        RewindRecord(2.0, "u1"),
    )
    assert state.usage == Usage(12, 100, 1000, 9)


def test_message_given_twice_stands_once_where_it_stood_first():
    state = state_of(user("u1"), answer("a1"), user("u1"), answer("a1", {"type": "x"}))
    assert ids(state) == ["u1", "a1"]
    assert state.messages[1].content == ({"type": "x"},)


def test_row_11_title_outlives_compactions_and_null_removes_a_fact():
    state = state_of(
        MetaRecord(1.0, {"title": "first", "pin": True}),
        MetaRecord(1.0, {"title": "second", "pin": None}),
        *TALK,
        compact("c1", ["a2"]),
        compact("c2"),
    )
    assert state.meta == {"title": "second"}


def test_rewind_drops_what_came_after_and_the_numbers_go_back():
    state = state_of(*TALK, RewindRecord(2.0, "a1"), user("u3", 2))
    assert ids(state) == ["u1", "a1", "u3"]
    assert state.turns == 2
    assert ids(state_of(*TALK, RewindRecord(2.0, ""), user("u9", 1))) == ["u9"]
    assert state_of(*TALK, RewindRecord(2.0, "")).turns == 0


def test_rewind_takes_back_what_the_abandoned_branch_read_and_defined():
    first, second = ReadRecord(1.0, "/a", "old"), ReadRecord(1.0, "/a", "new")
    df, gone = Variable("df", "DataFrame"), Variable("df", "int")
    state = state_of(
        user("u1"),
        first,
        NamespaceRecord(1.0, 1, created=(df,)),
        user("u2"),
        second,
        NamespaceRecord(1.0, 2, changed=(gone,)),
        RewindRecord(2.0, "u1"),
    )
    assert state.reads == {"/a": first}
    assert state.namespace == {"df": df}
    assert state_of(user("u1"), first, RewindRecord(2.0, "")).reads == {}


def test_rewind_to_what_is_not_there_changes_nothing_and_is_reported():
    state = state_of(*TALK, RewindRecord(2.0, "nowhere"))
    assert ids(state) == ["u1", "a1", "u2", "a2"]
    assert [str(d) for d in state.damage] == ["line 5: no message nowhere to go back to"]


def test_compaction_leaves_summary_kept_messages_without_thinking_and_what_follows():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "t1", "name": "n", "input": {}}
    state = state_of(
        *TALK,
        user("u3", 3),
        answer("a3", thought, call, turn=3),
        compact(keep=["u3", "a3"], attachment="Files: a.py"),
        user("u4", 4),
    )
    assert ids(state) == ["c1", "u3", "a3", "u4"]
    assert state.messages[0] == Message(
        "user",
        (
            {"type": "text", "text": "What happened:\n\n## 1. Goal\nShip it."},
            {"type": "text", "text": "Files: a.py"},
        ),
        "summary",
        "c1",
        3,
    )
    assert state.messages[2].content == (call,)
    assert [record.id for record in state.compactions] == ["c1"]
    assert state.turns == 4


def test_undone_compaction_brings_back_the_words_and_keeps_what_followed():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    last = answer("a3", thought, {"type": "text", "text": "a3"})
    state = state_of(*TALK, last, compact(keep=["a3"]), user("u4"), UncompactRecord(3.0, "c1"))
    assert ids(state) == ["u1", "a1", "u2", "a2", "a3", "u4"]
    assert state.messages[4].content[0] is thought
    assert state.compactions == ()


def test_what_was_thought_after_a_compaction_does_not_outlive_its_undoing():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    said = {"type": "text", "text": "a4"}
    later = answer("a4", thought, said)
    state = state_of(*TALK, compact(), user("u4"), later, UncompactRecord(3.0, "c1"))
    assert state.messages[-1].content == (said,)


def test_row_33_a_summary_is_paid_for_once_and_stays_paid_for_when_it_is_undone():
    paid = compact(usage=Usage(5, 0, 90, 7), model="m")
    log = [user("u1"), answer("a1", usage=Usage(10, 100, 1000, 1)), paid]
    assert state_of(*log).usage == Usage(15, 100, 1090, 8)
    assert state_of(*log, UncompactRecord(3.0, "c1")).usage == Usage(15, 100, 1090, 8)


def test_compactions_on_compactions_are_undone_one_by_one():
    log = [*TALK, compact("c1", ["a2"]), user("u3"), compact("c2", ["u3"]), user("u4")]
    assert ids(state_of(*log)) == ["c2", "u3", "u4"]
    log.append(UncompactRecord(3.0, "c2"))
    assert ids(state_of(*log)) == ["c1", "a2", "u3", "u4"]
    log.append(UncompactRecord(3.0, "c1"))
    assert ids(state_of(*log)) == ["u1", "a1", "u2", "a2", "u3", "u4"]


@pytest.mark.parametrize("compaction", ["c1", "c9"])
def test_only_the_last_compaction_in_force_can_be_undone(compaction):
    state = state_of(
        *TALK, compact("c1"), user("u3"), compact("c2"), UncompactRecord(3.0, compaction)
    )
    assert ids(state) == ["c2"]
    assert [str(d) for d in state.damage] == [f"line 8: no compaction {compaction} to take back"]


def test_rewind_to_before_a_compaction_undoes_it():
    state = state_of(*TALK, compact(keep=["a2"]), user("u3"), RewindRecord(3.0, "a1"))
    assert ids(state) == ["u1", "a1"]
    assert state.compactions == ()


def test_undoing_a_compaction_does_not_bring_back_kept_messages_that_were_rewound():
    log = [*TALK, compact(keep=["u2", "a2"]), RewindRecord(3.0, "u2"), UncompactRecord(4.0, "c1")]
    assert ids(state_of(*log)) == ["u1", "a1", "u2"]


def test_spill_of_a_kept_message_puts_the_preview_in_its_place():
    call = {"type": "tool_use", "id": "t1", "name": "n", "input": {"content": "long", "path": "p"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "long", "is_error": True}
    spill = SpillRecord(2.0, "t1", "tool-results/t1", 4, "ab", "[4 bytes]")
    moved = SpillRecord(2.0, "t1", "tool-results/t1i", 4, "ab", "[cut]", target="input/content")
    state = state_of(
        user("u1"),
        answer("a1", call),
        MessageRecord(1.0, "r1", "user", (result,), "tool"),
        compact(keep=["a1", "r1"]),
        spill,
        moved,
    )
    assert state.messages[1].content[0]["input"] == {"content": "[cut]", "path": "p"}
    assert state.messages[2].content[0] == {**result, "content": "[4 bytes]"}
    assert state.spills == {("t1", "result"): spill, ("t1", "input/content"): moved}


def test_spill_in_the_batch_of_its_message_changes_nothing():
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "[4 bytes]"}
    spill = SpillRecord(2.0, "t1", "tool-results/t1", 4, "ab", "[4 bytes]")
    message = MessageRecord(1.0, "r1", "user", (result,), "tool")
    before = state_of(spill, message).messages
    assert before == state_of(message, spill).messages
    assert before[0].content == (result,)


def test_names_are_created_changed_and_removed():
    state = state_of(
        NamespaceRecord(1.0, 1, created=(Variable("a", "int"), Variable("b"))),
        NamespaceRecord(1.0, 2, changed=(Variable("a", "str"),), removed=("b", "c")),
    )
    assert state.namespace == {"a": Variable("a", "str")}


def test_a_title_or_pin_is_no_activity():
    assert state_of(user("u1"), MetaRecord(9.0, {"title": "t", "pin": None})).last_ts == 1.0


def test_unknown_records_are_passed_over():
    state = state_of(user("u1"), UnknownRecord(9.0, "later", {"type": "later"}))
    assert ids(state) == ["u1"]
    assert state.last_ts == 9.0


def test_compaction_that_keeps_what_is_gone_keeps_the_rest_and_is_reported():
    state = state_of(*TALK, compact(keep=["a2", "zz"]))
    assert ids(state) == ["c1", "a2"]
    assert [d.line for d in state.damage] == [5]


def test_p_12_thinking_and_calls_come_back_from_the_file_byte_for_byte(new_log):
    log = new_log()
    blocks = (
        {"type": "thinking", "thinking": "  😀 trailing \r\n\u2028 ", "signature": "c2ln+/="},
        {"type": "redacted_thinking", "data": "ZW5j"},
        {"type": "tool_use", "id": "t1", "name": "n", "input": {"z": 1.0, "a": [None, "é"]}},
    )
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    log.append([user("u1"), answer("a1", *blocks)])
    log.append([MessageRecord(1.0, "r1", "user", (result,), "tool")])
    log.close()
    messages = load(log.folder).messages
    assert json.dumps(messages[1].content) == json.dumps(blocks)
    assert repair(messages).messages == messages


def test_partial_answer_is_marked(new_log):
    log = new_log()
    log.append([user("u1"), answer("a1", incomplete=True)])
    assert [record.incomplete for record in load(log.folder).records] == [False, True]
