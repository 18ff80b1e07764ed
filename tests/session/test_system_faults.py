"""Failing system calls, each in turn, while a store is used: strace attaches once it is warm."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
import time

import pytest

from mewcode_nb.session.folder_store import FolderStore

LONG = os.environ.get("MEWCODE_LONG") == "1"
STEPS = range(1, 400) if LONG else (1, 3, 8, 21)
CALLS = ("write,pwrite64", "fsync,fdatasync", "rename,renameat,renameat2", "openat", "mkdir")
ERRORS = ("ENOSPC", "EIO", "EACCES", "EDQUOT")
FEW = tuple(zip(CALLS, ("ENOSPC", "EIO", "EACCES", "EACCES", "EDQUOT"), strict=True))
FAULTS = (*FEW, *sorted({*itertools.product(CALLS, ERRORS)} - {*FEW})) if LONG else FEW

USE = """
import os, random, sys, time
from pathlib import Path
from mewcode_nb.errors import SessionError
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import MessageRecord, SessionRecord

def use(sessions):
    store = FolderStore(sessions, clock=time.time, random=random.Random(5))
    told, kept, held = [], [], []

    def attempt(step):
        try:
            return step()
        except SessionError as error:
            assert error.remedy and len(str(error).splitlines()) == 1, error
            told.append(str(error))

    def say(log, words):
        text = {"type": "text", "text": words}
        log.append([MessageRecord(time.time(), words, "user", (text,), "user", 1)])
        kept.append(f"{log.id} {words}")

    for name in "ab":
        log = attempt(lambda: store.create(SessionRecord(0.0, "")))
        if log:
            held.append(log.id)
            for number in range(2):
                attempt(lambda: say(log, f"{name}{number}"))
            log.close()
    attempt(store.reindex)
    attempt(store.list)
    for identity in held:
        log = attempt(lambda: store.open(identity))
        if log:
            attempt(lambda: say(log, "more"))
            log.close()
    attempt(lambda: store.find("last"))
    attempt(lambda: store.annotate(held[0], {"title": "t"}) if held else None)
    attempt(store.reindex)
    attempt(lambda: store.list(1))
    attempt(lambda: store.fork(held[0]).close() if held else None)
    attempt(lambda: store.trash(held[-1], "why") if held else None)
    attempt(store.trashed)
    attempt(lambda: store.restore(held[-1]) if held else None)
    attempt(store.reindex)
    store.notices()
    return told, kept

use(Path(sys.argv[1]) / "warm" / "sessions")
print("warm", flush=True)
sys.stdin.readline()
told, kept = use(Path(sys.argv[1]) / "used" / "sessions")
report = chr(10).join([*(f"kept {line}" for line in kept), f"ended {len(told)}"]).encode()
for _ in range(2):  # the fault may meet this as well
    try:
        os.write(1, report)
        os._exit(0)
    except OSError:
        continue
"""


def run_with_fault(folder, calls, error, step):
    """The lines that the user of the store printed, and whether the fault was met."""
    user = subprocess.Popen(
        [sys.executable, "-B", "-c", USE, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert user.stdout.readline() == "warm\n", user.stderr.read()
    trace = folder / "trace"
    inject = f"inject={calls}:error={error}:when={step}"
    options = ["-o", str(trace), "-e", f"trace={calls}", "-e", inject, "-p", str(user.pid)]
    tracer = subprocess.Popen(["strace", *options], stderr=subprocess.PIPE, text=True)
    attached = tracer.stderr.readline()
    if "attached" not in attached:
        user.kill()
        user.communicate()
        tracer.communicate()
        pytest.skip(f"tracing is not permitted here: {attached}")
    said, complained = user.communicate("\n", timeout=100)
    tracer.communicate(timeout=60)
    assert user.returncode == 0, complained
    return said.splitlines(), "(INJECTED)" in trace.read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace on this machine")
@pytest.mark.timeout(3600 if LONG else 300)
@pytest.mark.parametrize(("calls", "error"), FAULTS)
def test_g3_each_system_call_may_fail_and_nothing_acknowledged_is_lost(tmp_path, calls, error):
    for step in STEPS:
        folder = tmp_path / str(step)
        folder.mkdir()
        lines, met = run_with_fault(folder, calls, error, step)
        assert lines[-1].startswith("ended")
        source = random.Random(1)
        sessions = folder / "used" / "sessions"
        check_kept(FolderStore(sessions, clock=time.time, random=source), lines[:-1])
        shutil.rmtree(folder)
        if not met:
            assert lines[-1] == "ended 0"
            break
    else:
        assert not LONG, "no run was free of the fault"


def check_kept(store, lines):
    """Each acknowledged message is in its session, listed or in the trash."""
    for item in store.trashed():
        store.restore(item.info.id)
    assert all(info.readable or not info.size for info in store.list())
    for _, identity, words in map(str.split, lines):
        texts = [message.content[0]["text"] for message in store.load(identity).messages]
        assert words in texts
