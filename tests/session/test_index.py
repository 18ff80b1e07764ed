from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.load import load
from mewcode_nb.session.records import Cell, MessageRecord, MetaRecord, Parent, SessionRecord
from mewcode_nb.session.row import info_from_text, info_to_text


@pytest.fixture
def path(sessions):
    return sessions.parent / "cache" / "sessions.sqlite"


@pytest.fixture
def indexed(store, new_session, backdate, path):
    """Three sessions in an index that is current: their ids, the oldest first."""
    made = [new_session(name, title=f"title {name}") for name in "abc"]
    backdate()
    store.reindex()
    assert flags(path) == dict.fromkeys(made, 0)
    return made


def flags(path):
    with sqlite3.connect(path) as connection:
        rows = dict(connection.execute("select id, open from session"))
    connection.close()
    return rows


def names(store, limit=None):
    return [info.first_prompt for info in store.list(limit)]


def opened_logs(action):
    """Logs that are opened meanwhile."""
    seen, active = [], True

    def hook(event, arguments):
        if active and event == "open" and str(arguments[0]).endswith("conversation.jsonl"):
            seen.append(arguments[0])

    sys.addaudithook(hook)
    action()
    active = False
    return len(seen)


def test_list_with_a_current_index_opens_no_session(indexed, open_store):
    store = open_store()
    assert opened_logs(lambda: store.list(2)) == 0
    assert opened_logs(store.list) == 0
    assert names(store) == ["c", "b", "a"]
    assert [info.title for info in store.list(1)] == ["title c"]
    assert store.notices() == ()


def test_list_without_an_index_opens_the_shown_ones_only_and_writes_nothing(
    store, new_session, sessions, path
):
    for number in range(8):
        identity = new_session(str(number))
        log = sessions / identity / "conversation.jsonl"
        os.utime(log, (1_700_000_000 + 100 * number,) * 2)
    store = FolderStore(sessions, clock=lambda: 1.0, random=None)
    few = opened_logs(lambda: store.list(3))
    assert few < opened_logs(store.list)
    assert not path.exists()


def test_index_is_private_and_lies_in_the_cache(indexed, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir()] == ["sessions.sqlite"]


def test_rows_from_the_index_are_the_rows_from_the_files(indexed, store, open_store, path):
    with_index = open_store().list()
    path.unlink()
    assert open_store().list() == with_index


def test_everything_of_a_row_comes_back_from_its_text():
    from mewcode_nb.events import Usage

    info = SessionInfo(
        "id",
        location="/x/id",
        title='a "title" \u2028',
        first_prompt="p",
        created=1.5,
        active=2.25,
        model="m",
        turns=3,
        usage=Usage(1, 2, 3, 4),
        size=5,
        notebook="/n.ipynb",
        project="/p",
        branch="main",
        pinned=True,
        parent=Parent("other", "m1"),
        cells=frozenset({"c1", "c2"}),
        damage="d",
        readable=False,
    )
    assert info_from_text("id", "/x/id", info_to_text(info)) == info
    bare = SessionInfo("id", "/x/id")
    assert info_from_text("id", "/x/id", info_to_text(bare)) == bare
    for text in ("", "[]", "{}", info_to_text(info)[:-1], info_to_text(info).replace("3,", '"3",')):
        with pytest.raises(ValueError):  # noqa: PT011 - the kind is what counts
            info_from_text("id", "/x/id", text)


def test_writer_flags_its_session_before_the_first_append_and_clears_it_at_close(
    indexed, open_store, said, path
):
    store = open_store()
    log = store.open(indexed[0])
    assert flags(path) == {indexed[0]: 1, indexed[1]: 0, indexed[2]: 0}
    log.append([replace(said("later", identity="m9", turn=2), ts=3e9)])
    (info,) = open_store().list(1)
    assert (info.id, info.turns, info.live) == (indexed[0], 2, True)
    log.close()
    assert flags(path)[indexed[0]] == 0
    fresh = open_store()
    assert opened_logs(lambda: fresh.list(1)) == 0
    assert fresh.list(1) == (replace(info, live=False, size=fresh.list(1)[0].size),)


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import MetaRecord, NamespaceRecord
store = FolderStore(Path(sys.argv[1]), clock=time.time, random=random.Random(5))
log = store.open(sys.argv[2])
log.append([NamespaceRecord(3e9, 1), MetaRecord(3e9, {"title": "from the dead"})])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_row_of_a_killed_writer_is_refreshed_at_the_next_listing(
    indexed, open_store, sessions, path
):
    command = [sys.executable, "-c", KILLED, str(sessions), indexed[0]]
    ran = subprocess.run(command, check=False, timeout=60)
    assert ran.returncode == -signal.SIGKILL
    assert flags(path)[indexed[0]] == 1
    store = open_store()
    (info,) = store.list(1)
    assert (info.id, info.title, info.live) == (indexed[0], "from the dead", False)
    store.reindex()
    assert flags(path)[indexed[0]] == 0
    assert opened_logs(lambda: store.list(1)) == 0


