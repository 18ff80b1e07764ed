"""Asks the person at the notebook, in whichever way can be answered there.

The order is the one proven by experiment: no kernel, a line of input; a front end that takes no
input (nbclient, papermill), a denial at once; an ipykernel that hears clicks while a cell awaits, a
card with buttons; a card that the page does not draw within three seconds, or an older kernel, a
line of input again. Nothing ever waits where nobody can answer: a page with an open card is pinged,
and one that is gone without a word ends the turn within half a minute.
"""

from __future__ import annotations

import asyncio
import builtins
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mewcode_nb.config import Settings
from mewcode_nb.errors import Interrupted
from mewcode_nb.events import Decision, Effect, Proposal
from mewcode_nb.notebook.render import DisplayPublisher
from mewcode_nb.notebook.surroundings import Surroundings, choose_route, surroundings
from mewcode_nb.widgets.html import visible
from mewcode_nb.widgets.words import Words, choose_language

if TYPE_CHECKING:
    from mewcode_nb.widgets.approval import Answer, Gone

__all__ = [
    "Grants",
    "NotebookApprover",
    "Terminal",
    "Ways",
    "choose_approver",
    "grant_key",
    "parse_reply",
]

_HANDSHAKE_SECONDS = 3.0
_PING_SECONDS = 5.0
_PINGS_LOST = 5
"""So many in a row without a reply, 25 seconds, and the page counts as gone. Longer than any stall
of a living page that was seen (opening a notebook keeps a starved one busy for 20 seconds in all),
short enough to wait for. Pings are counted, not seconds: a kernel that stood still, with its
machine asleep or its loop blocked by other code, has not listened meanwhile."""
_TRIES = 3


class Grants:
    """What was allowed for the rest of the session; in memory only, gone with the kernel."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, ...]] = set()

    def add(self, proposal: Proposal) -> None:
        """Remember an answer for the session, where the proposal may be remembered."""
        if key := grant_key(proposal):
            self._keys.add(key)

    def covers(self, proposal: Proposal) -> bool:
        """Whether an earlier answer settles this one."""
        return grant_key(proposal) in self._keys


def grant_key(proposal: Proposal) -> tuple[str, ...]:
    """What an answer for the session covers; empty when each call must be asked about.

    Edits: every call of the same tool inside the project. Commands and code: exactly the same text
    with the same targets. Protected files and paths outside the project are never covered.
    """
    if proposal.protected or proposal.outside_root or proposal.effect is Effect.READ:
        return ()
    if proposal.effect is Effect.EDIT:
        return ("edit", proposal.tool)
    return ("exact", proposal.tool, proposal.code, *proposal.targets)


class Card(Protocol):
    """The part of `widgets.approval.ApprovalCard` that is used."""

    def bundle(self) -> tuple[Mapping[str, object], Mapping[str, object]]:
        """Data and metadata that show it."""
        ...

    def unpin(self) -> None:
        """Let clicks reach a busy kernel."""
        ...

    def ping(self) -> None:
        """Have the page say that it is there."""
        ...

    def retire(self, words: str) -> None:
        """Make it inert for good."""
        ...


CardFactory: TypeAlias = "Callable[[dict[str, object], Callable[[object], None]], Card]"


class Terminal:
    """A line of input from the person: the standard message in a kernel, the tty elsewhere."""

    def write(self, text: str) -> None:
        """Show text above the prompt."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def read(self, prompt: str) -> str:
        """One line; raises `KeyboardInterrupt` when interrupted, `EOFError` when there is none."""
        with _interrupts_raise():
            # Looked up now: ipykernel puts its own function there for the time of a request.
            return builtins.input(prompt)


