"""Carrying out the retention plan: first only told, a day later done, and always said.

The use that finds something to remove changes nothing and remembers of which sessions it has told.
A use at least a day later moves those to the trash, from where they can be restored; a restored one
is told of anew before it goes again. Everything is judged again just before and just after it is
moved, so that a session that was used meanwhile stays where it is. What had its time in the trash
is told of a day before it goes as well: a clock that jumps ahead empties nothing at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from mewcode_nb.errors import SessionError
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.leftovers import find_leftovers, remove_leftovers
from mewcode_nb.session.replayed import with_replay
from mewcode_nb.session.retention import (
    Orphan,
    Plan,
    Policy,
    Reason,
    Removal,
    last_activity,
    plan_retention,
)
from mewcode_nb.session.store import SessionStore

__all__ = [
    "NOTICE_SECONDS",
    "Outlook",
    "Skipped",
    "SweepReport",
    "SweptStore",
    "look_ahead",
    "sweep",
]

NOTICE_SECONDS = 86_400.0
"""What lies at least between the notice and the first move."""

_DAY = 86_400.0
_MEMORY_BYTES = 16 * 1024 * 1024
"""Ten thousand sessions take half a megabyte."""
_TOLD, _DOOMED = "told", "purge"
_REASONS = {
    Reason.AGE: "unused for longer than retention_days",
    Reason.QUOTA: "unused for longer than retention_days, and over sessions_quota_mb",
    Reason.UNREADABLE: "unreadable, and older than retention_days",
    Reason.ORPHAN: "files of a session whose log is gone",
}


class SweptStore(SessionStore, Protocol):
    """What a sweep asks of a store of folders."""

    sessions: Path
    """The folder of the sessions; the notice is remembered in `cache` beside it."""

    def orphans(self) -> Sequence[Orphan]:
        """Session folders without a log; `trash` takes them by their id as well."""
        ...


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was to go and stayed, with the reason."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What was done, and what the user should be told. Times in seconds, sizes in bytes."""

    policy: Policy
    at: float
    preview: tuple[Removal, ...] = ()
    """What will go from `preview_due` on, told for the first time; none of it was touched."""
    due: float = 0.0
    """When the first of what is told or waits goes; 0 where nothing does."""
    waiting: int = 0
    """How many will go of which an earlier preview has told."""
    moved: tuple[Removal, ...] = ()
    """Now in the trash."""
    doomed: tuple[TrashedSession, ...] = ()
    """Will go for good from `preview_due` on, told for the first time."""
    purged: tuple[TrashedSession, ...] = ()
    """Gone for good: their time in the trash was over."""
    skipped: tuple[Skipped, ...] = ()
    over: int = 0
    """How far over the quota the sessions are that no rule lets go."""

    @property
    def silent(self) -> bool:
        """Whether nothing happened that the user should be told of."""
        return not (self.preview or self.moved or self.doomed or self.purged)

    @property
    def preview_due(self) -> float:
        """When what the preview tells of goes at the earliest."""
        return self.at + NOTICE_SECONDS

    @property
    def preview_size(self) -> int:
        """Bytes of what the preview tells of."""
        return sum(item.size for item in self.preview)

    @property
    def moved_size(self) -> int:
        """Bytes moved to the trash."""
        return sum(item.size for item in self.moved)

    @property
    def doomed_size(self) -> int:
        """Bytes of what will go for good."""
        return sum(item.info.size for item in self.doomed)

    @property
    def purged_size(self) -> int:
        """Bytes removed for good."""
        return sum(item.info.size for item in self.purged)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the next use will do, with nothing touched yet."""

    plan: Plan
    told: Mapping[str, float]
    """When it was told of each that is to go, by id; what was not told of is missing."""
    doomed: Mapping[str, float] = field(default_factory=dict)
    """The same of those in the trash that are to go for good."""
    leftovers: tuple[Path, ...] = ()
    """What forks and imports that were killed have left: nothing of use, and removed at once."""

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do or to tell of."""
        return not (self.plan.remove or self.plan.purge or self.leftovers)

    def due(self, item: Removal) -> float:
        """From when on it goes, in seconds since 1970; 0 where it has to be told of first."""
        return self.told[item.id] + NOTICE_SECONDS if item.id in self.told else 0.0

    def doomed_since(self, item: TrashedSession) -> float:
        """When it was told that it goes for good, as it lies there now; 0 where it was not."""
        told = self.doomed.get(item.info.id, 0.0)
        return told if told >= item.trashed else 0.0


