from __future__ import annotations

import random
import time

import pytest

from mewcode_nb.agent.approval import Mode
from mewcode_nb.messages import text_block
from mewcode_nb.notebook.resume import hold, told_mode
from mewcode_nb.prompt import reminder
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


def test_what_leaves_is_held_ready_and_not_written_yet(store):
    log = store.open(store.list()[0].id)
    log.append([MessageRecord(2.0, "m2", "assistant", (text_block("hi"),), "assistant", turn=1)])
    log.close()
    before = log.path.read_bytes()
    store.interrupted = True
    held = hold(store, store.list()[0], at="1")
    held.writer.close()
    assert log.path.read_bytes() == before
    assert [message.id for message in held.state.messages] == ["m1"]
    assert [record.to for record in held.rewind] == ["m1"]


def test_a_fork_whose_reading_is_interrupted_is_not_left_locked(store):
    (info,) = store.list()
    with pytest.raises(KeyboardInterrupt):
        hold(store, info, fork=True)
    assert [found.live for found in store.list()] == [False, False]


TOLD = reminder("mode", "The mode is now plan: read only.")


@pytest.mark.parametrize(
    ("texts", "mode"),
    [
        (["hi", TOLD], Mode.PLAN),
        ([f"what does this mean?\n{TOLD}"], Mode.ASK),
        ([reminder("resume", "The mode is now plan: no.")], Mode.ASK),
        ([TOLD, reminder("mode", "The mode is now edit: more.")], Mode.EDIT),
        ([TOLD, "The mode is now open: all"], Mode.PLAN),
    ],
)
def test_the_mode_is_what_a_reminder_of_ours_told_last(store, texts, mode):
    log = store.open(store.list()[0].id)
    content = tuple(map(text_block, texts))
    log.append([MessageRecord(2.0, "m2", "user", content, "user", turn=2)])
    log.close()
    store.interrupted = True
    assert told_mode(store.load(log.id)) is mode
