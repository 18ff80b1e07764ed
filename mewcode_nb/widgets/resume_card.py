"""What stands in the notebook after a resume: where the conversation is, and what is not as it was.

Pure, static and without script: HTML, Markdown and plain text of the same parts. Titles, prompts,
answers, paths and names of variables come from files that may be hostile; every form shows them as
text, cut short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mewcode_nb.events import Notice
from mewcode_nb.session.changes import Changes
from mewcode_nb.session.records import Git, Variable
from mewcode_nb.widgets.cards import Bundle
from mewcode_nb.widgets.html import escape, prose, visible
from mewcode_nb.widgets.markdown import inert_inline
from mewcode_nb.widgets.resume_words import resume_card_words
from mewcode_nb.widgets.session_table import age_words, count_words

__all__ = ["ResumedTalk", "near_limit", "resume_card"]

MAX_NAMES = 8
"""Files or variables that the card names of each kind; the rest is counted."""
_NAME_LENGTH = 120
_WORDS_LENGTH = 280
_LINE_LENGTH = 48
_MARGIN_TOKENS = 8_000
_MARGIN_SHARE = 0.04
"""8,000 tokens of a window of 200,000; a smaller window keeps the same share free."""

_BOX = (
    "border:1px solid var(--jp-border-color2,rgba(128,128,128,.4));border-radius:4px;"
    "border-left:4px solid var(--jp-brand-color1,#1976d2);padding:8px 12px;margin:4px 0;"
    "color:var(--jp-content-font-color1,inherit)"
)
_QUIET = "font-size:90%;color:var(--jp-content-font-color2,inherit)"
_HEAD = "font-weight:600;margin-top:8px"
_WARN = "color:var(--jp-warn-color0,#b26a00);margin-top:6px"
_SAID = (
    "margin:6px 0 0;padding-left:8px;border-left:2px solid var(--jp-border-color2,"
    "rgba(128,128,128,.4))"
)
_LIST = "margin:2px 0 0;padding-left:20px"


@dataclass(frozen=True, slots=True)
class ResumedTalk:
    """All that the card shows of a session that goes on."""

    session: str
    """The id that is written from now on."""
    name: str
    """What the user calls it: title or first prompt."""
    age: float
    """Seconds since it was last used."""
    turns: int
    messages: int
    model: str = ""
    tokens: int = 0
    """What the next request carries at least; 0 where that is not known."""
    window: int = 0
    """Of the model, in tokens; 0 where that is not known."""
    prompt: str = ""
    """The last one."""
    answer: str = ""
    changes: Changes = field(default_factory=Changes)
    told: bool = False
    """Whether the model will be told of the changes, or of the time that passed."""
    forked_from: str = ""
    notices: tuple[Notice, ...] = ()
    cells: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Cells of the notebook by id: the place, counted from 1, and a line that tells them apart."""


class _Change(NamedTuple):
    """One kind of change, and the names it is about."""

    heading: str
    names: tuple[str, ...]


class _Parts(NamedTuple):
    """The card before it takes a form; every text on one line."""

    title: str
    facts: str
    warnings: tuple[str, ...]
    said: tuple[tuple[str, str], ...]
    """Who, what."""
    lead: str
    """Above the changes, or in their place."""
    changes: tuple[_Change, ...]
    next: str


def resume_card(talk: ResumedTalk, language: str) -> Bundle:
    """The card in every form."""
    parts = _parts(talk, resume_card_words(language), language)
    return {
        "text/html": _html(parts),
        "text/markdown": _markdown(parts),
        "text/plain": _plain(parts),
    }


def near_limit(tokens: int, window: int) -> bool:
    """Whether so much of the window is taken that a turn may no longer fit."""
    margin = min(_MARGIN_TOKENS, window * _MARGIN_SHARE)
    return bool(tokens and window) and tokens >= window - margin


def _parts(talk: ResumedTalk, words: Mapping[str, str], language: str) -> _Parts:
    changes = tuple(_changes(talk, words))
    facts = (
        talk.session,
        age_words(talk.age, language),
        words["turn"] if talk.turns == 1 else words["turns"].format(count=talk.turns),
        words["messages"].format(count=talk.messages),
        talk.model,
        words["tokens"].format(count=count_words(talk.tokens)) if talk.tokens else "",
    )
    title = words["forked" if talk.forked_from else "resumed"].format(name=_flat(talk.name, 100))
    said = (("you", talk.prompt), ("agent", talk.answer))
    return _Parts(
        title=title,
        facts=" · ".join(_flat(fact, _NAME_LENGTH) for fact in facts if fact),
        warnings=tuple(_warnings(talk, words)),
        said=tuple((words[who], _flat(text, _WORDS_LENGTH)) for who, text in said if text.strip()),
        lead=_lead(talk, words, found=bool(changes)),
        changes=changes,
        next=words["next"] if talk.messages else words["next_empty"],
    )


def _warnings(talk: ResumedTalk, words: Mapping[str, str]) -> Iterator[str]:
    for notice in talk.notices:
        text = f"{notice.text} — {notice.remedy}" if notice.remedy else notice.text
        yield _flat(text, 2 * _WORDS_LENGTH)
    if talk.forked_from:
        yield words["fork_of"].format(parent=_flat(talk.forked_from, _NAME_LENGTH))
    if near_limit(talk.tokens, talk.window):
        share = 100 * talk.tokens / talk.window
        yield words["near_limit"].format(
            share=f"{share:.0f}", tokens=f"{talk.tokens:,}", window=f"{talk.window:,}"
        )


