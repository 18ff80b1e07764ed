from __future__ import annotations

import errno
import io
import itertools
import os
import random
import time

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.session.checkpoint import checkpoint_of
from mewcode_nb.session.files import RealFiles
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.reader import scan_log
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    PlacedRecord,
    ReadRecord,
    RewindRecord,
    Section,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    Variable,
    to_line,
)
from mewcode_nb.session.replay import fold

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


class Talk:
    """A session as bytes, grown one step after another as the program would write it."""

    STEPS = ("say", "run", "rewind", "compact", "uncompact", "name", "again", "tear")

    def __init__(self):
        self.data = to_line(SessionRecord(1.0, "s", model="model-x"))
        self.ids = []
        self._batch = b""
        self._count = itertools.count(1)

    @property
    def items(self):
        return list(scan_log(io.BytesIO(self.data)))

    @property
    def records(self):
        return [item for item in self.items if isinstance(item, PlacedRecord)]

    @property
    def state(self):
        items = self.items
        return fold(self.records, [item for item in items if not isinstance(item, PlacedRecord)])

    def write(self, *records):
        self._batch = b"".join(map(to_line, records))
        self.data += self._batch
        self.ids += [record.id for record in records if isinstance(record, MessageRecord)]

    def step(self, name, choice):
        getattr(self, name)(choice)
        return self

    def say(self, choice):
        n, turn = next(self._count), self.state.turns + 1
        usage = Usage(n, choice % 3, 1, 2)
        thought = {"type": "thinking", "thinking": f"hm {n}", "signature": "s"}
        said = ({"type": "text", "text": f'answer {n} \n{{"type":"compact"'},)
        self.write(_message(n, "user", ({"type": "text", "text": f"prompt {n}"},), turn))
        more = {"usage": usage, "message_id": f"msg-{n // 2}", "model": f"model-{choice % 2}"}
        self.write(_message(f"{n}a", "assistant", (thought, *said), turn, **more))

    def run(self, choice):
        n, turn = next(self._count), max(self.state.turns, 1)
        call = {"type": "tool_use", "id": f"t{n}", "name": "run", "input": {"code": f"df = {n}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"result {n}"}
        self.write(_message(f"{n}c", "assistant", (call,), turn, usage=Usage(1, 1, 1, n)))
        path, spill = f"/p/{choice % 3}", SpillRecord(n, f"t{n}", f"tool-results/{n}", n, "0", "p")
        done = _message(f"{n}r", "user", (result,), turn)
        self.write(done, *([spill] if choice % 2 else []), ReadRecord(n, path, f"hash {n}"))
        made = (Variable(f"v{choice % 4}", cell=f"c{n}"),)
        gone = (f"v{(choice + 1) % 4}",) if choice % 3 else ()
        self.write(NamespaceRecord(n, turn, made, removed=gone))

    def rewind(self, choice):
        named = self.ids[-1 - choice % len(self.ids)] if self.ids and choice < 10 else ""
        self.write(RewindRecord(next(self._count), named))

    def compact(self, choice):
        n, state = next(self._count), self.state
        keep = [record.id for record in state.records if record.origin != "summary"]
        keep = keep[len(keep) - choice % 4 :] if choice % 4 else []
        offset = state.offsets[keep[0]] if keep else None
        sections, facts = (Section("1. Goal", f"goal {n}"),), checkpoint_of(state)
        self.write(
            CompactRecord(
                n, f"c{n}", "manual", sections, keep=(*keep,), offset=offset, checkpoint=facts
            )
        )

    def uncompact(self, choice):
        compactions = self.state.compactions
        name = compactions[-1 - choice % 2].id if len(compactions) > 1 else "c2"
        self.write(UncompactRecord(next(self._count), name))

    def name(self, choice):
        facts = {"title": f"title {choice}"} if choice % 3 else {"title": None, "pin": True}
        self.write(MetaRecord(next(self._count), facts))

    def again(self, choice):
        """The last batch once more, as after an append that failed late."""
        self.data += self._batch

    def tear(self, choice):
        """A stump, closed by the next append."""
        self.data += b'{"type":"message","ts":1,"id":"torn' + b"\0" * (choice % 3) + b"\n"


def _message(identity, role, content, turn, **more):
    origin = "assistant" if role == "assistant" else "tool" if "r" in str(identity) else "user"
    return MessageRecord(float(turn), f"m{identity}", role, content, origin, turn=turn, **more)


@pytest.fixture(scope="session")
def talk():
    """A class: its objects are sessions to be grown."""
    return Talk
