"""The one sanitiser for everything shown: plain text, Markdown and our own HTML.

Text from a model, a tool or a file may carry escape sequences that hide or rewrite what a person
reads, and characters that no editor shows. `visible` shows every one of them and is used where a
person decides; `prose` is for answers, where joiners and marks of living scripts must stay; `plain`
is for command output, where colours are dropped first. `escape` is the only door into HTML.
"""

from __future__ import annotations

import html
import re
import unicodedata

__all__ = ["clip", "escape", "plain", "prose", "visible"]

_ANSI = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC, such as titles, links and the clipboard
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
_SUSPECT = re.compile(r"[^\t\n -~]")
_PROSE_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff\ufff9-\ufffb]"
    "|[\U000e0000-\U000e007f]"
)
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_PLAIN_SPACES = frozenset({" ", "\u3000"})
_VARIATION = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef\u115f\u1160\u3164\uffa0]")


def visible(text: str) -> str:
    r"""The text with every character that would not show, or would move others, in words.

    Control characters become their Unicode pictures (ESC is U+241B), others `\u202E` and the like.
    Tab and line feed stay; so does all ordinary text.
    """
    if text.isascii() and text.isprintable():
        return text
    return _SUSPECT.sub(lambda match: _shown(match[0]), text)


def prose(text: str) -> str:
    """The text of an answer: line ends unified, controls and direction overrides in words.

    Joiners and direction marks that Persian, Hindi or emoji need are left alone.
    """
    if not text.isascii() or not text.isprintable():
        text = text.replace("\r\n", "\n")
        text = _PROSE_SUSPECT.sub(lambda match: _picture(match[0]), text)
    return text


def plain(text: str) -> str:
    """Command output for a reader: colour and cursor sequences dropped, other controls in words."""
    return visible(_ANSI.sub("", text.replace("\r\n", "\n")))


def escape(text: str) -> str:
    """Text for an element or a quoted attribute of our own HTML; every character shown."""
    return html.escape(visible(text), quote=True)


def clip(text: str, *, lines: int, characters: int) -> tuple[str, int]:
    """The beginning of the text within both bounds, and how many characters were left out."""
    kept = text[:characters]
    parts = kept.split("\n", lines)
    if len(parts) > lines:
        kept = "\n".join(parts[:lines])
    return kept, len(text) - len(kept)


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    hidden = category in _HIDDEN_CATEGORIES or _VARIATION.match(char) is not None
    odd_space = category == "Zs" and char not in _PLAIN_SPACES
    return _picture(char) if hidden or odd_space else char


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
