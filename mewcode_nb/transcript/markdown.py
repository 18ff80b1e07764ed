"""A session as Markdown: what was said is inert, what was run stands in fences.

Nothing in it runs or is fetched by any viewer: running text goes through the same `inert` as the
answers in a notebook, everything else into fences that nothing inside can close.
"""

from __future__ import annotations

from collections.abc import Iterator

from mewcode_nb.session.replay import SessionState
from mewcode_nb.transcript.headings import Headings
from mewcode_nb.transcript.heads import facts, title
from mewcode_nb.transcript.parts import (
    Answer,
    Call,
    Other,
    Part,
    Prompt,
    Summary,
    Thought,
    chapters,
)
from mewcode_nb.transcript.pictures import Picture
from mewcode_nb.widgets.cards import size_words
from mewcode_nb.widgets.html import plain, prose, visible
from mewcode_nb.widgets.markdown import fenced, inert, inert_inline

__all__ = ["call_blocks", "head_text", "markdown_text", "not_kept", "part_text"]


def markdown_text(state: SessionState, headings: Headings, *, thinking: bool = False) -> str:
    """The whole document; it ends in a newline."""
    blocks = [head_text(state, headings)]
    for chapter in chapters(state.records, thinking=thinking):
        for part in chapter.parts:
            blocks.append(_heading(part, chapter.number, headings))
            blocks.append(part_text(part, headings))
    if len(blocks) == 1:
        blocks.append(headings("empty"))
    return "\n\n".join(block for block in blocks if block) + "\n"


def head_text(state: SessionState, headings: Headings) -> str:
    """The title and the facts."""
    rows = [f"- {name}: {inert_inline(visible(value))}" for name, value in facts(state, headings)]
    return "\n".join([f"# {inert_inline(title(state, headings))}", "", *rows])


def part_text(part: Part, headings: Headings) -> str:
    """One part, without a heading of its own."""
    match part:
        case Prompt():
            named = [inert_inline(not_kept(picture, headings)) for picture in part.pictures]
            return "\n\n".join([inert(part.text), *named])
        case Answer():
            broken = [f"*{headings('incomplete')}*"] if part.incomplete else []
            return "\n\n".join([inert(part.text), *broken])
        case Thought():
            return _folded(headings("thoughts"), fenced(prose(part.text), "text"))
        case Summary():
            return inert(part.text)
        case Call():
            return "\n\n".join(call_blocks(part, headings))
        case Other():
            return fenced(visible(part.text), "json")


def call_blocks(part: Call, headings: Headings, *, code: bool = True) -> Iterator[str]:
    """What a call ran and what came of it, each in a fence."""
    if code and part.code:
        yield fenced(visible(part.code), part.language)
    if part.output is None:
        yield f"*{headings('nothing')}*"
    elif part.output.strip():
        name = headings("failed" if part.is_error else "output")
        yield f"{name}:"
        yield fenced(plain(part.output), "text")
    for picture in part.pictures:
        yield inert_inline(not_kept(picture, headings))


def not_kept(picture: Picture, headings: Headings) -> str:
    """A remark in the place of a picture: its kind, type and size; raw words, to be escaped."""
    kind = headings("image") if picture.kind == "image" else picture.kind
    size = size_words(picture.size * 3 // 4)
    return headings("not_kept", kind=kind, type=picture.media_type or "?", size=size)


def _heading(part: Part, number: int, headings: Headings) -> str:
    match part:
        case Prompt():
            return f"## {headings('prompt', number=number)}"
        case Summary():
            return f"## {headings('earlier')}"
        case Answer():
            return f"### {headings('answer')}"
        case Call():
            name = headings("call", name=part.name) if part.name else headings("lone")
            return f"### {inert_inline(visible(name))}"
        case Other():
            return f"### {inert_inline(visible(headings('other', type=part.type)))}"
    return ""


def _folded(summary: str, body: str) -> str:
    """Closed until clicked where the viewer knows the element; `summary` is ours."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
