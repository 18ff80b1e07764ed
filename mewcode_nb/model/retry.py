"""Whether to try again, and when: decided from numbers alone, so that every case is a test row.

The SDK's own retries obey any `retry-after` and cannot be watched; a cell must not hang for an
hour without a word. Here a wait has a limit, and a longer one is refused with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TypeAlias

__all__ = ["GiveUp", "RetryPlan", "RetryPolicy", "Wait", "plan_retry", "retry_after"]

_FIRST_DELAY = 0.5
"""Seconds; doubled at each attempt. The SDK's own figures, as are the next two."""
_LONGEST_DELAY = 8.0
_JITTER_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try again, and the longest single wait in seconds."""

    max_retries: int
    max_wait: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Try again after `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again; `asked` is the wait the service wanted, where that was too long."""

    asked: float | None = None


RetryPlan: TypeAlias = Wait | GiveUp


def plan_retry(
    policy: RetryPolicy, *, failed: int, asked: float | None, jitter: float
) -> RetryPlan:
    """What to do after `failed` attempts (1 for the first).

    `asked` is the service's own wait in seconds, if it named one; `jitter`, from 0 to 1, takes up
    to a quarter off a wait that we choose, so that many clients do not come back at once.
    """
    if failed > policy.max_retries:
        return GiveUp()
    if asked is not None:
        return Wait(asked) if asked <= policy.max_wait else GiveUp(asked)
    exponent = min(failed - 1, 16)
    delay = min(_FIRST_DELAY * 2**exponent, _LONGEST_DELAY, policy.max_wait)
    return Wait(delay * (1 - _JITTER_SHARE * jitter))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the service asks to wait, or None where it says nothing that can be read.

    Reads `retry-after-ms`, then `retry-after` as seconds or as an HTTP date. `now` in seconds
    since the epoch.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    return seconds if seconds is not None else _until(text, now)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _until(text: str | None, now: float) -> float | None:
    try:
        when = parsedate_to_datetime(text or "")
    except (TypeError, ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now)
