from __future__ import annotations

import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import time

import pytest

from mewcode_nb.errors import AmbiguousSession, SessionError, SessionLocked, SessionNotFound
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import (
    MessageRecord,
    MetaRecord,
    RewindRecord,
    SessionRecord,
    SpillRecord,
    to_line,
)

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
FAULTS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT)


def texts(state):
    return [
        block["text"]
        for message in state.messages
        for block in message.content
        if block["type"] == "text"
    ]


def with_spill(store, name="tool-results/t1.txt", words="moved"):
    """A session with a call whose result lies in a file; its id."""
    log = store.create(SessionRecord(0.0, ""))
    path = log.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(words, encoding="utf-8")
    call = {"type": "tool_use", "id": "t1", "name": "shell", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "preview"}
    log.append(
        [
            MessageRecord(1.0, "m1", "user", ({"type": "text", "text": "go"},), "user", 1),
            MessageRecord(2.0, "m2", "assistant", (call,), "assistant", 1),
            MessageRecord(3.0, "m3", "user", (result,), "tool", 1),
            SpillRecord(3.0, "t1", name, len(words), "00", "preview"),
        ]
    )
    log.close()
    return log.id


def test_s_11_damaged_sessions_are_listed_with_the_reason_beside_good_ones(
    store, new_session, sessions
):
    good, empty, zeros, folder, headless, garbage = (new_session(f"{n}") for n in range(6))
    log = {path.name: path / "conversation.jsonl" for path in sessions.iterdir()}
    log[empty].write_bytes(b"")
    log[zeros].write_bytes(b"\0" * 4096)
    log[folder].unlink()
    log[folder].mkdir()
    log[headless].write_bytes(log[headless].read_bytes().partition(b"\n")[2])
    log[garbage].write_bytes(b"\x89PNG\r\n")
    for again in (store, reindexed(store)):
        told = {info.id: (info.readable, info.damage) for info in again.list()}
        assert told == {
            good: (True, ""),
            empty: (False, "conversation.jsonl is empty"),
            zeros: (False, "conversation.jsonl holds nothing but zero bytes"),
            folder: (False, "conversation.jsonl is a folder"),
            headless: (True, "its header is missing"),
            garbage: (False, told[garbage][1]),
        }
        assert told[garbage][1].startswith("no record can be read (line 1: not UTF-8")
        assert texts(store.load(good)) == ["0"]
        assert store.find(zeros).damage


def reindexed(store):
    store.reindex()
    return store


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_s_11_session_that_may_not_be_read_is_listed_with_the_reason(
    store, new_session, sessions, tmp_path
):
    good, closed, locked = (new_session(words) for words in ("a", "b", "c"))
    open_to_all(tmp_path)
    for name in (good, closed, locked):
        (sessions / name).chmod(0o755)
        (sessions / name / "conversation.jsonl").chmod(0o644)
    (sessions / closed / "conversation.jsonl").chmod(0)
    (sessions / locked).chmod(0)
    told = as_nobody(
        sessions, "print(*(f'{i.id}={i.damage}={i.readable}' for i in store.list()), sep=';')"
    )
    assert set(told.split(";")) == {
        f"{good}==True",
        f"{closed}=Permission denied=False",
        f"{locked}=Permission denied=False",
    }


def open_to_all(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o055)
    for folder in tmp_path.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o755)


def as_nobody(sessions, statement, *, prefix=()):
    """What a statement prints as a user who may write nothing here; errors by kind."""
    script = f"""
import random, time
from pathlib import Path
from mewcode_nb.errors import SessionError
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import SessionRecord
store = FolderStore(Path({str(sessions)!r}), clock=time.time, random=random.Random(1))
try:
    {statement}
except SessionError as error:
    print(type(error).__name__, error)
"""
    drop = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = subprocess.run(
        [*(prefix or drop), sys.executable, "-c", script],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not (ROOT and shutil.which("setpriv")), reason="needs root and setpriv")
