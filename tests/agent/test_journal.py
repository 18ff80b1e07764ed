from __future__ import annotations

import pytest

from mewcode_nb.agent.journal import Journal
from mewcode_nb.errors import RecordTooLarge, SessionError
from mewcode_nb.messages import Message, text_block
from mewcode_nb.session.records import (
    LINE_LIMIT,
    MessageRecord,
    NamespaceRecord,
    ReadRecord,
    RewindRecord,
    Variable,
)
from mewcode_nb.tools.base import FileRead, ToolResult


class FakeLog:
    """Keeps batches; fails while `broken`, and refuses records as the real log does."""

    def __init__(self):
        self.batches = []
        self.broken = False

    def append(self, records):
        if self.broken:
            raise SessionError("no space left", remedy="make room")
        if any(len(str(record)) > LINE_LIMIT for record in records):
            raise RecordTooLarge("cannot store a record")
        self.batches.append(records)


def _message(identity, text="hi"):
    return Message("user", (text_block(text),), "user", identity, 1)


@pytest.fixture
def log():
    return FakeLog()


@pytest.fixture
def journal(log):
    return Journal(log, "s1", lambda: 5.0)


def test_records_are_written_in_one_batch_and_only_once(journal, log):
    journal.keep(_message("a"))
    journal.keep(_message("b"))
    assert list(journal.flush()) == []
    assert list(journal.flush()) == []
    assert [[record.id for record in batch] for batch in log.batches] == [["a", "b"]]
    assert journal.stored


def test_what_is_held_back_comes_in_one_batch_with_the_next_message(journal, log):
    rewind = RewindRecord(1.0, "m")
    journal.precede([rewind])
    journal.flush_quietly()
    assert log.batches == []
    assert journal.stored
    journal.keep(_message("a"))
    assert not journal.withdraw()
    journal.flush_quietly()
    ((first, second),) = log.batches
    assert (first, second.id) == (rewind, "a")


def test_what_is_held_back_can_be_withdrawn(journal, log):
    journal.precede([RewindRecord(1.0, "m")])
    assert journal.withdraw()
    journal.keep(_message("a"))
    journal.flush_quietly()
    assert [[record.id for record in batch] for batch in log.batches] == [["a"]]


def test_what_a_tool_saw_and_did_becomes_records(journal, log):
    read = FileRead("/p/a.txt", "00", 1.5, 3)
    names = {"created": ("x",), "changed": (), "removed": ("y",)}
    journal.note(ToolResult("", "", reads=(read,), namespace=names), 2)
    journal.flush_quietly()
    seen, did = log.batches[0]
    assert seen == ReadRecord(5.0, "/p/a.txt", "00", 1.5, 3)
    assert isinstance(did, NamespaceRecord)
    assert ([variable.name for variable in did.created], did.removed) == (["x"], ("y",))


def test_g9_full_disk_is_said_once_and_nothing_is_lost_when_space_returns(journal, log):
    log.broken = True
    journal.keep(_message("a"))
    assert [notice.text for notice in journal.flush()] == ["not stored: no space left"]
    journal.keep(_message("b"))
    assert list(journal.flush()) == []
    assert not journal.stored
    log.broken = False
    assert [notice.text for notice in journal.flush()] == ["the session is stored again"]
    assert [[record.id for record in batch] for batch in log.batches] == [["a", "b"]]


def test_record_that_can_never_be_stored_does_not_hold_up_the_others(journal, log):
    journal.keep(_message("a"))
    journal.keep(_message("big", "x" * LINE_LIMIT))
    journal.keep(_message("b"))
    (notice,) = journal.flush()
    assert notice.text == "not stored: cannot store a record"
    assert [[record.id for record in batch] for batch in log.batches] == [["a", "b"]]


def test_without_a_log_nothing_waits():
    journal = Journal(None, "memory only", lambda: 0.0)
    journal.keep(_message("a"))
    assert list(journal.flush()) == []
    assert not journal.stored


def test_interrupted_answer_is_marked_incomplete(journal, log):
    journal.keep(_message("a"), incomplete=True)
    journal.flush_quietly()
    (record,) = log.batches[0]
    assert isinstance(record, MessageRecord)
    assert record.incomplete


def test_what_variables_are_is_asked_of_the_namespace_when_they_are_noted(log):
    def describe(names):
        return tuple(Variable(name, "list", (3,)) for name in names)

    journal = Journal(log, "s1", lambda: 5.0, describe)
    names = {"created": ("x",), "changed": (), "removed": ("y",), "used": ("z",)}
    journal.note(ToolResult("", "", namespace=names), 2)
    journal.note(ToolResult("", "", namespace={"created": (), "used": ()}), 2)
    journal.know(NamespaceRecord(0.0, removed=("gone",)), 3)
    journal.flush_quietly()
    assert log.batches == [
        (
            NamespaceRecord(
                5.0, 2, (Variable("x", "list", (3,)),), (), ("y",), (Variable("z", "list", (3,)),)
            ),
            NamespaceRecord(5.0, 3, removed=("gone",)),
        )
    ]
