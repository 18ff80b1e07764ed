"""What a request to the recorded tutorial says, cut so that a lesson can answer it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mewcode_nb.testing.script import Ask, Body, Reply, reply, strings

__all__ = ["PACE", "Lesson", "Lessons", "Talk", "say", "talk_of"]

PACE = 0.02
"""Seconds between pieces of text: fast enough not to bore, slow enough to see the stream."""

_REMARK = re.compile(r"\[[a-z][^\]]*\]$")
_REMINDER = re.compile(
    r'<mewcode-reminder kind="([\w-]+)">\s*(.*?)\s*</mewcode-reminder>', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Talk:
    """The last prompt and what has happened since it was sent, and what came before."""

    prompt: str
    calls: tuple[str, ...]
    """Names of the tools asked for since, in order."""
    results: tuple[str, ...]
    """Their results."""
    reminders: Mapping[str, str]
    """What the program told with the prompt, by kind."""
    prompts: tuple[str, ...]
    """Every prompt of the request, the last one too."""
    known: tuple[str, ...]
    """Every tool result of the request."""

    @property
    def last(self) -> str:
        """The last result; empty before there is one."""
        return self.results[-1].strip() if self.results else ""

    @property
    def printed(self) -> str:
        """The last result without the tool's own remarks, which stand in brackets."""
        lines = self.last.split("\n")
        return "\n".join(line for line in lines if not _REMARK.match(line))

    @property
    def refused(self) -> bool:
        """Whether the last call was not allowed to run."""
        return self.last.startswith("Not run: refused")


Lesson: TypeAlias = Callable[[Talk], Reply]
Lessons: TypeAlias = Mapping[str, Lesson]
"""By words that the prompt holds, in lower case."""


def say(text: str) -> Reply:
    """An answer that ends the turn."""
    return reply(text, delay=PACE)


def talk_of(ask: Ask) -> Talk:
    """The request's conversation."""
    pieces = list(_pieces(ask))
    asked = [place for place, piece in enumerate(pieces) if piece.kind == "prompt"]
    begin = asked[-1] if asked else 0
    told = begin
    while told and pieces[told - 1].kind == "reminder":
        told -= 1
    since = pieces[told:]
    found = (_REMINDER.match(piece.words) for piece in since if piece.kind == "reminder")
    return Talk(
        prompt=pieces[begin].words if asked else "",
        calls=_words(since, "tool_use"),
        results=_words(since, "tool_result"),
        reminders={match[1]: match[2] for match in found if match},
        prompts=_words(pieces, "prompt"),
        known=_words(pieces, "tool_result"),
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block: `kind` is its type, or for words of the user's side `prompt` or `reminder`."""

    kind: str
    words: str


def _words(pieces: Iterable[_Piece], kind: str) -> tuple[str, ...]:
    return tuple(piece.words for piece in pieces if piece.kind == kind)


def _pieces(ask: Ask) -> Iterator[_Piece]:
    for message in ask.body.get("messages", []):
        for block in _blocks(message):
            kind = str(block.get("type"))
            words = "\n".join(strings(block.get("content", block.get("text", ""))))
            if kind == "tool_use":
                words = str(block.get("name"))
            elif kind == "text" and message.get("role") == "user":
                kind = "reminder" if _REMINDER.match(words) else "prompt"
            yield _Piece(kind, words)


def _blocks(message: Body) -> list[Body]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]
