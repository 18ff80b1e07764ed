"""The approval card: a proposal in full, three buttons, and a strict ear for what comes back.

Imported only when a card is about to be shown, since it needs anywidget. A message from the page
counts when it names the card's nonce, which only this card's own view was given; each card answers
once. Code, diffs and titles reach the page as text, with every control character visible.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import anywidget
import traitlets

from mewcode_nb.events import Proposal
from mewcode_nb.widgets.cards import size_words
from mewcode_nb.widgets.html import clip, visible
from mewcode_nb.widgets.words import Words

__all__ = [
    "Answer",
    "ApprovalCard",
    "CardMessage",
    "Gone",
    "Pong",
    "Rendered",
    "card_view",
    "parse_message",
]

_STATIC = Path(__file__).parent / "static"
_BODY_LIMIT = 1_000_000
"""Characters of code or diff that a card carries."""
_REASON_LIMIT = 500
_WORDS = ("card_title", "tool", "risks", "allow", "session", "deny", "reason", "keys", "closed")


@dataclass(frozen=True, slots=True)
class Rendered:
    """The page has drawn the card."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A button was pressed."""

    kind: Literal["allow", "session", "deny"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """The page with the card is being reloaded or closed: nobody can press a button any more."""


@dataclass(frozen=True, slots=True)
class Pong:
    """The reply to a ping: the card is on a page that can still send."""


CardMessage: TypeAlias = Rendered | Answer | Gone | Pong


def card_view(words: Words, proposal: Proposal, *, nonce: str, covers: str) -> dict[str, object]:
    """What the page is given; `covers` says what an answer for the session covers, or nothing."""
    body, left = clip(
        visible(proposal.diff or proposal.code), lines=_BODY_LIMIT, characters=_BODY_LIMIT
    )
    texts: dict[str, str] = {key: words(key) for key in _WORDS}
    texts["sent"] = words("sent", answer="{answer}")
    return {
        "nonce": nonce,
        "title": " ".join(visible(proposal.title).split("\n")),
        "tool": visible(proposal.tool),
        "risks": [visible(risk) for risk in proposal.risks],
        "body": body,
        "rest": words("too_large", size=size_words(left)) if left else "",
        "language": "diff" if proposal.diff else proposal.language,
        "covers": covers,
        "words": texts,
    }


def parse_message(content: object, *, nonce: str, session: bool) -> CardMessage | None:
    """The message, or None for anything that this card's own buttons could not have sent."""
    if not isinstance(content, dict) or content.get("nonce") != nonce:
        return None
    match content.get("kind"):
        case "rendered":
            return Rendered()
        case "gone":
            return Gone()
        case "pong":
            return Pong()
        case "answer":
            return _parse_answer(content, session=session)
        case _:
            return None


def _parse_answer(content: dict[object, object], *, session: bool) -> Answer | None:
    reason = content.get("reason", "")
    if not isinstance(reason, str):
        return None
    reason = visible(reason[:_REASON_LIMIT]).strip()
    match content.get("answer"):
        case "allow":
            return Answer("allow", reason)
        case "session" if session:
            return Answer("session", reason)
        case "deny":
            return Answer("deny", reason)
        case _:
            return None


class ApprovalCard(anywidget.AnyWidget):
    """One question on the page; `on_message` may be called on any thread."""

    _esm = _STATIC / "approval.js"
    _css = _STATIC / "approval.css"
    view = traitlets.Dict().tag(sync=True)
    closed = traitlets.Unicode("").tag(sync=True)

    def __init__(self, view: dict[str, object], on_message: Callable[[CardMessage], None]) -> None:
        super().__init__(view=view)
        self._nonce = str(view["nonce"])
        self._session = bool(view["covers"])
        self._on_message = on_message
        self._answered = False
        self._lock = threading.Lock()
        self.on_msg(self._receive)
        self.unpin()

    def bundle(self) -> tuple[dict[str, object], dict[str, object]]:
        """Data and metadata that show the card."""
        data, metadata = self._repr_mimebundle_() or ({}, {})
        return {**data, "text/plain": str(self.view["title"])}, metadata

    def ping(self) -> None:
        """Have the page reply with `Pong`, if the card is still on one.

        A custom message: unlike a change of state it reaches no saved notebook.
        """
        self.send({"kind": "ping", "nonce": self._nonce})
        self.unpin()

    def retire(self, words: str) -> None:
        """No button does anything from now on; the widget and its comm are gone."""
        with self._lock:
            self._answered = True
        self.closed = words
        layout = self.layout
        self.close()
        if layout is not None:
            layout.close()

    def unpin(self) -> None:
        """Let the page's own choice of subshell win, so that a click is handled while a cell runs.

        ipykernel 7.4 sends replies to the shell that last published on the comm, which is the busy
        one; the attribute is private, hence the guard.
        """
        comm = self.comm
        if comm is not None and hasattr(comm, "_reply_subshell_id"):
            del comm._reply_subshell_id

    def _receive(self, widget: object, content: object, buffers: object) -> None:
        message = parse_message(content, nonce=self._nonce, session=self._session)
        if message is None:
            return
        with self._lock:
            if self._answered:
                return
            self._answered = isinstance(message, (Answer, Gone))
        self._on_message(message)
