from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

from mewcode_nb.errors import SessionError, SessionLocked, SessionNotFound
from mewcode_nb.session.load import load
from mewcode_nb.session.records import SessionRecord


@pytest.fixture
def trash(sessions):
    return sessions.parent / "trash"


def test_trash_takes_the_whole_folder_with_a_note_of_it(new_session, open_store, sessions, trash):
    identity = new_session("a", title="T")
    (sessions / identity / "tool-results").mkdir()
    (sessions / identity / "tool-results" / "x.txt").write_text("12345", encoding="utf-8")
    (sessions / identity / "undo").mkdir()
    store = open_store(clock=lambda: 1000.0, trash_days=2)
    size = store.find(identity).size
    store.trash(identity, "unused for long")
    note = json.loads((trash / identity / "trash.json").read_text(encoding="utf-8"))
    assert note["reason"] == "unused for long"
    assert (note["trashed"], note["purge_after"]) == (1000.0, 1000.0 + 2 * 86400)
    assert note["size"] == size > 5
    assert {path.name for path in (trash / identity).iterdir()} == {
        *("conversation.jsonl", "lease.lock", "tool-results", "trash.json", "undo")
    }
    assert stat.S_IMODE(trash.stat().st_mode) == 0o700
    assert stat.S_IMODE((trash / identity / "trash.json").stat().st_mode) == 0o600
    (item,) = store.trashed()
    assert (item.info.title, item.info.location) == ("T", str(trash / identity))
    assert (item.trashed, item.purge_after) == (1000.0, 173800.0)
    assert not (sessions / identity).exists()


def test_what_was_moved_is_in_the_trash_though_the_folders_could_not_be_synced(
    open_store, new_session, trash, failing
):
    class Unsynced(failing):
        def __getattr__(self, name):
            return self.refuse if name == "sync_folder" else super().__getattr__(name)

        def refuse(self, _path):
            raise OSError(5, "Input/output error")

    identity = new_session("a")
    trash.mkdir()
    open_store(Unsynced()).trash(identity, "x")
    assert [item.info.id for item in open_store().trashed()] == [identity]
    assert open_store().list() == ()


def test_s_16_the_latest_is_listed_first(new_session, open_store):
    made = [new_session(name) for name in "abc"]
    for number, identity in enumerate((made[1], made[0], made[2])):
        open_store(clock=lambda at=number: 1000.0 + at).trash(identity, "x")
    assert [item.info.id for item in open_store().trashed()] == [made[2], made[0], made[1]]


