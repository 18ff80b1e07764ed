"""Which sessions have had their time: decided here from the list alone, touched nowhere.

A session may leave when its last activity lies further back than the limit, and then only when it
is not among the newest few, not pinned and held by no process. The quota takes those that only
their rank still keeps, oldest first: it never reaches for anything younger than the limit. So
`days = 0` switches everything off, and a clock that was set back makes everything younger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mewcode_nb.config import Settings
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.naming import time_in_name

__all__ = ["Orphan", "Plan", "Policy", "Reason", "Removal", "last_activity", "plan_retention"]

_DAY = 86_400.0
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Policy:
    """How long sessions are kept, for each folder of sessions by itself."""

    days: float = 30.0
    """Sessions used within so many days are never touched; 0 keeps all of them for ever."""
    keep_last: int = 20
    """So many of the newest stay whatever their age, as long as the quota allows."""
    quota: int = 0
    """Bytes that the sessions outside the trash may take; 0 for no quota."""

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        """What the settings say; their megabytes are a million bytes each."""
        return cls(
            settings.retention_days, settings.keep_last, settings.sessions_quota_mb * _MEGABYTE
        )


class Reason(StrEnum):
    """Why a session leaves."""

    AGE = "age"
    QUOTA = "quota"
    UNREADABLE = "unreadable"
    """It cannot be read, and every time known of it lies beyond the limit."""
    ORPHAN = "orphan"
    """Spilled results whose log is gone."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """A session's folder without its log; `modified` is the newest time of anything in it."""

    id: str
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to leave, why, its bytes, and when it was last used, in seconds since 1970."""

    id: str
    name: str
    reason: Reason
    size: int
    active: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done; sizes in bytes."""

    remove: tuple[Removal, ...] = ()
    """To the trash, the longest unused first."""
    purge: tuple[TrashedSession, ...] = ()
    """Out of the trash for good: their stated time is over."""
    kept_size: int = 0
    """What the sessions that stay take."""
    over: int = 0
    """By how much that is over the quota, because all of it is guarded."""


def plan_retention(
    infos: Sequence[SessionInfo],
    policy: Policy,
    now: float,
    *,
    orphans: Sequence[Orphan] = (),
    trashed: Sequence[TrashedSession] = (),
) -> Plan:
    """What has had its time at `now`, in seconds since 1970.

    Guarded always: pinned ones, those a process holds, those of which no time is known, and all
    used within `policy.days`, where a time in the future counts as now. The trash does not count
    for the quota: it is emptied by its own dates, and never before one of them.
    """
    ranked = sorted(infos, key=lambda info: (last_activity(info, now), info.id), reverse=True)
    newest = {info.id for info in [i for i in ranked if i.readable][: max(policy.keep_last, 0)]}
    expired = [info for info in reversed(ranked) if _has_expired(info, policy, now)]
    remove = [
        _removal(info, Reason.AGE if info.readable else Reason.UNREADABLE, now)
        for info in expired
        if info.id not in newest
    ]
    kept = sum(info.size for info in infos) - sum(item.size for item in remove)
    for info in expired:
        if policy.quota > 0 and kept > policy.quota and info.id in newest:
            remove.append(_removal(info, Reason.QUOTA, now))
            kept -= info.size
    gone = [_orphaned(orphan) for orphan in orphans if _is_old(orphan.modified, policy, now)]
    return Plan(
        remove=tuple(sorted((*remove, *gone), key=lambda item: (item.active, item.id))),
        purge=tuple(item for item in trashed if _may_be_purged(item, now)),
        kept_size=kept,
        over=max(kept - policy.quota, 0) if policy.quota > 0 else 0,
    )


def last_activity(info: SessionInfo, now: float) -> float:
    """When the session was last used, never later than `now`; 0 where no time is known.

    What the records say counts. Of one whose records say nothing, or that cannot be read, the
    newest of all known times counts, the one in its name among them.
    """
    if info.readable and info.active > 0:
        return min(info.active, now)
    return min(max(info.active, info.created, time_in_name(info.id)), now)


def _has_expired(info: SessionInfo, policy: Policy, now: float) -> bool:
    guarded = info.pinned or info.live
    return not guarded and _is_old(last_activity(info, now), policy, now)


def _is_old(time: float, policy: Policy, now: float) -> bool:
    return policy.days > 0 and 0 < time < now - policy.days * _DAY


def _may_be_purged(item: TrashedSession, now: float) -> bool:
    """A date in the future of a clock set back is waited for; no date is no leave to purge."""
    return item.purge_after > 0 and now >= max(item.purge_after, item.trashed)


def _removal(info: SessionInfo, reason: Reason, now: float) -> Removal:
    return Removal(info.id, info.name, reason, info.size, last_activity(info, now))


def _orphaned(orphan: Orphan) -> Removal:
    return Removal(orphan.id, orphan.id, Reason.ORPHAN, orphan.size, orphan.modified)
