from __future__ import annotations

import random
import time

import pytest

from mewcode_nb.messages import text_block
from mewcode_nb.notebook.resume import hold
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import MessageRecord, SessionRecord


class Slow(FolderStore):
    """A store whose reading the user interrupts once."""

    interrupted = False

    def load(self, identity, *, whole=False):
        if not self.interrupted:
            self.interrupted = True
            raise KeyboardInterrupt
        return super().load(identity, whole=whole)


@pytest.fixture
def store(tmp_path):
    store = Slow(tmp_path / ".mewcode" / "sessions", clock=time.time, random=random.Random(1))
    log = store.create(SessionRecord(0.0, ""))
    log.append([MessageRecord(1.0, "m1", "user", (text_block("hello"),), "user", turn=1)])
    log.close()
    return store


@pytest.mark.parametrize("at", ["", "1"])
def test_a_session_whose_reading_is_interrupted_can_be_taken_up_again(store, at):
    (info,) = store.list()
    with pytest.raises(KeyboardInterrupt):
        hold(store, info, at=at)
    held = hold(store, info, at=at)
    try:
        assert (held.writer.id, held.forked_from, held.notices) == (info.id, "", ())
    finally:
        held.writer.close()


def test_a_fork_whose_reading_is_interrupted_is_not_left_locked(store):
    (info,) = store.list()
    with pytest.raises(KeyboardInterrupt):
        hold(store, info, fork=True)
    assert [found.live for found in store.list()] == [False, False]
