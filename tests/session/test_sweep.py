from __future__ import annotations

import json
import os
import random
from dataclasses import replace

import pytest

from mewcode_nb.errors import SessionError, SessionLocked, SessionNotFound
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.retention import Orphan, Policy, last_activity
from mewcode_nb.session.sweep import NOTICE_SECONDS, Skipped, look_ahead, sweep

NOW = 1_773_480_413.0
DAY = 86_400.0
POLICY = Policy(keep_last=0, quota=0)
TRASH_DAYS = 30


class MemoryStore:
    """The part of a store that a sweep uses; `held` are ids that another process writes."""

    def __init__(self, sessions, *infos):
        self.sessions = sessions
        self.infos = {info.id: info for info in infos}
        self.bin = {}
        self.lost = {}
        self.held = set()
        self.now = NOW
        self.before_trash = lambda identity: None

    def list(self):
        return tuple(self.infos.values())

    def orphans(self):
        return tuple(self.lost.values())

    def find(self, name):
        if name not in self.infos:
            raise SessionNotFound(f"no session {name}")
        return self.infos[name]

    def trash(self, identity, reason):
        self.before_trash(identity)
        if identity in self.held:
            raise SessionLocked(f"session {identity} is being written")
        if identity in self.lost:
            info = SessionInfo(identity, size=self.lost.pop(identity).size)
        else:
            info = self.infos.pop(identity)
        self.bin[identity] = TrashedSession(info, reason, self.now, self.now + TRASH_DAYS * DAY)

    def trashed(self):
        return tuple(self.bin.values())

    def restore(self, identity):
        self.infos[identity] = self.bin.pop(identity).info

    def purge(self, identity):
        del self.bin[identity]


def used(name, days, size=10, **more):
    return SessionInfo(name, active=NOW - days * DAY, size=size, **more)


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / ".mewcode" / "sessions"
    folder.mkdir(parents=True)
    return MemoryStore(folder, used("new", 1), used("old", 32), used("older", 400))


@pytest.fixture
def told(store):
    """The store after its preview, the day before."""
    sweep(store, POLICY, NOW - NOTICE_SECONDS)
    return store


def ids(items):
    return [item.id for item in items]


def test_s_16_the_first_use_only_tells(store):
    report = sweep(store, POLICY, NOW)
    assert ids(report.preview) == ["older", "old"]
    assert (report.preview_size, report.due, report.moved) == (20, NOW + DAY, ())
    assert ids(store.list()) == ["new", "old", "older"]
    assert not report.silent


def test_s_16_within_a_day_nothing_is_said_again_or_done(store):
    sweep(store, POLICY, NOW)
    report = sweep(store, POLICY, NOW + DAY - 1)
    assert report.silent
    assert (report.waiting, report.due) == (2, NOW + DAY)
    assert len(store.list()) == 3


def test_s_16_a_day_after_the_notice_they_go_to_the_trash_and_can_be_restored(told):
    report = sweep(told, POLICY, NOW)
    assert (ids(report.moved), report.moved_size) == (["older", "old"], 20)
    assert ids(told.list()) == ["new"]
    assert told.bin["old"].reason == "unused for longer than retention_days"
    told.restore("old")
    assert told.find("old").active == NOW - 32 * DAY


def test_s_16_what_has_its_time_later_is_told_of_by_itself(told):
    report = sweep(told, POLICY, NOW - 60)
    assert report.silent
    told.infos["later"] = used("later", 31)
    report = sweep(told, POLICY, NOW)
    assert (ids(report.preview), ids(report.moved)) == (["later"], ["older", "old"])
    assert (report.waiting, report.due) == (0, NOW + DAY)
    assert ids(sweep(told, POLICY, NOW + DAY).moved) == ["later"]


def test_s_16_what_was_restored_is_told_of_again_before_it_goes_again(told):
    sweep(told, POLICY, NOW)
    told.restore("old")
    report = sweep(told, POLICY, NOW + 60)
    assert (ids(report.preview), report.moved) == (["old"], ())
    assert ids(sweep(told, POLICY, NOW + 60 + DAY).moved) == ["old"]


def test_when_it_is_told_to_stop_the_rest_is_left_for_the_next_time(told):
    report = sweep(told, POLICY, NOW, stop=lambda: bool(told.bin))
    assert (ids(report.moved), report.skipped, report.waiting) == (["older"], (), 1)
    assert ids(sweep(told, POLICY, NOW + 60).moved) == ["old"]


