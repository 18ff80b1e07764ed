from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.events import Decision, Effect, Proposal
from mewcode_nb.testing import AutoApprover

SHELL = Proposal("t1", "shell", Effect.EXECUTE, "run ls")
EDIT = Proposal("t2", "edit_file", Effect.EDIT, "edit a.py")
WAIT = Decision(allow=False, by="user", reason="not now")


@pytest.mark.parametrize(
    ("answers", "allowed"),
    [
        (True, [True, True]),
        (False, [False, False]),
        ([True], [True, False]),
        ([WAIT, True], [False, True]),
        (lambda proposal: proposal.tool == "edit_file", [False, True]),
    ],
    ids=["all", "none", "list", "decisions", "function"],
)
def test_answers_follow_what_was_given_and_proposals_are_kept(answers, allowed):
    approver = AutoApprover(answers)

    async def ask_both():
        return [await approver.ask(proposal) for proposal in (SHELL, EDIT)]

    decisions = asyncio.run(ask_both())
    assert [decision.allow for decision in decisions] == allowed
    assert all(decision.allow or decision.reason for decision in decisions)
    assert approver.proposals == [SHELL, EDIT]
