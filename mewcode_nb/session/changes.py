"""What is no longer as the conversation left it: files, variables, the repository, the hour.

Pure: the state of the session and what was found now go in, the differences and the words that tell
the model of them come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from mewcode_nb.messages import block_text
from mewcode_nb.session.records import Git, MessageRecord, Variable
from mewcode_nb.session.state import SessionState

__all__ = [
    "MAX_ITEMS",
    "Changes",
    "FileState",
    "Present",
    "VariableChange",
    "changes_since",
    "last_git",
    "reminder_text",
    "untold",
]

MAX_ITEMS = 40
"""Files and variables that a reminder names, of each kind the first; the rest is counted."""

_NAME_LENGTH = 200
_BETWEEN = "; "

_MOVED = "Repository moved"
_CHANGED = "Files changed since you read them; read them again first"
_GONE = "Files that no longer exist"
_UNREADABLE = "Files that cannot be read now"
_UNCHECKED = "Files not checked (too many or too big)"

FileState = Literal["same", "changed", "gone", "unreadable", "unchecked"]
"""What was found of a file; `unchecked` when it was too big to look, or time was up."""


@dataclass(frozen=True, slots=True)
class Present:
    """What was found now. `now` in seconds since 1970."""

    now: float
    files: Mapping[str, FileState] = field(default_factory=dict)
    """By the path that the session recorded."""
    variables: Mapping[str, Variable] | None = None
    """The kernel's, by name; None where there is no kernel to ask."""
    git: Git | None = None
    """`Git()` where there is no repository; None where it cannot be told."""


