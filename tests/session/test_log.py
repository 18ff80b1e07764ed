from __future__ import annotations

import errno
import gc
import itertools
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading

import pytest

from mewcode_nb.errors import SessionError, SessionLocked, SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.session.files import RealFiles
from mewcode_nb.session.load import load
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.records import (
    Damage,
    MessageRecord,
    MetaRecord,
    SessionRecord,
    to_line,
)

LONG = bool(os.environ.get("MEWCODE_LONG"))


class CountedFiles(RealFiles):
    """Counts operations; fails the Nth of some kinds, and takes only part of a write before."""

    def __init__(self, fail_at=0, error=errno.ENOSPC, short=0):
        object.__setattr__(self, "calls", [])
        object.__setattr__(self, "fault", [fail_at, error, short])

    def _step(self, name):
        self.calls.append(name)
        fail_at, error, _ = self.fault
        if fail_at and len(self.calls) == fail_at:
            raise OSError(error, os.strerror(error))

    def make_folder(self, path):
        self._step("make_folder")
        super().make_folder(path)

    def create(self, path):
        self._step("create")
        return super().create(path)

    def open(self, path):
        self._step("open")
        return super().open(path)

    def ends_open(self, fd):
        self._step("ends_open")
        return super().ends_open(fd)

    def is_linked(self, fd, path):
        self._step("is_linked")
        return super().is_linked(fd, path)

    def write(self, fd, data):
        short = self.fault[2]
        if short and len(self.calls) + 1 == self.fault[0] and len(data) > short:
            super().write(fd, data[:short])
        self._step("write")
        return super().write(fd, data)

    def sync(self, fd):
        self._step("sync")
        super().sync(fd)

    def sync_folder(self, path):
        self._step("sync_folder")
        super().sync_folder(path)

    def close(self, fd):
        super().close(fd)
        self._step("close")

    def lock(self, path):
        self._step("lock")
        return super().lock(path)

    def replace_text(self, path, text):
        self._step("replace_text")
        super().replace_text(path, text)


def texts(state):
    return [message.content[0]["text"] for message in state.messages]


def test_session_is_private_named_by_time_and_begins_with_its_header(new_log, sessions):
    old = os.umask(0)
    try:
        log = new_log()
        log.append([MetaRecord(2.0, {"title": "t"})])
    finally:
        os.umask(old)
    assert log.path == sessions / log.id / "conversation.jsonl"
    assert len(log.id) == len("20260314-092653-1f0a")
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (sessions.parent, sessions, log.folder, *log.folder.iterdir())
    }
    assert {name for name, mode in modes.items() if mode == 0o600} == {
        "conversation.jsonl",
        "lease.lock",
    }
    assert {name for name, mode in modes.items() if mode == 0o700} == {
        *(".mewcode", "sessions", log.id)
    }
    state = load(log.folder)
    assert state.header == SessionRecord(1_773_480_413.25, log.id, model="claude-x")
    assert state.meta == {"title": "t"}
    assert log.notice == ""


def test_s_20_same_second_and_same_random_seed_give_two_sessions(sessions):
    logs = [
        SessionLog.create(
            sessions, SessionRecord(0, ""), clock=lambda: 1e9, random=random.Random(7)
        )
        for _ in range(3)
    ]
    for log in logs:
        log.close()
    assert len({log.id for log in logs}) == 3


def test_s_20_source_that_always_says_the_same_still_finds_free_ids(sessions):
    class Stuck(random.Random):
        def getrandbits(self, _bits):
            return 0xFFFF

    ids = []
    for _ in range(4):
        header = SessionRecord(0, "")
        log = SessionLog.create(sessions, header, clock=lambda: 1e9, random=Stuck())
        log.close()
        ids.append(log.id[-4:])
    assert ids == ["ffff", "0000", "0001", "0002"]


