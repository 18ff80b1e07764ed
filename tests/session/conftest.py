from __future__ import annotations

import errno
import itertools
import os
import random
import time

import pytest

from mewcode_nb.session.files import RealFiles
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import MessageRecord, SessionRecord

START = 1_773_480_413.25


@pytest.fixture
def clock():
    return itertools.count(START, 0.5).__next__


@pytest.fixture
def sessions(tmp_path):
    return tmp_path / ".mewcode" / "sessions"


@pytest.fixture
def new_log(sessions, clock):
    made = []

    def make(seed=1, files=None):
        header = SessionRecord(0.0, "", model="claude-x")
        log = SessionLog.create(
            sessions, header, clock=clock, random=random.Random(seed), files=files
        )
        made.append(log)
        return log

    yield make
    for log in made:
        log.close()


@pytest.fixture
def said():
    def make(words, role="user", identity=None, **more):
        content = ({"type": "text", "text": words},) if isinstance(words, str) else tuple(words)
        return MessageRecord(START, identity or f"m-{words}", role, content, role, **more)

    return make


class FailingFiles:
    """Every operation of the real ones, counted; the Nth fails, before or after it was done."""

    def __init__(self, fail_at=0, error=errno.ENOSPC, *, after=False):
        self.calls = []
        self.fail_at = fail_at
        self._error = error
        self._after = after

    def __getattr__(self, name):
        real = getattr(RealFiles(), name)

        def call(*arguments):
            self.calls.append(name)
            failing = len(self.calls) == self.fail_at
            if failing and not (self._after and name in {"close", "rename", "sync_folder"}):
                raise OSError(self._error, os.strerror(self._error))
            done = real(*arguments)
            if failing:
                raise OSError(self._error, os.strerror(self._error))
            return done

        return call


@pytest.fixture
def failing():
    return FailingFiles


@pytest.fixture
def open_store(sessions):
    """Views of the store in `sessions`, each as another process would have it."""
    seeds = itertools.count(1)

    def open_store(files=None, **more):
        source = random.Random(next(seeds))
        return FolderStore(
            sessions, **{"clock": time.time, "random": source, "files": files, **more}
        )

    return open_store


@pytest.fixture
def store(open_store):
    return open_store()


@pytest.fixture
def new_session(store, said):
    """Sessions that nobody holds, with the words as user messages."""

    def make(*words, title=""):
        log = store.create(SessionRecord(0.0, "", model="claude-x"))
        log.append([said(text, identity=f"m{n}", turn=n + 1) for n, text in enumerate(words)])
        log.close()
        if title:
            store.annotate(log.id, {"title": title})
        return log.id

    return make


@pytest.fixture
def backdate(sessions):
    """Make the folder of sessions look as if nothing had changed in it for long."""

    def backdate(seconds=3600.0):
        then = sessions.stat().st_mtime - seconds
        os.utime(sessions, (then, then))

    return backdate
