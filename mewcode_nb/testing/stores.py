# ruff: noqa: D102 - a test is told by its name
"""What every store of sessions must do, as tests: for authors of other backends.

A subclass gives two fixtures, `store` (an empty store) and `reopen` (a function that gives another
view of the same sessions, as a second process would have), and where sessions can be damaged from
outside a third, `spoil` (a function that makes the session of an id unreadable).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mewcode_nb.errors import AmbiguousSession, SessionError, SessionLocked, SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.session.records import (
    CompactRecord,
    Section,
    SessionRecord,
    UnknownRecord,
)
from mewcode_nb.session.store import SessionStore
from mewcode_nb.testing.store_forks import (
    LATER,
    ForkConformance,
    Reopen,
    answer,
    made,
    texts,
    user,
)

__all__ = ["StoreConformance"]

Spoil: TypeAlias = "Callable[[str], None]"


def _ids(store: SessionStore, limit: int | None = None) -> list[str]:
    return [info.id for info in store.list(limit)]


class StoreConformance(ForkConformance):
    """Subclass it as `TestMyStore` and give the fixtures."""

    @pytest.fixture
    def spoil(self) -> Spoil:
        """Make a session unreadable; this one skips the tests that need it."""
        pytest.skip("sessions of this store cannot be damaged from outside")

    def test_a_new_store_is_empty(self, store: SessionStore) -> None:
        assert store.list() == ()
        assert store.trashed() == ()

    def test_the_store_gives_id_and_time(self, store: SessionStore) -> None:
        writer = store.create(SessionRecord(0.0, "mine", model="model-x"))
        writer.append([user("m1", "Hello.")])
        writer.close()
        header = store.load(writer.id).header
        assert header is not None
        assert header.id == writer.id != "mine"
        assert header.ts > 0
        assert header.model == "model-x"

    def test_sessions_have_ids_of_their_own(self, store: SessionStore, reopen: Reopen) -> None:
        found = [made(view, user("m1", "a")) for view in (store, reopen(), store, reopen())]
        assert len(set(found)) == 4
        assert set(_ids(store)) == set(found)

    def test_what_append_returned_from_is_seen_by_others(
        self, store: SessionStore, reopen: Reopen
    ) -> None:
        writer = store.create(SessionRecord(0.0, ""))
        for number in range(5):
            writer.append([user(f"u{number}", f"{number}?"), answer(f"a{number}", f"{number}!")])
            said = [f"{n}{mark}" for n in range(number + 1) for mark in "?!"]
            assert texts(reopen(), writer.id) == said
        writer.close()
        assert texts(reopen(), writer.id) == said

    def test_a_batch_given_again_counts_once(self, store: SessionStore) -> None:
        identity = made(store, user("m1", "a"), user("m1", "a"), answer("m2", "b"))
        assert texts(store, identity) == ["a", "b"]

    def test_a_session_goes_on_where_it_was(self, store: SessionStore, reopen: Reopen) -> None:
        identity = made(store, user("m1", "a"))
        writer = reopen().open(identity)
        assert writer.id == identity
        writer.append([answer("m2", "b")])
        writer.close()
        assert texts(store, identity) == ["a", "b"]

    def test_any_text_comes_back(self, store: SessionStore, reopen: Reopen) -> None:
        text = "a\nb\r\nc\u2028d\u0085e\x00 \U0001f600 你好 " + "x" * 100_000
        identity = made(store, user("m1", text))
        assert texts(reopen(), identity) == [text]

    def test_records_of_a_later_version_are_taken(self, store: SessionStore) -> None:
        raw = UnknownRecord(LATER, "future", {"type": "future", "ts": LATER, "x": [1]})
        identity = made(store, user("m1", "a"), raw, answer("m2", "b"))
        assert texts(store, identity) == ["a", "b"]
        assert store.find(identity).damage == ""

    def test_a_closed_writer_refuses(self, store: SessionStore) -> None:
        writer = store.create(SessionRecord(0.0, ""))
        writer.append([user("m1", "a")])
        writer.close()
        writer.close()
        with pytest.raises(SessionError):
            writer.append([user("m2", "b")])
        assert texts(store, writer.id) == ["a"]

    @pytest.mark.parametrize("identity", ["none", "", ".", "..", "a/b", "../x"])
    @pytest.mark.parametrize(
        "method", ["open", "load", "find", "annotate", "fork", "trash", "restore", "purge"]
    )
    def test_what_is_not_there_is_not_found(
        self, store: SessionStore, method: str, identity: str
    ) -> None:
        made(store, user("m1", "a"))
        more = {"annotate": ({"title": "t"},), "trash": ("why",)}.get(method, ())
        with pytest.raises(SessionNotFound):
            getattr(store, method)(identity, *more)
        assert len(store.list()) == 1

    def test_one_writer_at_a_time(self, store: SessionStore, reopen: Reopen) -> None:
        writer = store.create(SessionRecord(0.0, ""))
        writer.append([user("m1", "a")])
        for view in (store, reopen()):
            with pytest.raises(SessionLocked):
                view.open(writer.id)
            with pytest.raises(SessionLocked):
                view.annotate(writer.id, {"title": "t"})
            with pytest.raises(SessionLocked):
                view.trash(writer.id, "why")
        writer.append([answer("m2", "b")])
        assert texts(reopen(), writer.id) == ["a", "b"]
        writer.close()
        reopen().open(writer.id).close()

    def test_a_list_says_which_are_held(self, store: SessionStore, reopen: Reopen) -> None:
        other = made(store, user("m1", "a"))
        writer = store.create(SessionRecord(0.0, ""))
        writer.append([user("m1", "a")])
        for _ in range(3):  # looking does not disturb the holder
            live = {info.id: info.live for info in reopen().list()}
            assert live == {other: False, writer.id: True}
            assert reopen().find(writer.id).live
        writer.append([answer("m2", "b")])
        writer.close()
        assert not any(info.live for info in reopen().list())

    def test_lists_go_by_the_last_activity(self, store: SessionStore, reopen: Reopen) -> None:
        first = made(store, user("m1", "a", ts=LATER + 3))
        second = made(store, user("m1", "a", ts=LATER + 1))
        third = made(store, user("m1", "a", ts=LATER + 2))
        assert _ids(store) == [first, third, second]
        assert _ids(reopen(), 2) == [first, third]
        assert store.find("last").id == first
        writer = store.open(second)
        writer.append([answer("m2", "b", ts=LATER + 4)])
        writer.close()
        assert _ids(store, 1) == [second]
        assert _ids(reopen()) == [second, first, third]
        assert reopen().find("last").active == LATER + 4

    def test_a_row_tells_of_its_session(self, store: SessionStore, reopen: Reopen) -> None:
        said = (user("m1", "Why\n  so?"), answer("m2", "b"), user("m3", "c", 2))
        identity = made(store, *said, answer("m4", "d", 2), title="A title")
        store.annotate(identity, {"pin": True})
        (info,) = reopen().list()
        assert info == reopen().find(identity)
        assert (info.id, info.title, info.first_prompt) == (identity, "A title", "Why so?")
        assert (info.turns, info.usage, info.model) == (2, Usage(20, 40, 60, 10), "model-x")
        assert (info.notebook, info.project) == ("/n/a.ipynb", "/n")
        assert info.cells == {"cell-m1", "cell-m3"}
        assert info.pinned
        assert info.readable
        assert (info.damage, info.active, info.parent) == ("", LATER, None)
        assert 0 < info.created < LATER
        assert info.size > 0

    def test_facts_can_be_set_and_taken_back(self, store: SessionStore) -> None:
        identity = made(store, user("m1", "a"), title="one")
        store.annotate(identity, {"title": "two", "pin": True, "other": [1]})
        assert store.load(identity).meta == {"title": "two", "pin": True, "other": [1]}
        store.annotate(identity, {"title": None, "pin": None})
        info = store.find(identity)
        assert (info.title, info.pinned, info.name) == ("", False, "a")
        assert store.load(identity).meta == {"other": [1]}

    def test_row_11_title_outlives_compaction(self, store: SessionStore, reopen: Reopen) -> None:
        identity = made(store, user("m1", "a"), answer("m2", "b"), title="Kept")
        writer = store.open(identity)
        for number in range(2):
            summary = (Section("", f"summary {number}"),)
            writer.append([CompactRecord(LATER, f"c{number}", "manual", summary)])
            later = user(f"u{number}", "x" * 60_000, 2 + number)
            writer.append([later, answer(f"a{number}", "y" * 60_000, 2 + number)])
        writer.close()
        info = reopen().find("kept")
        assert (info.id, info.title, info.first_prompt) == (identity, "Kept", "a")
        assert texts(store, identity)[0] == "summary 1"

    def test_names_that_find(self, store: SessionStore, reopen: Reopen) -> None:
        identity = made(store, user("m1", "a"), title="Sales of March")
        longer = made(store, user("m1", "b"), title="Sales of March, again")
        for name in ("Sales of March", "sales OF march"):
            assert reopen().find(name).id == identity
        assert store.find("sales of march, a").id == longer
        for one, other in ((identity, longer), (longer, identity)):
            assert store.find(one).id == one
            length = next(n for n in range(1, 99) if one[:n] != other[:n])
            assert store.find(one[:length]).id == one

    def test_ambiguous_names_list_what_fits(self, store: SessionStore) -> None:
        several = [made(store, user("m1", "a"), title=f"Sales {n}") for n in range(2)]
        other = made(store, user("m1", "a"), title="Other")
        with pytest.raises(AmbiguousSession) as told:
            store.find("sales")
        assert all(identity in str(told.value) for identity in several)
        assert "Sales 1" in str(told.value)
        assert other not in str(told.value)

    def test_trash_takes_out_of_sight(self, store: SessionStore, reopen: Reopen) -> None:
        kept = made(store, user("m1", "a"))
        identity = made(store, user("m1", "b"), title="Gone")
        store.trash(identity, "because")
        assert _ids(reopen()) == [kept]
        for method in (store.load, store.open, reopen().find):
            with pytest.raises(SessionNotFound):
                method(identity)
        (item,) = reopen().trashed()
        assert (item.info.id, item.info.title, item.reason) == (identity, "Gone", "because")
        assert 0 < item.trashed <= item.purge_after
        with pytest.raises(SessionNotFound):
            store.trash(identity, "again")

    def test_restore_brings_back_the_same(self, store: SessionStore, reopen: Reopen) -> None:
        identity = made(store, user("m1", "a"), answer("m2", "b"), title="Back")
        before, state = store.find(identity), store.load(identity)
        store.trash(identity, "why")
        reopen().restore(identity)
        assert reopen().find("back") == before
        assert reopen().load(identity) == state
        assert store.trashed() == ()
        writer = store.open(identity)
        writer.append([user("m3", "c", 2)])
        writer.close()
        assert texts(reopen(), identity) == ["a", "b", "c"]

    def test_purge_is_for_good(self, store: SessionStore, reopen: Reopen) -> None:
        identity = made(store, user("m1", "a"))
        with pytest.raises(SessionNotFound):
            store.purge(identity)  # it is not in the trash
        assert _ids(store) == [identity]
        store.trash(identity, "why")
        reopen().purge(identity)
        assert store.trashed() == ()
        for method in (store.restore, store.purge, store.load):
            with pytest.raises(SessionNotFound):
                method(identity)

    def test_s_11_a_damaged_session_is_listed(
        self, store: SessionStore, reopen: Reopen, spoil: Spoil
    ) -> None:
        sound = made(store, user("m1", "a"))
        broken = made(store, user("m1", "b"))
        spoil(broken)
        rows = {info.id: info for info in reopen().list()}
        assert set(rows) == {sound, broken}
        assert (rows[sound].damage, rows[sound].readable) == ("", True)
        assert rows[broken].damage
        assert not rows[broken].readable
        assert reopen().find("last").id == sound
        store.trash(broken, "unreadable")
        assert _ids(store) == [sound]
