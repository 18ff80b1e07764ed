"""The events of the context engine, and the report of a compaction as a person checks it.

Part of the family in `events`, which passes them on; apart only for their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mewcode_nb.usage import Usage

__all__ = [
    "BreakerTripped",
    "CompactionFailed",
    "CompactionFinished",
    "CompactionProgress",
    "CompactionReport",
    "CompactionStarted",
    "Coverage",
    "RecoveredFile",
    "Recovery",
    "Spilled",
    "Trigger",
]

Trigger: TypeAlias = Literal["auto", "manual", "emergency"]
"""What began a compaction: the line was crossed, a person asked, the service refused the length."""


@dataclass(frozen=True, slots=True)
class Spilled:
    """A big result, or a long string of a call's own input, was moved to a file (layer 1)."""

    tool_use_id: str
    path: str
    """Relative to the session's folder."""
    size: int
    """Bytes of the file."""
    tokens: int
    """Estimated, that the conversation no longer carries."""
    target: str = "result"
    """`result`, `part/N` of a result that is a list, or `input/NAME`."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the check of a summary found, by rule: of the dropped items, those it still says."""

    kinds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By kind (`path`, `identifier`, `number`, `error`, `url`, `open_item`): items, missed ones."""
    added: tuple[tuple[str, str], ...] = ()
    """(kind, item) of the missed ones that were appended to the summary."""
    left_out: int = 0
    """Missed ones beyond the appendix's size."""

    @property
    def total(self) -> int:
        """Items of all kinds in what was dropped."""
        return sum(total for total, _ in self.kinds.values())

    @property
    def missed(self) -> int:
        """Those that the model's summary did not say."""
        return sum(missed for _, missed in self.kinds.values())


@dataclass(frozen=True, slots=True)
class RecoveredFile:
    """A file that was read again for the conversation after a compaction."""

    path: str
    tokens: int
    """Estimated; of what was attached."""
    changed: bool = False
    """Its content is not what the model had seen."""
    note: str = ""
    """Why it is not attached whole: cut, gone, unreadable; empty when it is."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a compaction gives the model back beside the summary."""

    files: tuple[RecoveredFile, ...] = ()
    tools: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    """Name, and what is known of it in words."""
    cells: int = 0
    """Cells in the notebook's outline; 0 where there is none."""


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """A compaction as a person checks it. Sizes in estimated tokens."""

    id: str
    trigger: Trigger
    before: int
    after: int
    window: int
    line: int
    """Where automatic compaction begins in this window."""
    sections: tuple[tuple[str, str], ...]
    """Title and text, in order; the sixth was written by code, the last may be the appendix."""
    coverage: Coverage
    recovery: Recovery
    focus: str = ""
    saved_by_spill: int = 0
    saved_by_summary: int = 0
    kept_messages: int = 0
    kept_tokens: int = 0
    said: int = 0
    """Messages of the user's that section 6 gives word for word."""
    said_in_file: int = 0
    """Those that it points to in a file."""
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    requests: int = 0
    attachment: str = ""
    """The recovery attachment as the model gets it."""
    undone: bool = False


@dataclass(frozen=True, slots=True)
class CompactionStarted:
    """A summary is being asked for; the conversation is still the old one."""

    trigger: Trigger
    tokens: int
    window: int
    focus: str = ""


@dataclass(frozen=True, slots=True)
class CompactionProgress:
    """How far it has come: `characters` of the reply to request number `request` so far."""

    phase: Literal["spill", "summary", "check", "attach"]
    request: int = 0
    characters: int = 0
    note: str = ""
    """Why another request was needed, in words; empty for the first."""


@dataclass(frozen=True, slots=True)
class CompactionFinished:
    """The conversation is the compacted one, and the record of it is on disk."""

    report: CompactionReport


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """Nothing was changed. `failures` counts automatic ones in a row, this one included."""

    trigger: Trigger
    reason: str
    remedy: str = ""
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    """What its requests took all the same."""


@dataclass(frozen=True, slots=True)
class BreakerTripped:
    """Automatic compaction pauses after so many failures in a row."""

    failures: int
    reason: str
