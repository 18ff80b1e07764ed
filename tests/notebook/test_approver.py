from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.config import Settings
from mewcode_nb.errors import Interrupted
from mewcode_nb.events import Decision, Effect, Proposal
from mewcode_nb.notebook.approver import (
    Grants,
    NotebookApprover,
    Terminal,
    Ways,
    choose_approver,
    grant_key,
    parse_reply,
)
from mewcode_nb.notebook.surroundings import Surroundings
from mewcode_nb.widgets.approval import Answer, Gone, Pong, Rendered
from mewcode_nb.widgets.words import Words

LAB = Surroundings(kernel=True, can_type=True, ipykernel=(7, 4), widgets=True)
HEADLESS = Surroundings(kernel=True, can_type=False, ipykernel=(7, 4), widgets=True)
TERMINAL = Surroundings(kernel=False, can_type=True)
SHELL = Proposal("1", "shell", Effect.EXECUTE, "run ls", code="ls")
EDIT = Proposal("2", "edit_file", Effect.EDIT, "edit a.py", ("/p/a.py",), diff="-a\n+b")


@pytest.mark.parametrize(
    ("proposal", "key"),
    [
        (EDIT, ("edit", "edit_file")),
        (SHELL, ("exact", "shell", "ls")),
        (
            Proposal("1", "run_python", Effect.EXECUTE, "t", ("/p",), code="x"),
            ("exact", "run_python", "x", "/p"),
        ),
        (Proposal("1", "edit_file", Effect.EDIT, "t", protected=True), ()),
        (Proposal("1", "shell", Effect.EXECUTE, "t", code="ls", outside_root=True), ()),
        (Proposal("1", "read_file", Effect.READ, "t", outside_root=True), ()),
    ],
)
def test_what_an_answer_for_the_session_covers(proposal, key):
    assert grant_key(proposal) == key


def test_a_proposal_that_may_not_be_remembered_is_never_covered():
    grants, risky = Grants(), Proposal("1", "edit_file", Effect.EDIT, "t", protected=True)
    grants.add(risky)
    assert not grants.covers(risky)


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        ("y", Decision(True, "user")),
        (" YES ", Decision(True, "user")),
        ("是", Decision(True, "user")),
        ("n", Decision(False, "user")),
        ("n use git mv\x1b", Decision(False, "user", "use git mv␛")),
        ("a", Decision(True, "user", remember=True)),
        ("", None),
        ("yolo", None),
    ],
)
def test_typed_answers(reply, decision):
    assert parse_reply(reply, session=True) == decision


def test_always_is_no_answer_where_nothing_may_be_remembered():
    assert parse_reply("a", session=False) is None


class Typed(Terminal):
    def __init__(self, *replies):
        self.replies, self.written, self.prompts = list(replies), "", []

    def write(self, text):
        self.written += text

    def read(self, prompt):
        self.prompts.append(prompt)
        reply = self.replies.pop(0)
        if isinstance(reply, type):
            raise reply
        return reply


class Page:
    def __init__(self):
        self.sent = []

    def publish(self, data, metadata=None, *, transient=None, update=False):
        self.sent.append((data, transient["display_id"], update))


class FakeCard:
    """A card whose page sends the scripted messages as soon as it is shown.

    It replies to the pings with the messages of `replies`, one each, and then falls silent.
    """

    def __init__(self, *messages, replies=()):
        self.messages, self.view, self.retired = messages, None, []
        self.replies, self.pings = list(replies), 0

    def __call__(self, view, on_message):
        self.view, self.on_message = view, on_message
        return self

    def bundle(self):
        return {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "card"}, {}

    def unpin(self):
        for message in self.messages:
            self.on_message(message)

    def ping(self):
        self.pings += 1
        if self.replies and (message := self.replies.pop(0)) is not None:
            self.on_message(message)

    def retire(self, words):
        self.retired.append(words)


def approver(where, *, card=None, terminal=None, grants=None, page=None, ping=5.0, **settings):
    ways = Ways(terminal or Typed(), card or FakeCard(), 0.05, ping)
    return NotebookApprover(
        lambda: where, Settings(**settings), Words(), page or Page(), grants=grants, ways=ways
    )


def ask(asker, proposal=SHELL):
    return asyncio.run(asyncio.wait_for(asker.ask(proposal), 10))


