from __future__ import annotations

import pytest

from mewcode_nb.events import Effect, Proposal
from mewcode_nb.widgets.approval import (
    Answer,
    ApprovalCard,
    Gone,
    Pong,
    Rendered,
    card_view,
    parse_message,
)
from mewcode_nb.widgets.words import Words

PROPOSAL = Proposal(
    "1", "shell", Effect.EXECUTE, "run <b>", code="rm\x1b[K x\u202e", risks=("outside\r",)
)


def view(proposal=PROPOSAL, covers="this session"):
    return card_view(Words(), proposal, nonce="n1", covers=covers)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"kind": "rendered", "nonce": "n1"}, Rendered()),
        ({"kind": "answer", "nonce": "n1", "answer": "allow", "reason": ""}, Answer("allow")),
        ({"kind": "answer", "nonce": "n1", "answer": "allow"}, Answer("allow")),
        (
            {"kind": "answer", "nonce": "n1", "answer": "deny", "reason": " no\x1b "},
            Answer("deny", "no␛"),
        ),
        ({"kind": "answer", "nonce": "n1", "answer": "session"}, Answer("session")),
        ({"kind": "answer", "nonce": "n2", "answer": "allow"}, None),
        ({"kind": "answer", "answer": "allow"}, None),
        ({"kind": "answer", "nonce": "n1", "answer": "ALLOW"}, None),
        ({"kind": "answer", "nonce": "n1", "answer": True}, None),
        ({"kind": "answer", "nonce": "n1", "answer": "allow", "reason": ["x"]}, None),
        ({"kind": "gone", "nonce": "n1"}, Gone()),
        ({"kind": "gone", "nonce": "n2"}, None),
        ({"kind": "gone"}, None),
        ({"kind": "pong", "nonce": "n1"}, Pong()),
        ({"kind": "pong", "nonce": "n2"}, None),
        ({"kind": "pong"}, None),
        ({"kind": ["pong"], "nonce": "n1"}, None),
        ({"kind": "other", "nonce": "n1"}, None),
        ({"nonce": "n1"}, None),
        ("allow", None),
        (None, None),
        ([], None),
    ],
)
def test_w_04_only_this_cards_own_messages_count(content, message):
    assert parse_message(content, nonce="n1", session=True) == message


def test_allow_for_the_session_is_no_answer_where_it_was_not_offered():
    content = {"kind": "answer", "nonce": "n1", "answer": "session"}
    assert parse_message(content, nonce="n1", session=False) is None


def test_t_06_the_card_shows_every_character():
    shown = view()
    assert (shown["body"], shown["risks"], shown["title"]) == (
        "rm␛[K x\\u202E",
        ["outside␍"],
        "run <b>",
    )


def test_w_06_a_huge_diff_is_bounded_and_says_so():
    shown = view(Proposal("1", "edit_file", Effect.EDIT, "edit a", diff="+x\n" * 500_000))
    assert len(shown["body"]) == 1_000_000
    assert "500 KB left out" in shown["rest"]
    assert shown["language"] == "diff"


def test_w_04_a_card_answers_once_and_is_deaf_after_it_was_retired():
    heard = []
    card = ApprovalCard(view(), heard.append)
    click = {"kind": "answer", "nonce": "n1", "answer": "allow", "reason": ""}
    card._receive(card, {"kind": "answer", "nonce": "other", "answer": "deny"}, [])
    card._receive(card, click, [])
    card._receive(card, click, [])
    assert heard == [Answer("allow")]
    late = []
    card = ApprovalCard(view(), late.append)
    card.retire("closed")
    card._receive(card, click, [])
    assert late == []


def test_a_page_that_goes_away_ends_the_card_unless_it_was_answered():
    gone = {"kind": "gone", "nonce": "n1"}
    click = {"kind": "answer", "nonce": "n1", "answer": "allow"}
    for first, expected in ((gone, Gone()), (click, Answer("allow"))):
        heard = []
        card = ApprovalCard(view(), heard.append)
        for content in ({"kind": "gone", "nonce": "n2"}, first, click, gone):
            card._receive(card, content, [])
        assert heard == [expected]
        card.retire("")


def test_w_04_pongs_do_not_use_a_card_up_and_are_unheard_after_its_answer():
    heard = []
    card = ApprovalCard(view(), heard.append)
    pong = {"kind": "pong", "nonce": "n1"}
    click = {"kind": "answer", "nonce": "n1", "answer": "allow"}
    for content in (pong, {"kind": "pong", "nonce": "n2"}, pong, click, pong, click):
        card._receive(card, content, [])
    assert heard == [Pong(), Pong(), Answer("allow")]
    card.retire("")


def test_w_03_retired_cards_leave_no_widget_behind():
    from ipywidgets.widgets import widget

    before = len(widget._instances)
    for _ in range(20):
        ApprovalCard(view(), lambda message: None).retire("closed")
    assert len(widget._instances) == before


def test_a_card_shows_its_title_where_widgets_are_unknown():
    card = ApprovalCard(view(), lambda message: None)
    data, _ = card.bundle()
    assert data["text/plain"] == "run <b>"
    assert "application/vnd.jupyter.widget-view+json" in data
    card.retire("")


def test_the_page_script_uses_text_only():
    card = ApprovalCard(view(), lambda message: None)
    script = card._esm
    assert "textContent" in script
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script
    card.retire("")