@dataclass(frozen=True, slots=True)
class VariableChange:
    """A variable as the conversation knew it, and as this kernel has it."""

    then: Variable
    now: Variable


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences, each kind sorted by name."""

    hours: float = 0.0
    """Since the last message of the conversation."""
    changed: tuple[str, ...] = ()
    """Paths of files whose content is another one."""
    gone: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    missing: tuple[Variable, ...] = ()
    """Variables that this kernel lacks; `cell` says which cell made each, where it is known."""
    different: tuple[VariableChange, ...] = ()
    """Variables of another type, shape or content than then."""
    git_then: Git | None = None
    """Where the repository stood, when it stands elsewhere now; else both are None."""
    git_now: Git | None = None

    @property
    def empty(self) -> bool:
        """Whether all is as it was, as far as could be seen; the time that passed is no change."""
        files = self.changed or self.gone or self.unreadable or self.unchecked
        return not (files or self.missing or self.different or self.git_then)


def changes_since(state: SessionState, present: Present) -> Changes:
    """What differs between the end of the session and now."""
    paths: dict[FileState, list[str]] = {}
    for path in sorted(state.reads):
        paths.setdefault(present.files.get(path, "unchecked"), []).append(path)
    missing, different = _variables(state.namespace, present.variables)
    last = max((record.ts for record in state.records), default=state.last_ts)
    moved = _moved(last_git(state), present.git)
    return Changes(
        hours=max(present.now - last, 0.0) / 3600 if last else 0.0,
        changed=tuple(paths.get("changed", ())),
        gone=tuple(paths.get("gone", ())),
        unreadable=tuple(paths.get("unreadable", ())),
        unchecked=tuple(paths.get("unchecked", ())),
        missing=missing,
        different=different,
        git_then=moved[0] if moved else None,
        git_now=moved[1] if moved else None,
    )


def last_git(state: SessionState) -> Git | None:
    """Where the repository stood in the last turn: what a turn recorded, else the header."""
    noted = state.meta.get("git")
    if not isinstance(noted, dict):
        return state.header.git if state.header else None
    branch, head = noted.get("branch", ""), noted.get("head", "")
    return Git(branch, head) if isinstance(branch, str) and isinstance(head, str) else None


def reminder_text(changes: Changes) -> str:
    """What the model is told of the changes; at most `MAX_ITEMS` names, the rest counted."""
    lines = [f"This conversation was last used {_ago(changes.hours)}."]
    room = MAX_ITEMS
    for heading, items in _parts(changes):
        if items:
            lines.append(_line(heading, items, room))
            room = max(room - len(items), 0)
    if len(lines) == 1:
        return f"{lines[0]} No difference was found in the files and variables it used."
    return "\n".join(lines)


def untold(changes: Changes, state: SessionState) -> Changes:
    """The changes but for those that a reminder in the conversation names already.

    A file that was read again after the reminder counts anew. Variables are left as they are: what
    a reminder says of them is recorded with it.
    """
    told = _told(state.records)

    def news(heading: str, paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            path for path in paths if told.get((heading, _shown(path)), 0.0) <= state.reads[path].ts
        )

    moved = list(_git_words(changes.git_then, changes.git_now))
    stale = bool(moved) and all((_MOVED, words) in told for words in moved)
    return replace(
        changes,
        changed=news(_CHANGED, changes.changed),
        gone=news(_GONE, changes.gone),
        unreadable=news(_UNREADABLE, changes.unreadable),
        unchecked=news(_UNCHECKED, changes.unchecked),
        git_then=None if stale else changes.git_then,
        git_now=None if stale else changes.git_now,
    )


def _told(records: Iterable[MessageRecord]) -> dict[tuple[str, str], float]:
    """What reminders name, by heading and item, and when they were given last.

    Of where the repository stood only the latest word counts.
    """
    told: dict[tuple[str, str], float] = {}
    for record in records:
        lines = "\n".join(map(block_text, record.content)) if record.origin == "reminder" else ""
        for line in lines.splitlines():
            heading, colon, items = line.removeprefix("- ").partition(": ")
            if not (colon and line.startswith("- ")):
                continue
            if heading == _MOVED:
                told = {key: ts for key, ts in told.items() if key[0] != _MOVED}
            told |= {(heading, item): record.ts for item in items.split(_BETWEEN)}
    return told


def _parts(changes: Changes) -> Iterator[tuple[str, list[str]]]:
    yield _MOVED, list(_git_words(changes.git_then, changes.git_now))
    yield _CHANGED, _paths(changes.changed)
    yield _GONE, _paths(changes.gone)
    yield _UNREADABLE, _paths(changes.unreadable)
    yield _UNCHECKED, _paths(changes.unchecked)
    yield "Variables this kernel lacks", [_variable_words(item) for item in changes.missing]
    yield (
        "Variables that are something else now",
        [_difference_words(item) for item in changes.different],
    )


def _line(heading: str, items: list[str], room: int) -> str:
    rest = len(items) - room
    named = [*items[:room], *([f"{rest} more"] if rest > 0 else [])]
    return f"- {heading}: {_BETWEEN.join(named)}"


def _variables(
    then: Mapping[str, Variable], now: Mapping[str, Variable] | None
) -> tuple[tuple[Variable, ...], tuple[VariableChange, ...]]:
    if now is None:
        return (), ()
    names = sorted(then)
    missing = tuple(then[name] for name in names if name not in now)
    pairs = (VariableChange(then[name], now[name]) for name in names if name in now)
    return missing, tuple(pair for pair in pairs if _differs(pair))


def _differs(pair: VariableChange) -> bool:
    """Only what was recorded then can differ: older sessions hold bare names."""
    then, now = pair.then, pair.now
    pairs = (
        (then.type, now.type),
        (then.shape, now.shape),
        (then.fingerprint, now.fingerprint),
    )
    return any(old != new for old, new in pairs if old not in ("", None) and new not in ("", None))


def _moved(then: Git | None, now: Git | None) -> tuple[Git, Git] | None:
    if then is None or now is None or then == now:
        return None
    return then, now


def _git_words(then: Git | None, now: Git | None) -> Iterator[str]:
    if then is None or now is None:
        return
    if now == Git():
        yield "there is no repository any more"
        return
    if then.branch != now.branch:
        yield f"branch {then.branch or '(none)'} -> {now.branch or '(none)'}"
    if then.head != now.head:
        yield f"commit {then.head[:12] or '(none)'} -> {now.head[:12] or '(none)'}"


def _variable_words(variable: Variable) -> str:
    kind = _kind(variable)
    number = f"In [{variable.cell_count}]" if variable.cell_count is not None else ""
    cell = " ".join(part for part in (_shown(variable.cell), number) if part)
    made = f"made by cell {cell}" if cell else ""
    about = ", ".join(part for part in (kind, made) if part)
    return f"{_shown(variable.name)} ({about})" if about else _shown(variable.name)


def _difference_words(change: VariableChange) -> str:
    name, was, now = _shown(change.then.name), _kind(change.then), _kind(change.now)
    return f"{name}: was {was}, is {now}" if was != now else f"{name}: {now} of other content"


def _kind(variable: Variable) -> str:
    shape = "x".join(map(str, variable.shape)) if variable.shape is not None else ""
    return " ".join(part for part in (_shown(variable.type), shape) if part)


def _paths(paths: tuple[str, ...]) -> list[str]:
    return [_shown(path) for path in paths]


def _shown(name: str) -> str:
    """On one line and of bounded length: names come from files and are not ours."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name[: _NAME_LENGTH + 1])
    return text if len(name) <= _NAME_LENGTH else f"{text[:_NAME_LENGTH]}…"


def _ago(hours: float) -> str:
    if hours < 1:
        return "less than an hour ago"
    if hours < 48:
        return f"{hours:.0f} hours ago" if round(hours) > 1 else "an hour ago"
    return f"{hours / 24:.0f} days ago"
