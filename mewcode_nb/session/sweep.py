"""Carrying out the retention plan: first only told, a day later done, and always said.

The first use that finds something to remove changes nothing and remembers that it has told of it.
A use at least a day later moves what has had its time to the trash, from where it can be restored.
Everything is judged again just before and just after it is moved, so that a session that was used
meanwhile stays where it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from mewcode_nb.errors import SessionError
from mewcode_nb.session.info import TrashedSession
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

__all__ = ["NOTICE_SECONDS", "Skipped", "SweepReport", "SweptStore", "sweep"]

NOTICE_SECONDS = 86_400.0
"""What lies at least between the notice and the first move."""

_MEMORY_BYTES = 4096
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
    preview: tuple[Removal, ...] = ()
    """What will go from `due` on, told for the first time; nothing was touched."""
    due: float = 0.0
    waiting: int = 0
    """How many will go from `due` on, of which an earlier preview has told."""
    moved: tuple[Removal, ...] = ()
    """Now in the trash."""
    purged: tuple[TrashedSession, ...] = ()
    """Gone for good: their time in the trash was over."""
    skipped: tuple[Skipped, ...] = ()
    over: int = 0
    """How far over the quota the sessions are that no rule lets go."""

    @property
    def silent(self) -> bool:
        """Whether nothing happened that the user should be told of."""
        return not (self.preview or self.moved or self.purged)

    @property
    def preview_size(self) -> int:
        """Bytes of what the preview tells of."""
        return sum(item.size for item in self.preview)

    @property
    def moved_size(self) -> int:
        """Bytes moved to the trash."""
        return sum(item.size for item in self.moved)

    @property
    def purged_size(self) -> int:
        """Bytes removed for good."""
        return sum(item.info.size for item in self.purged)


def sweep(store: SweptStore, policy: Policy, now: float) -> SweepReport:
    """Apply the policy to the store's sessions; `now` in seconds since 1970.

    Nothing is moved before a day has passed since a report with a preview. Sessions that another
    process holds are left alone, and what fails is in `skipped`. Raises `SessionError` when the
    sessions cannot be listed.
    """
    plan = _plan(store, policy, now)
    skipped: list[Skipped] = []
    purged = tuple(_purge(store, plan.purge, skipped))
    memory = store.sessions.parent / "cache" / "retention.json"
    noticed = _noticed(memory) if plan.remove else 0.0
    report = SweepReport(policy, purged=purged, skipped=tuple(skipped), over=plan.over)
    if not plan.remove:
        return report
    if not 0 < noticed <= now:  # never told, or a clock set back since
        _remember(memory, now)
        return replace(report, preview=plan.remove, due=now + NOTICE_SECONDS)
    due = noticed + NOTICE_SECONDS
    if now < due:
        return replace(report, waiting=len(plan.remove), due=due)
    moved: list[Removal] = []
    while plan.remove:
        stayed = _move_all(store, plan, now, moved)
        skipped.extend(stayed)
        # What could not go may leave others the turn to make room for the quota.
        plan = _plan(store, policy, now, skipped) if stayed else replace(plan, remove=())
    return replace(report, moved=tuple(moved), skipped=tuple(skipped), over=plan.over)


def _plan(store: SweptStore, policy: Policy, now: float, skipped: Iterable[Skipped] = ()) -> Plan:
    guarded = {item.id for item in skipped}
    infos = [replace(info, live=info.live or info.id in guarded) for info in store.list()]
    orphans = [orphan for orphan in store.orphans() if orphan.id not in guarded]
    return plan_retention(infos, policy, now, orphans=orphans, trashed=store.trashed())


def _purge(
    store: SweptStore, items: Iterable[TrashedSession], skipped: list[Skipped]
) -> Iterator[TrashedSession]:
    for item in items:
        try:
            store.purge(item.info.id)
        except SessionError as error:
            skipped.append(Skipped(item.info.id, error.message))
        else:
            yield item


def _move_all(
    store: SweptStore, plan: Plan, now: float, moved: list[Removal]
) -> tuple[Skipped, ...]:
    """Move what is planned and add it to `moved`; what stayed, and why."""
    skipped, gone = list[Skipped](), dict[str, Removal]()
    for item in plan.remove:
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
    info = store.find(item.id)
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
        and last_activity(item.info, now) > moved[item.info.id].active
        and moved[item.info.id].reason is not Reason.ORPHAN
    )


def _noticed(memory: Path) -> float:
    """When the preview was given; 0 for never."""
    try:
        with memory.open("rb") as file:
            found = json.loads(file.read(_MEMORY_BYTES))
    except (OSError, ValueError, RecursionError):
        return 0.0
    time = found.get("noticed") if isinstance(found, dict) else None
    return float(time) if isinstance(time, (int, float)) else 0.0


def _remember(memory: Path, now: float) -> None:
    """Note down that the preview was given; where that fails, it is given again next time."""
    aside = memory.with_name(f"{memory.name}.{os.getpid()}.tmp")
    try:
        memory.parent.mkdir(mode=0o700, exist_ok=True)
        aside.write_text(json.dumps({"noticed": now}) + "\n", encoding="utf-8")
        aside.replace(memory)
    except OSError:
        return
