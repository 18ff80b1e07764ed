"""The `mewcode-nb` command: what can be done without IPython."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from mewcode_nb import __version__
from mewcode_nb.cli.doctor import doctor
from mewcode_nb.cli.sessions import sessions
from mewcode_nb.cli.spoken import Command, Group, Option

__all__ = ["main"]


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    chinese="住在 Jupyter 内核里的编程智能体。在笔记本中：%load_ext mewcode_nb",
)
@click.version_option(__version__, prog_name="mewcode-nb")
def main() -> None:
    """A coding agent that lives in a Jupyter kernel. In a notebook: %load_ext mewcode_nb."""


@main.command(
    cls=Command,
    context_settings={"ignore_unknown_options": True},
    chinese="在 JupyterLab 中打开入门笔记本；不需要密钥。其余参数交给 JupyterLab。",
)
@click.option(
    "--notebook",
    "chosen",
    cls=Option,
    type=click.Choice(["first-steps", "sessions"]),
    default="first-steps",
    show_default=True,
    help="Which one: first steps, or the tour of sessions.",
    chinese="选择哪一个：入门，或会话导览。",
)
@click.option(
    "--headless",
    cls=Option,
    is_flag=True,
    help="Execute the notebook without a browser.",
    chinese="不用浏览器，直接执行笔记本。",
)
@click.option(
    "--folder",
    cls=Option,
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("artifacts/demo"),
    show_default=True,
    help="Where the copy goes that is opened or executed.",
    chinese="被打开或执行的副本放在哪里。",
)
@click.argument("lab_arguments", nargs=-1, type=click.UNPROCESSED)
def demo(chosen: str, headless: bool, folder: Path, lab_arguments: tuple[str, ...]) -> None:
    """Open a notebook to learn with in JupyterLab; no key is needed. Further words go to it."""
    from mewcode_nb.tutorial import demo as tour

    package, prefix, folder = Path(__file__).parents[1], Path(sys.prefix), folder.resolve()
    notebook = tour.find_notebook(package, prefix, tour.NOTEBOOKS[chosen])
    if not headless:
        for name in tour.NOTEBOOKS.values():  # one leads to the next
            tour.working_copy(tour.find_notebook(package, prefix, name), folder)
        copy = folder / notebook.name
        click.echo(f"Starting JupyterLab on {copy}; Ctrl+C twice ends it.")
        raise SystemExit(subprocess.call(tour.lab_command(copy, lab_arguments)))  # noqa: S603
    run = tour.run_headless(notebook, folder, os.environ)
    click.echo(f"Executed {run.cells} cells, {run.outputs} outputs stored: {run.notebook}")
    for session in run.sessions[-1:]:
        click.echo(f"Its session: {session}")


@main.command(cls=Command, chinese="显示文件夹 FOLDER 中的笔记本会读取哪些指令文件，跳过了哪些。")
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


main.add_command(sessions)
main.add_command(doctor)
