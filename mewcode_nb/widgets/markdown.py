"""Model-written Markdown, made inert in the kernel.

A live output of `text/markdown` runs the scripts, loads the frames and fetches the images it holds.
The front ends' parsers differ from each other in many corners, so nothing here trusts that another
parser will see the same structure: outside code every character that could open a tag, an entity,
an image or an unsafe link is written as an entity, and code that is nested or odd is written as
`<code>` or `<pre>` of our own whose text is entities throughout. What stays raw is a fence at the
margin, between blank lines, longer than any fence inside it and always closed: all parsers agree
about that one. Formulas stay, but without quotes or tags, because JupyterLab takes them out before
it parses and pastes them back into the finished HTML, attributes included. Any other dollar sign
stands in an element of its own: the page's typesetter reads the finished text, where an escaped or
encoded dollar is a dollar again, but it pairs none across elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mewcode_nb.widgets.html import prose

__all__ = ["fenced", "inert", "inert_inline"]

_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}\Z")
_DRAWN_LANGUAGES = ("mermaid", "math", "geojson", "topojson", "stl")
"""Front ends draw these fences instead of showing them, some with images from other hosts."""
_FENCE_OPEN = re.compile(r"(.*?)(?:`{3,}|~{3,})")
_BACKTICKS = re.compile(r"`+")
_RISKY = re.compile(r"<[A-Za-z/!?]|!\[|\]\(|\]:|[$\\|@\n]|\[(?![^\[\]]*\])")
"""What could act, or move the bounds of formulas and cells, where a parser sees no code."""
_LINE_RISKS = re.compile(r"[|$`].*\$\$|\$\$.*\|")
_OPEN_BRACKET = re.compile(r"\[(?![^\[\]]*\])")
_BLANK_RUN = re.compile(r"\n[ \t>]*")
_RELATIVE = re.compile(r"(?!//)[^:]*\Z")
_ABSOLUTE = re.compile(r"(?:https?://|mailto:).+", re.IGNORECASE)
_ENTITY_CHARACTERS = re.compile(r"""[&<>"'`$*_\[\](){}!\\|~@#:^\n\t]""")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]\\`<>$&!\n]+\]:[ \t]+https?://[^\s<>\"'`$&\\()]+[ \t]*\Z")
_TEXT = re.compile(
    r"""(?P<math>\$\$[^$`"]+(?<!\\)\$\$|\$(?![\s$])[^$`"\n]*?(?<![\s$\\])\$(?![\d$])
        |\\begin\{(?P<env>[a-z]+\*?)\}[^$`"]{0,1500}?\\end\{(?P=env)\})
    |(?<!\$)\\\((?P<round>(?:[^\\$`"'\n]|\\[^()\[\]$`"'\n])+?)\\\)(?![\d$]|\\\()
    |(?m:^)(?P<indent>[ \t]*)\\\[(?P<square>(?:[^\\$`"']|\\[^()\[\]$`"'])+?)\\\][ \t]*(?m:$)
    |(?P<escaped>\\[!-/:-@\[-`{-~])
    |(?P<ticks>`+)
    |<(?P<auto>(?:https?://|mailto:)[^\s<>"'`$&\\]+)>
    |(?P<image>!+\[)(?=(?P<alt>[^\[\]\n]*)\]\()
    |(?P<bang>!(?=\[))
    |\]\([ \t]*<?(?P<url>(?:[^\s()<>"'`$\\\[\]|]|\([^\s()<>"'`$\\\[\]|]*\))*)>?
        (?:[ \t]+"(?P<title>[\w ,.-]*)")?[ \t]*\)
    |(?P<paren>\]\()
    |(?P<colon>\]:)
    |(?P<begin>\\(?=begin\{|end\{))
    |(?P<char>[<&$"])""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Code:
    """A code block found by the tokenizer: source lines `first` to `last` (not included)."""

    first: int
    last: int
    top: bool
    fence: bool
    language: str
    text: str


def inert(text: str) -> str:
    """The same Markdown, of which nothing runs and nothing is fetched when it is displayed.

    Headings, lists, tables, emphasis, code, formulas and links to http, https, mailto and relative
    addresses keep working; images become links; all other markup is shown as written.
    """
    source = prose(text).replace("\x0c", " ")
    lines = source.split("\n")
    blocks, chunks = _structure(source)
    out: list[str] = []
    position = 0
    for block in blocks:
        if block.first < position:
            continue
        out += _inert_lines(lines, position, block.first, chunks)
        out += _code_lines(block, lines[block.first], out)
        position = block.last
        if block.top and position < len(lines) and lines[position].strip():
            out.append("")
    out += _inert_lines(lines, position, len(lines), chunks)
    return "\n".join(out)


def inert_inline(text: str) -> str:
    """One line of words for Markdown, of which nothing at all is markup."""
    return _words(" ".join(prose(text).split("\n")))


def fenced(text: str, language: str = "") -> str:
    """The text as a fenced code block that nothing inside can close."""
    return "\n".join(_fence(prose(text), language))


def _structure(source: str) -> tuple[list[_Code], dict[int, int]]:
    """Code blocks in order, and the line spans (first to last) of running text."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.disable("inline", True)
    blocks: list[_Code] = []
    chunks: dict[int, int] = {}
    for token in parser.parse(source):
        if token.map is None:
            continue
        first, last = token.map
        if token.type in {"fence", "code_block"}:
            language = token.info.split()[0] if token.info.split() else ""
            fence = token.type == "fence"
            blocks.append(_Code(first, last, token.level == 0, fence, language, token.content))
        elif token.type == "inline":
            chunks[first] = max(last, chunks.get(first, 0))
    return blocks, chunks


def _inert_lines(lines: list[str], start: int, stop: int, chunks: dict[int, int]) -> Iterator[str]:
    position = start
    while position < stop:
        end = min(max(chunks.get(position, 0), position + 1), stop)
        yield _inert_text("\n".join(lines[position:end]))
        position = end


def _code_lines(block: _Code, first_line: str, before: list[str]) -> list[str]:
    text = block.text.removesuffix("\n")
    if block.top:
        gap = [""] if before and before[-1].strip() else []
        return [*gap, *_fence(text, block.language)]
    prefix = _fence_prefix(first_line) if block.fence else _indent_prefix(first_line, text)
    if block.fence and not prefix.strip(" ") and not _RISKY.search(text.replace("\n", " ")):
        return [prefix + line if line else "" for line in _fence(text, block.language)]
    return [f"{prefix}<pre><code>{_ENTITY_CHARACTERS.sub(_entity, text)}</code></pre>", ""]


def _fence(text: str, language: str) -> list[str]:
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    shown = language if _LANGUAGE.match(language) else ""
    if shown.lower().startswith(_DRAWN_LANGUAGES):
        shown = "text"
    return [ticks + shown, *text.split("\n"), ticks]


def _fence_prefix(line: str) -> str:
    found = _FENCE_OPEN.match(line)
    return found[1] if found else ""


def _indent_prefix(line: str, text: str) -> str:
    first = text.split("\n", 1)[0]
    before = line[: max(line.find(first.lstrip()), 0)]
    indent = 4 + len(first) - len(first.lstrip())
    if before.endswith(" " * indent):
        return before[:-indent]
    return before.rstrip() + " " if before.strip() else ""


def _inert_text(text: str) -> str:
    if _DEFINITION.match(text):
        return text
    # Lab pastes formulas back into attributes as well, so no quote may stand where one could begin.
    quote = "&quot;" if "$" in text or "\\" in text else '"'
    out: list[str] = []
    position = 0
    while found := _TEXT.search(text, position):
        out.append(text[position : found.start()])
        position = found.end()
        if found["ticks"]:
            code, position = _code_span(text, found)
            out.append(code)
        else:
            out.append(quote if found["char"] == '"' else _replacement(found))
    out.append(text[position:])
    # marked lets the label of a definition run on over blank lines, into the next code block.
    closed, bracket, rest = "".join(out).rpartition("]")
    return closed + bracket + rest.replace("[", "&#91;")


def _replacement(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if found["math"] or found["round"] or found["square"]:
        return _dollars(found) if found["math"] else _bracketed(found)
    if found["escaped"]:
        return _escaped(found["escaped"])
    if found["image"]:
        words = "[" if found["alt"].strip() else "[image"
        return "&#33;" * (len(found["image"]) - 2) + words
    if found["url"] is not None:
        return _link(found)
    if kind == "auto":
        return found["auto"]
    if kind in {"bang", "begin", "char"}:
        return _DOLLAR if found["char"] == "$" else _entity(found)
    return "]&#40;" if kind == "paren" else "]&#58;"


def _escaped(pair: str) -> str:
    """A backslash escape; written as an entity where the character could matter to some parser."""
    if pair[1] == "$":
        return _DOLLAR
    return f"&#{ord(pair[1])};" if pair[1] in '<&`![]\\"()' else pair


def _balanced(source: str) -> bool:
    depth = 0
    for char in source.replace("\\{", "").replace("\\}", ""):
        depth += (char == "{") - (char == "}")
        if depth < 0:
            break
    return depth == 0


def _math(source: str) -> str:
    """A formula without anything that is markup where formulas are not known."""
    if not _balanced(source):
        return _words(source)
    source = _OPEN_BRACKET.sub(r"\\lbrack ", source)
    source = source.replace("<", "\\lt ").replace("](", "]{}(").replace("]:", "]{}:")
    return source.replace("![", "!{}[")


def _dollars(found: re.Match[str]) -> str:
    before = found.string[: found.start()].rpartition("\n")[2]
    first, _, later = found["math"].partition("\n")
    # nbconvert looks at such a first line for a table or a tag, not for a formula, and then takes
    # the closing dollars for opening ones.
    torn = later and before.strip() and _LINE_RISKS.search(before + first)
    return _words(found["math"]) if torn else _math(found["math"])


def _bracketed(found: re.Match[str]) -> str:
    """A formula in LaTeX's own brackets, which Markdown takes for escaped brackets."""
    content = found["round"] or found["square"]
    formula = content.strip()
    # A backslash before the closing dollar would make it a character of the formula.
    whole = formula and not formula.endswith("\\") and _balanced(formula)
    if found["round"]:
        return _math(f"${formula}$") if whole else _words(f"({content})")
    return found["indent"] + (_math(f"$${content}$$") if whole else _words(f"[{content}]"))


def _link(found: re.Match[str]) -> str:
    url = found["url"]
    title = f' "{found["title"]}"' if found["title"] else ""
    if _ABSOLUTE.match(url):
        return f"]({url.replace('&', '&amp;')}{title})"
    if url and "&" not in url and _RELATIVE.match(url):
        return f"]({url}{title})"
    return "]&#40;" + _ENTITY_CHARACTERS.sub(_entity, found[0][2:])


def _code_span(text: str, ticks: re.Match[str]) -> tuple[str, int]:
    """The code span that opens here and where it ends; a lone run of ticks becomes text."""
    length = len(ticks[0])
    for run in _BACKTICKS.finditer(text, ticks.end()):
        if len(run[0]) == length:
            body = _BLANK_RUN.sub(" ", text[ticks.end() : run.start()])
            if _RISKY.search(body):
                return f"<code>{_ENTITY_CHARACTERS.sub(_entity, body.strip())}</code>", run.end()
            return f"{ticks[0]}{body}{run[0]}", run.end()
    return "&#96;" * length, ticks.end()


def _entity(found: re.Match[str]) -> str:
    return "".join(_NAMED.get(char, f"&#{ord(char)};") for char in found[0])


def _words(text: str) -> str:
    """The text as it was typed, in running Markdown."""
    return _ENTITY_CHARACTERS.sub(_entity, text).replace("&#36;", _DOLLAR)


_DOLLAR = "<span>&#36;</span>"
_NAMED = {"<": "&lt;", "&": "&amp;", '"': "&quot;", ">": "&gt;"}