def test_row_15_session_held_by_another_process_is_not_trashed(store, said, sessions):
    log = store.create(SessionRecord(0.0, ""))
    log.append([said("a")])
    script = f"""
import random, time
from pathlib import Path
from mewcode_nb.errors import SessionLocked
from mewcode_nb.session.folder_store import FolderStore
store = FolderStore(Path({str(sessions)!r}), clock=time.time, random=random.Random(2))
try:
    store.trash({log.id!r}, "x")
except SessionLocked as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    )
    assert f"process {os.getpid()}" in done.stdout
    log.append([said("b")])
    log.close()
    assert [message.id for message in load(log.folder).messages] == ["m-a", "m-b"]
    assert not (log.folder / "trash.json").exists()


def test_row_15_writer_whose_folder_was_moved_away_by_hand_notices(store, said, sessions, trash):
    log = store.create(SessionRecord(0.0, ""))
    log.append([said("a")])
    trash.mkdir()
    log.folder.rename(trash / log.id)
    with pytest.raises(SessionError, match="moved or deleted while in use"):
        log.append([said("b")])
    log.close()
    assert not (sessions / log.id).exists()
    store.restore(log.id)
    assert [message.id for message in store.load(log.id).messages] == ["m-a"]


def test_restore_refuses_to_overwrite_a_session_and_leaves_both(
    store, new_session, sessions, trash
):
    identity = new_session("a")
    shutil.copytree(sessions / identity, sessions / "copy")
    store.trash(identity, "x")
    (sessions / "copy").rename(sessions / identity)
    before = (sessions / identity / "conversation.jsonl").read_bytes()
    with pytest.raises(SessionError, match=f"there is a session {identity} already"):
        store.restore(identity)
    assert (sessions / identity / "conversation.jsonl").read_bytes() == before
    assert [item.info.id for item in store.trashed()] == [identity]
    with pytest.raises(SessionError, match="in the trash already"):
        store.trash(identity, "y")
    store.purge(identity)
    assert [info.id for info in store.list()] == [identity]


def test_restore_into_a_folder_left_empty_and_into_sessions_that_are_gone(
    store, new_session, sessions
):
    identity = new_session("a")
    store.trash(identity, "x")
    (sessions / identity).mkdir()
    store.restore(identity)
    store.trash(identity, "x")
    sessions.rmdir()
    store.restore(identity)
    assert [info.first_prompt for info in store.list()] == ["a"]
    assert not (sessions / identity / "trash.json").exists()


@pytest.mark.parametrize("note", [None, b"", b"{", b"[]", b'{"session": 1}', b"\xff"])
def test_item_without_a_sound_note_is_listed_and_never_due(store, new_session, trash, note):
    identity = new_session("a")
    store.trash(identity, "x")
    path = trash / identity / "trash.json"
    path.unlink() if note is None else path.write_bytes(note)
    (item,) = store.trashed()
    assert (item.info.id, item.info.first_prompt) == (identity, "a")
    assert (item.reason, item.trashed, item.purge_after) == ("", 0.0, 0.0)
    store.restore(identity)
    assert store.find(identity).readable


def test_note_in_a_folder_that_is_still_listed_means_nothing(store, new_session, sessions):
    identity = new_session("a")
    note = {"reason": "x", "trashed": 1.0, "purge_after": 2.0, "session": "[]"}
    (sessions / identity / "trash.json").write_text(json.dumps(note), encoding="utf-8")
    assert [info.id for info in store.list()] == [identity]
    assert store.trashed() == ()
    store.trash(identity, "really")
    assert [item.reason for item in store.trashed()] == ["really"]


def test_purge_that_was_cut_short_leaves_nothing_that_is_listed(
    store, open_store, new_session, trash, failing
):
    class Stuck(failing):
        def __getattr__(self, name):
            if name == "remove_tree":
                raise OSError(5, "Input/output error")
            return super().__getattr__(name)

    first = new_session("a")
    store.trash(first, "x")
    with pytest.raises(SessionError, match="cannot remove all of"):
        open_store(Stuck()).purge(first)
    assert store.trashed() == ()
    with pytest.raises(SessionNotFound):
        store.restore(first)
    left = trash / f".purged-{first}"
    assert left.is_dir()
    second = new_session("b")
    store.trash(second, "x")
    store.purge(second)
    assert not left.exists()
    assert list(trash.iterdir()) == []


def test_a_leftover_that_cannot_be_removed_keeps_nothing_else_in_the_trash(
    store, new_session, trash, tmp_path
):
    identity = new_session("a")
    store.trash(identity, "x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (trash / ".purged-old").symlink_to(elsewhere)  # a link is not removed as a tree
    store.purge(identity)
    assert not (trash / identity).exists()
    assert elsewhere.is_dir()


def test_purge_never_follows_a_link(store, new_session, sessions, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "mine").write_bytes(b"1")
    identity = new_session("a")
    (sessions / identity / "tool-results").symlink_to(victim)
    store.trash(identity, "x")
    store.purge(identity)
    assert (victim / "mine").read_bytes() == b"1"


def test_folder_that_is_a_link_is_neither_trashed_nor_restored(
    store, new_session, sessions, trash, tmp_path
):
    identity = new_session("a")
    (sessions / identity).rename(tmp_path / "elsewhere")
    (sessions / identity).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SessionNotFound):
        store.trash(identity, "x")
    trash.mkdir()
    (trash / "linked").symlink_to(tmp_path / "elsewhere")
    for method in (store.restore, store.purge):
        with pytest.raises(SessionNotFound):
            method("linked")
    assert (tmp_path / "elsewhere" / "conversation.jsonl").exists()


def test_where_nothing_can_be_locked_a_named_holder_keeps_its_session(
    open_store, new_session, sessions, failing
):
    class Lockless(failing):
        def __getattr__(self, name):
            if name == "lock":
                return self.refuse
            return super().__getattr__(name)

        def refuse(self, _path):
            raise OSError(37, "No locks available")

    identity = new_session("a")
    store = open_store(Lockless())
    (sessions / identity / "lease.lock").write_text('{"pid":1,"host":"h"}', encoding="utf-8")
    with pytest.raises(SessionLocked, match="process 1 on h"):
        store.trash(identity, "x")
    (sessions / identity / "lease.lock").write_bytes(b"")
    store.trash(identity, "x")
    assert len(store.trashed()) == 1
