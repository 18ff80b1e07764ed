from __future__ import annotations

import pytest

from mewcode_nb.session.branches import Branch, read_branches
from mewcode_nb.session.records import MessageRecord, PlacedRecord, RewindRecord


def placed(*steps):
    records = []
    for number, step in enumerate(steps, start=1):
        if step.startswith("<"):
            record = RewindRecord(float(number), step[1:])
        else:
            text = ({"type": "text", "text": f"say {step}"},)
            origin, role = ("user", "user") if step.islower() else ("assistant", "assistant")
            record = MessageRecord(float(number), step, role, text, origin)
        records.append(PlacedRecord(record, number * 100, number))
    return records


@pytest.mark.parametrize(
    ("steps", "tips", "undo"),
    [
        (["a", "B"], [], None),
        (["a", "B", "c", "D", "<B"], ["D"], "D"),
        (["a", "B", "c", "D", "<B", "e", "F"], ["D"], "D"),
        (["a", "B", "c", "D", "<B", "e", "F", "<D"], ["F"], "F"),
        (["a", "B", "c", "D", "<B", "<D"], [], "B"),
        (["a", "B", "<"], ["B"], "B"),
        (["a", "B", "<", "c", "<B"], ["c"], "c"),
        (["a", "<", "b", "<", "c"], ["b", "a"], "b"),
        (["a", "B", "c", "<nowhere"], [], None),
        (["a", "B", "B", "c", "<B"], ["c"], "c"),
        (["<"], [], ""),
    ],
)
def test_branches_are_the_paths_that_rewinds_left(steps, tips, undo):
    found = read_branches(placed(*steps))
    assert [branch.tip for branch in found.left] == tips
    assert found.undo == undo


def test_a_branch_tells_its_own_messages_its_first_prompt_and_its_time():
    found = read_branches(placed("a", "B", "c", "D", "e", "F", "<B", "g"))
    assert found.left == (Branch("F", 4, "say c", 6.0),)
