"""The first notebook, opened in JupyterLab or executed without a browser."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mewcode_nb.errors import MewcodeError

__all__ = ["HeadlessRun", "find_notebook", "lab_command", "run_headless"]

_NAME = "01_first_steps.ipynb"
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


def find_notebook(package: Path) -> Path:
    """The first notebook: of the source tree that holds the package, else the installed copy."""
    for path in (package.parent / "notebooks" / _NAME, package / "tutorial" / _NAME):
        if path.is_file():
            return path
    raise MewcodeError(f"{_NAME} was not found", remedy="reinstall mewcode-nb")


def lab_command(notebook: Path, arguments: Sequence[str]) -> list[str]:
    """The command that starts JupyterLab on the notebook."""
    _require("jupyterlab")
    command = [sys.executable, "-m", "jupyterlab", str(notebook), *arguments]
    root = getattr(os, "geteuid", lambda: 1)() == 0
    return [*command, "--allow-root"] if root else command


def run_headless(notebook: Path, folder: Path, environ: Mapping[str, str]) -> HeadlessRun:
    """Execute a copy of the notebook in `folder`, in mode open: nobody is there to click.

    Raises:
        MewcodeError: nbclient is missing, or the notebook did not run to its end.
    """
    _require("nbclient")
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / notebook.name
    shutil.copyfile(notebook, result)
    command = [sys.executable, "-m", "nbclient.cli", result.name, "--inplace"]
    done = subprocess.run(  # noqa: S603 (our own interpreter on our own notebook)
        [*command, f"--timeout={_CELL_SECONDS}"],
        cwd=folder,
        env={"MEWCODE_MODE": "open", **environ},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise MewcodeError(f"{result} did not run to its end:\n{done.stderr.strip()[-4000:]}")
    return _summary(result)


def _summary(notebook: Path) -> HeadlessRun:
    import nbformat  # noqa: PLC0415 (not needed to open JupyterLab)

    book = nbformat.read(notebook, 4)  # type: ignore[no-untyped-call]
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    sessions = sorted((notebook.parent / ".mewcode" / "sessions").glob("*/conversation.jsonl"))
    return HeadlessRun(
        notebook=notebook,
        cells=sum(1 for cell in cells if cell.execution_count),
        outputs=sum(len(cell.outputs) for cell in cells),
        sessions=tuple(sessions),
    )


def _require(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise MewcodeError(f"{package} is not installed", remedy=f"pip install {package}")
