from __future__ import annotations

import os
import random

import pytest

from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.retention import (
    Orphan,
    Policy,
    Reason,
    last_activity,
    plan_retention,
)

NOW = 1_773_480_413.0
DAY = 86_400.0
YEAR = 365 * DAY
AGE_ONLY = Policy(keep_last=0, quota=0)


def used(name, days, size=10, **more):
    """A session last used so many days ago."""
    return SessionInfo(name, active=NOW - days * DAY, created=1.0, size=size, **more)


def removed(infos, policy=AGE_ONLY, now=NOW, **more):
    return [
        (item.id, item.reason.value) for item in plan_retention(infos, policy, now, **more).remove
    ]


OLD_NAME = "1500000000-ab12"
S_16 = (
    used("five", 5),
    used("twenty-nine", 29),
    used("thirty-one", 31),
    used("four-hundred", 400),
    used("20200101-000000-0001", 0),
    used(OLD_NAME, 1),
    used("future", -400),
)


def test_s_16_only_what_was_not_used_within_the_limit_leaves():
    assert removed(S_16) == [("four-hundred", "age"), ("thirty-one", "age")]


def test_s_16_a_clock_set_back_a_year_widens_nothing():
    assert removed(S_16, now=NOW - YEAR) == [("four-hundred", "age")]
    assert removed(S_16[:3], now=NOW - YEAR) == []


@pytest.mark.parametrize("quota", [0, 1])
def test_s_16_the_off_switch_keeps_everything(quota):
    policy = Policy(days=0, keep_last=0, quota=quota)
    orphans = [Orphan("o", 5, NOW - YEAR)]
    plan = plan_retention(S_16, policy, NOW, orphans=orphans)
    assert plan.remove == ()
    assert plan.over == (69 if quota else 0)


def test_s_16_an_old_format_name_leaves_by_its_activity_not_its_name():
    assert removed([used(OLD_NAME, 31)]) == [(OLD_NAME, "age")]


def test_row_13_a_future_time_counts_as_now():
    assert last_activity(used("s", -400), NOW) == NOW


@pytest.mark.parametrize("guard", ["pinned", "live"])
def test_pinned_and_live_sessions_stay(guard):
    assert removed([used("s", 400, **{guard: True})], Policy(keep_last=0, quota=1)) == []


def test_the_newest_stay_whatever_their_age():
    infos = [used(f"s{n}", 100 + n) for n in range(5)]
    assert removed(infos, Policy(keep_last=3, quota=0)) == [("s4", "age"), ("s3", "age")]


def test_unreadable_sessions_take_no_place_among_the_newest():
    infos = [used("broken", 1, readable=False), used("s1", 100), used("s2", 101)]
    assert removed(infos, Policy(keep_last=1, quota=0)) == [("s2", "age")]


def test_the_quota_takes_the_oldest_that_only_their_rank_keeps():
    infos = [used(f"s{n}", 40 - n, size=100) for n in range(5)]
    assert removed(infos, Policy(keep_last=9, quota=250)) == [
        ("s0", "quota"),
        ("s1", "quota"),
        ("s2", "quota"),
    ]


def test_the_quota_never_reaches_for_what_is_younger_than_the_limit():
    infos = [used("young", 1, size=900), used("old", 40, size=100), used("pin", 50, pinned=True)]
    plan = plan_retention(infos, Policy(keep_last=9, quota=500), NOW)
    assert [item.id for item in plan.remove] == ["old"]
    assert (plan.kept_size, plan.over) == (910, 410)


def test_the_quota_does_not_ask_for_more_once_age_has_made_room():
    infos = [used(f"s{n}", 100 - n, size=100) for n in range(4)]
    plan = plan_retention(infos, Policy(keep_last=2, quota=200), NOW)
    assert [(item.id, item.reason) for item in plan.remove] == [
        ("s0", Reason.AGE),
        ("s1", Reason.AGE),
    ]
    assert (plan.kept_size, plan.over) == (200, 0)


