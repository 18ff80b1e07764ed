"""The notebooks that come with the package, opened in JupyterLab or run without a browser."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mewcode_nb.errors import MewcodeError

__all__ = [
    "NOTEBOOKS",
    "HeadlessRun",
    "find_notebook",
    "lab_command",
    "run_headless",
    "working_copy",
]

NOTEBOOKS = {"first-steps": "01_first_steps.ipynb", "sessions": "02_sessions.ipynb"}
"""File names by what the command line calls them, in the order in which they are read."""
_CELL_SECONDS = 120


@dataclass(frozen=True, slots=True)
class HeadlessRun:
    """What came of executing the notebook."""

    notebook: Path
    cells: int
    """Code cells that were executed."""
    outputs: int
    """Outputs stored in the notebook."""
    sessions: tuple[Path, ...]
    """Session files that lie beside it, newest last."""


def find_notebook(package: Path, prefix: Path, name: str) -> Path:
    """The notebook of this name: of the source tree around the package, else the environment's.

    Raises:
        MewcodeError: it is in neither.
    """
    for path in (package.parent / "notebooks" / name, prefix / "share" / "mewcode_nb" / name):
        if path.is_file():
            return path
    raise MewcodeError(f"{name} was not found", remedy="reinstall mewcode-nb")


def lab_command(notebook: Path, arguments: Sequence[str]) -> list[str]:
    """The command that starts JupyterLab on the notebook."""
    _require("jupyterlab")
    # So that the address JupyterLab prints leads to the notebook, also without a browser.
    start = f"--LabApp.default_url=/lab/tree/{quote(notebook.name)}"
    command = [sys.executable, "-m", "jupyterlab", str(notebook), start, *arguments]
    root = getattr(os, "geteuid", lambda: 1)() == 0
    return [*command, "--allow-root"] if root else command


def run_headless(notebook: Path, folder: Path, environ: Mapping[str, str]) -> HeadlessRun:
    """Execute a copy of the notebook in `folder`, in mode open: nobody is there to click.

    For that reason the recorded tutorial answers, whatever key or server is configured.

    Raises:
        MewcodeError: nbclient is missing, or a cell failed; the copy shows how far it came.
    """
    _require("nbclient")
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal

    folder.mkdir(parents=True, exist_ok=True)
    result = folder / f"{notebook.stem}.executed.ipynb"
    book = nbformat.read(notebook, 4)  # type: ignore[no-untyped-call]
    for cell in book.cells:
        if cell.source.strip() == "%mewcode tutorial":
            cell.source = "%mewcode tutorial on"
    client = NotebookClient(
        book, timeout=_CELL_SECONDS, resources={"metadata": {"path": str(folder)}}
    )
    try:
        client.execute(env={**_without_a_model(environ), "MEWCODE_MODE": "open"})
    except CellControlSignal as error:
        raise MewcodeError(f"{result} did not run to its end: {error}") from error
    finally:
        nbformat.write(book, result)  # type: ignore[no-untyped-call]
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    return HeadlessRun(
        notebook=result,
        cells=sum(1 for cell in cells if cell.execution_count),
        outputs=sum(len(cell.outputs) for cell in cells),
        sessions=tuple(sorted((folder / ".mewcode" / "sessions").glob("*/conversation.jsonl"))),
    )


def working_copy(notebook: Path, folder: Path) -> Path:
    """The notebook's copy in `folder`, made when there is none: what the user does there stays."""
    copy = folder / notebook.name
    if not copy.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notebook, copy)
    return copy


def _without_a_model(environ: Mapping[str, str]) -> dict[str, str]:
    ours = ("ANTHROPIC_", "MEWCODE_")
    return {name: value for name, value in environ.items() if not name.startswith(ours)}


def _require(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise MewcodeError(f"{package} is not installed", remedy=f"pip install {package}")
