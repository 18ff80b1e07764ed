from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from mewcode_nb.errors import SessionError, SessionLocked
from mewcode_nb.session.files import RealFiles
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.lease import hold_still, is_held, take_lease
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.records import MessageRecord, SessionRecord

WRITER = """
import random, sys, time
from pathlib import Path
from mewcode_nb.errors import SessionLocked
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import MessageRecord
sessions, name, who, count = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
store = FolderStore(sessions, clock=time.time, random=random.Random(1))
end = time.monotonic() + 60
while True:
    try:
        log = store.open(name)
        break
    except SessionLocked:
        assert time.monotonic() < end
for number in range(count):
    text = {"type": "text", "text": who + "x" * 8192}
    log.append([MessageRecord(time.time(), f"{who}{number}", "user", (text,), "user")])
    print(number, flush=True)
if count < 100:
    sys.stdin.read()
log.close()
"""


def writer(sessions, identity, who, count, **more):
    command = [sys.executable, "-c", WRITER, str(sessions), identity, who, str(count)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **more
    )


def ids(sessions, identity):
    contents = read_log(sessions / identity / "conversation.jsonl")
    assert contents.damage == ()
    return [p.record.id for p in contents.records if isinstance(p.record, MessageRecord)]


@pytest.mark.timeout(180)
def test_row_16_two_processes_write_100_records_of_8_kb_each_without_mixing(new_session, sessions):
    identity = new_session("start")
    both = [writer(sessions, identity, who, 100) for who in "ab"]
    for process in both:
        process.communicate(timeout=150)
        assert process.returncode == 0
    found = ids(sessions, identity)
    runs = ["".join(sorted({name[0] for name in part})) for part in (found[1:101], found[101:])]
    assert sorted(runs) == ["a", "b"]
    assert len(found) == 201
    assert found[1:101] == [f"{runs[0]}{n}" for n in range(100)]


@pytest.mark.timeout(120)
def test_row_16_killed_holder_leaves_its_session_free_and_whole(new_session, store, sessions, said):
    identity = new_session("start")
    holder = writer(sessions, identity, "a", 50)
    for line in holder.stdout:
        if line == "49\n":
            break
    with pytest.raises(SessionLocked, match=f"process {holder.pid}"):
        store.open(identity)
    assert store.find(identity).live
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    holder.stdin.close()
    assert not store.find(identity).live
    log = store.open(identity)
    assert log.notice == ""
    log.append([said("after")])
    log.close()
    assert ids(sessions, identity) == ["m0", *(f"a{n}" for n in range(50)), "m-after"]


def test_looking_whether_a_session_is_held_disturbs_nobody(new_log, said):
    log = new_log()
    files = RealFiles()
    before = (log.folder / "lease.lock").read_bytes()
    assert all(is_held(log.folder, files) for _ in range(20))
    assert (log.folder / "lease.lock").read_bytes() == before
    log.append([said("a")])
    log.close()
    assert not is_held(log.folder, files)
    assert not is_held(log.folder / "none", files)
    assert not (log.folder / "none").exists()


def test_lease_can_be_taken_while_others_look_at_it(new_log):
    log = new_log()
    folder = log.folder
    log.close()
    (folder / "lease.lock").write_text('{"pid": 1, "host": "gone"}\n', encoding="utf-8")
    done = threading.Event()
    files = RealFiles()

    def look():
        while not done.is_set():
            is_held(folder, files)

    looking = [threading.Thread(target=look) for _ in range(2)]
    for thread in looking:
        thread.start()
    try:
        for _ in range(100):
            take_lease(folder, 1.0, files).release(files)
            (folder / "lease.lock").write_text('{"pid": 1, "host": "gone"}\n', encoding="utf-8")
    finally:
        done.set()
        for thread in looking:
            thread.join()


def test_folder_that_is_gone_is_not_made_again_by_locking_it(tmp_path):
    for take in (
        lambda: take_lease(tmp_path / "gone", 1.0, RealFiles()),
        lambda: hold_still(tmp_path / "gone", RealFiles()),
    ):
        with pytest.raises(FileNotFoundError):
            take()
    assert list(tmp_path.iterdir()) == []


def test_folder_moved_away_between_opening_and_locking_is_noticed(new_log, tmp_path):
    log = new_log()
    folder = log.folder
    log.close()

    class Moved(RealFiles):
        def lock(self, path):
            folder.rename(tmp_path / "moved")
            return super().lock(path)

    with pytest.raises(SessionError, match="cannot open the session"):
        SessionLog.open_existing(folder, clock=lambda: 1.0, files=Moved())
    assert not folder.exists()
    SessionLog.open_existing(tmp_path / "moved", clock=lambda: 1.0).close()


def test_open_that_fails_late_lets_go_of_the_lease_at_once(new_log):
    log = new_log()
    log.close()
    kept = []

    class Broken(RealFiles):
        def ends_open(self, fd):
            kept.append(fd)
            raise OSError(5, "Input/output error")

    with pytest.raises(SessionError, match="Input/output error") as told:
        SessionLog.open_existing(log.folder, clock=lambda: 1.0, files=Broken())
    assert told.value.__traceback__ is not None  # what it holds on to must not matter
    SessionLog.open_existing(log.folder, clock=lambda: 1.0).close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(kept[0])


def test_hold_still_names_no_holder_and_excludes_writers(new_log):
    log = new_log()
    log.close()
    lease = hold_still(log.folder, RealFiles())
    assert (log.folder / "lease.lock").read_bytes() == b""
    with pytest.raises(SessionLocked, match="another process"):
        SessionLog.open_existing(log.folder, clock=lambda: 1.0)
    lease.release(RealFiles())
    SessionLog.open_existing(log.folder, clock=lambda: 1.0).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_session_is_free_when_its_holder_dies_though_a_fork_of_it_lives(sessions):
    script = f"""
import os, random, signal, sys, time
from pathlib import Path
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import SessionRecord
store = FolderStore(Path({str(sessions)!r}), clock=time.time, random=random.Random(1))
log = store.create(SessionRecord(0.0, ""))
if os.fork() == 0:
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
signal.pause()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    child = int(holder.stdout.readline())
    try:
        store = FolderStore(sessions, clock=time.time, random=random.Random(2))
        (info,) = store.list()
        assert info.live
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        os.kill(child, 0)
        assert not store.find(info.id).live
        store.open(info.id).close()
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()
        holder.stdin.close()


def test_s_20_stores_with_one_seed_in_one_second_make_two_sessions(sessions):
    made = []
    for _ in range(3):
        store = FolderStore(sessions, clock=lambda: 1e9, random=random.Random(7))
        log = store.create(SessionRecord(0.0, ""))
        log.close()
        made += [log.id]
        fork = store.fork(log.id)
        fork.close()
        made += [fork.id]
    assert len(set(made)) == 6
