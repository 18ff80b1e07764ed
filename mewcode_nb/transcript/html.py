"""A session as one HTML page that stands alone: no script, nothing fetched, light and dark.

Markdown becomes elements by a CommonMark parser that lets no HTML through; links lead only to
http, https and mailto addresses or into the page, and images are links. A content security policy
in the page forbids the rest once more.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING

from mewcode_nb.session.replay import SessionState
from mewcode_nb.transcript.headings import Headings
from mewcode_nb.transcript.heads import facts, title
from mewcode_nb.transcript.markdown import not_kept
from mewcode_nb.transcript.parts import (
    Answer,
    Call,
    Chapter,
    Other,
    Part,
    Prompt,
    Summary,
    Thought,
    chapters,
)
from mewcode_nb.transcript.pictures import Picture
from mewcode_nb.widgets.html import escape, plain, prose

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererProtocol
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

__all__ = ["html_text"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#59636e;--page:#fff;--box:#f3f5f7;--edge:#d1d9e0;
--user:#e8f1fd;--bad:#b3261e;--link:#0757c2}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--dim:#9aa5b1;--page:#12161b;--box:#1c232b;
--edge:#37414c;--user:#16283f;--bad:#ff8a80;--link:#78b4ff}}
body{margin:0 auto;padding:1.5em;max-width:52em;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5em}h2{font-size:1.1em;margin:2em 0 .5em;border-top:1px solid var(--edge);
padding-top:1em}h3{font-size:1em;margin:1.2em 0 .3em;color:var(--dim)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;color:var(--dim);font-size:.9em}
dd{margin:0}a{color:var(--link)}
pre,.prompt{white-space:pre-wrap;padding:.6em .8em;border-radius:6px}
pre{background:var(--box);font-size:.88em;overflow:auto}
.prompt{background:var(--user)}
details{margin:.4em 0}summary{cursor:pointer;color:var(--dim)}
summary:focus-visible{outline:2px solid}
.bad{color:var(--bad)}.note{color:var(--dim);font-style:italic}img{max-width:100%}
table{border-collapse:collapse}th,td{border:1px solid var(--edge);padding:.2em .6em}
"""
_SAFE_LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)


def html_text(state: SessionState, headings: Headings, *, thinking: bool = False) -> str:
    """The whole page; it ends in a newline."""
    name = escape(title(state, headings))
    rows = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts(state, headings)
    )
    parser = _parser()
    told = chapters(state.records, thinking=thinking)
    body = "\n".join(piece for chapter in told for piece in _chapter(chapter, headings, parser))
    language = "zh-CN" if headings.language == "zh" else "en"
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{name}</h1>\n<dl>{rows}</dl>\n"
        f"{body or _note(headings('empty'))}\n</main>\n</body>\n</html>\n"
    )


def _chapter(chapter: Chapter, headings: Headings, parser: MarkdownIt) -> Iterator[str]:
    for part in chapter.parts:
        yield from _part(part, chapter, headings, parser)


def _part(part: Part, chapter: Chapter, headings: Headings, parser: MarkdownIt) -> Iterator[str]:
    match part:
        case Prompt():
            when = headings.moment(chapter.ts)
            heading = f"{headings('prompt', number=chapter.number)} · {when}".removesuffix(" · ")
            yield f"<h2>{escape(heading)}</h2>"
            yield f'<div class="prompt">{_words(part.text)}</div>'
            yield from (_picture(picture, headings) for picture in part.pictures)
        case Answer():
            yield f"<h3>{escape(headings('answer'))}</h3>"
            yield parser.render(prose(part.text)).rstrip("\n")
            if part.incomplete:
                yield _note(headings("incomplete"))
        case Thought():
            yield _fold(headings("thoughts"), f"<pre>{_words(part.text)}</pre>")
        case Summary():
            yield f"<h2>{escape(headings('earlier'))}</h2>"
            yield parser.render(prose(part.text)).rstrip("\n")
        case Call():
            yield from _call(part, headings)
        case Other():
            yield _fold(headings("other", type=part.type), f"<pre>{escape(part.text)}</pre>")


def _call(part: Call, headings: Headings) -> Iterator[str]:
    name = headings("call", name=part.name) if part.name else headings("lone")
    yield f"<h3>{escape(name)}</h3>"
    if part.code:
        label = headings("input")
        yield _fold(label, f"<pre><code>{escape(part.code)}</code></pre>", opened=True)
    if part.output is None:
        yield _note(headings("nothing"))
    elif part.output.strip():
        label = headings("failed" if part.is_error else "output")
        style = ' class="bad"' if part.is_error else ""
        yield _fold(label, f"<pre{style}>{html.escape(plain(part.output))}</pre>")
    yield from (_picture(picture, headings) for picture in part.pictures)


def _picture(picture: Picture, headings: Headings) -> str:
    if not picture.data:
        return _note(not_kept(picture, headings))
    source = f"data:{picture.media_type};base64,{picture.data}"
    return f'<p><img alt="{escape(headings("image"))}" src="{source}"></p>'


def _fold(summary: str, body: str, *, opened: bool = False) -> str:
    mark = " open" if opened else ""
    return f"<details{mark}><summary>{escape(summary)}</summary>{body}</details>"


def _note(words: str) -> str:
    return f'<p class="note">{escape(words)}</p>'


def _words(text: str) -> str:
    return html.escape(prose(text), quote=True)


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.validateLink = lambda url: bool(_SAFE_LINK.match(url))  # type: ignore[method-assign]
    parser.add_render_rule("image", _image_as_words)
    return parser


def _image_as_words(
    renderer: RendererProtocol,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: MutableMapping[str, object],
) -> str:
    """An image's description and address as text: a page that is opened fetches nothing."""
    token = tokens[index]
    source: Mapping[str, object] = token.attrs
    return html.escape(f"[{token.content}]({source.get('src', '')})", quote=True)
