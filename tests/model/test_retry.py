from __future__ import annotations

import pytest

from mewcode_nb.model.retry import GiveUp, RetryPolicy, Wait, plan_retry, retry_after

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "3600"}, 3600.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30"}, 30.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "99 Zzz 99999 99:99:99 GMT"}, None),
    ],
)
def test_p_08_the_wait_a_service_asks_for_is_read_or_passed_over(headers, expected):
    assert retry_after(headers, NOW) == expected


@pytest.mark.parametrize(
    ("failed", "asked", "jitter", "expected"),
    [
        (1, None, 0.0, Wait(0.5)),
        (2, None, 0.0, Wait(1.0)),
        (4, None, 0.0, Wait(4.0)),
        (1, None, 1.0, Wait(0.375)),
        (1, 3.0, 1.0, Wait(3.0)),
        (1, 60.0, 0.0, Wait(60.0)),
        (1, 60.1, 0.0, GiveUp(60.1)),
        (1, 3600.0, 0.0, GiveUp(3600.0)),
        (5, None, 0.0, GiveUp()),
        (5, 0.0, 0.0, GiveUp()),
    ],
)
def test_p_08_a_plan_waits_within_the_limit_or_gives_up(failed, asked, jitter, expected):
    policy = RetryPolicy(max_retries=4, max_wait=60.0)
    assert plan_retry(policy, failed=failed, asked=asked, jitter=jitter) == expected


def test_our_own_waits_stop_growing():
    policy = RetryPolicy(max_retries=10_000, max_wait=60.0)
    assert plan_retry(policy, failed=9_999, asked=None, jitter=0.0) == Wait(8.0)


def test_a_limit_below_our_own_wait_holds():
    assert plan_retry(RetryPolicy(4, 0.1), failed=3, asked=None, jitter=0.0) == Wait(0.1)