def test_session_copied_in_by_hand_is_noticed(indexed, open_store, sessions, backdate):
    shutil.copytree(sessions / indexed[0], sessions / "20300101-000000-0000")
    store = open_store()
    assert len(names(store)) == 4
    assert "a" in names(store, 2) or len(names(store)) == 4
    store.reindex()
    assert sorted(names(open_store())) == ["a", "a", "b", "c"]


def test_session_deleted_and_one_replaced_by_hand_are_noticed(indexed, open_store, sessions):
    shutil.rmtree(sessions / indexed[2])
    assert names(open_store()) == ["b", "a"]
    assert names(open_store(), 1) == ["b"]
    shutil.rmtree(sessions / indexed[1])
    shutil.copytree(sessions / indexed[0], sessions / indexed[1])
    assert names(open_store()) == ["a", "a"]


def test_log_that_went_from_its_folder_is_noticed(indexed, open_store, sessions):
    (sessions / indexed[2] / "conversation.jsonl").unlink()
    assert names(open_store(), 1) == ["b"]
    assert names(open_store()) == ["b", "a"]


def test_session_trashed_and_restored_by_hand_is_noticed(indexed, open_store, sessions):
    (sessions / indexed[2]).rename(sessions.parent / "aside")
    assert names(open_store(), 1) == ["b"]
    open_store().reindex()
    (sessions.parent / "aside").rename(sessions / indexed[2])
    assert names(open_store(), 1) == ["c"]


def test_scan_so_soon_after_a_change_is_not_trusted(store, new_session, sessions, path):
    new_session("a")
    store.reindex()
    moment = sessions.stat().st_mtime_ns
    new_session("b")
    os.utime(sessions, ns=(moment, moment))  # as if both happened within one tick of the clock
    assert names(store, 1) == ["b"]


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["empty", "garbage", "damaged"],
)
def test_corrupt_index_fails_no_listing_and_is_made_anew(indexed, open_store, path, content):
    path.write_bytes(content)
    store = open_store()
    assert names(store) == ["c", "b", "a"]
    assert names(store, 1) == ["c"]
    told = store.notices()
    assert len(told) == (1 if content else 0)
    assert store.notices() == ()
    assert names(store) == ["c", "b", "a"]
    assert store.notices() == ()
    store.reindex()
    assert set(flags(path)) == set(indexed)
    fresh = open_store()
    assert opened_logs(lambda: fresh.list(2)) == 0


@pytest.mark.parametrize("damage", ["page", "cut"])
def test_index_damaged_in_the_middle_fails_no_listing(indexed, open_store, path, damage):
    data = bytearray(path.read_bytes())
    if damage == "page":
        data[4096:] = os.urandom(len(data) - 4096)
    else:
        del data[6000:]
    path.write_bytes(data)
    store = open_store()
    assert sorted(names(store)) == ["a", "b", "c"]
    assert names(store, 1) == ["c"]
    store.annotate(indexed[0], {"title": "t"})
    store.reindex()
    store.reindex()
    assert sorted(names(open_store())) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "statement",
    [
        "update session set info = '[1]'",
        "update session set active = 'x'",
        "update session set info = x'ff00'",
        "drop table session",
        "update place set version = 99",
        "update place set inode = '1'",
        "delete from place",
    ],
)
def test_index_that_says_what_is_not_ours_is_not_believed(indexed, open_store, path, statement):
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    store = open_store()
    assert names(store) == ["c", "b", "a"]
    assert names(store, 1) == ["c"]
    store.reindex()
    store.reindex()
    fresh = open_store()
    assert opened_logs(lambda: fresh.list(1)) == 0
    assert names(fresh) == ["c", "b", "a"]


