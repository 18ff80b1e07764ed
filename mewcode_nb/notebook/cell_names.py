"""What to call a notebook's cells where only their ids are known: nobody sees an id on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from mewcode_nb.paths import read_inside, real_path
from mewcode_nb.session.belongs import NOTEBOOK_BYTES

__all__ = ["cell_names"]


def cell_names(path: Path | None) -> dict[str, tuple[int, str]]:
    """By id: the cell's place, counted from 1, and its first line of words, as last saved.

    Empty where there is no notebook that can be read. Raises nothing.
    """
    if path is None:
        return {}
    real = real_path(path)
    try:
        data, _ = read_inside(real.parent, real, limit=NOTEBOOK_BYTES)
        found = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    cells = found.get("cells") if isinstance(found, dict) else None
    return dict(_named(cells if isinstance(cells, list) else []))


def _named(cells: list[object]) -> Iterator[tuple[str, tuple[int, str]]]:
    for number, cell in enumerate(cells, start=1):
        if isinstance(cell, dict) and isinstance(identity := cell.get("id"), str):
            yield identity, (number, _first_line(cell.get("source")))


def _first_line(source: object) -> str:
    """The first line that says something: a cell magic's own line says least."""
    parts = source if isinstance(source, list) else [source]
    text = "".join(part for part in parts if isinstance(part, str))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("%%")), "".join(lines[:1]))
