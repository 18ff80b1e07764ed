from __future__ import annotations

from mewcode_nb.session.load import load
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    RewindRecord,
    Section,
    SessionRecord,
    UncompactRecord,
    to_line,
)
from mewcode_nb.session.said import load_said


def message(name, turn):
    role, origin = ("user", "user") if name.startswith("q") else ("assistant", "assistant")
    return MessageRecord(float(turn), name, role, ({"type": "text", "text": name},), origin, turn)


TALK = [message(f"{kind}{turn}", turn) for turn in (1, 2, 3) for kind in "qa"]


def said(folder, *records):
    lines = [to_line(record) for record in (SessionRecord(0.0, "s"), *records)]
    (folder / LOG_NAME).write_bytes(b"".join(lines))
    return [record.id for record in load_said(folder).records]


def compacted(name, *keep):
    return CompactRecord(5.0, name, "manual", summary=(Section("goal", "g"),), keep=keep)


def test_turns_that_a_summary_replaced_are_still_there_once(tmp_path):
    names = said(tmp_path, *TALK[:4], compacted("c", "q2", "a2"), *TALK[4:])
    assert names == [record.id for record in TALK]
    assert [record.id for record in load(tmp_path).records] == ["c", "q2", "a2", "q3", "a3"]


def test_a_compaction_that_was_taken_back_changes_nothing(tmp_path):
    names = said(tmp_path, *TALK[:4], compacted("c"), UncompactRecord(6.0, "c"), *TALK[4:])
    assert names == [record.id for record in TALK]


def test_what_a_rewind_left_is_not_there_though_it_was_compacted(tmp_path):
    names = said(tmp_path, *TALK[:4], compacted("c"), RewindRecord(6.0, "a1"), *TALK[4:])
    assert names == ["q1", "a1", "q3", "a3"]