def test_t_03_links_in_the_way_are_never_followed(tmp_path, sessions):
    victim = tmp_path / "victim"
    victim.mkdir()
    probe = SessionLog.create(
        sessions, SessionRecord(0, ""), clock=lambda: 1e9, random=random.Random(7)
    )
    probe.close()
    shutil.rmtree(probe.folder)
    probe.folder.symlink_to(victim)
    log = SessionLog.create(
        sessions, SessionRecord(0, ""), clock=lambda: 1e9, random=random.Random(7)
    )
    log.close()
    assert log.id != probe.id
    assert list(victim.iterdir()) == []
    for name in ("conversation.jsonl", "lease.lock"):
        target = tmp_path / f"target of {name}"
        target.write_bytes(b"mine")
        (log.folder / name).rename(tmp_path / name)
        (log.folder / name).symlink_to(target)
        with pytest.raises(SessionError, match="cannot open"):
            SessionLog.open_existing(log.folder, clock=lambda: 1e9)
        assert target.read_bytes() == b"mine"
        (log.folder / name).unlink()
        (tmp_path / name).rename(log.folder / name)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, kind):
    place = tmp_path / "conversation.jsonl"
    place.mkdir() if kind == "folder" else os.mkfifo(place)
    with pytest.raises(SessionError, match="cannot open the session"):
        SessionLog.open_existing(tmp_path, clock=lambda: 1.0)


def test_session_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(SessionNotFound):
        SessionLog.open_existing(tmp_path / "none", clock=lambda: 1.0)


def test_s_13_g19_append_is_one_write_and_one_sync_however_many_records(new_log, said):
    files = CountedFiles()
    log = new_log(files=files)
    files.calls.clear()
    for turn in range(1, 41):
        log.append([said(f"{turn} prompt", turn=turn), MetaRecord(1.0, {"n": turn})])
        log.append([said(f"{turn} answer", "assistant", turn=turn)])
    assert files.calls == ["is_linked", "write", "sync"] * 80
    files.calls.clear()
    log.append([])
    assert files.calls == []


def test_s_13_file_grows_by_what_is_said_and_not_by_what_was_said_before(new_log, said):
    log = new_log()
    sizes = []
    for turn in range(100, 140):
        log.append([said(f"{turn} {'x' * 500}", identity=f"u{turn}", turn=turn)])
        log.append([said(f"{turn} {'y' * 500}", "assistant", f"a{turn}", turn=turn)])
        sizes.append(log.path.stat().st_size)
    growth = {after - before for before, after in itertools.pairwise(sizes)}
    assert len(growth) == 1
    contents = sum(len(text) for text in texts(load(log.folder)))
    assert log.path.stat().st_size <= 1.5 * contents + 200


def test_g19_session_of_100_plain_turns_costs_200_syncs_and_little_but_its_words(new_log, said):
    files = CountedFiles()
    log = new_log(files=files)
    files.calls.clear()
    words = "so many words to be said about the table of customers " * 12
    usage = Usage(30, 0, 4000, 57)
    records = []
    for turn in range(1, 101):
        asked = said(f"{turn} {words}", identity=f"u{turn:04}", turn=turn)
        answer = {"usage": usage, "model": "claude-sonnet-5-5", "message_id": f"msg_{turn}"}
        told = said(f"{turn} {words}", "assistant", f"a{turn:04}", turn=turn, **answer)
        for record in (asked, told):
            log.append([record])
            records.append(record)
    assert files.calls.count("sync") == files.calls.count("write") == 200
    size = log.path.stat().st_size
    bare = (json.dumps({"role": r.role, "content": r.content}) for r in records)
    assert size <= 1.05 * sum(len(to_line(record)) for record in records)
    assert size <= 1.3 * sum(len(text) for text in bare)


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace on this machine")
def test_s_13_the_system_sees_one_write_and_one_fdatasync_an_append(sessions, tmp_path):
    trace = tmp_path / "trace"
    script = f"""
import random, time
from pathlib import Path
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import MetaRecord, SessionRecord
log = SessionLog.create(Path({str(sessions)!r}), SessionRecord(0, ""), clock=time.time,
                        random=random.Random(1))
for n in range(20):
    log.append([MetaRecord(1.0, {{"n": n}}), MetaRecord(1.0, {{"m": n}})])
"""
    calls = "trace=write,writev,pwrite64,fsync,fdatasync"
    command = ["strace", "-f", "-y", "-o", str(trace), "-e", calls, sys.executable, "-c", script]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if "ptrace" in ran.stderr.lower():
        pytest.skip("tracing is not permitted here")
    assert ran.returncode == 0, ran.stderr
    mine = [text for text in trace.read_text().splitlines() if "conversation.jsonl" in text]
    assert [text.split("(")[0].split()[-1] for text in mine] == [
        "write",
        *(["write", "fdatasync"] * 20),
    ]


