"""The nouns of one turn: what is asked for, and what has happened so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mewcode_nb.agent.approval import Mode
from mewcode_nb.events import TurnResult, Usage
from mewcode_nb.messages import Block, ToolResultBlock, message_text
from mewcode_nb.session.records import NamespaceRecord
from mewcode_nb.tools.base import ToolResult

__all__ = ["CellRef", "TurnRequest", "TurnState"]


@dataclass(frozen=True, slots=True)
class CellRef:
    """The notebook cell a prompt came from: its nbformat id and the SHA-256 of its text."""

    id: str
    """Empty where the front end tells none: a terminal, nbclient, papermill."""
    sha256: str


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One prompt and the options that hold for its turn."""

    prompt: str
    """The user's words, verbatim."""
    model: str
    mode: Mode = Mode.ASK
    max_steps: int = 50
    max_tokens: int = 0
    """The most one response may have; 0 for what the agent was made with."""
    tools_off: bool = False
    """Calls are refused; the tool list that is sent stays the same."""
    news: tuple[tuple[str, str], ...] = ()
    """Reminders that travel with the prompt, as (kind, text): what changed since the last turn."""
    reminders: tuple[tuple[str, str], ...] = ()
    """Reminders that stand before the prompt as a message of their own, as (kind, text): what
    changed while the session slept."""
    known: NamespaceRecord | None = None
    """What the reminders tell of the user's variables, to be recorded with them."""
    cell: CellRef | None = None


@dataclass(slots=True)
class TurnState:
    """What has happened in the running turn. Lives for one `Agent.run()`."""

    request: TurnRequest
    number: int
    started: float
    """On the agent's clock, seconds."""
    steps: int = 0
    done: bool = False
    finished: bool = False
    """Ended by itself and everything was said; nothing is left to settle."""
    fault: str = ""
    """Why the turn broke, in words for the model; empty while nothing did."""
    max_tokens: int = 0
    cut_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    answer: tuple[Block, ...] = ()
    """Content of the last complete response."""
    blocks: list[Block] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)
    """Words of the response that is arriving; empty between responses."""
    open_calls: dict[str, str] = field(default_factory=dict)
    """Name by id of the calls that have no result message yet, in order."""
    refused: Mapping[str, str] = field(default_factory=dict)
    results: dict[str, ToolResultBlock] = field(default_factory=dict)
    """Results of the open calls so far."""
    effects: list[ToolResult] = field(default_factory=list)
    """What the open calls have seen and changed so far."""
    ran: list[str] = field(default_factory=list)

    def result(self, session: str, seconds: float) -> TurnResult:
        """The turn as the user gets it."""
        return TurnResult(
            text=message_text(self.answer),
            blocks=tuple(self.blocks),
            usage=self.usage,
            stop_reason=self.stop_reason,
            steps=self.steps,
            seconds=seconds,
            session=session,
            turn=self.number,
            model=self.request.model,
            tools=tuple(self.ran),
        )