def test_looking_ahead_touches_nothing_and_says_when(store):
    ahead = look_ahead(store, POLICY, NOW)
    assert [ahead.due(item) for item in ahead.plan.remove] == [0.0, 0.0]
    assert not (store.sessions.parent / "cache").exists()
    sweep(store, POLICY, NOW)
    ahead = look_ahead(store, POLICY, NOW + 60)
    assert [ahead.due(item) for item in ahead.plan.remove] == [NOW + DAY, NOW + DAY]


def test_s_16_nothing_is_told_or_remembered_while_there_is_nothing_to_tell(store):
    report = sweep(store, replace(POLICY, days=0), NOW)
    assert report.silent
    assert not (store.sessions.parent / "cache").exists()


def test_the_notice_is_remembered_for_the_folder_and_its_loss_only_repeats_it(told):
    memory = told.sessions.parent / "cache" / "retention.json"
    assert json.loads(memory.read_bytes()) == {"told": {"older": NOW - DAY, "old": NOW - DAY}}
    assert [path.name for path in memory.parent.iterdir()] == ["retention.json"]
    memory.unlink()
    assert ids(sweep(told, POLICY, NOW).preview) == ["older", "old"]
    assert len(told.list()) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[1]",
        '{"told": "x"}',
        '{"told": {"old": "x", "older": NaN}}',
        '{"told": {"old": -5, "older": 9e99}}',
        '{"a": 1}',
    ],
)
def test_a_damaged_memory_only_repeats_the_notice(told, text):
    (told.sessions.parent / "cache" / "retention.json").write_text(text, encoding="utf-8")
    report = sweep(told, POLICY, NOW)
    assert (len(report.preview), report.moved) == (2, ())


def test_a_clock_set_back_behind_the_notice_tells_again_and_waits(told):
    past = NOW - 10 * DAY
    report = sweep(told, POLICY, past)
    assert (ids(report.preview), report.due) == (["older"], past + DAY)
    assert sweep(told, POLICY, past + 60).silent


def test_where_nothing_can_be_remembered_nothing_is_moved(store):
    (store.sessions.parent / "cache").write_text("in the way", encoding="utf-8")
    for day in range(3):
        assert sweep(store, POLICY, NOW + day * DAY).preview
    assert len(store.list()) == 3


def test_row_15_a_session_held_elsewhere_stays_and_is_named(told):
    told.held = {"old"}
    report = sweep(told, POLICY, NOW)
    assert ids(report.moved) == ["older"]
    assert report.skipped == (Skipped("old", "session old is being written"),)


@pytest.mark.parametrize("change", [{"active": NOW - 5}, {"pinned": True}, {"live": True}])
def test_a_session_used_between_plan_and_move_stays(told, change):
    def use(identity):
        told.infos["old"] = replace(told.infos["old"], **change)

    told.before_trash = lambda identity: use(identity) if identity == "older" else None
    report = sweep(told, POLICY, NOW)
    assert ids(report.moved) == ["older"]
    assert report.skipped == (Skipped("old", "used meanwhile"),)
    assert "old" in told.infos


def test_a_session_used_at_the_very_moment_of_the_move_comes_back(told):
    def use(identity):
        told.infos[identity] = replace(told.infos[identity], active=NOW - 1)

    told.before_trash = lambda identity: use(identity) if identity == "old" else None
    report = sweep(told, POLICY, NOW)
    assert (ids(report.moved), report.skipped) == (["older"], (Skipped("old", "used meanwhile"),))
    assert sorted(ids(told.list())) == ["new", "old"]


def test_a_session_that_cannot_come_back_is_named(told):
    def use(identity):
        told.infos[identity] = replace(told.infos[identity], active=NOW - 1)

    def fail(identity):
        raise SessionError("the disk is full")

    told.before_trash, told.restore = use, fail
    report = sweep(told, POLICY, NOW)
    assert ids(report.moved) == ["older", "old"]
    assert report.skipped[0] == Skipped(
        "older", "used meanwhile, now in the trash: the disk is full"
    )


def test_a_session_gone_between_plan_and_move_is_no_error(told):
    told.before_trash = lambda identity: told.infos.pop("old", None)
    report = sweep(told, POLICY, NOW)
    assert (ids(report.moved), report.skipped) == (["older"], (Skipped("old", "no session old"),))


def test_row_14_orphans_go_the_same_way(told):
    told.lost = {"lost": Orphan("lost", 500, NOW - 40 * DAY), "new": Orphan("new", 5, NOW - DAY)}
    report = sweep(told, POLICY, NOW)
    assert "lost" not in ids(report.moved)
    report = sweep(told, POLICY, NOW + DAY)
    assert ids(report.moved) == ["lost"]
    assert told.bin["lost"].reason == "files of a session whose log is gone"
    assert ids(told.orphans()) == ["new"]