def test_s_03_row_1_torn_tail_is_closed_before_the_next_record(new_log, said):
    log = new_log()
    log.append([said(str(n)) for n in range(9)])
    log.append([said("你 9")])
    log.close()
    whole = log.path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(last, len(whole)):
        log.path.write_bytes(whole[:cut])
        again = SessionLog.open_existing(log.folder, clock=lambda: 1.0)
        again.append([said("more")])
        again.append([said("and more")])
        again.close()
        for _ in range(2):
            state = load(log.folder)
            expected = [*map(str, range(9)), *(["你 9"] if cut == len(whole) - 1 else [])]
            assert texts(state) == [*expected, "more", "and more"]
            assert len(state.damage) == (1 if last < cut < len(whole) - 1 else 0)


def test_row_4_tool_text_of_all_line_ends_comes_back_from_the_file(new_log, said):
    log = new_log()
    words = "a\nb\rc\r\nd\u2028e\u2029f\u0085g\x0bh\x00i"
    log.append([said(words, identity="m1")])
    assert texts(load(log.folder)) == [words]
    assert len(log.path.read_text(encoding="utf-8").splitlines()) == 2


def test_s_18_file_stays_valid_utf_8_whatever_a_tool_said(new_log, said):
    log = new_log()
    log.append([said("\ud83d and \udcff", identity="m1")])
    log.path.read_bytes().decode("utf-8")
    assert texts(load(log.folder)) == ["\ufffd and \ufffd"]


def test_record_that_cannot_be_stored_leaves_the_file_alone(new_log, said):
    log = new_log()
    before = log.path.read_bytes()
    with pytest.raises(SessionError, match="cannot store a record"):
        log.append([said("a"), MetaRecord(1.0, {"x": object()})])
    with pytest.raises(SessionError, match="over the limit"):
        log.append([MetaRecord(1.0, {"x": "a" * 2**25})])
    assert log.path.read_bytes() == before
    log.append([said("b")])
    assert texts(load(log.folder)) == ["b"]


def run_with_fault(sessions, said, files):
    """A short life of a session and its resume; what was acknowledged, and the errors told."""
    acknowledged, errors, log = [], [], None
    for step in range(4):
        try:
            if log is None:
                header, source = SessionRecord(0, ""), random.Random(step)
                second = 1e9 + step
                log = SessionLog.create(
                    sessions, header, clock=lambda at=second: at, random=source, files=files
                )
            for words in (f"{step}a", f"{step}b"):
                log.append([said(words), said(words + "2")])
                acknowledged.append(words)
            if step == 1:
                folder = log.folder
                log.close()
                log = None
                log = SessionLog.open_existing(folder, clock=lambda: 1e9, files=files)
        except SessionError as error:
            errors.append(error)
    if log is not None:
        log.close()
    return acknowledged, errors


@pytest.mark.parametrize(
    ("error", "short"),
    [
        *((errno.ENOSPC, taken) for taken in (0, 1, 40, 200)),
        *((code, 0) for code in (errno.EIO, errno.EACCES, errno.EDQUOT)),
    ],
)
def test_g3_any_operation_may_fail_and_nothing_acknowledged_is_lost(tmp_path, said, error, short):
    for fail_at in range(1, 200):
        sessions = tmp_path / str(fail_at) / "sessions"
        files = CountedFiles(fail_at, error, short)
        acknowledged, errors = run_with_fault(sessions, said, files)
        assert all(str(sessions) in str(told) and told.remedy for told in errors)
        found = []
        for folder in sorted(sessions.iterdir()) if sessions.is_dir() else []:
            state = load(folder)
            assert state.header is not None
            found += texts(state)
            assert len(state.damage) <= 1
        assert [w for w in found if w in set(acknowledged)] == acknowledged
        for words in acknowledged:
            assert found[found.index(words) + 1] == words + "2"
        if len(files.calls) < fail_at:
            break
    assert errors == []
    assert len(acknowledged) == 8
    assert 20 < fail_at < 199


def test_g3_batch_given_again_after_a_failed_sync_counts_once(new_log, said):
    files = CountedFiles()
    log = new_log(files=files)
    files.calls.clear()
    files.fault[:] = [3, errno.EIO, 0]
    with pytest.raises(SessionError, match="Input/output error"):
        log.append([said("a")])
    log.append([said("a")])
    log.append([said("b")])
    state = load(log.folder)
    assert texts(state) == ["a", "b"]
    assert state.damage == ()


