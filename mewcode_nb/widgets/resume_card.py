"""What stands in the notebook after a resume: where the conversation is, and what is not as it was.

Pure, static and without script: HTML, Markdown and plain text of the same parts. Titles, prompts,
answers, paths and names of variables come from files that may be hostile; every form shows them as
text, cut short.
"""

from __future__ import annotations

import re
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
_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*\n]{1,200}?)(?<=\S)\*\*(?![\w*])")
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
    damage: str = ""
    """How many lines of its file are damaged; empty for none."""
    notices: tuple[Notice, ...] = ()
    cells: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Cells of the notebook by id: the place, counted from 1, and a line that tells them apart."""


class _Item(NamedTuple):
    """A name as it stands in code, and what is said of it."""

    name: str
    about: str = ""


class _Change(NamedTuple):
    """One kind of change, and what it is about."""

    heading: str
    items: tuple[_Item, ...]


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
        said=tuple((words[who], _said(text)) for who, text in said if text.strip()),
        lead=_lead(talk, words, found=bool(changes)),
        changes=changes,
        next=words["next"] if talk.messages else words["next_empty"],
    )


def _said(text: str) -> str:
    """A few words of the text, bold ones without their asterisks."""
    return _flat(_BOLD.sub(r"\1", text), _WORDS_LENGTH)


def _warnings(talk: ResumedTalk, words: Mapping[str, str]) -> Iterator[str]:
    for notice in talk.notices:
        text = f"{notice.text} — {notice.remedy}" if notice.remedy else notice.text
        yield _flat(text, 2 * _WORDS_LENGTH)
    if talk.forked_from:
        yield words["fork_of"].format(parent=_flat(talk.forked_from, _NAME_LENGTH))
    if talk.damage:
        yield words["damaged"].format(reason=_flat(talk.damage, _NAME_LENGTH))
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
    moved = tuple(_Item("", text) for text in _moved(changes.git_then, changes.git_now, words))
    made = tuple(_made(item, talk.cells, words) for item in changes.missing)
    other = tuple(
        _Item(item.then.name, words["was_is"].format(then=_kind(item.then), now=_kind(item.now)))
        for item in changes.different
    )
    for key, items in (
        ("git", moved),
        ("files_changed", tuple(map(_Item, changes.changed))),
        ("files_gone", tuple(map(_Item, changes.gone))),
        ("files_unreadable", tuple(map(_Item, changes.unreadable))),
        ("files_unchecked", tuple(map(_Item, changes.unchecked))),
        ("missing", made),
        ("different", other),
    ):
        if items:
            yield _Change(words[key], _few(items, words))


def _few(items: tuple[_Item, ...], words: Mapping[str, str]) -> tuple[_Item, ...]:
    shown = tuple(
        _Item(_flat(name, _WORDS_LENGTH), _flat(about, _WORDS_LENGTH))
        for name, about in items[:MAX_NAMES]
    )
    rest = len(items) - len(shown)
    return (*shown, _Item("", words["more"].format(count=rest))) if rest else shown


def _made(
    variable: Variable, cells: Mapping[str, tuple[int, str]], words: Mapping[str, str]
) -> _Item:
    kind, cell = _kind(variable), ""
    if known := cells.get(variable.cell):
        number, line = known
        cell = words["cell_at"].format(number=number, line=_flat(line, _LINE_LENGTH))
    elif variable.cell:
        cell = words["cell"].format(id=_flat(variable.cell, _NAME_LENGTH))
    about = (f"({kind})" if kind else "", words["made_by"].format(cell=cell) if cell else "")
    return _Item(variable.name, " ".join(part for part in about if part))


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
            f"<li>{escape(heading)}: {'; '.join(map(_item_html, found))}</li>"
            for heading, found in parts.changes
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
        f"- {inert_inline(heading)}: {'; '.join(map(_item_markdown, found))}"
        for heading, found in parts.changes
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
        *(
            f"  - {heading}: {'; '.join(map(_item_plain, found))}"
            for heading, found in parts.changes
        ),
        parts.next,
    ]
    return "\n".join(lines)


def _item_html(item: _Item) -> str:
    name = f"<code>{escape(item.name)}</code>" if item.name else ""
    return " ".join(part for part in (name, escape(item.about)) if part)


def _item_markdown(item: _Item) -> str:
    return inert_inline(_item_plain(item))


def _item_plain(item: _Item) -> str:
    return " ".join(part for part in item if part)


def _flat(text: str, length: int) -> str:
    """On one line, cut, with control characters visible."""
    flat = " ".join(visible(prose(text[: 4 * length])).split())
    return flat if len(flat) <= length and len(text) <= 4 * length else f"{flat[: length - 1]}…"
