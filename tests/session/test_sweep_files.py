from __future__ import annotations

import json
import os
import random
from dataclasses import replace

import pytest

from mewcode_nb.messages import text_block
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import MessageRecord, MetaRecord, SessionRecord, to_line
from mewcode_nb.session.replayed import note_replay
from mewcode_nb.session.retention import Policy
from mewcode_nb.session.sweep import NOTICE_SECONDS, look_ahead, sweep

NOW = 1_773_480_413.0
DAY = 86_400.0
YEAR = 365 * DAY
POLICY = Policy(keep_last=0, quota=0)


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    sessions = tmp_path / ".mewcode" / "sessions"
    sessions.mkdir(parents=True)
    return FolderStore(sessions, clock=clock, random=random.Random(1))


def put(store, identity, days, mtime_days=None, facts=None, now=NOW):
    """A session last used so many days ago by its records, and by its file's time."""
    folder = store.sessions / identity
    (folder / "tool-results").mkdir(parents=True)
    (folder / "tool-results" / "t1.txt").write_text("spilled", encoding="utf-8")
    ts = now - days * DAY
    records = [
        SessionRecord(ts, identity),
        MessageRecord(ts, "m1", "user", (text_block(f"in {identity}"),), "user", turn=1),
        *([MetaRecord(ts, facts)] if facts else []),
    ]
    write(folder, b"".join(map(to_line, records)), days if mtime_days is None else mtime_days)
    return identity


def write(folder, data, days):
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "conversation.jsonl"
    log.write_bytes(data)
    os.utime(log, (NOW - days * DAY, NOW - days * DAY))


def told(store, clock, policy=POLICY):
    """A sweep a day after the preview."""
    assert sweep(store, policy, clock.now).moved == ()
    clock.now += NOTICE_SECONDS
    return sweep(store, policy, clock.now)


def ids(items):
    return sorted(item.id for item in items)


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in {"lease.lock", "trash.json"}
    }


def test_s_16_only_what_was_not_used_leaves_and_comes_back_whole(store, clock):
    for days in (5, 28, 31, 400):
        put(store, f"used-{days}", days)
    put(store, "20200101-000000-0001", 0)
    put(store, "1500000000-ab12", 31)
    put(store, "future", -300)
    before = content(store.sessions / "used-400")
    report = told(store, clock)
    assert ids(report.moved) == ["1500000000-ab12", "used-31", "used-400"]
    assert ids(store.list()) == ["20200101-000000-0001", "future", "used-28", "used-5"]
    for item in store.trashed():
        assert item.purge_after == clock.now + 30 * DAY
        store.restore(item.info.id)
    assert content(store.sessions / "used-400") == before
    assert len(store.list()) == 7


def test_s_16_a_clock_set_back_a_year_touches_nothing(store, clock):
    for days in (5, 28, 31):
        put(store, f"used-{days}", days)
    clock.now = NOW - YEAR
    assert told(store, clock).silent
    assert len(store.list()) == 3


def test_row_13_file_times_do_not_count_for_readable_sessions(store, clock):
    put(store, "old file, new content", 1, mtime_days=400)
    put(store, "new file, old content", 400, mtime_days=0)
    put(store, "today", 0)
    put(store, "future", -100, mtime_days=400)
    write(store.sessions / "unreadable", b"\xff\xfe\x00", 400)
    report = told(store, clock)
    assert [(item.id, item.reason.value) for item in report.moved] == [
        ("new file, old content", "age"),
        ("unreadable", "unreadable"),
    ]


def test_row_14_results_leave_with_their_log_and_those_without_one_are_found(store, clock):
    put(store, "old", 40)
    lost = store.sessions / "lost" / "tool-results"
    lost.mkdir(parents=True)
    (lost / "t.txt").write_text("left", encoding="utf-8")
    for path in (lost / "t.txt", lost):
        os.utime(path, (NOW - 40 * DAY, NOW - 40 * DAY))
    report = told(store, clock)
    assert ids(report.moved) == ["lost", "old"]
    assert list(store.sessions.iterdir()) == []
    clock.now += 30 * DAY
    assert len(sweep(store, POLICY, clock.now).doomed) == 2
    clock.now += NOTICE_SECONDS
    assert len(sweep(store, POLICY, clock.now).purged) == 2
    assert list((store.sessions.parent / "trash").iterdir()) == []


def test_sessions_of_the_go_program_count_by_their_own_times(store, clock):
    for identity, days in (("1500000000-ab12", 40), ("1500000001-cd34", 2)):
        entry = {"role": "user", "content": "list the files", "ts": int(NOW - days * DAY)}
        write(store.sessions / identity, json.dumps(entry).encode() + b"\n", 400)
    assert {info.first_prompt for info in store.list()} == {"list the files"}
    report = told(store, clock)
    assert ids(report.moved) == ["1500000000-ab12"]
    store.restore("1500000000-ab12")
    assert sweep(store, POLICY, clock.now).moved == ()
    assert len(store.list()) == 2


def test_row_15_a_session_that_is_held_is_never_touched(store, clock):
    put(store, "held", 400)
    writer = store.open("held")
    try:
        assert told(store, clock).moved == ()
        writer.append([MetaRecord(NOW, {"title": "still here"})])
    finally:
        writer.close()
    assert store.find("held").title == "still here"


