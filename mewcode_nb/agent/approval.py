"""Who may let a tool call run: the policy (pure) and the protocol of those who ask a person."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Protocol

from mewcode_nb.events import Decision, Effect, Proposal

__all__ = ["Approver", "FixedApprover", "Mode", "Verdict", "judge"]

Verdict = Literal["allow", "ask", "deny"]


class Mode(StrEnum):
    """How much runs without asking. Changed only from a cell the user ran."""

    PLAN = "plan"
    """Read only: everything else is denied."""
    ASK = "ask"
    """Reads are free, the rest asks."""
    EDIT = "edit"
    """File edits inside the project are free as well."""
    OPEN = "open"
    """Everything is free. Said in red."""


class Approver(Protocol):
    """Asks somebody about one call. Never waits where nobody can answer."""

    async def ask(self, proposal: Proposal) -> Decision:
        """The answer; a denial carries the reason for the model."""
        ...


class FixedApprover:
    """Gives the same answer to everything: for headless runs and tests."""

    def __init__(self, *, allow: bool, by: str, reason: str = "") -> None:
        self._decision = Decision(allow=allow, by=by, reason=reason)

    async def ask(self, proposal: Proposal) -> Decision:
        """The fixed answer, whatever the proposal."""
        return self._decision


def judge(mode: Mode, proposal: Proposal) -> tuple[Verdict, str]:
    """What the mode says of a proposal, and why.

    Protected files and paths outside the project ask in every mode but `open`, even when they are
    only read: a secret outside the project is worth a question.
    """
    match mode:
        case Mode.OPEN:
            return "allow", "mode open"
        case Mode.PLAN if proposal.effect is not Effect.READ:
            return "deny", "mode plan only reads; %mewcode mode ask allows more"
    if proposal.outside_root:
        return "ask", "outside the project"
    if proposal.effect is Effect.READ:
        return "allow", "reading is free"
    if mode is Mode.EDIT and proposal.effect is Effect.EDIT and not proposal.protected:
        return "allow", "mode edit"
    return "ask", "protected file" if proposal.protected else f"mode {mode}"
