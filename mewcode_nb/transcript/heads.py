"""What stands at the top of a transcript: the session's title and its facts, a line each."""

from __future__ import annotations

from mewcode_nb.session.replay import SessionState
from mewcode_nb.session.turns import turns
from mewcode_nb.transcript.headings import Headings

__all__ = ["facts", "title"]

_TITLE_CHARACTERS = 120


def title(state: SessionState, headings: Headings) -> str:
    """The user's title, else the beginning of the first prompt, else the id; on one line."""
    given = state.meta.get("title")
    prompts = (turn.prompt for turn in turns(state.records) if turn.prompt.strip())
    name = given if isinstance(given, str) and given.strip() else next(prompts, "")
    flat = " ".join(name.split())
    identity = state.header.id if state.header else ""
    return flat[:_TITLE_CHARACTERS] or f"{headings('session')} {identity}".strip()


def facts(state: SessionState, headings: Headings) -> tuple[tuple[str, str], ...]:
    """Name and value of each thing known about the session; raw values, to be escaped."""
    header, usage = state.header, state.usage
    spent = headings("spent", input=usage.total_input, output=usage.output_tokens)
    rows = [
        ("session", header.id if header else ""),
        ("fork", header.parent.id if header and header.parent else ""),
        ("begun", headings.moment(header.ts if header else 0.0)),
        ("last", headings.moment(state.last_ts)),
        ("model", state.model),
        ("notebook", header.notebook if header else ""),
        ("project", header.project if header else ""),
        ("branch", header.git.branch if header and header.git else ""),
        ("turns", str(state.turns)),
        ("tokens", spent if usage.total_input + usage.output_tokens else ""),
    ]
    return tuple((headings(key), value) for key, value in rows if value)