def test_pinned_sessions_stay_for_ever(store, clock):
    put(store, "pinned", 4000, facts={"pin": True})
    assert told(store, clock).silent


def test_unpinning_and_renaming_do_not_begin_the_time_anew(store, clock):
    put(store, "unpinned", 400, facts={"pin": True})
    put(store, "newer", 50)
    assert ids(told(store, clock).moved) == ["newer"]
    store.annotate("unpinned", {"pin": None})
    store.annotate("unpinned", {"title": "a new title"})
    store.reindex()
    assert store.find("unpinned").active == store.list()[0].active == NOW - 400 * DAY
    assert ids(told(store, clock).moved) == ["unpinned"]


def test_a_session_that_is_only_replayed_stays_for_as_long_as_one_that_is_used(store, clock):
    put(store, "replayed", 400)
    put(store, "idle", 400)
    before = content(store.sessions / "replayed")
    note_replay(store.sessions / "replayed", NOW)
    assert ids(told(store, clock).moved) == ["idle"]
    log = content(store.sessions / "replayed")
    assert log.pop("replayed") == f"{NOW:.0f}\n".encode()
    assert log == before
    assert store.find("replayed").active == NOW - 400 * DAY
    clock.now = NOW + 31 * DAY
    assert ids(told(store, clock).moved) == ["replayed"]


def test_a_session_replayed_between_notice_and_move_stays(store, clock):
    put(store, "replayed", 400)
    sweep(store, POLICY, clock.now)
    note_replay(store.sessions / "replayed", clock.now + 60)
    clock.now += NOTICE_SECONDS
    assert sweep(store, POLICY, clock.now).moved == ()


def test_what_killed_forks_and_imports_left_goes_after_a_day(store, clock):
    put(store, "20260301-100000-aaaa", 3)
    before = content(store.sessions)
    old, new = "20260310-100000-bbbb", "20260314-090000-cccc"
    mine = [store.sessions / name for name in (".notes.new", "20260310-100000", "empty")]
    for folder in mine:
        folder.mkdir()
    for name, days in ((old, 4), (new, 0.01)):
        (store.sessions / name).mkdir()
        spills = store.sessions / f".{name}.new" / "tool-results"
        spills.mkdir(parents=True)
        (spills / "t1.txt").write_text("linked", encoding="utf-8")
        for folder in (spills, spills.parent, store.sessions / name):
            os.utime(folder, (NOW - days * DAY, NOW - days * DAY))
    assert sweep(store, replace(POLICY, days=0), NOW).silent
    assert (store.sessions / old).is_dir()
    ahead = look_ahead(store, POLICY, NOW)
    assert sorted(path.name for path in ahead.leftovers) == [f".{old}.new", old]
    assert sweep(store, POLICY, NOW).silent
    assert look_ahead(store, POLICY, NOW).idle
    left = sorted(path.name for path in store.sessions.iterdir() if path not in mine)
    assert left == [f".{new}.new", "20260301-100000-aaaa", new]
    assert all(folder.is_dir() for folder in mine)
    assert before.items() <= content(store.sessions).items()


ROUNDS = 100 if os.environ.get("MEWCODE_LONG") else 5


@pytest.mark.timeout(900)
def test_g20_random_layouts_and_clocks_on_disk(tmp_path):
    for seed in range(ROUNDS):
        clock = Clock()
        sessions = tmp_path / str(seed) / ".mewcode" / "sessions"
        sessions.mkdir(parents=True)
        store = FolderStore(sessions, clock=clock, random=random.Random(seed))
        _live_through(store, clock, random.Random(seed))


def _live_through(store, clock, random_):
    policy = Policy(random_.choice([1, 30]), random_.randrange(3), random_.choice([0, 1_500]))
    for step in range(8):
        clock.now += random_.choice([60, DAY, DAY, 40 * DAY, -DAY, -YEAR])
        for number in range(random_.randrange(3)):
            facts = {"pin": True} if random_.random() < 0.2 else None
            days = random_.choice([-100, 0, 2, 35, 400])
            put(store, f"s{step}-{number}", days, random_.choice([0, 500]), facts, clock.now)
        if random_.random() < 0.5:
            store.reindex()
        listed = {info.id: info for info in store.list()}
        held = [store.open(name) for name in listed if random_.random() < 0.2]
        trashed = {item.info.id: item for item in store.trashed()}
        report = sweep(store, policy, clock.now)
        for writer in held:
            writer.close()
        limit = clock.now - policy.days * DAY
        for item in report.moved:
            assert listed[item.id].active < limit
            assert not listed[item.id].pinned
            assert item.id not in {writer.id for writer in held}
        assert listed.keys() - {item.id for item in report.moved} == set(ids(store.list()))
        for item in report.purged:
            assert trashed[item.info.id].purge_after <= clock.now
        now_trashed = {item.info.id: item for item in store.trashed()}
        for item in report.moved:
            assert now_trashed[item.id].purge_after == clock.now + 30 * DAY
        if report.moved and random_.random() < 0.5:
            back = random_.choice(report.moved)
            store.restore(back.id)
            assert store.load(back.id).messages
