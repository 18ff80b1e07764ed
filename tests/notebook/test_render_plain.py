from __future__ import annotations

import pytest

from mewcode_nb.events import (
    ApprovalGiven,
    AssistantMessage,
    Decision,
    Effect,
    Notice,
    Proposal,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnResult,
    TurnStarted,
    Usage,
)
from mewcode_nb.notebook.plain import PlainRenderer
from mewcode_nb.widgets.words import Words

RESULT = TurnResult("hi", (), Usage(10, 0, 0, 5), "end_turn", 1, 1.0, "s", 1)


def written(*events, language="en"):
    parts = []
    renderer = PlainRenderer(parts.append, Words(language), clock=lambda: 0.0)
    for event in events:
        renderer.show(event)
    return parts


def test_text_is_written_as_it_comes_and_tools_take_a_line_each():
    parts = written(
        TurnStarted(1, "s", "sonnet", "ask"),
        TextDelta("Hel"),
        TextDelta("lo"),
        AssistantMessage((), Usage(), "tool_use"),
        ToolStarted("t", "shell", "run ls"),
        ToolFinished("t", "shell", "run ls", False, "exit 0", 0.5, "a.py\nb.py"),
        Notice("cut", remedy="read the file"),
        TextDelta("Done."),
        TurnFinished(RESULT),
    )
    assert parts[1:3] == ["Hel", "lo"]
    assert "".join(parts) == (
        "[sonnet · ask · starting]\nHello\n[run ls · running]\n[run ls · done · exit 0 · 0.5 s]\n"
        "    a.py\n    b.py\n[cut — read the file]\nDone.\n"
        "[sonnet · ask · 10 in (0% cached), 5 out · 1 step · 1 tool call · 1.0 s]\n"
    )


@pytest.mark.parametrize(
    ("by", "words"), [("user", "已拒绝（你）"), ("mode plan", "已拒绝（mode plan）")]
)
def test_a_denial_says_in_the_users_language_who_gave_it(by, words):
    proposal = Proposal("t", "shell", Effect.EXECUTE, "run ls")
    text = "".join(written(ApprovalGiven(proposal, Decision(False, by)), language="zh"))
    assert text == f"[run ls · {words}]\n"


def test_l_05_no_escape_sequence_reaches_the_terminal():
    hostile = "\x1b]52;c;x\x07\x1b[2J\r\u202e"
    proposal = Proposal("t", "shell", Effect.EXECUTE, hostile)
    text = "".join(
        written(
            TextDelta("\x1b"),
            TextDelta("[2J"),
            ToolStarted("t", "shell", hostile),
            ApprovalGiven(proposal, Decision(False, "policy", hostile)),
            ToolFinished("t", "shell", hostile, True, hostile, 0.1, hostile),
            Notice(hostile),
        )
    )
    assert not set(text) & set("\x1b\x07\r\u202e")
    assert "␛[2J" in text


def test_a_denied_call_takes_one_line():
    proposal = Proposal("t", "shell", Effect.EXECUTE, "run ls")
    text = "".join(
        written(
            ApprovalGiven(proposal, Decision(False, "user", "not now")),
            ToolFinished("t", "shell", "run ls", True, "Not run", 0.0, "Not run: refused"),
        )
    )
    assert text == "[run ls · denied by you · not now]\n"