def test_interrupt_in_the_middle_of_a_write_leaves_a_line_the_next_append_closes(new_log, said):
    class Interrupted(CountedFiles):
        def write(self, fd, data):
            if b"half" in bytes(data):
                super().write(fd, data[:50])
                raise KeyboardInterrupt
            return super().write(fd, data)

    log = new_log(files=Interrupted())
    log.append([said("a")])
    with pytest.raises(KeyboardInterrupt):
        log.append([said("half")])
    log.append([said("b")])
    state = load(log.folder)
    assert texts(state) == ["a", "b"]
    assert [d.line for d in state.damage] == [3]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to mount")
def test_g9_full_disk_loses_nothing_acknowledged_and_recovers_with_the_space(tmp_path, said):
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        log = SessionLog.create(
            tmp_path / "s", SessionRecord(0, ""), clock=lambda: 1e9, random=random.Random(1)
        )
        filler = tmp_path / "filler"
        filler.write_bytes(b"x" * 100_000)
        stored = []
        for number in range(200):
            try:
                log.append([said(f"{number} {'x' * 3000}")])
                stored.append(number)
            except SessionError as error:
                full = str(error)
                break
        assert "No space left on device" in full
        filler.unlink()
        log.append([said("after")])
        log.close()
        state = load(log.folder)
        assert [t.split()[0] for t in texts(state)] == [*map(str, stored), "after"]
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_g10_folder_that_may_not_be_written_is_a_clear_error(tmp_path):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        try:
            SessionLog.create(
                tmp_path / "s", SessionRecord(0, ""), clock=lambda: 1e9, random=random.Random(1)
            )
            told = "created"
        except SessionError as error:
            told = str(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    told = os.read(reader, 1000).decode()
    os.close(reader)
    assert told.startswith(
        f"cannot create a session in {tmp_path}/s: Permission denied — make room"
    )


def test_g10_row_15_file_deleted_while_in_use_is_noticed(new_log, said):
    log = new_log()
    log.append([said("a")])
    shutil.rmtree(log.folder)
    with pytest.raises(SessionError, match="was moved or deleted while in use"):
        log.append([said("b")])
    assert not log.folder.exists()


def test_closed_log_refuses_and_closing_twice_is_harmless(new_log, said):
    log = new_log()
    log.close()
    log.close()
    with pytest.raises(SessionError, match="is closed"):
        log.append([said("a")])


CHILD = """
import sys
from pathlib import Path
from mewcode_nb.errors import SessionError
from mewcode_nb.session.log import SessionLog
try:
    log = SessionLog.open_existing(Path(sys.argv[1]), clock=lambda: 1.0)
    log.close()
    print("opened", log.notice)
except SessionError as error:
    print(type(error).__name__, error)
"""


def open_elsewhere(folder, *prefix):
    command = [*prefix, sys.executable, "-c", CHILD, str(folder)]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def test_row_16_second_process_is_told_who_writes_and_opens_once_it_is_free(new_log):
    log = new_log()
    holder = json.loads((log.folder / "lease.lock").read_text(encoding="utf-8"))
    assert holder["pid"] == os.getpid()
    assert holder["started"] == 1_773_480_413.25
    told = open_elsewhere(log.folder)
    assert told.startswith(f"SessionLocked session {log.id} is being written by ")
    assert f"process {os.getpid()} on {holder['host']}" in told
    with pytest.raises(SessionLocked, match=f"process {os.getpid()}"):
        SessionLog.open_existing(log.folder, clock=lambda: 1.0)
    log.close()
    assert (log.folder / "lease.lock").read_bytes() == b""
    assert open_elsewhere(log.folder) == "opened"


def test_row_16_lease_of_a_killed_process_is_free(sessions):
    script = f"""
import os, random, signal
from pathlib import Path
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import SessionRecord
log = SessionLog.create(Path({str(sessions)!r}), SessionRecord(0, ""), clock=lambda: 1e9,
                        random=random.Random(1))
os.kill(os.getpid(), signal.SIGKILL)
"""
    ran = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    assert ran.returncode == -signal.SIGKILL
    log = SessionLog.open_existing(next(sessions.iterdir()), clock=lambda: 1.0)
    assert log.notice == ""
    log.close()


def test_g5_file_system_that_cannot_lock_is_said_and_the_session_goes_on(new_log, said):
    class Lockless(CountedFiles):
        def lock(self, path):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    log = new_log(files=Lockless())
    assert log.notice.endswith("open this session in one kernel at a time")
    assert "No locks available" in log.notice
    log.append([said("a")])
    assert texts(load(log.folder)) == ["a"]


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace on this machine")
def test_g5_lock_that_is_never_to_be_had_is_told_in_one_line_and_soon(new_log):
    log = new_log()
    log.close()
    prefix = ("strace", "-f", "-qq", "-e", "trace=flock", "-e", "inject=flock:error=EAGAIN")
    answer = open_elsewhere(log.folder, *prefix)
    if not answer:
        pytest.skip("tracing is not permitted here")
    assert answer.startswith(f"SessionLocked session {log.id} is being written by another process")
    assert answer.endswith("close it there first, or fork it and go on in the copy")


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace on this machine")
@pytest.mark.parametrize("error", ["ENOLCK", "ENOSYS", "EOPNOTSUPP"])
def test_g5_system_that_refuses_to_lock_does_not_keep_a_session_shut(new_log, error):
    log = new_log()
    log.close()
    prefix = ("strace", "-f", "-qq", "-e", "trace=flock", "-e", f"inject=flock:error={error}")
    answer = open_elsewhere(log.folder, *prefix)
    if not answer:
        pytest.skip("tracing is not permitted here")
    assert answer.startswith("opened the file system of ")
    assert answer.endswith("open this session in one kernel at a time")


def inode_of(descriptor):
    try:
        return os.fstat(descriptor).st_ino
    except OSError:
        return 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_interrupt_while_closing_leaves_no_lock(new_log, clock):
    def interrupted():
        raise KeyboardInterrupt

    log = new_log()
    log.when_closed(interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.close()
    SessionLog.open_existing(log.folder, clock=clock).close()


def test_forked_child_can_neither_write_nor_free_the_session(new_log, said):
    log = new_log()
    log.append([said("a")])
    inode = log.path.stat().st_ino
    descriptor = next(fd for fd in range(3, 256) if inode_of(fd) == inode)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            log.append([said("from the child")])
            answer = "written"
        except SessionError as error:
            answer = str(error)
        if inode_of(descriptor):
            answer = "the child still holds the file"
        log.close()
        del log
        gc.collect()
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    answer = os.read(reader, 1000).decode()
    os.close(reader)
    assert answer == f"session {log.id} belongs to process {os.getpid()}, not to its fork {child}"
    assert open_elsewhere(log.folder).startswith("SessionLocked")
    log.append([said("b")])
    assert texts(load(log.folder)) == ["a", "b"]


def test_threads_append_whole_batches(new_log, said):
    log = new_log()

    def write(name):
        for number in range(20):
            log.append([said(f"{name}{number}", identity=f"{name}{number}{half}") for half in "ab"])

    threads = [threading.Thread(target=write, args=(name,)) for name in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    contents = read_log(log.path)
    words = [p.record.id for p in contents.records if isinstance(p.record, MessageRecord)]
    assert contents.damage == ()
    assert len(words) == 120
    assert all(a[:-1] == b[:-1] for a, b in zip(words[::2], words[1::2], strict=True))


def appending_child(folder, first, writer):
    """In a forked child: append and acknowledge until killed."""
    log = SessionLog.open_existing(folder, clock=lambda: 1.0)
    number = first
    while True:
        words = f"{number} {'你x' * (number % 700)}"
        log.append(
            [MessageRecord(1.0, f"m{number}", "user", ({"type": "text", "text": words},), "user")]
        )
        os.write(writer, f"{number}\n".encode())
        number += 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.timeout(3600 if LONG else 120)
def test_g1_kill_at_any_moment_loses_nothing_acknowledged(new_log):
    log = new_log()
    log.close()
    kills = int(os.environ.get("MEWCODE_KILLS", "10000" if LONG else "40"))
    moments = random.Random(1)
    acknowledged, first, total = [], 0, 0
    for _ in range(kills):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            appending_child(log.folder, first, writer)
        os.close(writer)
        seen = os.read(reader, 64)
        threading.Event().wait(moments.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while part := os.read(reader, 65536):
            seen += part
        os.close(reader)
        acknowledged += [int(number) for number in seen.split(b"\n")[:-1]]
        first = acknowledged[-1] + 2
        total += seen.count(b"\n")
        check_acknowledged(log.folder, acknowledged)
        if len(acknowledged) > 150:  # what is loaded again and again stays short
            acknowledged = []
            log = new_log(seed=first)
            log.close()
    assert total > kills


def check_acknowledged(folder, acknowledged):
    state = load(folder)
    stored = [int(text.split()[0]) for text in texts(state)]
    assert stored == sorted(set(stored))
    assert set(acknowledged) <= set(stored)
    assert all(isinstance(item, Damage) for item in state.damage)
