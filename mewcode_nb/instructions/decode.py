"""From a file's bytes to text that can be sent, or the reason why not."""

from __future__ import annotations

import codecs

from mewcode_nb.instructions.grammar import normalise_text

__all__ = ["NotText", "decode_instructions"]

_BINARY_PREFIX = 512
"""Bytes at the start of a file in which a NUL marks it as binary."""

_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The longer marks first: the mark of UTF-32 begins with that of UTF-16."""


class NotText(ValueError):
    """The bytes are not text in an encoding that is known for sure."""


def decode_instructions(data: bytes) -> tuple[str, str]:
    """The text in normal form, and a remark where it was not plain UTF-8.

    UTF-16 and UTF-32 are read by their mark. Other encodings cannot be told from one another, so
    `NotText` is raised rather than words guessed.
    """
    for mark, encoding in _WIDE_MARKS:
        if data.startswith(mark):
            try:
                return normalise_text(data.decode(encoding)), f"read as {encoding.upper()}"
            except UnicodeDecodeError:
                raise NotText(f"not valid {encoding.upper()}") from None
    if b"\x00" in data[:_BINARY_PREFIX]:
        raise NotText("a binary file")
    try:
        return normalise_text(data.decode("utf-8")), ""
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotText(f"not UTF-8 (line {line}); save it as UTF-8") from None