@pytest.mark.parametrize(
    ("answer", "decision", "line"),
    [
        (Answer("allow"), Decision(True, "user"), "allowed by you"),
        (Answer("session"), Decision(True, "user", remember=True), "allowed by you"),
        (Answer("deny", "no!"), Decision(False, "user", "no!"), "denied by you: no!"),
    ],
)
def test_a_card_is_answered_and_leaves_a_static_line(answer, decision, line):
    page, card = Page(), FakeCard(Rendered(), answer)
    assert ask(approver(LAB, card=card, page=page)) == decision
    (shown, display, first), (settled, same, update) = page.sent
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert (first, update, display == same) == (False, True, True)
    assert settled["text/plain"] == line
    assert "application/vnd.jupyter.widget-view+json" not in settled
    assert card.retired


def test_w_04_only_the_first_answer_counts():
    card = FakeCard(Rendered(), Answer("deny"), Answer("allow"))
    assert not ask(approver(LAB, card=card)).allow


def test_a_page_that_never_draws_the_card_has_it_revoked_before_input_asks():
    page, card, terminal = Page(), FakeCard(), Typed("y")
    terminal.read_when_retired = []
    assert ask(approver(LAB, card=card, terminal=terminal, page=page)) == Decision(True, "user")
    assert page.sent[-1][0]["text/plain"] == "the page did not show the question"
    assert card.retired
    assert len(terminal.prompts) == 1


def test_no_answer_in_time_is_a_denial_that_says_so_on_the_card():
    page = Page()
    decision = ask(approver(LAB, card=FakeCard(Rendered()), page=page, approval_seconds=0.05))
    assert decision == Decision(False, "policy", "no answer in 0.05 s")
    assert page.sent[-1][0]["text/plain"] == "no answer in 0.05 s"


def test_an_interrupt_while_a_card_is_open_settles_the_card():
    async def turn():
        page = Page()
        task = asyncio.create_task(approver(LAB, card=FakeCard(Rendered()), page=page).ask(SHELL))
        while not page.sent:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return page.sent[-1][0]["text/plain"]

    assert asyncio.run(turn()) == "interrupted"


@pytest.mark.parametrize("messages", [(Rendered(), Gone()), (Gone(),), (Gone(), Answer("allow"))])
def test_a_page_that_goes_away_settles_the_card_and_ends_the_turn(messages):
    page, card, terminal = Page(), FakeCard(*messages), Typed("y")
    with pytest.raises(Interrupted, match=r"closed or out of reach.*run the cell again"):
        ask(approver(LAB, card=card, terminal=terminal, page=page))
    line = "the page was reloaded, closed or out of reach while this question was open"
    assert page.sent[-1][0]["text/plain"] == line
    assert card.retired
    assert terminal.prompts == []


@pytest.mark.parametrize(
    ("replies", "pings"),
    [
        ([], 5),
        ([Pong()], 6),
        ([None, None, None, None, Pong()], 10),
        ([None, Pong()] * 6, 17),
        ([Gone()], 1),
    ],
)
def test_a_page_is_gone_after_five_pings_in_a_row_without_a_reply(replies, pings):
    page, card = Page(), FakeCard(Rendered(), replies=replies)
    with pytest.raises(Interrupted, match="out of reach"):
        ask(approver(LAB, card=card, page=page, ping=0.02))
    assert card.pings == pings
    assert page.sent[-1][0]["text/plain"].startswith(
        "the page was reloaded, closed or out of reach"
    )
    assert card.retired


def test_a_page_that_is_gone_without_a_word_is_noticed_in_25_seconds():
    assert Ways().ping_seconds * 5 == 25


def test_an_answer_after_many_pings_counts_and_ends_the_pings():
    card = FakeCard(Rendered(), replies=[Pong()] * 8 + [Answer("allow")])
    assert ask(approver(LAB, card=card, ping=0.02)) == Decision(True, "user")
    assert card.pings == 9


def test_a_page_that_never_draws_the_card_is_not_pinged():
    card = FakeCard()
    ask(approver(LAB, card=card, terminal=Typed("y")))
    assert card.pings == 0


