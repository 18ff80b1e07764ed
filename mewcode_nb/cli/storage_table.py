"""How much the sessions of each folder take, as the rows that `sessions storage` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mewcode_nb.widgets.cards import size_words
from mewcode_nb.widgets.html import visible

if TYPE_CHECKING:
    from mewcode_nb.cli.words import Words
    from mewcode_nb.session.library import Library

__all__ = ["storage_rows"]


def storage_rows(library: Library, words: Words) -> Iterator[tuple[str, ...]]:
    """A heading, a row for each folder of the project, and with several of them their sum."""
    keys = ("folder", "sessions", "size", "trashed", "trash_size")
    yield tuple(words(key) for key in keys)
    sums = [0, 0, 0, 0]
    stores = library.stores(project=True)
    for store in stores:
        infos, items = store.list(), store.trashed()
        size = sum(info.size for info in infos)
        bytes_trashed = sum(item.info.size for item in items)
        counts = (len(infos), size, len(items), bytes_trashed)
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
        yield _row(visible(str(store.sessions)), counts)
    if len(stores) > 1:
        yield _row(words("total"), tuple(sums))


def _row(name: str, counts: tuple[int, ...]) -> tuple[str, ...]:
    live, size, trashed, trash_size = counts
    return name, str(live), size_words(size), str(trashed), size_words(trash_size)