def look_ahead(store: SweptStore, policy: Policy, now: float) -> Outlook:
    """What `sweep` would find; raises `SessionError`."""
    plan = _plan(store, policy, now)
    memory = _recall(_memory(store)) if plan.remove or plan.purge else {}
    return Outlook(
        plan,
        _told(memory, _TOLD, now) if plan.remove else {},
        _told(memory, _DOOMED, now) if plan.purge else {},
        find_leftovers(store.sessions, now) if policy.days > 0 else (),
    )


def _never() -> bool:
    return False


def sweep(
    store: SweptStore, policy: Policy, now: float, *, stop: Callable[[], bool] = _never
) -> SweepReport:
    """Apply the policy to the store's sessions; `now` in seconds since 1970.

    Nothing is moved before a day has passed since a report with it in the preview. Sessions that
    another process holds are left alone, and what fails is in `skipped`. Once `stop` says so, the
    rest is left for the next time. Raises `SessionError` when the sessions cannot be listed.
    """
    ahead = look_ahead(store, policy, now)
    remove_leftovers(ahead.leftovers)
    skipped: list[Skipped] = []
    due = [
        item for item in ahead.plan.purge if 0 < ahead.doomed_since(item) <= now - NOTICE_SECONDS
    ]
    purged = tuple(_purge(store, due, skipped, stop))
    fresh = tuple(item for item in ahead.plan.remove if item.id not in ahead.told)
    moved, over = _move_due(store, ahead, policy, now, skipped, stop)
    gone = {item.id for item in moved}
    waiting = {
        item.id: ahead.told.get(item.id, now) for item in ahead.plan.remove if item.id not in gone
    }
    doomed = _still_doomed(ahead, purged, now)
    if (waiting, doomed) != (ahead.told, ahead.doomed):
        _remember(_memory(store), waiting, doomed)
    return SweepReport(
        policy,
        now,
        preview=fresh,
        due=min(waiting.values()) + NOTICE_SECONDS if waiting else 0.0,
        waiting=len(waiting) - len(fresh),
        moved=tuple(moved),
        doomed=tuple(item for item in ahead.plan.purge if doomed.get(item.info.id) == now),
        purged=purged,
        skipped=tuple(skipped),
        over=over,
    )


def _still_doomed(ahead: Outlook, purged: Iterable[TrashedSession], now: float) -> dict[str, float]:
    """When it was told of what is to go for good and has not; now, where that is new."""
    gone = {item.info.id for item in purged}
    waiting = (item for item in ahead.plan.purge if item.info.id not in gone)
    return {item.info.id: ahead.doomed_since(item) or now for item in waiting}


def _move_due(
    store: SweptStore,
    ahead: Outlook,
    policy: Policy,
    now: float,
    skipped: list[Skipped],
    stop: Callable[[], bool],
) -> tuple[list[Removal], int]:
    """Move what was told of a day ago; what moved, and how far over the quota the rest is."""
    moved: list[Removal] = []
    while due := [item for item in ahead.plan.remove if 0 < ahead.due(item) <= now]:
        stayed = _move_all(store, due, now, moved, stop)
        skipped.extend(stayed)
        if not stayed or stop():
            break
        # What could not go may leave others the turn to make room for the quota.
        ahead = replace(ahead, plan=_plan(store, policy, now, skipped))
    return moved, ahead.plan.over