def test_the_time_for_an_answer_ends_a_card_that_goes_on_answering_pings():
    card = FakeCard(Rendered(), replies=[Pong()] * 1000)
    decision = ask(approver(LAB, card=card, ping=0.02, approval_seconds=0.2))
    assert decision == Decision(False, "policy", "no answer in 0.2 s")


def test_an_interrupt_between_two_pings_is_no_answer():
    async def turn():
        card = FakeCard(Rendered(), replies=[Pong()] * 1000)
        task = asyncio.create_task(approver(LAB, card=card, ping=0.02).ask(SHELL))
        while card.pings < 3:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return card.retired

    assert asyncio.run(turn())


@pytest.mark.parametrize(
    ("language", "proposal", "covers"),
    [
        ("en", EDIT, "all edits by edit_file inside the project, this session"),
        ("en", SHELL, "this exact code again, this session"),
        ("zh", EDIT, "本次会话内，edit_file 在项目中的所有修改"),
        ("zh", SHELL, "本次会话内，再次运行完全相同的代码"),
    ],
)
def test_the_card_says_what_an_answer_for_the_session_covers(language, proposal, covers):
    card = FakeCard(Rendered(), Answer("deny"))
    ways = Ways(Typed(), card, handshake_seconds=0.05)
    asker = NotebookApprover(lambda: LAB, Settings(), Words(language), Page(), ways=ways)
    ask(asker, proposal)
    assert card.view["covers"] == covers


def test_w_05_headless_is_denied_at_once_with_the_reason():
    page, terminal = Page(), Typed()
    decision = ask(approver(HEADLESS, terminal=terminal, page=page))
    assert (decision.allow, decision.by) == (False, "policy")
    assert "nobody can be asked here" in decision.reason
    assert (page.sent, terminal.prompts) == ([], [])


def test_the_setting_deny_names_itself():
    assert ask(approver(LAB, approval="deny")).reason.startswith("the setting approval = deny")


def test_allowing_edits_for_the_session_covers_the_tool_but_not_others():
    grants, terminal = Grants(), Typed("a", "n", "n")
    asker = approver(TERMINAL, terminal=terminal, grants=grants)
    assert ask(asker, EDIT).remember
    again = ask(asker, Proposal("3", "edit_file", Effect.EDIT, "edit b.py", ("/p/b.py",)))
    assert (again.allow, again.by) == (True, "session")
    assert not ask(asker, Proposal("4", "write_file", Effect.EDIT, "write c")).allow
    assert not ask(asker, SHELL).allow
    assert len(terminal.prompts) == 3


def test_allowing_a_command_for_the_session_covers_exactly_that_command():
    terminal = Typed("a", "n")
    asker = approver(TERMINAL, terminal=terminal)
    ask(asker, SHELL)
    assert ask(asker, SHELL).allow
    assert not ask(asker, Proposal("9", "shell", Effect.EXECUTE, "run", code="ls; rm x")).allow


def test_t_06_the_typed_question_shows_every_character():
    terminal = Typed("n")
    evil = Proposal(
        "1", "shell", Effect.EXECUTE, "run\x1b[2K", code="good\x1b[K\rbad\u202e", risks=("deletes",)
    )
    ask(approver(TERMINAL, terminal=terminal), evil)
    assert terminal.written == (
        "Allow this? run␛[2K (tool: shell)\n  Look twice: deletes\n  | good␛[K␍bad\\u202E\n"
    )
    assert terminal.prompts == ["[y]es / [n]o / [a]lways this session: "]


def test_unclear_answers_are_asked_again_and_then_denied():
    terminal = Typed("what", "", "maybe")
    assert ask(approver(TERMINAL, terminal=terminal)).reason == "no clear answer"
    assert len(terminal.prompts) == 3


def test_a_closed_input_is_a_denial():
    decision = ask(approver(TERMINAL, terminal=Typed(EOFError)))
    assert decision == Decision(False, "policy", "the input was closed")


def test_an_interrupt_at_the_prompt_ends_the_turn_as_a_cancellation():
    async def turn():
        with pytest.raises(asyncio.CancelledError):
            await approver(TERMINAL, terminal=Typed(KeyboardInterrupt)).ask(SHELL)

    asyncio.run(turn())


def test_without_a_kernel_or_a_terminal_nothing_waits():
    class Shell:
        display_pub = Page()

    asker = choose_approver(Shell(), Settings(language="en"), environment={})
    assert not ask(asker).allow
