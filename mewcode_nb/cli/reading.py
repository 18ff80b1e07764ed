"""Sessions as plain text for a terminal: the conversation by turns, and what a search found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mewcode_nb.cli.words import Words
from mewcode_nb.session.records import MessageRecord
from mewcode_nb.session.replay import SessionState
from mewcode_nb.session.search import Hit
from mewcode_nb.session.turns import Turn, turns
from mewcode_nb.transcript.headings import Headings
from mewcode_nb.transcript.heads import facts, title
from mewcode_nb.transcript.parts import Answer, Call, Part, Prompt, Summary, chapters
from mewcode_nb.widgets.columns import align, fit

__all__ = ["conversation", "hit_json", "hit_text"]

_LINE_PLACES = 100


def conversation(
    state: SessionState, records: Sequence[MessageRecord], words: Words
) -> Iterator[str]:
    """The session's facts, then its turns with the numbers of their messages; raw text."""
    headings = Headings(words.language)
    yield title(state, headings)
    yield align([(f"  {name}", _flat(value)) for name, value in facts(state, headings)])
    for turn, chapter in zip(turns(records), chapters(records), strict=True):
        yield ""
        yield _turn_line(turn, words, headings)
        for part in chapter.parts:
            yield from _part(part, words)


def hit_text(hit: Hit, language: str) -> str:
    """One hit on two lines: the session and the message's number, then the words around it."""
    when = Headings(language).moment(hit.ts)
    place = f"--at {hit.number}" if hit.number else ""
    name = fit(_flat(hit.info.name), _LINE_PLACES // 2)
    head = "  ".join(part for part in (hit.info.id, place, when, name) if part)
    return f"{head}\n    {_flat(hit.match.snippet)}"


def hit_json(hit: Hit) -> dict[str, object]:
    """One hit as plain values."""
    return {
        "session": hit.info.id,
        "title": hit.info.title,
        "message": hit.message_id,
        "number": hit.number,
        "turn": hit.turn,
        "role": hit.role,
        "origin": hit.origin,
        "ts": hit.ts,
        "snippet": hit.match.snippet,
        "marks": [list(mark) for mark in hit.match.marks],
        "in_conversation": hit.in_conversation,
    }


def _turn_line(turn: Turn, words: Words, headings: Headings) -> str:
    when = headings.moment(turn.ts)
    return words("turn", number=turn.number, first=turn.first, last=turn.last, when=when)


def _part(part: Part, words: Words) -> Iterator[str]:
    match part:
        case Prompt():
            yield "> " + part.text.replace("\n", "\n> ")
        case Answer():
            yield part.text.rstrip("\n")
            if part.incomplete:
                yield words("broken")
        case Call():
            yield words("call", name=part.name or "?", first=fit(_flat(part.code), _LINE_PLACES))
        case Summary():
            yield words("summary")
            yield part.text.rstrip("\n")
        case _:
            pass


def _flat(text: str) -> str:
    return " ".join(text.split())