@contextmanager
def _interrupts_raise() -> Iterator[None]:
    """A turn's own handler only cancels a task, which a blocking read would not notice."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if previous is not None:
            signal.signal(signal.SIGINT, previous)


def _live_card(view: dict[str, object], on_message: Callable[[object], None]) -> Card:
    from mewcode_nb.widgets.approval import ApprovalCard

    card: Card = ApprovalCard(view, on_message)
    return card


@dataclass(frozen=True, slots=True)
class Ways:
    """The means of asking; tests bring their own."""

    terminal: Terminal = field(default_factory=Terminal)
    card: CardFactory = _live_card
    handshake_seconds: float = _HANDSHAKE_SECONDS
    """How long a page has to say that it drew the card."""
    ping_seconds: float = _PING_SECONDS
    """How long a page has for each reply while its card is open."""


class _Heard:
    """What the page has said of one card; changed on the loop's own thread only."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.rendered: asyncio.Future[None] = loop.create_future()
        self.answered: asyncio.Future[Answer | Gone] = loop.create_future()
        self.lately = False
        """Whether anything came since this was last made false."""

    def settle(self, message: object) -> None:
        """Take a message of the card."""
        from mewcode_nb.widgets.approval import Answer, Gone

        self.lately = True
        if not self.rendered.done():
            self.rendered.set_result(None)
        if isinstance(message, (Answer, Gone)) and not self.answered.done():
            self.answered.set_result(message)


class NotebookApprover:
    """An `agent.approval.Approver` for notebooks and terminals; one for a whole session."""

    def __init__(
        self,
        where: Callable[[], Surroundings],
        settings: Settings,
        words: Words,
        publisher: DisplayPublisher,
        *,
        grants: Grants | None = None,
        ways: Ways | None = None,
    ) -> None:
        self._where = where
        self._settings = settings
        self._words = words
        self._publisher = publisher
        self._grants = grants if grants is not None else Grants()
        self._ways = ways if ways is not None else Ways()

    async def ask(self, proposal: Proposal) -> Decision:
        """The answer, from an earlier one for the session, a person, or the policy.

        Raises `asyncio.CancelledError` when the person interrupts the cell instead, `Interrupted`
        when the page with the card is reloaded, closed or out of reach: it gets no outputs of a
        running cell, so no other card or line of input could reach the person.
        """
        if self._grants.covers(proposal):
            return Decision(allow=True, by="session", reason=self._words("by_session"))
        setting = self._settings.approval
        route = choose_route(self._where(), setting)
        if route == "deny":
            reason = self._words("never" if setting == "deny" else "headless")
            return Decision(allow=False, by="policy", reason=reason)
        decision = await self._ask_card(proposal) if route == "buttons" else None
        if decision is None:
            decision = self._ask_line(proposal)
        if decision.remember:
            self._grants.add(proposal)
        return decision

    async def _ask_card(self, proposal: Proposal) -> Decision | None:
        """The answer of a card, or None when no page drew it."""
        from mewcode_nb.widgets.approval import card_view

        loop = asyncio.get_running_loop()
        covers, nonce = self._covers(proposal), secrets.token_hex(16)
        heard = _Heard(loop)

        def receive(message: object) -> None:
            loop.call_soon_threadsafe(heard.settle, message)

        view = card_view(self._words, proposal, nonce=nonce, covers=covers)
        card = self._ways.card(view, receive)
        display = secrets.token_hex(16)
        data, metadata = card.bundle()
        self._publisher.publish(data, metadata, transient={"display_id": display})
        card.unpin()
        outcome = self._words("interrupted")
        try:
            decision, outcome = await self._card_answer(card, heard)
        finally:
            self._settle_card(card, display, outcome)
        if isinstance(decision, Interrupted):
            raise decision
        return decision

    async def _card_answer(
        self, card: Card, heard: _Heard
    ) -> tuple[Decision | Interrupted | None, str]:
        words, seconds = self._words, self._settings.approval_seconds
        try:
            # Not `wait_for`: before Python 3.12 it loses an interrupt that comes with the result.
            async with asyncio.timeout(self._ways.handshake_seconds):
                await heard.rendered
        except TimeoutError:
            return None, words("no_frontend")
        try:
            async with asyncio.timeout(seconds):
                answer = await self._listen(card, heard)
        except TimeoutError:
            reason = words("expired", seconds=f"{seconds:g}")
            return Decision(allow=False, by="policy", reason=reason), reason
        if answer is None:
            return _page_gone(), words("page_gone")
        by, allow = words("by_user"), answer.kind != "deny"
        decision = Decision(allow, "user", answer.reason, remember=answer.kind == "session")
        outcome = words("allowed" if allow else "denied", by=by)
        return decision, f"{outcome}: {answer.reason}" if answer.reason else outcome

    async def _listen(self, card: Card, heard: _Heard) -> Answer | None:
        """The answer; None as soon as the page says that it goes, or has left too many pings."""
        from mewcode_nb.widgets.approval import Gone

        lost = 0
        while lost < _PINGS_LOST:
            heard.lately = False
            card.ping()
            await asyncio.wait({heard.answered}, timeout=self._ways.ping_seconds)
            if heard.answered.done():
                answer = heard.answered.result()
                return None if isinstance(answer, Gone) else answer
            lost = 0 if heard.lately else lost + 1
        return None

    def _settle_card(self, card: Card, display: str, line: str) -> None:
        from mewcode_nb.widgets import cards

        bundle = cards.line(line, tone="quiet")
        self._publisher.publish(bundle, {}, transient={"display_id": display}, update=True)
        card.retire(self._words("closed"))

    def _ask_line(self, proposal: Proposal) -> Decision:
        words = self._words
        self._ways.terminal.write(_question(words, proposal))
        prompt = words("prompt" if grant_key(proposal) else "prompt_once")
        for _ in range(_TRIES):
            try:
                reply = self._ways.terminal.read(prompt)
            except EOFError:
                return Decision(allow=False, by="policy", reason=words("eof"))
            except KeyboardInterrupt:
                raise asyncio.CancelledError from None
            if decision := parse_reply(reply, session=bool(grant_key(proposal))):
                return decision
        return Decision(allow=False, by="policy", reason=words("unclear"))

    def _covers(self, proposal: Proposal) -> str:
        key = grant_key(proposal)
        if not key:
            return ""
        name = "covers_tool" if key[0] == "edit" else "covers_exact"
        return self._words(name, tool=visible(proposal.tool))


