"""A coding agent that lives in a Jupyter kernel.

`%load_ext mewcode_nb` registers the magics. The engine starts at `mewcode_nb.agent.loop`, the
magics at `mewcode_nb.notebook.magics`. Importing this package imports neither the Anthropic SDK nor
any widget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension"]

__version__ = "0.1.0"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics on this shell; writes nothing and starts nothing."""
    from mewcode_nb.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics and hooks away again."""
    from mewcode_nb.notebook.extension import unload

    unload(shell)
