from __future__ import annotations

import itertools
import random

import pytest

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
