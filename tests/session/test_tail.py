from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.session.tail import read_tail

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (*("say", "run", "compact") * 2, "rewind", "uncompact", "name", "again", "tear")
        ),
        st.integers(0, 11),
    ),
    max_size=24,
)
NEEDED = ("header", "records", "messages", "model", "reads", "namespace", "meta", "usage")
NEEDED += ("turns", "spills", "last_ts")


def grown(talk, steps):
    made = talk()
    for name, choice in steps:
        made.step(name, choice)
    return made


def tail_of(made):
    return read_tail(io.BytesIO(made.data))


def differing(tail, whole):
    return [name for name in NEEDED if getattr(tail, name) != getattr(whole, name)]


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_the_tail_adds_up_to_what_the_whole_file_does(talk, steps):
    made = grown(talk, steps)
    tail, whole = tail_of(made), made.state
    if tail is None:
        return
    assert differing(tail, whole) == []
    assert tail.compactions == whole.compactions[-len(tail.compactions) :]
    assert set(tail.damage) <= set(whole.damage)
    assert tail.offsets.items() <= whole.offsets.items()
    assert 0 < tail.begin == whole.offsets[tail.compactions[0].id]


TALK = [("say", 1), ("run", 1), ("run", 2), ("say", 2), ("name", 1)]


@pytest.mark.parametrize(
    "more",
    [
        [],
        [("say", 3), ("run", 5)],
        [("say", 3), ("rewind", 0), ("say", 4), ("rewind", 1)],
        [("compact", 1), ("say", 4), ("compact", 2)],
        [("tear", 1), ("say", 2)],
        [("again", 0), ("say", 2)],
        [("name", 0)],
    ],
    ids=str,
)
@pytest.mark.parametrize("kept", range(4))
def test_a_compaction_in_force_makes_a_tail(talk, kept, more):
    made = grown(talk, [*TALK, ("compact", kept), *more])
    tail = tail_of(made)
    assert tail is not None
    assert differing(tail, made.state) == []


@pytest.mark.parametrize(
    "steps",
    [
        TALK,
        [*TALK, ("compact", 2), ("rewind", 5)],
        [*TALK, ("compact", 2), ("rewind", 0)],
        [("say", 1), ("compact", 0), ("uncompact", 0)],
    ],
    ids=["no compaction", "rewind behind it", "rewind to a kept message", "taken back"],
)
def test_what_goes_back_behind_the_compaction_is_read_whole(talk, steps):
    assert tail_of(grown(talk, steps)) is None
