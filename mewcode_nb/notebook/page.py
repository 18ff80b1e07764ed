"""A short text for the user in each form a front end may read: plain, Markdown, a little HTML.

Parts of it come from a model, a file or a path: no form lets a control character of theirs through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mewcode_nb.widgets.html import escape, prose, visible
from mewcode_nb.widgets.markdown import inert, inert_inline

__all__ = ["Page", "code_span"]


@dataclass(frozen=True, slots=True)
class Page:
    """What a subcommand shows. Markdown and HTML hold only what this module escaped."""

    plain: str
    markdown: str
    html: str = ""

    @classmethod
    def fixed(cls, text: str) -> Page:
        """Text whose lines and columns stay as they are."""
        text = prose(text)
        longest = max((len(run) for run in _backtick_runs(text)), default=0)
        fence = "`" * max(3, longest + 1)
        return cls(text, f"{fence}text\n{text}\n{fence}")

    @classmethod
    def warning(cls, text: str) -> Page:
        """One line in red where colour is to be had; the red of the page's theme, dark or light."""
        style = "color:var(--jp-error-color1,#d93025);font-weight:600"
        markdown = f"**{code_span(text)}**"
        return cls(visible(text), markdown, f'<p style="{style}">{escape(text)}</p>')

    @classmethod
    def answer(cls, heading: str, text: str) -> Page:
        """A model's words under a heading of ours: Markdown of which nothing runs or is fetched."""
        return cls(prose(f"{heading}\n\n{text}"), f"**{inert_inline(heading)}**\n\n{inert(text)}")

    @classmethod
    def table(cls, rows: Iterable[tuple[str, ...]], after: Page | None = None) -> Page:
        """Rows of two or more columns, the first a name; `after` stands below."""
        kept = [tuple(_one_line(cell) for cell in row) for row in rows]
        count = max((len(row) for row in kept), default=0)
        widths = [max(len(row[at]) for row in kept if at < len(row)) for at in range(count)]
        plain = "\n".join(
            "  ".join(f"{cell:<{widths[at]}}" for at, cell in enumerate(row)).rstrip()
            for row in kept
        )
        lines = ["|" + " |" * count, "|" + " --- |" * count]
        lines += ["| " + " | ".join(code_span(cell) for cell in row) + " |" for row in kept]
        markdown = "\n".join(lines)
        if after is not None:
            return cls(f"{plain}\n\n{after.plain}", f"{markdown}\n\n{after.markdown}")
        return cls(plain, markdown)

    def bundle(self) -> dict[str, str]:
        """The MIME bundle to publish."""
        data = {"text/plain": self.plain, "text/markdown": self.markdown}
        return {**data, "text/html": self.html} if self.html else data


def code_span(text: str) -> str:
    """The text as a Markdown code span that nothing in it can end, safe inside a table cell."""
    inner = _one_line(text).replace("|", "\\|")
    if not inner:
        return ""
    ticks = "`" * (max((len(run) for run in _backtick_runs(inner)), default=0) + 1)
    pad = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{pad}{inner}{pad}{ticks}"


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _backtick_runs(text: str) -> list[str]:
    runs: list[str] = []
    current = ""
    for character in text + " ":
        if character == "`":
            current += character
        elif current:
            runs.append(current)
            current = ""
    return runs
