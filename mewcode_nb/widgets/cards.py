"""Static cards as mime bundles: what a saved notebook shows with no kernel and no script.

Each bundle has `text/plain` for terminals and tools, `text/markdown` for viewers, and `text/html`
only where the text is ours and escaped. Colours come from the page's own variables, so that light
and dark themes both work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mewcode_nb.events import Proposal
from mewcode_nb.widgets.html import clip, escape, plain, prose, visible
from mewcode_nb.widgets.markdown import fenced, inert, inert_inline
from mewcode_nb.widgets.words import Words

__all__ = [
    "Bundle",
    "Fold",
    "bundle_size",
    "entry",
    "line",
    "output_fold",
    "proposal_fold",
    "size_words",
    "text",
    "thoughts",
]

Bundle: TypeAlias = "dict[str, object]"
Tone: TypeAlias = str
"""`quiet`, `normal`, `good`, `warning` or `error`."""

_COLOURS = {
    "quiet": "var(--jp-ui-font-color2,inherit)",
    "normal": "var(--jp-content-font-color1,inherit)",
    "good": "var(--jp-success-color1,#2e7d32)",
    "warning": "var(--jp-warn-color0,#b26a00)",
    "error": "var(--jp-error-color1,#d93025)",
}
_PRE = (
    "max-height:24em;overflow:auto;margin:4px 0;padding:6px;white-space:pre-wrap;"
    "background:var(--jp-layout-color2,rgba(128,128,128,.12));"
    "color:var(--jp-content-font-color1,inherit)"
)
_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""Classes by which the typesetters pass an element over: `echo $A $B` is no formula."""
_OUTPUT_LINES = 40
_OUTPUT_CHARACTERS = 4_000
_PROPOSAL_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class Fold:
    """A part shown on demand: its heading, the exact text, what was left out (in words)."""

    heading: str
    body: str
    language: str = ""
    rest: str = ""


def text(markdown: str) -> Bundle:
    """An answer's words, inert, with the raw words as plain text."""
    return {"text/markdown": inert(markdown), "text/plain": prose(markdown)}


def line(words: str, *, tone: Tone = "normal") -> Bundle:
    """One line of our own."""
    flat = " ".join(visible(words).split("\n"))
    return {
        "text/html": f'<div class="{_NO_FORMULAS}" style="color:{_COLOURS[tone]};font-size:90%">'
        f"{escape(flat)}</div>",
        "text/markdown": inert_inline(flat),
        "text/plain": flat,
    }


def entry(words: str, folds: Sequence[Fold], *, tone: Tone = "normal") -> Bundle:
    """A line with parts to unfold beneath: a tool call and what came of it."""
    base = line(words, tone=tone)
    if not folds:
        return base
    return {
        "text/html": str(base["text/html"]) + "".join(_fold_html(fold) for fold in folds),
        "text/markdown": "\n\n".join(
            [str(base["text/markdown"]), *(_fold_markdown(fold) for fold in folds)]
        ),
        "text/plain": "\n".join([str(base["text/plain"]), *(_fold_plain(fold) for fold in folds)]),
    }


def thoughts(words: Words, thinking: str) -> Bundle:
    """The model's reasoning, dim and folded."""
    shown, left = clip(prose(thinking), lines=400, characters=_PROPOSAL_CHARACTERS)
    rest = words("cut", size=size_words(left)) if left else ""
    fold = Fold(words("thoughts", size=size_words(len(thinking))), shown, rest=rest)
    return {
        "text/html": f'<div style="color:{_COLOURS["quiet"]}">{_fold_html(fold)}</div>',
        "text/markdown": _fold_markdown(fold),
        "text/plain": _fold_plain(fold),
    }


def output_fold(words: Words, output: str) -> tuple[Fold, ...]:
    """A tool's output, at most 40 lines and 4 KB of it; nothing when there is none."""
    clean = plain(output).rstrip()
    if not clean:
        return ()
    shown, left = clip(clean, lines=_OUTPUT_LINES, characters=_OUTPUT_CHARACTERS)
    rest = words("cut", size=size_words(left)) if left else ""
    return (Fold(words("output", size=size_words(len(clean))), shown, rest=rest),)


def proposal_fold(words: Words, proposal: Proposal) -> tuple[Fold, ...]:
    """The code or diff of a call, every character visible, at most 20 KB of it."""
    body = visible(proposal.diff or proposal.code)
    if not body:
        return ()
    shown, left = clip(body, lines=1_000, characters=_PROPOSAL_CHARACTERS)
    rest = words("cut", size=size_words(left)) if left else ""
    language = "diff" if proposal.diff else proposal.language
    return (Fold(words("proposal"), shown, language, rest),)


def size_words(characters: int) -> str:
    """A number of characters or bytes in words."""
    if characters < 1_000:
        return f"{characters} B"
    if characters < 1_000_000:
        return f"{characters / 1_000:.3g} KB"
    return f"{characters / 1_000_000:.3g} MB"


def bundle_size(bundle: Bundle) -> int:
    """Characters a bundle adds to the notebook, roughly."""
    return sum(
        len(value) if isinstance(value, str) else len(repr(value)) for value in bundle.values()
    )


def _fold_html(fold: Fold) -> str:
    rest = f"<div>{escape(fold.rest)}</div>" if fold.rest else ""
    return (
        f'<details style="font-size:90%"><summary>{escape(fold.heading)}</summary>'
        f'<pre style="{_PRE}">{escape(fold.body)}</pre>{rest}</details>'
    )


def _fold_markdown(fold: Fold) -> str:
    rest = f"\n\n{inert_inline(fold.rest)}" if fold.rest else ""
    return f"{inert_inline(fold.heading)}\n\n{fenced(fold.body, fold.language)}{rest}"


def _fold_plain(fold: Fold) -> str:
    body = "\n".join("    " + row for row in fold.body.split("\n"))
    return "\n".join(part for part in (f"  {fold.heading}:", body, fold.rest) if part)