@pytest.mark.parametrize(
    ("info", "leaves"),
    [
        (SessionInfo("x", readable=False, active=NOW - 40 * DAY), True),
        (SessionInfo("x", readable=False, active=NOW - 40 * DAY, created=NOW - DAY), False),
        (SessionInfo("1500000000-ab12", readable=False), True),
        (SessionInfo("20200101-000000-0001", readable=False), True),
        (SessionInfo("20260314-000000-0001", readable=False, active=NOW - 40 * DAY), False),
        (SessionInfo("20200101-000000-0001", readable=False, active=NOW - DAY), False),
        (SessionInfo("20209999-000000-0001", readable=False), False),
        (SessionInfo("no time at all", readable=False), False),
        (SessionInfo("no time at all"), False),
    ],
)
def test_an_unreadable_session_leaves_only_when_all_its_times_are_old(info, leaves):
    reason = "age" if info.readable else "unreadable"
    assert removed([info]) == ([(info.id, reason)] if leaves else [])


def test_an_old_time_in_the_name_does_not_age_a_readable_session():
    assert last_activity(SessionInfo("1500000000-ab12", active=NOW - 5), NOW) == NOW - 5


def test_row_14_orphans_leave_by_their_own_time():
    orphans = [Orphan("old", 7, NOW - 31 * DAY), Orphan("new", 7, NOW - DAY), Orphan("none", 7, 0)]
    assert removed([], orphans=orphans) == [("old", "orphan")]


def test_the_trash_is_emptied_by_its_own_dates_only():
    def item(name, trashed, purge_after):
        return TrashedSession(SessionInfo(name), "age", NOW + trashed, NOW + purge_after)

    trashed = [
        item("due", -31 * DAY, 0.0),
        item("not yet", -DAY, 1.0),
        item("trashed in the future", YEAR, -1.0),
        TrashedSession(SessionInfo("no date"), "?", 0.0, 0.0),
    ]
    plan = plan_retention([], Policy(days=0, quota=0), NOW, trashed=trashed)
    assert [entry.info.id for entry in plan.purge] == ["due"]


ROUNDS = 1_000 if os.environ.get("MEWCODE_LONG") else 200


def layout(random_):
    """Sessions with times on both sides of the limit, some impossible, some guarded."""
    return tuple(
        SessionInfo(
            f"s{number}",
            active=random_.choice([0.0, NOW + random_.uniform(-3 * YEAR, YEAR)]),
            created=random_.choice([0.0, NOW - random_.uniform(0, 3 * YEAR)]),
            size=random_.randrange(1, 10_000),
            pinned=random_.random() < 0.1,
            live=random_.random() < 0.1,
            readable=random_.random() < 0.8,
        )
        for number in range(random_.randrange(40))
    )


def test_g20_plans_of_random_layouts_and_clocks():
    for seed in range(ROUNDS):
        random_ = random.Random(seed)
        infos = {info.id: info for info in layout(random_)}
        policy = Policy(
            random_.choice([0, 1, 30, 400]), random_.randrange(6), random_.choice([0, 20_000])
        )
        now = NOW + random_.uniform(-2 * YEAR, 2 * YEAR)
        plan = plan_retention(tuple(infos.values()), policy, now)
        limit = now - policy.days * DAY
        going = [infos[item.id] for item in plan.remove]
        assert policy.days or not going
        for info in going:
            assert not info.pinned
            assert not info.live
            assert (
                0 < max(info.active, 0 if info.readable and info.active else info.created) < limit
            )
        staying = [info for info in infos.values() if info not in going]
        free = [
            info
            for info in staying
            if policy.days and 0 < last_activity(info, now) < limit and not info.pinned | info.live
        ]
        total = sum(info.size for info in staying)
        assert plan.kept_size == total
        assert not policy.quota or total <= policy.quota or not free
        assert plan.over == (max(total - policy.quota, 0) if policy.quota else 0)
