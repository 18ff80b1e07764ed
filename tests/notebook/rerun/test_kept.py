from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.kernel


def test_a_replay_is_noted_beside_the_log_which_stays_as_it_is(begin, server, sessions):
    server.add("one")
    cells = begin()
    cells("one", "%%mewcode\nfirst")
    (log,) = sessions()
    note = log.with_name("replayed")
    assert not note.exists()
    cells.restart()
    before = log.read_bytes(), log.stat().st_mtime_ns
    start = int(time.time())
    assert "stored answer" in cells("one", "%%mewcode\nfirst").text
    assert start <= float(note.read_text(encoding="utf-8")) <= time.time() + 1
    assert (log.read_bytes(), log.stat().st_mtime_ns) == before
    assert len(server.requests) == 1
