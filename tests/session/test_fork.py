from __future__ import annotations

import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mewcode_nb.errors import SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.messages import Message
from mewcode_nb.repair import repair
from mewcode_nb.session.branches import read_branches
from mewcode_nb.session.checkpoint import checkpoint_of
from mewcode_nb.session.fork import fork_records
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    PlacedRecord,
    RewindRecord,
    Section,
    SessionRecord,
    SpillRecord,
)
from mewcode_nb.session.replay import fold, rewound
from mewcode_nb.session.tail import read_tail

STEPS = st.lists(
    st.tuples(
        st.sampled_from((*("say", "run") * 2, "compact", "rewind", "rewind", "uncompact", "name")),
        st.integers(0, 11),
    ),
    min_size=1,
    max_size=14,
)


def grown(talk, steps):
    made = talk()
    for name, choice in steps:
        made.step(name, choice)
    return made


def forked(state, at=""):
    """The state of a fork, as its records add up."""
    records = (SessionRecord(9.0, "fork"), *fork_records(state, at))
    return fold(PlacedRecord(record, 10 * n, n) for n, record in enumerate(records))


def same_conversation(fork, original):
    assert fork.messages == original.messages
    assert fork.reads == original.reads
    assert fork.namespace == original.namespace
    assert [c.id for c in fork.compactions] == [c.id for c in original.compactions[-1:]]
    assert fork.damage == ()
    assert fork.usage == Usage()


@settings(max_examples=50, deadline=None)
@given(STEPS)
@example([("say", 0), ("say", 0), ("compact", 3), ("rewind", 2)])
def test_a_fork_holds_the_same_conversation_and_has_cost_nothing(talk, steps):
    made = grown(talk, steps)
    whole = made.state
    fork = forked(whole)
    same_conversation(fork, whole)
    assert fork.meta == {k: v for k, v in whole.meta.items() if k != "pin"}
    assert fork.turns == whole.turns
    if (tail := read_tail(io.BytesIO(made.data))) is not None:
        same_conversation(forked(tail), whole)


@settings(max_examples=50, deadline=None)
@given(STEPS, st.integers(0, 99))
def test_a_fork_at_any_message_of_any_branch_is_what_a_rewind_there_leaves(talk, steps, choice):
    made = grown(talk, steps)
    if not made.ids:
        return
    at = made.ids[choice % len(made.ids)]
    made.write(RewindRecord(99.0, at))
    if (state := made.state).damage:  # its compaction's undoing took it along
        return
    same_conversation(forked(rewound(made.records[:-1], at), at), state)


@settings(max_examples=50, deadline=None)
@given(STEPS)
def test_an_abandoned_branch_comes_back_and_a_rewind_can_be_undone(talk, steps):
    made = grown(talk, steps)
    for branch in read_branches(made.records).left:
        state = rewound(made.records, branch.tip)
        assert state.records[-1].id == branch.tip
    before = made.state
    made.rewind(steps[0][1])
    after = made.state
    if len(after.damage) > len(before.damage):
        return
    undo = read_branches(made.records).undo
    assert undo is not None
    made.write(RewindRecord(99.0, undo))
    undone = made.state
    assert [r.id for r in undone.records[-1:]] == [r.id for r in before.records[-1:]]
    names = {record.id for record in after.records}
    if before.compactions != after.compactions and {r.id for r in before.records[-1:]} & names:
        return  # a message that a compaction kept: its id names the uncompacted talk as well
    assert undone.records == before.records
    assert (undone.turns, undone.reads, undone.namespace) == (
        before.turns,
        before.reads,
        before.namespace,
    )
    assert undone.compactions == before.compactions


def test_a_fork_brings_each_spill_and_what_was_read_in_its_place(talk):
    state = grown(talk, [("say", 1), ("run", 1), ("run", 3)]).state
    kinds = [type(record).__name__ for record in fork_records(state, "m2r")]
    assert kinds == [
        *["MessageRecord"] * 4,
        *("SpillRecord", "ReadRecord", "NamespaceRecord"),
    ]


