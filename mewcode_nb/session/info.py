"""What lists say of a session, without its messages: one row of a picker, an index or a table."""

from __future__ import annotations

from dataclasses import dataclass, field

from mewcode_nb.events import Usage
from mewcode_nb.session.records import Parent

__all__ = ["PROMPT_LENGTH", "SessionInfo", "TrashedSession"]

PROMPT_LENGTH = 200
"""Characters of the first prompt that a row carries: more than any list shows in a line."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session in a list. Times in seconds since 1970, sizes in bytes."""

    id: str
    location: str = ""
    """Where the store keeps it; for stores of folders the session folder's absolute path."""
    title: str = ""
    """Given by the user; empty where none was."""
    first_prompt: str = ""
    """On one line, at most `PROMPT_LENGTH` characters."""
    created: float = 0.0
    active: float = 0.0
    """The last activity as the records say it, not the file system."""
    model: str = ""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    size: int = 0
    """Log, spills and all else in it."""
    notebook: str = ""
    project: str = ""
    branch: str = ""
    """Of git, when the session began."""
    pinned: bool = False
    parent: Parent | None = None
    """Where it was forked from."""
    cells: frozenset[str] = frozenset()
    """Ids of the notebook cells its prompts came from: how a renamed notebook is known again."""
    live: bool = False
    """Some process holds it now."""
    damage: str = ""
    """Why it cannot be read, or how many of its lines are damaged; empty for a sound one."""
    readable: bool = True
    """Whether it can be resumed at all."""

    @property
    def name(self) -> str:
        """What a person calls it: the title, else the first prompt, else the id."""
        return self.title or self.first_prompt or self.id


@dataclass(frozen=True, slots=True)
class TrashedSession:
    """A session in the trash: `reason` in words, `purge_after` is when it may go for good."""

    info: SessionInfo
    reason: str
    trashed: float
    purge_after: float
