# ruff: noqa: D102 - a test is told by its name
"""What forks and branches in a store of sessions must do; a part of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mewcode_nb.errors import SessionLocked, SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.messages import message_text, text_block
from mewcode_nb.session.records import (
    Cell,
    CompactRecord,
    MessageRecord,
    NamespaceRecord,
    Parent,
    ReadRecord,
    Record,
    RewindRecord,
    Section,
    SessionRecord,
    Variable,
)
from mewcode_nb.session.store import SessionStore

__all__ = ["LATER", "ForkConformance", "Reopen", "answer", "made", "texts", "user"]

Reopen: TypeAlias = "Callable[[], SessionStore]"

LATER = 4_000_000_000.0
"""After every time that a store's clock gives, in seconds since 1970."""


def user(identity: str, text: str, turn: int = 1, ts: float = LATER) -> MessageRecord:
    """A prompt from a cell of its own."""
    cell = Cell(f"cell-{identity}", "00")
    return MessageRecord(ts, identity, "user", (text_block(text),), "user", turn, cell)


def answer(identity: str, text: str, turn: int = 1, ts: float = LATER) -> MessageRecord:
    """An answer that cost something."""
    return MessageRecord(
        ts,
        identity,
        "assistant",
        (text_block(text),),
        "assistant",
        turn,
        usage=Usage(10, 20, 30, 5),
        model="model-x",
        message_id=f"msg-{identity}",
    )


def made(store: SessionStore, *records: Record, title: str = "") -> str:
    """A session with these records that nobody holds."""
    writer = store.create(SessionRecord(0.0, "", notebook="/n/a.ipynb", project="/n"))
    writer.append(records)
    writer.close()
    if title:
        store.annotate(writer.id, {"title": title})
    return writer.id


def texts(store: SessionStore, identity: str) -> list[str]:
    """The conversation as words."""
    return [message_text(message.content) for message in store.load(identity).messages]