def test_g10_read_only_folder_lists_and_refuses_the_rest_in_one_line(
    store, new_session, sessions, tmp_path, backdate
):
    identity = new_session("a", title="Readable")
    backdate()
    store.reindex()
    open_to_all(tmp_path)
    (sessions / identity / "conversation.jsonl").chmod(0o644)
    assert as_nobody(sessions, "print(store.find('readable').first_prompt)") == "a"
    told = as_nobody(sessions, "store.list(); store.list(); print(store.notices())")
    assert told.count("not a file of this user") == 1
    assert as_nobody(sessions, "store.reindex(); print(len(store.notices()))") == "1"
    for call in (
        f"store.open({identity!r})",
        f"store.annotate({identity!r}, {{'title': 'x'}})",
        f"store.trash({identity!r}, 'x')",
        f"store.fork({identity!r})",
        "store.create(SessionRecord(0.0, ''))",
    ):
        assert as_nobody(sessions, call).startswith("SessionError cannot "), call
    assert texts(store.load(identity)) == ["a"]


@pytest.mark.skipif(not (ROOT and shutil.which("setpriv")), reason="needs root and setpriv")
@pytest.mark.parametrize("mode", [0o000, 0o644])
def test_g10_folder_that_may_not_be_entered_is_an_error_and_holds_no_phantom(
    store, new_session, sessions, tmp_path, mode
):
    identity = new_session("a")
    open_to_all(tmp_path)
    sessions.chmod(mode)
    for name in ("20260101-000000-0000", identity):
        for call in ("find", "load", "open", "restore"):
            told = as_nobody(sessions, f"print(store.{call}({name!r}))")
            known = call == "restore"  # the trash is another folder
            assert told.startswith("SessionNotFound" if known else "SessionError cannot look"), told
    told = as_nobody(sessions, "print([(i.readable, i.damage) for i in store.list()])")
    refused = f"SessionError cannot list the sessions in {sessions}: Permission denied"
    assert told.startswith(refused if mode == 0 else "[(False, 'Permission denied')]")


def test_name_that_no_file_can_have_is_not_found(store, new_session):
    new_session("a")
    for name in ("so many words " * 30, "half \ud83d", "a/b", "", "..", "null\0"):
        for call in (store.find, store.load, store.open, store.restore):
            with pytest.raises(SessionNotFound):
                call(name)


def test_remedies_name_commands_that_there_are(store, new_session, said):
    for call in (store.find, store.load):
        with pytest.raises(SessionNotFound) as told:
            call("none")
        assert "%resume --list" in told.value.remedy
        assert "mewcode-nb sessions list" in told.value.remedy
    with pytest.raises(SessionNotFound) as told:
        store.purge("none")
    assert "mewcode-nb sessions trash" in told.value.remedy


def test_g10_folder_removed_while_running_is_an_empty_list_and_a_clear_error(
    store, new_session, sessions, said
):
    new_session("a")
    log = store.create(SessionRecord(0.0, ""))
    shutil.rmtree(sessions.parent)
    assert store.list() == ()
    assert store.trashed() == ()
    assert store.orphans() == ()
    store.reindex()
    with pytest.raises(SessionNotFound):
        store.find("last")
    with pytest.raises(SessionError, match="moved or deleted while in use"):
        log.append([said("b")])
    log.close()
    again = store.create(SessionRecord(0.0, ""))
    again.append([said("c")])
    again.close()
    assert [info.first_prompt for info in store.list()] == ["c"]


def test_a_first_prompt_that_a_rewind_left_is_not_the_session_s(store, said):
    log = store.create(SessionRecord(0.0, ""))
    log.append([said("taken back"), RewindRecord(0.0, "")])
    assert [info.first_prompt for info in store.list()] == ["taken back"]
    log.append([said("asked instead"), said("and more")])
    assert [info.first_prompt for info in store.list()] == ["asked instead"]
    log.close()