def _lead(talk: ResumedTalk, words: Mapping[str, str], *, found: bool) -> str:
    if found:
        return words["changed_told" if talk.told else "changed"]
    return words["same_told" if talk.told else "same"]


def _changes(talk: ResumedTalk, words: Mapping[str, str]) -> Iterator[_Change]:
    changes = talk.changes
    moved = tuple(_moved(changes.git_then, changes.git_now, words))
    made = tuple(_variable(item, talk.cells, words) for item in changes.missing)
    other = tuple(
        words["was_is"].format(
            name=_flat(item.then.name, _NAME_LENGTH), then=_kind(item.then), now=_kind(item.now)
        )
        for item in changes.different
    )
    for key, names in (
        ("git", moved),
        ("files_changed", changes.changed),
        ("files_gone", changes.gone),
        ("files_unreadable", changes.unreadable),
        ("files_unchecked", changes.unchecked),
        ("missing", made),
        ("different", other),
    ):
        if names:
            yield _Change(words[key], _few(names, words))


def _few(names: tuple[str, ...], words: Mapping[str, str]) -> tuple[str, ...]:
    shown = tuple(_flat(name, _WORDS_LENGTH) for name in names[:MAX_NAMES])
    rest = len(names) - len(shown)
    return (*shown, words["more"].format(count=rest)) if rest else shown


def _variable(
    variable: Variable, cells: Mapping[str, tuple[int, str]], words: Mapping[str, str]
) -> str:
    name, kind = _flat(variable.name, _NAME_LENGTH), _kind(variable)
    about = f"{name} ({kind})" if kind else name
    if not variable.cell:
        return about
    if known := cells.get(variable.cell):
        number, line = known
        cell = words["cell_at"].format(number=number, line=_flat(line, _LINE_LENGTH))
    else:
        cell = words["cell"].format(id=_flat(variable.cell, _NAME_LENGTH))
    return words["made_by"].format(variable=about, cell=cell)


def _kind(variable: Variable) -> str:
    shape = "×".join(map(str, variable.shape)) if variable.shape is not None else ""
    return " ".join(part for part in (_flat(variable.type, _NAME_LENGTH), shape) if part)


def _moved(then: Git | None, now: Git | None, words: Mapping[str, str]) -> Iterator[str]:
    if then is None or now is None:
        return
    if now == Git():
        yield words["no_repository"]
        return
    none = words["nothing"]
    if then.branch != now.branch:
        yield words["branch"].format(then=then.branch or none, now=now.branch or none)
    if then.head != now.head:
        yield words["commit"].format(then=then.head[:12] or none, now=now.head[:12] or none)


def _html(parts: _Parts) -> str:
    rows = [
        f'<div style="font-weight:600">{escape(parts.title)}</div>',
        f'<div style="{_QUIET}">{escape(parts.facts)}</div>',
        *(f'<div style="{_WARN}">{escape(line)}</div>' for line in parts.warnings),
        *(
            f'<div style="{_SAID}"><span style="{_QUIET}">{escape(who)}</span><br>'
            f"{escape(text)}</div>"
            for who, text in parts.said
        ),
    ]
    if parts.changes:
        items = "".join(
            f"<li>{escape(heading)}: {'; '.join(f'<code>{escape(n)}</code>' for n in names)}</li>"
            for heading, names in parts.changes
        )
        rows += [
            f'<div style="{_HEAD}">{escape(parts.lead)}</div>',
            f'<ul style="{_LIST}">{items}</ul>',
        ]
    else:
        rows.append(f'<div style="{_QUIET};margin-top:8px">{escape(parts.lead)}</div>')
    rows.append(f'<div style="{_QUIET};margin-top:8px">{escape(parts.next)}</div>')
    return f'<div class="tex2jax_ignore mathjax_ignore" style="{_BOX}">{"".join(rows)}</div>'


def _markdown(parts: _Parts) -> str:
    listed = "\n".join(
        f"- {inert_inline(heading)}: {'; '.join(map(inert_inline, names))}"
        for heading, names in parts.changes
    )
    blocks = [
        f"**{inert_inline(parts.title)}**",
        inert_inline(parts.facts),
        *(f"**{inert_inline(line)}**" for line in parts.warnings),
        *(f"> {inert_inline(who)}: {inert_inline(text)}" for who, text in parts.said),
        inert_inline(parts.lead),
        listed,
        inert_inline(parts.next),
    ]
    return "\n\n".join(block for block in blocks if block)


def _plain(parts: _Parts) -> str:
    lines = [
        parts.title,
        parts.facts,
        *(f"! {line}" for line in parts.warnings),
        *(f"  {who}: {text}" for who, text in parts.said),
        parts.lead,
        *(f"  - {heading}: {'; '.join(names)}" for heading, names in parts.changes),
        parts.next,
    ]
    return "\n".join(lines)


def _flat(text: str, length: int) -> str:
    """On one line, cut, with control characters visible."""
    flat = " ".join(visible(prose(text[: 4 * length])).split())
    return flat if len(flat) <= length and len(text) <= 4 * length else f"{flat[: length - 1]}…"
