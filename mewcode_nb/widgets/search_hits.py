"""What a search through sessions found, as a static list in every form. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from mewcode_nb.session.search import Hit
from mewcode_nb.widgets.cards import Bundle
from mewcode_nb.widgets.columns import fit
from mewcode_nb.widgets.html import escape, visible
from mewcode_nb.widgets.markdown import inert_inline
from mewcode_nb.widgets.session_table import age_words

__all__ = ["hits_bundle"]

_NAME_PLACES = 60
_LIST = "list-style:none;margin:0 0 6px;padding:0"
_LINE = "margin:0;padding:4px 0;border-bottom:1px solid rgba(128,128,128,.25)"
_SMALL = "font-size:90%;opacity:.8"


def hits_bundle(hits: Sequence[Hit], after: Sequence[str], *, now: float, language: str) -> Bundle:
    """The session, the words around, and what to type: `ID --at N`; `after` are lines below."""
    plain, items, markdown = [], [], []
    for hit in hits:
        name = fit(_flat(hit.info.name), _NAME_PLACES)
        snippet = _flat(hit.match.snippet)
        typed = f"{hit.info.id} --at {hit.number}" if hit.number else hit.info.id
        when = age_words(now - hit.ts, language)
        plain.append(f"{_flat(typed)}  {when}  {name}\n    {snippet}")
        items.append(
            f'<li style="{_LINE}">{_marked(hit)}<div style="{_SMALL}">{escape(name)} · '
            f"{escape(when)} · <code>{escape(_flat(typed))}</code></div></li>"
        )
        markdown.append(
            f"- {inert_inline(snippet)}<br>{inert_inline(f'{name} · {when} · {_flat(typed)}')}"
        )
    below = "".join(f'<div style="{_SMALL}">{escape(line)}</div>' for line in after)
    return {
        "text/html": f'<ul class="tex2jax_ignore mathjax_ignore" style="{_LIST}">'
        f"{''.join(items)}</ul>{below}",
        "text/markdown": "\n\n".join(["\n".join(markdown), *map(inert_inline, after)]),
        "text/plain": "\n".join([*plain, *after]),
    }


def _marked(hit: Hit) -> str:
    """The snippet as HTML, what was looked for in bold."""
    text, done, parts = hit.match.snippet, 0, []
    for start, end in hit.match.marks:
        if start >= done:
            parts += [escape(text[done:start]), f"<b>{escape(text[start:end])}</b>"]
            done = end
    return "".join([*parts, escape(text[done:])])


def _flat(text: str) -> str:
    return " ".join(visible(text).split())