def test_sessions_of_the_go_program_are_listed_by_the_time_in_their_name(store, sessions):
    folder = sessions / "1700000000-9f3a"
    folder.mkdir(parents=True)
    entries = [
        {"role": "user", "content": "Hello\nGo.", "ts": 1_700_000_005, "model": "m"},
        {"role": "assistant", "content": "Hi.", "ts": 1_700_000_009},
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    (folder / "conversation.jsonl").write_text(lines, encoding="utf-8")
    (info,) = store.list()
    assert (info.id, info.first_prompt) == ("1700000000-9f3a", "Hello Go.")
    assert (info.created, info.active, info.turns) == (1_700_000_000, 1_700_000_009, 1)
    assert (info.readable, info.damage) == (True, "")
    store.annotate(info.id, {"title": "Old"})
    assert store.find("old").first_prompt == "Hello Go."
    fork = store.fork(info.id)
    fork.close()
    assert texts(store.load(fork.id)) == ["Hello\nGo.", "Hi."]


def test_row_14_spills_without_a_log_are_orphans_and_can_be_trashed(store, new_session, sessions):
    kept = new_session("a")
    lost = with_spill(store)
    (sessions / lost / "conversation.jsonl").unlink()
    (sessions / "20260101-000000-0000").mkdir()
    (orphan,) = store.orphans()
    assert (orphan.id, orphan.size) == (lost, len("moved"))
    assert time.time() - orphan.modified < 60
    assert [info.id for info in store.list()] == [kept]
    store.trash(lost, "no log")
    assert store.orphans() == ()
    assert [(item.info.id, item.reason) for item in store.trashed()] == [(lost, "no log")]
    store.restore(lost)
    assert [item.id for item in store.orphans()] == [lost]


def test_hidden_folders_files_and_links_are_no_sessions(store, new_session, sessions, tmp_path):
    identity = new_session("a")
    shutil.copytree(sessions / identity, sessions / ".20260101-000000-0000.new")
    shutil.copytree(sessions / identity, tmp_path / "elsewhere")
    (sessions / "linked").symlink_to(tmp_path / "elsewhere")
    (sessions / "file").write_bytes(b"")
    if os.name == "posix":
        shutil.copytree(sessions / identity, sessions / "back\\slash")
    assert [info.id for info in store.list()] == [identity]
    assert [info.id for info in reindexed(store).list()] == [identity]
    for method in (store.load, store.open, store.find):
        with pytest.raises(SessionNotFound):
            method("linked")


def test_l_01_what_a_list_shows_can_be_typed(store, new_session):
    first = new_session("a", title="Churn of  customers in the north-east region")
    second = new_session("b", title="last words")
    assert store.find("Churn of customers in the nor…").id == first
    assert store.find("churn").id == first
    assert store.find("last").id == second
    assert store.find(first[:-1] if first[:-1] != second[:-1] else first).id == first
    with pytest.raises(AmbiguousSession) as told:
        store.find(first[:4])
    for identity in (first, second):
        assert identity in str(told.value)
        assert store.find(identity).id == identity
    with pytest.raises(SessionNotFound, match="no session is called 'north'"):
        store.find("north")


def test_row_9_fork_takes_spill_files_along_without_copying_them(store, open_store, sessions):
    identity = with_spill(store)
    fork = store.fork(identity)
    fork.close()
    spill = sessions / fork.id / "tool-results" / "t1.txt"
    assert spill.samefile(sessions / identity / "tool-results" / "t1.txt")
    assert stat.S_IMODE(spill.parent.stat().st_mode) == 0o700
    store.trash(identity, "x")
    store.purge(identity)
    assert spill.read_text(encoding="utf-8") == "moved"


def test_row_9_fork_copies_spill_files_where_links_are_not_to_be_had(
    store, open_store, sessions, failing
):
    class Linkless(failing):
        def __getattr__(self, name):
            if name == "link":
                return self.refuse
            return super().__getattr__(name)

        def refuse(self, *_):
            raise OSError(errno.EPERM, "no links here")

    identity = with_spill(store)
    fork = open_store(Linkless()).fork(identity)
    fork.close()
    spill = sessions / fork.id / "tool-results" / "t1.txt"
    assert spill.read_text(encoding="utf-8") == "moved"
    assert not spill.samefile(sessions / identity / "tool-results" / "t1.txt")
    assert stat.S_IMODE(spill.stat().st_mode) == 0o600


def test_fork_takes_nothing_from_behind_a_linked_folder(store, sessions, tmp_path):
    identity = with_spill(store)
    outside = tmp_path / "outside"
    (sessions / identity / "tool-results").rename(outside)
    (sessions / identity / "tool-results").symlink_to(outside)
    fork = store.fork(identity)
    fork.close()
    assert not (sessions / fork.id / "tool-results").exists()
    assert (outside / "t1.txt").stat().st_nlink == 1


@pytest.mark.parametrize("name", ["../secret", "tool-results/../../secret", "conversation.jsonl"])
def test_fork_takes_nothing_from_outside_the_session(store, sessions, name):
    identity = with_spill(store)
    log = sessions / identity / "conversation.jsonl"
    (sessions / "secret").write_text("s", encoding="utf-8")
    log.write_bytes(log.read_bytes().replace(b"tool-results/t1.txt", name.encode()))
    fork = store.fork(identity)
    fork.close()
    names = {path.name for path in (sessions / fork.id).rglob("*")}
    assert names <= {"conversation.jsonl", "lease.lock"}
    assert texts(store.load(fork.id)) == ["go"]


@pytest.mark.parametrize("error", FAULTS)
@pytest.mark.parametrize("action", ["annotate", "fork", "trash", "restore", "purge", "create"])
def test_g3_any_operation_may_fail_and_each_session_stays_whole_in_one_place(
    tmp_path, failing, said, action, error
):
    for fail_at in range(1, 99):
        sessions = tmp_path / str(fail_at) / "sessions"
        calm = FolderStore(sessions, clock=time.time, random=random.Random(1))
        identity = with_spill(calm)
        calm.reindex()
        if action in {"restore", "purge"}:
            calm.trash(identity, "x")
        before = (sessions.parent / "sessions" / identity, sessions.parent / "trash" / identity)
        files = failing(fail_at, error, after=fail_at % 2 == 0)
        told = act(
            FolderStore(sessions, clock=time.time, random=random.Random(2), files=files),
            action,
            identity,
            said,
        )
        assert told is None or told.remedy
        check_whole(calm, identity, purged=action == "purge" and not told)
        assert sum(path.exists() for path in before) == (
            0 if action == "purge" and gone(before) else 1
        )
        for info in calm.list():
            assert info.readable, info
        if len(files.calls) < fail_at:
            assert told is None
            break
    assert 3 < fail_at < 98


def gone(places):
    return not any(path.exists() for path in places)


def act(store, action, identity, said):
    more = {"annotate": [{"title": "t"}], "trash": ["why"]}.get(action, [])
    given = [SessionRecord(0.0, "")] if action == "create" else [identity, *more]
    try:
        writer = getattr(store, action)(*given)
        if writer is not None:
            writer.append([said("new")])
            writer.close()
    except SessionError as error:
        return error
    return None


def check_whole(store, identity, *, purged):
    listed = {info.id: info for info in store.list()}
    trashed = {item.info.id for item in store.trashed()}
    if identity in trashed:
        assert identity not in listed
        store.restore(identity)
        listed[identity] = store.find(identity)
        assert texts(store.load(identity)) == ["go"]
        store.trash(identity, "x")
    elif not purged and identity in listed:
        assert texts(store.load(identity)) == ["go"]
    for other in listed.keys() - {identity}:
        fork = store.load(other)
        if listed[other].parent:
            assert texts(fork) in (["go"], ["go", "new"])
            path = store.sessions / other / "tool-results" / "t1.txt"
            assert path.read_text(encoding="utf-8") == "moved"


@pytest.mark.skipif(not ROOT, reason="needs root to mount")
def test_g9_full_disk_loses_nothing_and_recovers_with_the_space(tmp_path, said):
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        store = FolderStore(tmp_path / "m" / "sessions", clock=time.time, random=random.Random(1))
        identity = with_spill(store)
        store.reindex()
        held = store.create(SessionRecord(0.0, ""))
        filler = tmp_path / "filler"
        fill(filler)
        stored, full = [], []
        for number in range(400):
            try:
                held.append([said(f"{number} {'x' * 2000}")])
                stored.append(str(number))
            except SessionError as error:
                full.append(error)
                break
        for action in ("annotate", "fork", "trash", "create"):
            full.append(act(store, action, identity, said))
        store.reindex()
        store.notices()
        assert {info.id for info in store.list()} >= {held.id} - {identity}
        assert any("No space left on device" in str(error) for error in full)
        filler.unlink()
        if identity in {item.info.id for item in store.trashed()}:
            store.restore(identity)
        store.annotate(identity, {"title": "after"})
        held.append([said("after")])
        held.close()
        fork = store.fork(identity)
        fork.close()
        store.reindex()
        assert texts(store.load(identity)) == ["go"]
        assert [t.split()[0] for t in texts(store.load(held.id))] == [*stored, "after"]
        assert all(info.readable for info in store.list())
        assert identity in {info.id for info in store.list() if info.title == "after"}
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(path):
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


STRACE = """
import random, time
from pathlib import Path
from mewcode_nb.errors import SessionError
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import SessionRecord, MetaRecord
import sqlite3
store = FolderStore(Path(SESSIONS), clock=time.time, random=random.Random(5))
print("begun", flush=True)
told = []
for step in (
    lambda: store.list(),
    lambda: store.find("last"),
    lambda: store.annotate(ID, {"title": "t"}),
    lambda: store.reindex(),
    lambda: store.list(1),
    lambda: store.trash(ID, "x"),
    lambda: store.restore(ID),
    lambda: store.reindex(),
):
    try:
        step()
    except SessionError as error:
        told.append(str(error))
print("ended", len(told), flush=True)
"""


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace on this machine")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("fault", "steps"),
    [
        ("pwrite64 ENOSPC", (1, 2, 4, 8, 16, 32)),
        ("pwrite64 EIO", (1, 3, 7)),
        ("fsync,fdatasync EIO", (1, 2, 3, 5, 8, 13)),
        ("rename,renameat,renameat2 EACCES", (1, 2, 3, 4)),
        ("mkdir,mkdirat EDQUOT", (1, 2)),
    ],
)
def test_g3_failing_system_calls_leave_every_session_whole(
    store, new_session, sessions, open_store, fault, steps
):
    identity = new_session("a", "b")
    store.reindex()
    call, _, error = fault.partition(" ")
    script = STRACE.replace("SESSIONS", repr(str(sessions))).replace("ID", repr(identity))
    for step in steps:
        inject = f"inject={call}:error={error}:when={step}+"
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
        done = subprocess.run(
            [*command, sys.executable, "-B", "-c", script],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if "ptrace" in done.stderr.lower():
            pytest.skip("tracing is not permitted here")
        assert done.returncode == 0, done.stderr
        assert "ended" in done.stdout
        calm = open_store()
        if identity not in {info.id for info in calm.list()}:
            calm.restore(identity)
        assert texts(calm.load(identity)) == ["a", "b"]
        calm.reindex()
        assert [info.id for info in calm.list()] == [identity]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("action", ["fork", "trash", "restore", "purge"])
def test_kill_between_any_two_steps_leaves_the_session_listed_or_in_the_trash(tmp_path, action):
    for step in range(1, 60):
        sessions = tmp_path / str(step) / "sessions"
        calm = FolderStore(sessions, clock=time.time, random=random.Random(1))
        identity = with_spill(calm)
        if action in {"restore", "purge"}:
            calm.trash(identity, "x")
        child = os.fork()
        if child == 0:
            run_until_killed(sessions, step, action, identity)
        _, status = os.waitpid(child, 0)
        listed = [info.id for info in calm.list()]
        trashed = [item.info.id for item in calm.trashed()]
        whole = [name for name in (*listed, *trashed) if name == identity]
        assert len(whole) == 1 or (action == "purge" and not whole)
        check_whole(calm, identity, purged=False)
        if os.WIFEXITED(status):
            break
    assert 3 < step < 59


def run_until_killed(sessions, step, action, identity):
    """In a forked child."""
    from mewcode_nb.session.files import RealFiles

    class Deadly:
        count = 0

        def __getattr__(self, name):
            Deadly.count += 1
            if Deadly.count == step:
                os.kill(os.getpid(), 9)
            return getattr(RealFiles(), name)

    source = random.Random(5)
    store = FolderStore(sessions, clock=time.time, random=source, files=Deadly())
    more = ["why"] if action == "trash" else []
    getattr(store, action)(identity, *more)
    os._exit(0)


def test_annotation_of_a_session_held_elsewhere_is_refused(store, open_store, said):
    log = store.create(SessionRecord(0.0, ""))
    log.append([said("a")])
    with pytest.raises(SessionLocked, match=f"process {os.getpid()}"):
        open_store().annotate(log.id, {"title": "t"})
    log.append([MetaRecord(5.0, {"title": "t"})])
    assert open_store().find("t").id == log.id
    log.close()


def test_session_with_a_line_damaged_is_listed_as_readable(store, new_session, sessions):
    identity = new_session("a", "b")
    path = sessions / identity / "conversation.jsonl"
    with path.open("ab") as file:
        file.write(b'{"type":"mess\n' + to_line(MetaRecord(1.0, {"title": "T"})))
    (info,) = store.list()
    assert (info.title, info.readable) == ("T", True)
    assert info.damage.startswith("1 line is damaged (line 4: not JSON")