@pytest.mark.parametrize(
    ("target", "behind"), [("result", "r"), ("part/1", "r"), ("input/content", "a")]
)
def test_a_fork_has_a_spill_behind_the_message_it_is_about(target, behind):
    call = {"type": "tool_use", "id": "t1", "name": "n", "input": {"content": "[cut]"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "[cut]"}
    spill = SpillRecord(1.0, "t1", "tool-results/t1.txt", 9, "ab", "[cut]", target)
    records = (
        SessionRecord(1.0, "s"),
        MessageRecord(1.0, "u", "user", ({"type": "text", "text": "go"},), "user", 1),
        MessageRecord(1.0, "a", "assistant", (call,), "assistant", 1),
        MessageRecord(1.0, "r", "user", (result,), "tool", 1),
        spill,
    )
    state = fold(PlacedRecord(record, 10 * n, n) for n, record in enumerate(records))
    assert dict(forked(state).spills) == {("t1", target): spill}
    made = list(fork_records(state))
    assert made[made.index(spill) - 1].id == behind


def test_a_fork_of_a_compacted_session_keeps_what_the_compaction_kept(talk):
    state = grown(talk, [("say", 1), ("say", 2), ("compact", 2), ("say", 3)]).state
    records = fork_records(state)
    (at,) = [n for n, record in enumerate(records) if isinstance(record, CompactRecord)]
    assert records[at].keep == ("m2", "m2a")
    assert [record.id for record in records[:at]] == ["m2", "m2a"]
    assert records[at].checkpoint["turns"] == 2
    assert set(records[at].checkpoint["usage"].values()) == {0}
    assert forked(state, "m2").records[-1].id == "m2"


def test_a_fork_keeps_what_belongs_to_the_compaction_but_not_its_price(talk):
    made = grown(talk, [("say", 1), ("say", 2)])
    marks = {"said": {"file": "tool-results/said.md"}}
    facts = {**checkpoint_of(made.state), **marks}
    words = SpillRecord(5.0, "c9", "tool-results/said.md", 9, "ab", "", target="said")
    section = (Section("6. All user messages", "m1"),)
    made.write(
        CompactRecord(5.0, "c9", "auto", section, checkpoint=facts, usage=Usage(1, 2, 3, 4)), words
    )
    made.say(3)
    fork = forked(made.state)
    assert fork.usage == Usage()
    assert fork.compactions[-1].checkpoint["said"] == marks["said"]
    assert fork.spills["c9", "said"] == words


def test_row_33_the_answers_of_a_fork_are_paid_for_once(talk):
    made = grown(talk, [("say", 1), ("say", 2)])
    records = fork_records(made.state)
    assert all(record.usage is None for record in records if isinstance(record, MessageRecord))
    own = MessageRecord(9.0, "x", "assistant", (), "assistant", 3, usage=Usage(1, 2, 3, 4))
    assert fold(PlacedRecord(r, n, n) for n, r in enumerate((*records, own))).usage == own.usage


def test_row_9_a_fork_beside_a_branch_that_ends_in_a_call_can_be_sent(talk):
    made = grown(talk, [("say", 1), ("say", 2)])
    call = {"type": "tool_use", "id": "t9", "name": "run", "input": {}}
    made.write(MessageRecord(3.0, "dead", "assistant", (call,), "assistant", 2))
    made.write(RewindRecord(3.0, "m1a"))
    made.say(1)
    fork = forked(made.state)
    assert [record.id for record in fork.records] == ["m1", "m1a", "m3", "m3a"]
    sent = repair((*fork.messages, Message("user", ({"type": "text", "text": "go on"},), "user")))
    assert sent.messages[:-1] == fork.messages
    assert "t9" not in str(fork.messages)


@pytest.mark.parametrize("at", ["m9", "c1"])
def test_there_is_no_fork_at_what_is_not_in_the_conversation(talk, at):
    with pytest.raises(SessionNotFound, match=at):
        fork_records(grown(talk, [("say", 1)]).state, at)