def test_index_of_a_copied_project_is_made_anew_without_a_word(indexed, sessions, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(sessions.parent, copy)
    store = FolderStore(copy / "sessions", clock=lambda: 1.0, random=None)
    assert all(str(copy) in info.location for info in store.list())
    store.reindex()
    assert store.notices() == ()
    assert flags(copy / "cache" / "sessions.sqlite") == dict.fromkeys(indexed, 0)


def test_locked_index_fails_no_listing_and_no_writing(indexed, open_store, said, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    store = open_store()
    assert names(store, 1) == ["c"]
    assert ["locked" in told for told in store.notices()] == [True]
    log = store.open(indexed[0])
    log.append([replace(said("later", identity="m9"), ts=3e9)])
    log.close()
    other.execute("rollback")
    other.close()
    assert flags(path)[indexed[0]] == 0  # it could not be flagged, so the folder was touched
    assert [info.id for info in open_store().list(1)] == [indexed[0]]


def test_link_or_folder_in_the_place_of_the_index_is_not_followed(
    indexed, open_store, path, tmp_path
):
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    store = open_store()
    assert names(store, 1) == ["c"]
    store.reindex()
    assert len(store.notices()) == 1
    assert (tmp_path / "elsewhere").read_bytes() == before
    path.unlink()
    path.mkdir()
    store = open_store()
    store.reindex()
    assert names(store, 1) == ["c"]
    assert len(store.notices()) == 1


def test_cells_seen_once_stay_known_when_a_compaction_hides_their_prompts(
    store, open_store, backdate
):
    from mewcode_nb.session.records import CompactRecord, Section

    def prompt(number):
        cell = Cell(f"cell{number}", "00")
        text = ({"type": "text", "text": f"{number}"},)
        return MessageRecord(1.0, f"m{number}", "user", text, "user", number, cell)

    log = store.create(SessionRecord(0.0, ""))
    log.append([prompt(1), prompt(2)])
    log.close()
    store.reindex()
    log = store.open(log.id)
    log.append([CompactRecord(2.0, "c", "manual", (Section("", "s"),)), prompt(3)])
    log.close()
    store.reindex()
    (info,) = open_store().list()
    assert info.cells == {"cell1", "cell2", "cell3"}


def test_a_session_just_being_made_is_not_listed_as_damaged(store, sessions, open_store):
    log = store.create(SessionRecord(0.0, ""))
    data = log.path.read_bytes()
    log.path.write_bytes(b"")
    assert open_store().list() == ()
    log.path.write_bytes(data)
    log.close()
    assert [info.damage for info in open_store().list()] == [""]


@pytest.mark.timeout(300)
def test_processes_and_threads_share_an_index(store, open_store, sessions, path):
    script = f"""
import random, sys, time
from pathlib import Path
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import MetaRecord, SessionRecord
seed = int(sys.argv[1])
store = FolderStore(Path({str(sessions)!r}), clock=time.time, random=random.Random(seed))
for number in range(8):
    log = store.create(SessionRecord(0.0, ""))
    log.append([MetaRecord(time.time(), {{"title": f"{{seed}}-{{number}}"}})])
    log.close()
    store.reindex()
    store.annotate(log.id, {{"title": f"{{seed}}-{{number}}!"}})
    assert f"{{seed}}-{{number}}!" in {{info.title for info in store.list()}}
"""
    children = [
        subprocess.Popen([sys.executable, "-c", script, str(seed)], stderr=subprocess.PIPE)
        for seed in range(3)
    ]
    done = threading.Event()
    failures = []

    def look():
        view = open_store()
        while not done.is_set():
            try:
                view.list(5)
                view.reindex()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
                failures.append(error)

    looking = threading.Thread(target=look)
    looking.start()
    errors = [child.communicate(timeout=240)[1] for child in children]
    done.set()
    looking.join()
    assert errors == [b"", b"", b""]
    assert failures == []
    expected = {f"{seed}-{number}!" for seed in range(3) for number in range(8)}
    assert {info.title for info in open_store().list()} == expected
    os.utime(sessions, (1e9, 1e9))
    store.reindex()
    assert {info.title for info in open_store().list()} == expected
    assert set(flags(path).values()) == {0}
    assert {load(sessions / name).meta["title"] for name in flags(path)} == expected


def test_metadata_only_session_lists_its_title(store):
    log = store.create(SessionRecord(0.0, ""))
    log.append([MetaRecord(5e9, {"title": "  two\nlines ", "pin": 1})])
    log.close()
    (info,) = store.list()
    assert (info.title, info.name, info.active, info.pinned) == (
        "two lines",
        "two lines",
        info.created,
        True,
    )