def test_what_is_past_its_time_in_the_trash_is_removed_for_good_and_told(told):
    sweep(told, POLICY, NOW)
    off = replace(POLICY, days=0)
    assert sweep(told, off, NOW + TRASH_DAYS * DAY - 1).silent
    report = sweep(told, off, NOW + TRASH_DAYS * DAY)
    assert sorted(item.info.id for item in report.doomed) == ["old", "older"]
    assert (report.doomed_size, report.silent, report.purged) == (20, False, ())
    assert sweep(told, off, NOW + (TRASH_DAYS + 1) * DAY - 1).silent
    report = sweep(told, off, NOW + (TRASH_DAYS + 1) * DAY)
    assert sorted(item.info.id for item in report.purged) == ["old", "older"]
    assert (report.purged_size, report.silent, told.bin) == (20, False, {})


def test_a_clock_that_jumps_ahead_and_back_removes_nothing_for_good(told):
    sweep(told, POLICY, NOW)
    report = sweep(told, POLICY, NOW + 400 * DAY)
    assert (sorted(ids(item.info for item in report.doomed)), report.purged) == (
        ["old", "older"],
        (),
    )
    for day in range(TRASH_DAYS):
        report = sweep(told, POLICY, NOW + day * DAY)
        assert (report.doomed, report.purged) == ((), ())
    assert sorted(told.bin) == ["old", "older"]


def test_what_was_restored_and_trashed_again_is_told_of_again_before_it_goes_for_good(told):
    sweep(told, POLICY, NOW)
    due = NOW + TRASH_DAYS * DAY
    sweep(told, POLICY, due)
    told.restore("old")
    told.now = due + DAY
    told.trash("old", "by the user")
    report = sweep(told, POLICY, due + (TRASH_DAYS + 1) * DAY)
    assert ids(item.info for item in report.purged) == ["older"]
    assert ids(item.info for item in report.doomed) == ["old"]


ROUNDS = 1_000 if os.environ.get("MEWCODE_LONG") else 100


def test_g20_random_layouts_clocks_and_uses(tmp_path):
    for seed in range(ROUNDS):
        folder = tmp_path / str(seed) / ".mewcode" / "sessions"
        folder.mkdir(parents=True)
        _live_through(MemoryStore(folder), random.Random(seed))


def _live_through(store, random_):
    policy = Policy(
        random_.choice([1, 30, 90]), random_.randrange(4), random_.choice([0, 500, 5_000])
    )
    noticed, doomed = {}, {}
    store.now = NOW
    for step in range(30):
        store.now += random_.choice([60, DAY / 2, DAY, 20 * DAY, -DAY, -200 * DAY])
        _use(store, random_, step)
        listed, trashed = dict(store.infos), dict(store.bin)
        report = sweep(store, policy, store.now)
        _check(store, report, policy, listed, trashed)
        for item in report.moved:
            assert store.now >= noticed.pop(item.id) + NOTICE_SECONDS
        noticed |= {item.id: store.now for item in report.preview}
        for item in report.purged:
            assert store.now >= doomed.pop(item.info.id) + NOTICE_SECONDS
        doomed |= {item.info.id: store.now for item in report.doomed}


def _use(store, random_, step):
    for number in range(random_.randrange(4)):
        active = store.now + random_.choice([0, -DAY, -40 * DAY, -400 * DAY, 100 * DAY])
        store.infos[f"s{step}-{number}"] = SessionInfo(
            f"s{step}-{number}",
            active=active,
            size=random_.randrange(1, 1_000),
            pinned=random_.random() < 0.1,
            readable=random_.random() < 0.9,
        )
    store.held = {identity for identity in store.infos if random_.random() < 0.1}


def _check(store, report, policy, listed, trashed):
    limit = store.now - policy.days * DAY
    for item in report.moved:
        info = listed[item.id]
        assert info.active < limit
        assert not info.pinned
        assert item.id not in store.held
        assert store.bin[item.id].info == info
        assert store.bin[item.id].purge_after == store.now + TRASH_DAYS * DAY
    assert listed.keys() - store.infos.keys() == set(ids(report.moved))
    for item in report.purged:
        assert trashed[item.info.id].purge_after <= store.now
    assert trashed.keys() - store.bin.keys() == {item.info.id for item in report.purged}
    free = [
        info
        for info in store.infos.values()
        if last_activity(info, store.now) < limit and not info.pinned and info.id not in store.held
    ]
    total = sum(info.size for info in store.infos.values())
    if policy.quota and not report.preview and not report.waiting:
        assert total <= policy.quota or not free
