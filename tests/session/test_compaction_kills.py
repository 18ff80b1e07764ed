"""A kill around a compaction's record leaves the old conversation or the new one, never a mix."""

from __future__ import annotations

import io
import os
import random
import signal
import threading

import pytest

from mewcode_nb.session.checkpoint import checkpoint_of
from mewcode_nb.session.load import load, load_whole
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.reader import scan_log
from mewcode_nb.session.records import CompactRecord, MessageRecord, PlacedRecord, Section, to_line
from mewcode_nb.session.replay import fold
from mewcode_nb.session.tail import read_tail

LONG = bool(os.environ.get("MEWCODE_LONG"))


def record_of(step, state):
    """What is appended at this step: messages, and after each third a compaction."""
    text = ({"type": "text", "text": f"{step} {'你x' * (step % 700)}"},)
    if step % 4 != 3:
        return MessageRecord(1.0, f"m{step}", "user", text, "user", turn=step + 1)
    keep = [record.id for record in state.records[-2:]]
    return CompactRecord(
        2.0,
        f"c{step}",
        "auto",
        (Section("1. Goal", f"{step} {'é' * 20_000}"),),
        keep=tuple(keep),
        checkpoint=checkpoint_of(state),
        offset=state.offsets[keep[0]],
    )


def conversation(steps):
    """Ids of the conversation after so many steps."""
    live = []
    for step in range(steps):
        live = [*live, f"m{step}"] if step % 4 != 3 else [f"c{step}", *live[-2:]]
    return live


def ids(state):
    return [record.id for record in state.records]


def compacting_child(folder, first, writer):
    """In a forked child: append and acknowledge until killed."""
    log = SessionLog.open_existing(folder, clock=lambda: 1.0)
    step = first
    while True:
        log.append([record_of(step, load_whole(folder))])
        os.write(writer, f"{step}\n".encode())
        step += 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.timeout(3600 if LONG else 120)
def test_g2_s_12_kill_around_a_compaction_leaves_old_or_new_and_never_a_mix(new_log):
    kills = int(os.environ.get("MEWCODE_KILLS", "2000" if LONG else "25"))
    moments, log, done, compacted = random.Random(2), new_log(), 0, 0
    log.close()
    for kill in range(kills):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            compacting_child(log.folder, done, writer)
        os.close(writer)
        seen = os.read(reader, 64)
        threading.Event().wait(moments.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while part := os.read(reader, 65536):
            seen += part
        os.close(reader)
        acknowledged = done + seen.count(b"\n")
        whole = load_whole(log.folder)
        assert ids(whole) in (conversation(acknowledged), conversation(acknowledged + 1))
        assert load(log.folder).records == whole.records
        stored = acknowledged + (ids(whole) != conversation(acknowledged))
        compacted += stored // 4 - done // 4
        done = stored
        if done > 60:  # what is loaded again and again stays short
            log, done = new_log(seed=kill), 0
            log.close()
    assert compacted >= kills // 4


def test_g2_compaction_cut_at_every_byte_counts_whole_or_not_at_all(talk):
    made = talk()
    for choice in range(3):
        made.say(choice)
        made.run(choice)
    before, old = made.data, made.state
    made.compact(3)
    new, line = made.state, made.data[len(before) :]
    later = to_line(MessageRecord(9.0, "later", "user", (), "user", turn=9))
    for end in range(len(line) + 1):
        begun = before + line[:end]
        data = begun + (b"" if begun.endswith(b"\n") else b"\n") + later
        whole = whole_of(data)
        assert ids(whole)[-1] == "later"
        expected = new if end >= len(line) - 1 else old
        assert whole.records[:-1] == expected.records
        assert (read_tail(io.BytesIO(data)) or whole).records == whole.records


def whole_of(data):
    return fold(item for item in scan_log(io.BytesIO(data)) if isinstance(item, PlacedRecord))
