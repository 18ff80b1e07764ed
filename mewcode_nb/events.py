"""The closed family of events that `Agent.run()` yields: everything a front end may show.

The engine never draws. A notebook, a terminal, a test and a user's own listener all read the same
values; a front end that does not know an event may skip it without losing the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from mewcode_nb.context_events import (
    BreakerTripped,
    CompactionFailed,
    CompactionFinished,
    CompactionProgress,
    CompactionReport,
    CompactionStarted,
    Coverage,
    RecoveredFile,
    Recovery,
    Spilled,
    Trigger,
)
from mewcode_nb.messages import Block
from mewcode_nb.usage import Usage

__all__ = [
    "ApprovalAsked",
    "ApprovalGiven",
    "AssistantMessage",
    "BreakerTripped",
    "CompactionFailed",
    "CompactionFinished",
    "CompactionProgress",
    "CompactionReport",
    "CompactionStarted",
    "Coverage",
    "Decision",
    "Effect",
    "Event",
    "Notice",
    "Proposal",
    "RecoveredFile",
    "Recovery",
    "Retrying",
    "SdkLoading",
    "Spilled",
    "TextDelta",
    "ThinkingDelta",
    "ToolFinished",
    "ToolInputDelta",
    "ToolStarted",
    "Trigger",
    "TurnFinished",
    "TurnResult",
    "TurnStarted",
    "Usage",
]


class Effect(StrEnum):
    """What a tool call may do to the world; the approval policy judges by it."""

    READ = "read"
    EDIT = "edit"
    EXECUTE = "execute"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a tool call is about to do, in full, for the policy to judge and a person to read."""

    tool_use_id: str
    tool: str
    effect: Effect
    title: str
    """One line: the verb and the object, such as `edit src/a.py`."""
    targets: tuple[str, ...] = ()
    """Real paths it will touch, links resolved."""
    code: str = ""
    """The code or command, whole."""
    language: str = ""
    diff: str = ""
    """A unified diff of the change, whole."""
    risks: tuple[str, ...] = ()
    """Reasons to look twice, in words: outside the project, protected file, deletes, network."""
    outside_root: bool = False
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a proposal, and who gave it."""

    allow: bool
    by: str
    """`user`, `session`, `mode ask`, `policy headless`, ...: shown to the user and the model."""
    reason: str = ""
    remember: bool = False
    """Answer the same for the rest of the session, as far as the one who asks can tell what is the
    same: a tool's edits inside the project, or exactly this code; never what is protected."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A prompt was accepted and is on disk (or `stored` says that it could not be)."""

    turn: int
    session: str
    model: str
    mode: str
    stored: bool = True


@dataclass(frozen=True, slots=True)
class SdkLoading:
    """The model client is being imported for the first time in this kernel (2 to 3 CPU seconds)."""

    done: bool
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the model's visible reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """A tool call's input is arriving; `size` in characters so far, for a progress line."""

    index: int
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Retrying:
    """A request failed in a way that may pass; the next attempt starts in `delay` seconds."""

    attempt: int
    attempts: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One complete response, already on disk."""

    content: tuple[Block, ...]
    usage: Usage
    stop_reason: str | None


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A person (or a policy) is being asked about a call."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    """The answer."""

    proposal: Proposal
    decision: Decision


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call has begun to run."""

    tool_use_id: str
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has ended; `display` holds mime bundles that approved code made, for the user."""

    tool_use_id: str
    name: str
    title: str
    is_error: bool
    summary: str
    """One line for the user."""
    seconds: float
    output: str = ""
    """What the model was told, as text."""
    display: tuple[dict[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something was skipped, cut, repaired or refused, and the user should know."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The whole turn, as `-o NAME` binds it."""

    text: str
    blocks: tuple[Block, ...]
    usage: Usage
    stop_reason: str | None
    steps: int
    seconds: float
    session: str
    turn: int
    model: str = ""
    tools: tuple[str, ...] = field(default=())
    """Names of the tools that ran, in order."""
    stored: bool = False
    """The answer of an earlier run, shown again: nothing was sent, `usage` is what it took then."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn ended by itself."""

    result: TurnResult


Event: TypeAlias = (
    TurnStarted
    | SdkLoading
    | TextDelta
    | ThinkingDelta
    | ToolInputDelta
    | Retrying
    | AssistantMessage
    | ApprovalAsked
    | ApprovalGiven
    | ToolStarted
    | ToolFinished
    | Spilled
    | CompactionStarted
    | CompactionProgress
    | CompactionFinished
    | CompactionFailed
    | BreakerTripped
    | Notice
    | TurnFinished
)
