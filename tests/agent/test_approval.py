from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.agent.approval import FixedApprover, Mode, judge
from mewcode_nb.events import Effect, Proposal


def _proposal(effect, *, outside=False, protected=False):
    return Proposal("t1", "x", effect, "x", outside_root=outside, protected=protected)


@pytest.mark.parametrize(
    ("mode", "effect", "outside", "protected", "expected"),
    [
        ("plan", "read", False, False, "allow"),
        ("plan", "read", True, False, "ask"),
        ("plan", "edit", False, False, "deny"),
        ("plan", "execute", False, False, "deny"),
        ("ask", "read", False, False, "allow"),
        ("ask", "read", False, True, "allow"),
        ("ask", "read", True, False, "ask"),
        ("ask", "edit", False, False, "ask"),
        ("ask", "execute", False, False, "ask"),
        ("edit", "edit", False, False, "allow"),
        ("edit", "edit", False, True, "ask"),
        ("edit", "edit", True, False, "ask"),
        ("edit", "execute", False, False, "ask"),
        ("open", "edit", True, True, "allow"),
        ("open", "execute", False, False, "allow"),
    ],
)
def test_mode_judges_effect_place_and_protection(mode, effect, outside, protected, expected):
    proposal = _proposal(Effect(effect), outside=outside, protected=protected)
    assert judge(Mode(mode), proposal)[0] == expected


def test_fixed_approver_gives_its_reason():
    approver = FixedApprover(allow=False, by="policy headless", reason="nobody can answer")
    decision = asyncio.run(approver.ask(_proposal(Effect.EDIT)))
    assert (decision.allow, decision.by, decision.reason) == (
        False,
        "policy headless",
        "nobody can answer",
    )
