"""Tables of our own sentences, one for each language."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Sentences"]


class Sentences:
    """The words of one language; `words("allow")` gives the sentence, its blanks filled in.

    `tables` has one table for `en` and one for `zh`; any other language is given English.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, str]], language: str) -> None:
        self.language = language if language in tables else "en"
        self._table = tables[self.language]

    def __call__(self, key: str, **values: object) -> str:
        """The sentence for a key; a wrong key is a `KeyError`, for the developer."""
        return self._table[key].format(**values)

    def names(self) -> frozenset[str]:
        """Every key there is."""
        return frozenset(self._table)