def _plan(store: SweptStore, policy: Policy, now: float, skipped: Iterable[Skipped] = ()) -> Plan:
    guarded = {item.id for item in skipped}
    infos = [
        replace(_last_used(info, policy, now), live=info.live or info.id in guarded)
        for info in store.list()
    ]
    orphans = [orphan for orphan in store.orphans() if orphan.id not in guarded]
    return plan_retention(infos, policy, now, orphans=orphans, trashed=store.trashed())


def _last_used(info: SessionInfo, policy: Policy, now: float) -> SessionInfo:
    """With its last replay, looked up only where that can make a difference."""
    young = last_activity(info, now) >= now - policy.days * _DAY
    return info if young else with_replay(info)


def _purge(
    store: SweptStore,
    items: Iterable[TrashedSession],
    skipped: list[Skipped],
    stop: Callable[[], bool],
) -> Iterator[TrashedSession]:
    for item in items:
        if stop():
            return
        try:
            store.purge(item.info.id)
        except SessionError as error:
            skipped.append(Skipped(item.info.id, error.message))
        else:
            yield item


def _move_all(
    store: SweptStore,
    items: Iterable[Removal],
    now: float,
    moved: list[Removal],
    stop: Callable[[], bool],
) -> tuple[Skipped, ...]:
    """Move the items and add them to `moved`; what stayed, and why."""
    skipped, gone = list[Skipped](), dict[str, Removal]()
    for item in items:
        if stop():
            break
        try:
            _demand_unused(store, item, now)
            store.trash(item.id, _REASONS[item.reason])
        except SessionError as error:
            skipped.append(Skipped(item.id, error.message))
        else:
            gone[item.id] = item
    for item in _used_meanwhile(store, gone, now) if gone else ():
        try:
            store.restore(item.id)
        except SessionError as error:
            skipped.append(Skipped(item.id, f"used meanwhile, now in the trash: {error.message}"))
        else:
            del gone[item.id]
            skipped.append(Skipped(item.id, "used meanwhile"))
    moved.extend(gone.values())
    return tuple(skipped)


def _demand_unused(store: SweptStore, item: Removal, now: float) -> None:
    """Raises `SessionError` when the session is no longer as the plan saw it."""
    if item.reason is Reason.ORPHAN:
        return
    info = with_replay(store.find(item.id))
    if info.live or info.pinned or last_activity(info, now) > item.active:
        raise SessionError("used meanwhile")


def _used_meanwhile(
    store: SweptStore, moved: dict[str, Removal], now: float
) -> tuple[Removal, ...]:
    """What was used and let go of again between the last look and the move."""
    return tuple(
        moved[item.info.id]
        for item in store.trashed()
        if item.info.id in moved
        and last_activity(with_replay(item.info), now) > moved[item.info.id].active
        and moved[item.info.id].reason is not Reason.ORPHAN
    )


def _memory(store: SweptStore) -> Path:
    return store.sessions.parent / "cache" / "retention.json"


def _recall(memory: Path) -> dict[str, object]:
    """What was remembered; empty where that cannot be read."""
    try:
        with memory.open("rb") as file:
            found = json.loads(file.read(_MEMORY_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _told(memory: Mapping[str, object], key: str, now: float) -> dict[str, float]:
    """When it was told of each session; one told of in the future of a clock set back was not."""
    told = memory.get(key)
    if not isinstance(told, dict):
        return {}
    times = {name: time for name, time in told.items() if isinstance(time, (int, float))}
    return {name: float(time) for name, time in times.items() if 0 < time <= now}


def _remember(memory: Path, told: Mapping[str, float], doomed: Mapping[str, float]) -> None:
    """Note down what was told of; where that fails, it is told again next time."""
    aside = memory.with_name(f"{memory.name}.{os.getpid()}.tmp")
    known = {_TOLD: told, **({_DOOMED: doomed} if doomed else {})}
    try:
        memory.parent.mkdir(mode=0o700, exist_ok=True)
        aside.write_text(json.dumps(known) + "\n", encoding="utf-8")
        aside.replace(memory)
    except OSError:
        return
