from __future__ import annotations

import stat

import pytest

from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.replayed import last_replay, note_replay, with_replay

DAY = 86_400.0
NOW = 1_773_480_413.0


def test_the_time_is_noted_once_a_day(tmp_path):
    note_replay(tmp_path, NOW)
    note_replay(tmp_path, NOW + DAY - 1)
    assert last_replay(tmp_path) == NOW
    note_replay(tmp_path, NOW + DAY)
    assert last_replay(tmp_path) == NOW + DAY
    assert stat.S_IMODE((tmp_path / "replayed").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["replayed"]


def test_a_time_from_a_clock_that_was_ahead_is_put_right(tmp_path):
    note_replay(tmp_path, NOW + 1000 * DAY)
    note_replay(tmp_path, NOW)
    assert last_replay(tmp_path) == NOW


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "-inf"])
def test_a_damaged_note_is_none(tmp_path, text):
    (tmp_path / "replayed").write_text(text, encoding="utf-8")
    assert last_replay(tmp_path) == 0.0


def test_where_nothing_can_be_written_nothing_is_noted_or_made(tmp_path):
    note_replay(tmp_path / "gone", NOW)
    assert not (tmp_path / "gone").exists()


def test_the_later_of_both_uses_counts(tmp_path):
    info = SessionInfo("a", str(tmp_path), active=NOW - 40 * DAY)
    assert with_replay(info) == info
    note_replay(tmp_path, NOW - DAY)
    assert with_replay(info).active == NOW - DAY
    late = SessionInfo("a", str(tmp_path), active=NOW)
    assert with_replay(late) == late
