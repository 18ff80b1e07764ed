"""The `mewcode-nb` command: what can be done without IPython."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from mewcode_nb import __version__
from mewcode_nb.errors import MewcodeError

__all__ = ["main"]


class _Command(click.Group):
    """A group whose own errors are one line, as everywhere in this package."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except MewcodeError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mewcode-nb")
def main() -> None:
    """A coding agent that lives in a Jupyter kernel. In a notebook: %load_ext mewcode_nb."""


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--headless", is_flag=True, help="Execute the notebook without a browser.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("artifacts/demo"),
    show_default=True,
    help="Where the copy goes that is opened or executed.",
)
@click.argument("lab_arguments", nargs=-1, type=click.UNPROCESSED)
def demo(headless: bool, folder: Path, lab_arguments: tuple[str, ...]) -> None:
    """Open the first notebook in JupyterLab; no key is needed. Further words go to JupyterLab."""
    from mewcode_nb.tutorial.demo import (
        find_notebook,
        lab_command,
        run_headless,
        working_copy,
    )

    notebook = find_notebook(Path(__file__).parent, Path(sys.prefix))
    if not headless:
        copy = working_copy(notebook, folder.resolve())
        click.echo(f"Starting JupyterLab on {copy}; Ctrl+C twice ends it.")
        raise SystemExit(subprocess.call(lab_command(copy, lab_arguments)))  # noqa: S603
    run = run_headless(notebook, folder.resolve(), os.environ)
    click.echo(f"Executed {run.cells} cells, {run.outputs} outputs stored: {run.notebook}")
    for session in run.sessions[-1:]:
        click.echo(f"Its session: {session}")


@main.command()
@click.argument(
    "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path()
)
def instructions(folder: Path) -> None:
    """Show which instruction files are read for a notebook in FOLDER, and what was skipped."""
    from mewcode_nb.instructions import (
        instructions_table,
        load_instructions,
    )
    from mewcode_nb.paths import project_root, user_home

    home = user_home(os.environ)
    root = project_root(folder.resolve(), home)
    click.echo(f"Project root: {root}")
    click.echo(instructions_table(load_instructions(root, home).rows))


if __name__ == "__main__":
    main()