def _page_gone() -> Interrupted:
    return Interrupted(
        "the page was reloaded, closed or out of reach while a question was open",
        remedy="run the cell again",
    )


def parse_reply(reply: str, *, session: bool) -> Decision | None:
    """A typed answer: y, n (with a reason after it) or a; None when it is none of them."""
    word, _, rest = reply.strip().partition(" ")
    match word.lower():
        case "y" | "yes" | "是" | "好" | "允许":
            return Decision(allow=True, by="user")
        case "n" | "no" | "否" | "不" | "拒绝":
            return Decision(allow=False, by="user", reason=visible(rest.strip()))
        case "a" | "always" if session:
            return Decision(allow=True, by="user", remember=True)
        case _:
            return None


def _question(words: Words, proposal: Proposal) -> str:
    title = " ".join(visible(proposal.title).split("\n"))
    lines = [f"{words('card_title')} {title} ({words('tool')}: {visible(proposal.tool)})"]
    lines += [f"  {words('risks')}: {visible(risk)}" for risk in proposal.risks]
    body = visible(proposal.diff or proposal.code)
    lines += [f"  | {row}" for row in body.split("\n")] if body else []
    return "\n".join(lines) + "\n"


def choose_approver(
    shell: Any,  # noqa: ANN401 - IPython has no types
    settings: Settings,
    *,
    prompt: str = "",
    grants: Grants | None = None,
    environment: Mapping[str, str] | None = None,
) -> NotebookApprover:
    """The approver for this shell. Keep `grants` for as long as the session.

    With `language = auto` the questions follow the script of the prompt, then the locale. The way
    of asking is chosen anew for each question: each cell may come from another front end.
    """
    environment = os.environ if environment is None else environment
    language = choose_language(settings.language, environment, prompt)
    return NotebookApprover(
        lambda: surroundings(shell), settings, Words(language), shell.display_pub, grants=grants
    )