class ForkConformance:
    """Needs the fixtures `store` and `reopen`."""

    def test_fork_and_original_go_apart(self, store: SessionStore, reopen: Reopen) -> None:
        said = (user("m1", "a"), answer("m2", "b"), user("m3", "c", 2), answer("m4", "d", 2))
        identity = made(store, *said)
        fork = store.fork(identity, "m2")
        fork.append([user("m5", "e", 2)])
        writer = store.open(identity)
        writer.append([user("m6", "f", 3)])
        writer.close()
        fork.close()
        assert texts(reopen(), fork.id) == ["a", "b", "e"]
        assert texts(reopen(), identity) == ["a", "b", "c", "d", "f"]
        assert [record.id for record in store.load(fork.id).records] == ["m1", "m2", "m5"]
        info = store.find(fork.id)
        assert info.parent == Parent(identity, "m2")
        assert info.usage == Usage()  # what its parent has paid for
        assert store.find(identity).parent is None

    def test_a_fork_may_be_taken_of_all(self, store: SessionStore, reopen: Reopen) -> None:
        identity = made(store, user("m1", "a"), answer("m2", "b"))
        fork = store.fork(identity)
        with pytest.raises(SessionLocked):
            reopen().open(fork.id)
        fork.close()
        assert fork.id != identity
        assert texts(reopen(), fork.id) == ["a", "b"]
        assert store.find(fork.id).parent == Parent(identity, "m2")

    def test_row_9_a_fork_keeps_the_live_branch_only(self, store: SessionStore) -> None:
        said = (user("m1", "a"), answer("m2", "b"), user("m3", "dead", 2))
        again = (RewindRecord(LATER, "m2"), user("m4", "c", 2))
        fork = store.fork(made(store, *said, *again))
        fork.close()
        assert texts(store, fork.id) == ["a", "b", "c"]

    def test_a_fork_of_a_compacted_session_has_its_summary(self, store: SessionStore) -> None:
        said = (user("m1", "a"), answer("m2", "b"), user("m3", "c", 2), answer("m4", "d", 2))
        kept = CompactRecord(LATER, "c1", "manual", (Section("", "all"),), keep=("m3", "m4"))
        identity = made(store, *said, kept, user("m5", "e", 3), title="Kept")
        for at, words in (
            ("", ["all", "c", "d", "e"]),
            ("m3", ["all", "c"]),
            ("m2", ["a", "b"]),  # a compaction replaced it
        ):
            fork = store.fork(identity, at)
            fork.close()
            assert texts(store, fork.id) == words
            assert store.load(fork.id).meta == {"title": "Kept"}
        assert texts(store, identity) == ["all", "c", "d", "e"]

    def test_a_fork_may_be_taken_of_a_branch_that_was_left(self, store: SessionStore) -> None:
        said = (user("m1", "a"), answer("m2", "b"), user("m3", "left", 2))
        fork = store.fork(made(store, *said, RewindRecord(LATER, "m2")), "m3")
        fork.close()
        assert texts(store, fork.id) == ["a", "b", "left"]

    def test_a_fork_knows_what_was_read_and_made_up_to_its_message(
        self, store: SessionStore
    ) -> None:
        early, late = ReadRecord(LATER, "/f", "early"), ReadRecord(LATER, "/f", "late")
        created = NamespaceRecord(LATER, 1, created=(Variable("df"),))
        gone = NamespaceRecord(LATER, 2, removed=("df",))
        said = (user("m1", "a"), early, created, user("m2", "b", 2), late, gone)
        identity = made(store, *said)
        for at, reads, names in (("m1", {"/f": early}, {"df"}), ("", {"/f": late}, set())):
            fork = store.fork(identity, at)
            fork.close()
            state = store.load(fork.id)
            assert state.reads == reads
            assert state.namespace.keys() == names

    def test_row_33_a_fork_pays_for_its_own_answers_only(self, store: SessionStore) -> None:
        identity = made(store, user("m1", "a"), answer("m2", "b"))
        fork = store.fork(identity)
        fork.append([user("m3", "c", 2), answer("m4", "d", 2)])
        fork.close()
        assert store.load(fork.id).usage == Usage(10, 20, 30, 5) == store.load(identity).usage

    def test_a_rewind_to_a_branch_that_was_left_brings_it_back(self, store: SessionStore) -> None:
        said = (user("m1", "a"), answer("m2", "b"), user("m3", "c", 2))
        identity = made(store, *said, RewindRecord(LATER, "m1"), answer("m4", "d"))
        assert texts(store, identity) == ["a", "d"]
        writer = store.open(identity)
        writer.append([RewindRecord(LATER, "m3"), answer("m5", "e", 2)])
        writer.close()
        assert texts(store, identity) == ["a", "b", "c", "e"]

    def test_what_a_rewind_would_leave_can_be_asked_for(self, store: SessionStore) -> None:
        identity = made(store, user("m1", "a"), answer("m2", "b"), user("m3", "c", 2))
        assert [message.id for message in store.load_at(identity, "m2").messages] == ["m1", "m2"]
        assert store.load_at(identity, "").messages == ()
        with pytest.raises(SessionNotFound):
            store.load_at(identity, "m9")
        assert texts(store, identity) == ["a", "b", "c"]

    def test_all_of_a_session_can_be_asked_for(self, store: SessionStore) -> None:
        compaction = CompactRecord(LATER, "c1", "manual", (Section("", "all"),))
        identity = made(store, user("m1", "a"), answer("m2", "b"), compaction)
        whole = store.load(identity, whole=True)
        assert whole.messages == store.load(identity).messages
        assert {"m1", "m2"} <= whole.offsets.keys()
        assert whole.begin == 0

    def test_a_held_session_can_be_forked(self, store: SessionStore, reopen: Reopen) -> None:
        writer = store.create(SessionRecord(0.0, ""))
        writer.append([user("m1", "a")])
        fork = reopen().fork(writer.id)
        fork.append([answer("m2", "b")])
        writer.append([answer("m3", "c")])
        fork.close()
        writer.close()
        assert texts(store, writer.id) == ["a", "c"]
        assert texts(store, fork.id) == ["a", "b"]

    def test_no_fork_at_a_message_that_is_not_there(self, store: SessionStore) -> None:
        identity = made(store, user("m1", "a"))
        with pytest.raises(SessionNotFound):
            store.fork(identity, "m9")
        assert [info.id for info in store.list()] == [identity]

    def test_a_fork_outlives_its_original(self, store: SessionStore, reopen: Reopen) -> None:
        identity = made(store, user("m1", "a"))
        fork = store.fork(identity)
        fork.close()
        store.trash(identity, "why")
        store.purge(identity)
        assert [info.id for info in reopen().list()] == [fork.id]
        assert texts(reopen(), fork.id) == ["a"]
