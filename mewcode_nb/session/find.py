"""Which session a name means: what lists show can be typed.

Pure. An id comes before a title, the whole of one before its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mewcode_nb.errors import AmbiguousSession, SessionNotFound
from mewcode_nb.session.failure import WHERE_LISTED
from mewcode_nb.session.info import SessionInfo, TrashedSession

__all__ = ["LAST", "by_id", "by_title", "choose", "in_trash"]

LAST = "last"
_SHOWN = 10


def by_id(ids: Iterable[str], name: str) -> tuple[str, ...]:
    """The ids that begin with the name."""
    return tuple(sorted(identity for identity in ids if name and identity.startswith(name)))


def by_title(infos: Sequence[SessionInfo], name: str) -> tuple[SessionInfo, ...]:
    """Those with this title; else those whose title begins so, also where a list cut it short."""
    wanted = " ".join(name.split()).casefold()
    titled = [(info.title.casefold(), info) for info in infos if info.title]
    if whole := tuple(info for title, info in titled if title == wanted):
        return whole
    start = wanted.removesuffix("…").removesuffix("...").rstrip()
    return tuple(info for title, info in titled if start and title.startswith(start))


def in_trash(items: Sequence[TrashedSession], name: str) -> tuple[TrashedSession, ...]:
    """What of the trash is meant by an id, by its beginning, or by a title."""
    named = by_id((item.info.id for item in items), name)
    if name in named:
        named = (name,)
    elif not named:
        named = tuple(info.id for info in by_title([item.info for item in items], name))
    return tuple(item for item in items if item.info.id in named)


def choose(found: Sequence[SessionInfo], name: str) -> SessionInfo:
    """The one there is; raises `SessionNotFound`, or `AmbiguousSession` which lists them."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise SessionNotFound(f"no session is called {name!r}", remedy=WHERE_LISTED)
    latest = sorted(found, key=lambda info: (info.active, info.id), reverse=True)
    listed = "; ".join(f"{info.id} ({info.name})" for info in latest[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise AmbiguousSession(
        f"{name!r} fits {len(found)} sessions: {listed}{more}", remedy="give more of the id"
    )
